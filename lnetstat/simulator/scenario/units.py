"""Numbers with units, as a scenario writes them: "75 s", "2.3 ms", "1 MiB", "3.2 GB/s". Exact: integers of nanoseconds and bytes."""

import re
from fractions import Fraction

NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # micro sign
    "μs": 10**3,  # Greek mu
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}
BYTES = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
RATES = {f"{unit}/s": Fraction(size) for unit, size in BYTES.items()} | {
    "Mbit/s": Fraction(10**6, 8),
    "Gbit/s": Fraction(10**9, 8),
}
_NUMBER = re.compile(r"([+-]?\d{1,18}(?:\.\d{1,12})?)\s*(\D.*)?", re.ASCII | re.DOTALL)


def time_ns(text: str) -> int:
    """Return a time such as "2.3 ms" in whole nanoseconds; ValueError with words where it is none."""
    return _whole(text, {unit: Fraction(size) for unit, size in NS.items()}, 'a time with a unit, such as "75 s" or "2.3 ms"')


def size_bytes(text: str) -> int:
    """Return a size such as "1 MiB" in whole bytes; ValueError with words where it is none."""
    return _whole(text, {unit: Fraction(size) for unit, size in BYTES.items()}, 'a size with a unit, such as "200 B" or "1 MiB"')


def rate_bytes_per_s(text: str) -> Fraction:
    """Return a rate such as "3.2 GB/s" or "10 Gbit/s" in bytes per second; ValueError with words where it is none."""
    return _scaled(text, RATES, 'a rate, such as "3.2 GB/s"')


def is_rate(text: str) -> bool:
    """True where the unit says per second."""
    return text.rstrip().endswith("/s")


def shown_time(ns: int) -> str:
    """Return nanoseconds in the largest unit that needs one decimal at most: "75 s", "2.3 ms"; the inverse of time_ns."""
    if ns == 0:
        return "0 s"
    whole = next((unit for unit in ("d", "h", "min") if ns % NS[unit] == 0), None)
    return f"{ns // NS[whole]} {whole}" if whole else _shown(ns, ("s", "ms", "us"), NS, "ns")


def shown_size(size: int) -> str:
    """Return bytes in the largest binary unit that needs one decimal at most: "1 MiB", "200 B"; the inverse of size_bytes."""
    return _shown(size, ("TiB", "GiB", "MiB", "KiB"), BYTES, "B")


def _shown(number: int, units: tuple[str, ...], sizes: dict[str, int], smallest: str) -> str:
    unit = next((unit for unit in units if number >= sizes[unit] and number * 10 % sizes[unit] == 0), smallest)
    whole, tenths = divmod(number * 10 // sizes[unit], 10)
    return f"{whole}.{tenths} {unit}" if tenths else f"{whole} {unit}"


def _whole(text: str, units: dict[str, Fraction], expected: str) -> int:
    value = _scaled(text, units, expected)
    if value.denominator != 1:
        smallest = next(iter(units))
        raise ValueError(f"expected a whole number of {smallest}")
    return value.numerator


def _scaled(text: str, units: dict[str, Fraction], expected: str) -> Fraction:
    found = _NUMBER.fullmatch(text.strip())
    if not found:
        raise ValueError(f"expected {expected}")
    number, unit = found.groups()
    if unit is None or unit not in units:
        raise ValueError(f"expected {expected}; units: {' '.join(unit for unit in units if unit.isascii())}")
    return Fraction(number) * units[unit]
