"""Judge figures by their thresholds, and say it as the guidelines want it: one line, perfdata, then a line for each thing."""

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lnetstat.check.kinds import KINDS, Figure, Kind, Thresholds
from lnetstat.check.ranges import Range
from lnetstat.words import printable

SCHEMA = 1
MOST_HOSTS = 5


class Level(enum.IntEnum):
    """The guidelines' exit statuses."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


# As `doctor` weighs them: what is known to be broken outweighs what could not be looked at, and that a warning.
_BY_WEIGHT = (Level.OK, Level.WARNING, Level.UNKNOWN, Level.CRITICAL)


class Result(NamedTuple):
    """One kind over all hosts: the level, and the figure that is told. `perfdata`: whether the figure has a value."""

    kind: Kind
    level: Level
    figure: Figure
    words: str
    thresholds: Thresholds


def worst_of(levels: Iterable[Level]) -> Level:
    return max(levels, key=_BY_WEIGHT.index, default=Level.UNKNOWN)


def results_of(
    figures: Iterable[Figure], wanted: Sequence[str], thresholds: Mapping[str, Thresholds], *, age_s_max: float | None = None
) -> list[Result]:
    """Return one result for each wanted kind that any host has something to say of, in the order of KINDS.

    Data that are too old are told whatever is wanted: nothing that they say holds now.
    """
    found: dict[str, list[Figure]] = {}
    for figure in figures:
        found.setdefault(figure.name, []).append(figure)
    results = []
    for kind in KINDS:
        if kind.name not in found:
            continue
        result = _result(kind, found[kind.name], thresholds[kind.name], age_s_max)
        if kind.name in wanted or (kind.name == "data_age" and result.level is not Level.OK):
            results.append(result)
    return results


def _result(kind: Kind, figures: list[Figure], thresholds: Thresholds, age_s_max: float | None) -> Result:
    judged = [(_level(kind, figure, thresholds, age_s_max), figure) for figure in figures]
    level = worst_of(each for each, _ in judged)
    told = [figure for each, figure in judged if each is level]
    first, *others = _worst_first(kind, told)
    words = _words(kind, first)
    if others and level is not Level.OK:
        more = f" and {len(others) - MOST_HOSTS} more hosts" if len(others) > MOST_HOSTS else ""
        words += f"; likewise {', '.join(f'{each.host} {_value(kind, each)}'.rstrip() for each in others[:MOST_HOSTS])}{more}"
    return Result(kind, level, first, words, thresholds)


def _level(kind: Kind, figure: Figure, thresholds: Thresholds, age_s_max: float | None) -> Level:
    if figure.value is None:
        return Level.UNKNOWN if figure.unread else Level.OK
    if thresholds.crit and thresholds.crit.alerts(figure.value):
        return Level.CRITICAL
    if figure.unread or (kind.name == "data_age" and age_s_max is not None and figure.value > age_s_max):
        return Level.UNKNOWN
    if thresholds.warn and thresholds.warn.alerts(figure.value):
        return Level.WARNING
    return Level.OK


def _worst_first(kind: Kind, figures: list[Figure]) -> list[Figure]:
    """Return several hosts' figures, the worst first; those without a value at the end."""
    sign = 1 if kind.lowest else -1
    return sorted(figures, key=lambda figure: (figure.value is None, sign * (figure.value or 0.0), figure.host))


def _value(kind: Kind, figure: Figure) -> str:
    return "" if figure.value is None else f"{number(figure.value)}{kind.uom and ' ' + kind.uom}"


def _words(kind: Kind, figure: Figure) -> str:
    if figure.value is None:
        return f"{figure.host}: {figure.why}" if figure.host else figure.why
    where = f" on {figure.host}" if figure.host else ""
    inside = ", ".join(part for part in (figure.words, figure.why) if part)
    return f"{_value(kind, figure)}{where}{f' ({inside})' if inside else ''}"


def number(value: float) -> str:
    """Return a number as perfdata may hold it: plain decimals, no exponent."""
    text = f"{value:.3f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"
    return "0" if text == "-0" else text


def label(name: str) -> str:
    """Return a quoted perfdata label: no `=`, no control characters, `'` doubled."""
    clean = printable(name).replace("=", "_").replace("|", "_").replace("'", "''")
    return f"'{clean}'"


def perfdata(results: Iterable[Result]) -> str:
    """Return 'label'=value[UOM];warn;crit;min;max of every result, U where there is no value that could be known."""
    parts = []
    for result in results:
        value, kind = result.figure.value, result.kind
        if value is None and not result.figure.unread:
            continue  # this node has no such thing
        shown = "U" if value is None else f"{number(value)}{kind.uom}"
        least = "" if kind.lowest else "0"
        most = "" if result.figure.limit is None else number(result.figure.limit)
        fields = [shown, _text(result.thresholds.warn), _text(result.thresholds.crit), least, most]
        parts.append(f"{label(kind.name)}={';'.join(fields).rstrip(';')}")
    return " ".join(parts)


def _text(found: Range | None) -> str:
    return found.text if found else ""


def plain(text: str) -> str:
    """Return text that cannot end the line, nor begin perfdata."""
    return printable(text).replace("|", "¦")


def line_of(results: Sequence[Result], what: str) -> str:
    """Return the first line: status, what is wrong or what was looked at, perfdata."""
    level = worst_of(result.level for result in results)
    wrong = sorted((each for each in results if each.level is not Level.OK), key=lambda each: -_BY_WEIGHT.index(each.level))
    if wrong:
        words = "; ".join(f"{each.kind.name} {each.words}" for each in wrong)
    else:
        valued = [each for each in results if each.figure.value is not None]
        words = f"{what}: nothing alarming in {len(valued)} figures" if valued else f"{what}: nothing to look at"
    measured = perfdata(results)
    return f"LNET {level.name}: {plain(words)}" + (f" | {measured}" if measured else "")


def text_of(results: Sequence[Result], what: str, notes: Sequence[str] = ()) -> str:
    """Return everything: the line, then one for each result, then notes."""
    details = [plain(f"{each.level.name}: {each.kind.name}: {each.words}") for each in results]
    return "\n".join([line_of(results, what), *details, *map(plain, notes)])


def as_json(results: Sequence[Result], source: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Return what `check --json` prints; SCHEMA_OF_JSON describes it."""
    return {
        "schema": SCHEMA,
        "source": source,
        "status": worst_of(result.level for result in results).name,
        "checks": [
            {
                "check": each.kind.name,
                "level": each.level.name,
                "host": each.figure.host,
                "value": each.figure.value,
                "unit": each.kind.uom,
                "what": each.words,
                "warn": _text(each.thresholds.warn),
                "crit": _text(each.thresholds.crit),
            }
            for each in results
        ],
        "notes": list(notes),
    }


_STRING = {"type": "string"}
_LEVELS = {"enum": [level.name for level in Level]}
SCHEMA_OF_JSON: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "lnetstat check --json",
    "type": "object",
    "required": ["schema", "source", "status", "checks", "notes"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": SCHEMA},
        "source": {**_STRING, "description": "what was looked at"},
        "status": {**_LEVELS, "description": "CRITICAL before UNKNOWN before WARNING before OK; the exit status"},
        "checks": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["check", "level", "host", "value", "unit", "what", "warn", "crit"],
                "additionalProperties": False,
                "properties": {
                    "check": {"enum": [kind.name for kind in KINDS]},
                    "level": _LEVELS,
                    "host": {**_STRING, "description": "the host that is told: the worst"},
                    "value": {"type": ["number", "null"], "description": "null: absent here, or not known; `what` says which"},
                    "unit": {"enum": sorted({kind.uom for kind in KINDS})},
                    "what": _STRING,
                    "warn": {**_STRING, "description": "range that it was judged by, empty for none"},
                    "crit": _STRING,
                },
            },
        },
        "notes": {"type": "array", "items": _STRING},
    },
}
