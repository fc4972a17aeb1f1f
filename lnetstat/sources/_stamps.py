"""Find the time stamp in a file or folder name, and how exact it is."""

import calendar
import functools
import re
from typing import NamedTuple

SECOND_NS = 1_000_000_000
DAY_NS = 86400 * SECOND_NS
YEARS = "the years 1990 to 2200"
_BEGIN_NS, _END_NS = 631152000 * SECOND_NS, 7258118400 * SECOND_NS

_DATE = r"(?P<year>20\d\d|19[789]\d)(?P<dash>-?)(?P<month>0[1-9]|1[0-2])(?P=dash)(?P<day>0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?P<hour>[01]\d|2[0-3])(?P<colon>[:.-]?)(?P<minute>[0-5]\d)(?:(?P=colon)(?P<second>[0-5]\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
_CALENDAR = re.compile(rf"(?<!\d){_DATE}(?:[T_-]?{_CLOCK}(?P<zone>Z|[+-]\d\d:?\d\d)?)?(?!\d)")
_EPOCH = re.compile(r"(?<!\d)(?P<seconds>1[0-9]{9})(?:\.(?P<fraction>\d{1,9}))?(?!\d)")


class Stamp(NamedTuple):
    """A time written in a name. `time_ns`: its earliest meaning; `resolution_ns`: how long it lasts; `begin`, `end`: where it stands."""

    time_ns: int
    resolution_ns: int
    zone_known: bool
    begin: int
    end: int


def is_credible(time_ns: int) -> bool:
    """Whether a time (epoch ns) lies in the years 1990 to 2200; others are of a broken clock or a damaged file, and may not fit 64 bits."""
    return _BEGIN_NS <= time_ns < _END_NS


@functools.lru_cache(maxsize=1024)
def find_stamp(name: str) -> Stamp | None:
    """Return the first time stamp in a name: 20261120T112600.462Z, 2026-11-20_11:26, 20261120, epoch seconds. UTC unless it has a zone."""
    found = _CALENDAR.search(name)
    if found:
        return _calendar_stamp(found)
    found = _EPOCH.search(name)
    if found:
        fraction, resolution_ns = _fraction(found["fraction"])
        return Stamp(int(found["seconds"]) * SECOND_NS + fraction, resolution_ns, True, found.start(), found.end())
    return None


def without_stamp(name: str) -> str:
    """Return the name without the time stamp and the marks that joined it, unchanged where there is none or nothing else."""
    stamp = find_stamp(name)
    if stamp is None:
        return name
    return name[: stamp.begin].rstrip("-_.@") or name


def _calendar_stamp(found: re.Match[str]) -> Stamp | None:
    day = (int(found["year"]), int(found["month"]), int(found["day"]))
    if day[2] > calendar.monthrange(*day[:2])[1]:
        return None
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    seconds = calendar.timegm((*day, hour, minute, second, 0, 0, 0)) - _zone_s(found["zone"])
    fraction, resolution_ns = _fraction(found["fraction"])
    if found["second"] is None:
        resolution_ns = DAY_NS if found["hour"] is None else 60 * SECOND_NS
    return Stamp(seconds * SECOND_NS + fraction, resolution_ns, found["zone"] is not None, found.start(), found.end())


def _fraction(digits: str | None) -> tuple[int, int]:
    """Return nanoseconds and their resolution: "462" -> (462000000, 1000000)."""
    unit_ns = 10 ** (9 - len(digits)) if digits else SECOND_NS
    return (int(digits) * unit_ns if digits else 0), unit_ns


def _zone_s(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
