"""The keys of one scenario, read from TOML files and --set, each checked against keys.KEYS and with where it came from."""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from lnetstat.errors import SimulatorError
from lnetstat.simulator.scenario.costs import Cost
from lnetstat.simulator.scenario.keys import BLOCKS, KEYS, Key, Kind, Value, allowed
from lnetstat.simulator.scenario.units import is_rate, rate_bytes_per_s, size_bytes, time_ns
from lnetstat.words import printable

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BLOCK = re.compile(rf"({'|'.join(BLOCKS)})\.(0|[1-9][0-9]{{0,5}})\.(.+)", re.ASCII)
_BARE_BLOCK = re.compile(rf"({'|'.join(BLOCKS)})\.(0|[1-9][0-9]{{0,5}})", re.ASCII)
_LONGEST = 60


class Given(NamedTuple):
    """One key as somebody wrote it: the TOML value and where it stands (a file, a preset, --set)."""

    value: object
    origin: str


def flat(tree: Mapping[str, object], origin: str, prefix: str = "") -> dict[str, Given]:
    """Return the leaves of a TOML tree under dotted names; [[io]] blocks count from io.0, and one without keys is a leaf itself."""
    leaves: dict[str, Given] = {}
    for name, value in tree.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict) and (value or is_section(path)):
            leaves |= flat(value, origin, f"{path}.")
        elif isinstance(value, list) and path in BLOCKS and value and all(isinstance(item, dict) for item in value):
            for number, item in enumerate(value):
                block = f"{path}.{number}"
                leaves |= flat(item, origin, f"{block}.") if item else {block: Given(item, origin)}
        else:
            leaves[path] = Given(value, origin)
    return leaves


def merge(base: Mapping[str, Given], own: Mapping[str, Given]) -> dict[str, Given]:
    """Return `own` over `base`. Blocks are replaced as a whole: a file with an [[io]] of its own, or with io = [], has no other."""
    replaced = tuple(f"{block}." for block in BLOCKS if any(name == block or name.startswith(f"{block}.") for name in own))
    return without_blocks(base, replaced) | {name: given for name, given in own.items() if not is_no_blocks(name, given)}


def without_blocks(given: Mapping[str, Given], prefixes: tuple[str, ...]) -> dict[str, Given]:
    """Return the keys that do not begin so."""
    return {name: value for name, value in given.items() if not prefixes or not name.startswith(prefixes)}


def is_section(name: str) -> bool:
    """True where known keys stand below the name."""
    return any(known.startswith(f"{name}.") for known in KEYS)


def is_no_blocks(name: str, given: Given) -> bool:
    """True for io = []: the blocks of the base are not wanted."""
    return name in BLOCKS and given.value == []


def is_bare_block(name: str, given: Given) -> bool:
    """True for an [[io]] without keys: all of them have their defaults."""
    return given.value == {} and _BARE_BLOCK.fullmatch(name) is not None


def key_of(name: str) -> Key | None:
    """Return the key behind a dotted name; io.3.window is io.N.window."""
    found = _BLOCK.fullmatch(name)
    return KEYS.get(f"{found[1]}.N.{found[3]}" if found else name)


def from_option(name: str, text: str) -> Given:
    """Return the value of --set NAME=TEXT: a TOML value, or a bare word such as 2.3 ms."""
    key = key_of(name)
    try:
        value = tomllib.loads(f"value = {text}")["value"] if "\n" not in text and text.strip() else text
    except (ValueError, RecursionError):
        value = text.strip()
    if key and key.kind in (Kind.WORD, Kind.TEXT) and not isinstance(value, str):
        value = text.strip()  # release=2.16 is a word
    if key and key.kind is Kind.NAMES and isinstance(value, str):
        value = [word.strip() for word in value.split(",")]
    return Given(value, "--set")


class Settings:
    """All keys of one scenario by dotted name, checked. What is not given has the default of keys.KEYS."""

    def __init__(self, given: Mapping[str, Given], label: str) -> None:
        """`label` names the scenario in messages about what is missing. SimulatorError names the first key that cannot be."""
        self.label = label
        self._given = dict(given)
        self._check_blocks()
        self._values = {name: self._checked(name, given) for name, given in self._given.items() if not is_bare_block(name, given)}

    def is_given(self, name: str) -> bool:
        return name in self._values

    def names(self) -> tuple[str, ...]:
        """Return the names of the keys that were given."""
        return tuple(self._values)

    def number(self, name: str) -> int:
        """Return a count, time (ns), size (bytes) or date (epoch ns) that is given or has a default."""
        value = self._value(name)
        assert isinstance(value, int), name
        return value

    def number_or(self, name: str, otherwise: int) -> int:
        """Return the number where it is given, else `otherwise`: for defaults that depend on something."""
        return self.number(name) if self.is_given(name) else otherwise

    def required(self, name: str) -> int:
        """Return a number that has no default; SimulatorError where it is missing."""
        if not self.is_given(name):
            raise SimulatorError(f"{self.label}: key '{name}' is missing: {_key(name).help}: expected {allowed(_key(name))}")
        return self.number(name)

    def text(self, name: str) -> str:
        value = self._value(name)
        assert isinstance(value, str), name
        return value

    def share(self, name: str) -> float:
        value = self._value(name)
        assert isinstance(value, int | float), name
        return float(value)

    def cost(self, name: str, otherwise: Cost | None = None) -> Cost:
        value = otherwise if otherwise is not None and not self.is_given(name) else self._value(name)
        assert isinstance(value, Cost), name
        return value

    def list_of(self, name: str) -> tuple[str, ...]:
        value = self._value(name)
        assert isinstance(value, tuple), name
        return tuple(str(word) for word in value)

    def blocks(self, block: str) -> tuple[str, ...]:
        """Return the prefixes of a kind of block: ("io.0.", "io.1.")."""
        numbers = {int(name.split(".")[1]) for name in self._given if name.startswith(f"{block}.")}
        return tuple(f"{block}.{number}." for number in sorted(numbers))

    def error(self, name: str, expected: str) -> SimulatorError:
        """Return the error about one given key, or about a default that does not fit."""
        given = self._given.get(name)
        if given is None:
            return SimulatorError(f"{self.label}: key '{name}' is not given: {expected}")
        return complaint(given.origin, name, given.value, expected)

    def _value(self, name: str) -> Value:
        if name in self._values:
            return self._values[name]
        default = _key(name).default
        assert default is not None, name
        return default

    def _checked(self, name: str, given: Given) -> Value:
        key = key_of(name)
        if key is None:
            raise SimulatorError(f"{given.origin}: key '{shown_name(name)}' {_unknown(name)}")
        try:
            return _PARSERS[key.kind](key, given.value)
        except ValueError as error:
            raise complaint(given.origin, name, given.value, str(error)) from None

    def _check_blocks(self) -> None:
        for block in BLOCKS:
            own = [(name, given) for name, given in self._given.items() if name.startswith(f"{block}.")]
            names = [name for name, given in own if _BLOCK.fullmatch(name) or is_bare_block(name, given)]
            numbers = sorted({int(name.split(".")[1]) for name in names})
            for expected, number in enumerate(numbers):
                if number != expected:
                    name = next(name for name in names if int(name.split(".")[1]) == number)
                    raise self.error(name, f"the scenario has {expected} [[{block}]] blocks: the next is {block}.{expected}")


def complaint(origin: str, name: str, value: object, expected: str) -> SimulatorError:
    """Return the one line about a key: FILE: key 'routers.count': -3: expected 1 to 10000."""
    return SimulatorError(f"{origin}: key '{shown_name(name)}': {_shown(value)}: {expected}")


def shown_name(name: str) -> str:
    return printable(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…")


def near(word: str, words: Iterable[str]) -> str:
    """Return "; did you mean 'X'?" where one of the words is near, else nothing."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def _key(name: str) -> Key:
    key = key_of(name)
    assert key is not None, name
    return key


def _unknown(name: str) -> str:
    """Say what is wrong with an unknown name, and the known one that is nearest."""
    if is_section(name):
        return f"is a section: write [[{name}]]" if name in BLOCKS else f"is a section: write [{name}] and its keys below"
    first, _, rest = name.partition(".")
    if first in BLOCKS and not _BLOCK.fullmatch(name):
        return f"stands in a block: write [[{first}]], and in --set {first}.0.{shown_name(rest)}"
    found = _BLOCK.fullmatch(name)
    if found:
        return "is unknown" + near(name, (known.replace(".N.", f".{found[2]}.") for known in KEYS))
    return "is unknown" + near(name, KEYS)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, str):
        cut = value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"
        return f"'{printable(cut)}'"
    text = str(value)
    return printable(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def _ranged(key: Key, value: int) -> int:
    if not key.low <= value <= key.high:
        raise ValueError(f"expected {allowed(key)}")
    return value


def _count(key: Key, value: object) -> Value:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"expected a whole number, {allowed(key)}")
    return _ranged(key, value)


def _time(key: Key, value: object) -> Value:
    if not isinstance(value, str):
        raise ValueError(f'expected a time with a unit, such as "75 s": {allowed(key)}')
    return _ranged(key, time_ns(value))


def _size(key: Key, value: object) -> Value:
    if not isinstance(value, str):
        raise ValueError(f'expected a size with a unit, such as "1 MiB": {allowed(key)}')
    return _ranged(key, size_bytes(value))


def _cost(key: Key, value: object) -> Value:
    if not isinstance(value, str):
        raise ValueError(f"expected {allowed(key)}")
    if not is_rate(value):
        return Cost(_ranged(key, time_ns(value)), None)
    rate = rate_bytes_per_s(value)
    if not 1000 <= rate <= 10**15:
        raise ValueError("expected a rate of 1 kB/s to 1000 TB/s")
    return Cost(None, rate)


def _share(key: Key, value: object) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | float) or not key.low <= value <= key.high:
        raise ValueError(f"expected a share, {allowed(key)}")
    return float(value)


def _flag(key: Key, value: object) -> Value:
    if not isinstance(value, bool):
        raise ValueError(f"expected {allowed(key)}")
    return value


def _word(key: Key, value: object) -> Value:
    if not isinstance(value, str) or value not in key.words:
        raise ValueError(f"expected {allowed(key)}" + (near(value, key.words) if isinstance(value, str) else ", in quotes"))
    return value


def _text(key: Key, value: object) -> Value:
    if not isinstance(value, str):
        raise ValueError("expected text in quotes")
    return value


def _names(key: Key, value: object) -> Value:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValueError(f"expected {allowed(key)}")
    if not value:
        raise ValueError(f"expected at least one: {allowed(key)}")
    return tuple(value)


def _date(key: Key, value: object) -> Value:
    try:
        stamp = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        stamp = None
    if not isinstance(stamp, datetime) or stamp.tzinfo is None:
        raise ValueError(f"expected {allowed(key)}, with its zone")
    return _ranged(key, (stamp - _EPOCH) // timedelta(microseconds=1) * 1000)


_PARSERS: dict[Kind, Callable[[Key, object], Value]] = {
    Kind.COUNT: _count,
    Kind.TIME: _time,
    Kind.SIZE: _size,
    Kind.COST: _cost,
    Kind.SHARE: _share,
    Kind.FLAG: _flag,
    Kind.WORD: _word,
    Kind.TEXT: _text,
    Kind.NAMES: _names,
    Kind.DATE: _date,
}
