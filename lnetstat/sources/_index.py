"""INDEX.tsv of a capture: when each file was read, how long it took and what error there was.

utc_dir                 file    epoch                errno   read_us   bytes
20261120T120015.640Z    peers   1795176015.640983    0       311       670
"""

from typing import NamedTuple

from lnetstat.sources._stamps import YEARS, is_credible

ERRNO_MAX = 4095  # the kernel has no greater ones
READ_US_MAX = 1 << 50
COLUMNS = ("utc_dir", "file", "epoch", "errno", "read_us", "bytes")


class IndexRow(NamedTuple):
    """One read, with its wall clock in nanoseconds."""

    time_ns: int
    errno: int
    read_ns: int
    size: int


def parse_index(text: str, where: str, problems: list[str]) -> dict[tuple[str, str], IndexRow]:
    """Return the rows by (utc_dir, file). Rows that cannot be read are told in `problems`, the first of them with its line number.

    So are those whose time cannot be true; the caller has other time stamps for their files.
    """
    lines = text.splitlines()
    if not lines or tuple(lines[0].split("\t")) != COLUMNS:
        problems.append(f"{where}: line 1: expected the columns {' '.join(COLUMNS)}: time stamps are taken from folder names instead")
        return {}
    rows: dict[tuple[str, str], IndexRow] = {}
    bad: list[int] = []
    untimely: list[int] = []
    for number, line in enumerate(lines[1:], 2):
        words = line.split("\t")
        try:
            folder, file, epoch, error, read_us, size = words
            row = IndexRow(_nanoseconds(epoch), _within(error, ERRNO_MAX), _within(read_us, READ_US_MAX) * 1000, int(size))
        except ValueError:
            bad.append(number)
            continue
        if is_credible(row.time_ns):
            rows[folder, file] = row
        else:
            untimely.append(number)
    if bad:
        problems.append(f"{where}: line {bad[0]}: expected {len(COLUMNS)} columns with numbers; {len(bad)} such lines are left out")
    if untimely:
        problems.append(f"{where}: line {untimely[0]}: epoch outside {YEARS}; {len(untimely)} such lines are left out")
    return rows


def _within(digits: str, greatest: int) -> int:
    number = int(digits)
    if abs(number) > greatest:
        raise ValueError(digits)
    return number


def _nanoseconds(epoch: str) -> int:
    """Return "1795176015.640983" as nanoseconds, exactly: a float would lose some."""
    seconds, _, fraction = epoch.partition(".")
    if not (seconds + fraction).isascii() or not (seconds + fraction).isdigit():
        raise ValueError(epoch)
    return int(seconds) * 1_000_000_000 + int(fraction[:9].ljust(9, "0"))
