"""One check's result, and what many of them amount to."""

import enum
from collections.abc import Iterable
from typing import Any, NamedTuple

from lnetstat.words import printable


class Level(enum.IntEnum):
    """Nagios' exit statuses."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


# What is known to be broken outweighs what could not be looked at, and that outweighs a warning.
_BY_WEIGHT = (Level.OK, Level.WARNING, Level.UNKNOWN, Level.CRITICAL)


class Check(NamedTuple):
    """What one check found. `remedy`: what to do, empty where nothing is to be done."""

    level: Level
    name: str
    what: str
    remedy: str = ""

    @property
    def line(self) -> str:
        """The check in one line: LEVEL: name: what; remedy."""
        return printable(f"{self.level.name}: {self.name}: {self.what}{f'; {self.remedy}' if self.remedy else ''}")


def worst(checks: Iterable[Check]) -> Level:
    """Return the level that counts: CRITICAL before UNKNOWN before WARNING."""
    return max((check.level for check in checks), key=_BY_WEIGHT.index, default=Level.UNKNOWN)


def as_json(checks: Iterable[Check]) -> dict[str, Any]:
    """Return what `doctor --json` prints."""
    rows = list(checks)
    return {
        "schema": 1,
        "status": worst(rows).name,
        "checks": [{"level": row.level.name, "check": row.name, "what": row.what, "remedy": row.remedy} for row in rows],
    }


def counted(number: int, one: str, many: str = "") -> str:
    """Return '1 row', '2 rows'."""
    return f"{number} {one if number == 1 else many or one + 's'}"
