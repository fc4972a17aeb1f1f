"""The words users write for moments: `--begin` and `--end` of every verb that reads recorded data."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

NS = 1_000_000_000
_ZONE = "lnetstat.zone"  # where --tz is kept while a command line is read
_UNITS_NS = {"ms": 10**6, "s": NS, "m": 60 * NS, "min": 60 * NS, "h": 3600 * NS, "d": 86_400 * NS}
_BEFORE_END = re.compile(r"-([0-9]+(?:\.[0-9]+)?)\s*(ms|s|min|m|h|d)", re.ASCII)
_EPOCH = re.compile(r"[0-9]{1,11}(?:\.[0-9]{1,9})?", re.ASCII)
_EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)
_EXPECTED = "expected 2026-08-14T12:00:00Z (with a zone), epoch seconds such as 1786708800.25, or -10m: so long before the end of the data"


class Moment(NamedTuple):
    """A moment: `time_ns` since the epoch or, where `before_end` is set, nanoseconds before the data end."""

    time_ns: int
    before_end: bool = False

    def absolute_ns(self, data_end_ns: int | None) -> int:
        """Return epoch nanoseconds. `data_end_ns`: the last stamp of the data, None where there is none."""
        return (data_end_ns or 0) - self.time_ns if self.before_end else self.time_ns


class Zone(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3 only
    """The name of a time zone: Europe/Berlin, UTC."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value:
            return ""
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # seldom asked for, and slow to import

        try:
            return ZoneInfo(str(value)).key
        except (ZoneInfoNotFoundError, ValueError, OSError):
            self.fail(f"'{value}' is no time zone: expected a name such as Europe/Berlin or UTC", param, ctx)


def zone_option(words: str, *, passed: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --tz: MomentType reads times that name no zone in it. `passed`: the command gets it too, as `zone`."""

    def keep(ctx: click.Context, param: click.Parameter, zone: str) -> str:
        ctx.meta[_ZONE] = zone
        return zone

    # Eager: in whatever order they are typed, it is known when --begin and --end are read.
    return click.option("--tz", "zone", type=Zone(), default="", is_eager=True, expose_value=passed, callback=keep, help=words)


class MomentType(click.ParamType):  # type: ignore[type-arg]
    """ISO 8601 with a zone (or in that of the command's --tz), epoch seconds, or `-10m` before the end of the data."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Moment:
        if isinstance(value, Moment):
            return value
        try:
            return parse_moment(str(value), ctx.meta.get(_ZONE) if ctx else None)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def parse_moment(text: str, zone: str | None = None) -> Moment:
    """Return the moment that the text names; ValueError says what was expected.

    `zone`: that of times that name none; "" where nobody gave one, None where the command has no --tz.
    """
    from decimal import Decimal

    text = text.strip()
    if found := _BEFORE_END.fullmatch(text):
        return Moment(int(Decimal(found[1]) * _UNITS_NS[found[2]]), before_end=True)
    if _EPOCH.fullmatch(text):
        return Moment(int(Decimal(text) * NS))
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"'{text}' is no time: {_EXPECTED}") from None
    if time.tzinfo is None and not zone:
        said = time.isoformat()
        raise ValueError(f"'{text}' names no zone: write {said}Z or {said}+02:00{'' if zone is None else ', or give --tz Europe/Berlin'}")
    if time.tzinfo is None:
        from zoneinfo import ZoneInfo

        time = _in_zone(text, time, ZoneInfo(zone or "UTC"))
    return Moment((time - _EPOCH_START) // timedelta(microseconds=1) * 1000)


def _in_zone(text: str, local: datetime, zone: "ZoneInfo") -> datetime:
    """Return a local time as what it is in UTC; ValueError where its clock was set forward over it, or back so that it came twice."""
    try:
        first, second = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    except OverflowError:  # at the calendar's ends
        raise ValueError(f"'{text}' is no time: {_EXPECTED}") from None
    if first == second:
        return first
    came = first.astimezone(zone).replace(tzinfo=None) == local
    raise ValueError(
        f"'{text}' {'came twice' if came else 'did not come'} in {zone.key}: write it with its offset, as {local.isoformat()}+02:00"
    )


def window_ns(begin: Moment | None, end: Moment | None, data_end_ns: int | None) -> tuple[int | None, int | None]:
    """Return (begin_ns, end_ns) of the options; click's usage error where the window is empty."""
    begin_ns = begin and begin.absolute_ns(data_end_ns)
    end_ns = end and end.absolute_ns(data_end_ns)
    if begin_ns is not None and end_ns is not None and begin_ns >= end_ns:
        raise click.UsageError("--begin lies at or after --end: nothing would be read")
    return begin_ns, end_ns
