"""Times, numbers and names as people read them: the same words on the terminal, in the page and in the mail.

None becomes "–" (not known or does not apply) and is never shown as zero. Shares and short times read as in the findings' sentences.
"""

import math
from collections.abc import Mapping
from typing import Any

from lnetstat import words
from lnetstat.analysis import wording
from lnetstat.words import printable

NOT_KNOWN = "–"
_BYTE_STEPS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_SHARES = {"fraction", "share", "depth", "cv"}


def cut(text: str, length: int) -> str:
    """Return the printable text, its middle left out where it is longer than `length`: both ends of a NID tell something."""
    text = printable(text)
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def iso(time_ns: int | None, digits: int = 0) -> str:
    """Return epoch nanoseconds in UTC as ISO 8601 with `digits` (0 to 6) decimals; the bare number where the calendar ends."""
    if time_ns is None:
        return NOT_KNOWN
    return words.iso(time_ns, digits)


def number(value: float | None) -> str:
    """Return a number with thousands marked; whole numbers in full, others to three digits."""
    if value is None or math.isnan(value):
        return NOT_KNOWN
    if abs(value) >= 1e15:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"


def seconds(value: float | None) -> str:
    """Return a time span: 0.25 s, 13.3 s, 12 min 5 s, 3 h 10 min, 2 d 4 h."""
    if value is None or not math.isfinite(value):
        return NOT_KNOWN
    if abs(value) < 600:
        return wording.seconds(value)
    for unit_s, unit, part_s, part in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        whole, rest = divmod(round(value), unit_s)
        if whole:
            return f"{whole} {unit}" + (f" {rest // part_s} {part}" if rest // part_s else "")
    return wording.seconds(value)


def percent(fraction: float | None) -> str:
    """Return a share of 1 in percent: 0.062 is 6.2 %."""
    return NOT_KNOWN if fraction is None else wording.percent(fraction)


def scaled(unit: str, largest: float) -> tuple[float, str]:
    """Return (divisor, unit) that make numbers up to `largest` readable: bytes/s become KiB/s, MiB/s, …; other units stay."""
    if not unit.startswith("bytes"):
        return 1.0, unit
    step = 0
    while step + 1 < len(_BYTE_STEPS) and abs(largest) >= 1024 ** (step + 1):
        step += 1
    return float(1024**step), unit.replace("bytes", _BYTE_STEPS[step], 1)


def quantity(value: float | None, unit: str) -> str:
    """Return a number with its unit, bytes in KiB, MiB and so on."""
    if value is None:
        return NOT_KNOWN
    divisor, shown = scaled(unit, value)
    return f"{number(value / divisor)} {shown}"


def yes_no(value: bool | None) -> str:
    """Return yes, no, or that it is not known."""
    return NOT_KNOWN if value is None else "yes" if value else "no"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return "1 gap", "3 gaps"."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def measure(key: str, value: Any) -> str:
    """Return one piece of evidence in words; the end of its name gives the unit: `period_s` 13.3 becomes "period 13.3 s"."""
    name = key.replace("_", " ")
    if value is None or isinstance(value, Mapping):
        return ""
    if isinstance(value, bool):
        return f"{name}: {yes_no(value)}"
    if isinstance(value, (list, tuple)):
        few = 0 < len(value) <= 4 and all(isinstance(each, str) for each in value)
        return printable(f"{name}: {', '.join(value) if few else len(value)}")
    if not isinstance(value, (int, float)):
        return printable(f"{name} {value}")
    return _number_in_words(name, value)


def _number_in_words(name: str, value: float) -> str:
    if name.endswith(" s"):
        return f"{name.removesuffix(' s')} {seconds(value)}"
    if name.endswith(" bytes"):
        return f"{name.removesuffix(' bytes')} {quantity(value, 'bytes')}"
    if name.endswith(" ns"):
        return f"{name.removesuffix(' ns')} {iso(int(value), 3)}"
    if _SHARES & set(name.split()):
        return f"{name} {percent(value)}"
    return f"{name} {number(value)}"
