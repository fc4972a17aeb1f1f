"""Times printed as SECONDS.FRACTION. Three ways to print the fraction are in use, and only the unit tells them apart."""

import re

_TIME = re.compile(r"([0-9]{1,12})(?:\. *([0-9]{1,9}))?\Z", re.ASCII)
_DIGITS_PER_UNIT = {"secs.usecs": 6, "secs.nsecs": 9}


def nanoseconds(number: str, unit: str = "") -> int:
    """Return SECONDS.FRACTION in nanoseconds; ValueError when it is no such time.

    Up to Lustre 2.9 the fraction counts microseconds and is NOT zero padded: 1420750934.57342 secs.usecs is .057342 s. Lustre 2.10 to
    2.14 print nanoseconds, in a few files padded with blanks. Without a unit up to six digits are microseconds, more are nanoseconds.
    """
    found = _TIME.match(number)
    if not found or unit not in ("", "secs", *_DIGITS_PER_UNIT):
        raise ValueError(f"{number} {unit}")
    seconds, fraction = int(found[1]), found[2] or "0"
    digits = _DIGITS_PER_UNIT.get(unit) or (6 if len(fraction) <= 6 else 9)
    if len(fraction) > digits:
        raise ValueError(f"{number} {unit}")
    return seconds * 1_000_000_000 + int(fraction) * (1000 if digits == 6 else 1)
