"""Load one section of lnetctl's YAML and flatten it. PyYAML is imported when the first text comes: most agents never need it."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from lnetstat.errors import ParseError, shown
from lnetstat.model import Problem
from lnetstat.tables._rows import CUT
from lnetstat.tables._split import lnetctl_sections, stray_line

LIVE = "nested by blanks as lnetctl prints it"
_DEEPEST, _MOST_VALUES, _LONGEST_LINE = 12, 5000, 1024  # real output stays far below
_NEVER_FIRST = tuple("[{&*!|>?%@`")  # how a flow list, an anchor, a tag or a block text begins
_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]{0,19})\Z", re.ASCII)
_REFUSAL = re.compile(r"^(?:show|add|del|set|configure|discover|ping|export|import|manage):[ \t]*\r?$", re.MULTILINE)
_ERRNO = re.compile(r"^.*\berrno:[ \t]*(-?[0-9]{1,6}).*$", re.MULTILINE)
_DESCR = re.compile(r"\bdescr:[ \t]*\"?([^\"\r\n]{0,200})")


class Section(NamedTuple):
    """The value of one top-level key: a list, a mapping, a word, or None; what was wrong with its text."""

    value: Any
    line: int
    problems: tuple[Problem, ...]


def refused_section(text: str) -> str:
    """Return the section that an error document is about (`show:` / `- net:` / errno), or nothing."""
    head = text[:4096].removeprefix("\ufeff").lstrip()
    if not _REFUSAL.match(head) or not _ERRNO.search(head):
        return ""
    about = re.search(r"^\s*-\s+([a-z]+):[ \t]*\r?$", head, re.MULTILINE)
    return about[1] if about else ""


def sections(table: str, text: str, keys: tuple[str, ...]) -> dict[str, list[Section]]:
    """Load the sections called `keys` of a text of lnetctl; ParseError where there is none, it is an error message, or it is no YAML."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    _check(table, plain, keys)
    found: dict[str, list[Section]] = {}
    for key, line, section in lnetctl_sections(plain):
        if key in keys:
            found.setdefault(key, []).append(_load(table, key, section, line))
    if not found:
        first = next((line for line in plain.split("\n") if line.strip()), "")
        nothing = "" if first else ": the text is empty, lnetctl did not answer or LNet is down"
        raise ParseError(table, 1, first, f"lnetctl's section '{keys[0]}:'{nothing}")
    return found


def _check(table: str, text: str, keys: tuple[str, ...]) -> None:
    refusal = _ERRNO.search(text) if refused_section(text) or _REFUSAL.match(text.lstrip()) else None
    if refusal:
        described = _DESCR.search(text)
        why = described[1] if described else "no description"
        at = text.count("\n", 0, refusal.start()) + 1
        down = "LNet is down (start it with `lnetctl lnet configure`)" if refusal[1] == "-100" else "lnetctl failed"
        raise ParseError(table, at, refusal[0].strip(), f"the section '{keys[0]}:', but {down}: {why}")
    for number, line in enumerate(text.split("\n"), 1):
        wrong = _why_not(line)
        if wrong:
            raise ParseError(table, number, line, f"output {LIVE}: {wrong}; capture it anew")
    stray = stray_line(text)
    if stray:
        wrong = "this line stands at the left margin and is no section, so the levels are lost"
        raise ParseError(table, stray, text.split("\n")[stray - 1], f"output {LIVE}: {wrong}; capture it anew")


def _why_not(line: str) -> str:
    """Return why a line cannot be lnetctl's, or nothing. What it never prints is refused: libyaml's own recursion can end the process."""
    if len(line) > _LONGEST_LINE:
        return f"no line of it has {_LONGEST_LINE} characters"
    text = line.lstrip(" -\t")
    if "\t" in line[: len(line) - len(text)]:
        return "here a TAB indents, so the levels are lost"
    if text[:1] in _NEVER_FIRST or text.partition(":")[2].lstrip()[:1] in _NEVER_FIRST:
        return "it has no lists in brackets, no references and no tags"
    return ""


def _load(table: str, key: str, text: str, line: int) -> Section:
    """Load one section. A text cut in mid-line is tried without its last line before it is given up."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every scalar stays text: no date, no base-60 number, no `no` that is False
    cut = () if text.endswith("\n") else (Problem(line + text.count("\n"), shown(text.rsplit("\n", 1)[-1]), CUT),)
    for attempt in (text, text.rsplit("\n", 1)[0] + "\n") if cut else (text,):
        try:
            value = yaml.load(attempt, Loader=loader)[key]  # noqa: S506  # a base loader makes text, lists and mappings only
        except (yaml.YAMLError, ValueError, RecursionError, TypeError, KeyError) as error:
            failure = error
        else:
            return Section(value, line, cut + _written_over(attempt, {key: value}, line))
    mark = getattr(failure, "problem_mark", None) or getattr(failure, "context_mark", None)
    at = min(mark.line if mark else 0, text.count("\n"))
    what = getattr(failure, "problem", None) or "not understood"
    raise ParseError(table, line + at, text.split("\n")[at], f"YAML {LIVE} ({what}); capture it anew")


def _written_over(text: str, value: Any, line: int) -> tuple[Problem, ...]:
    """Return a problem where a key stands twice in one mapping: YAML keeps the last one and says nothing."""
    printed = sum(1 for line in text.split("\n") if ":" in line.lstrip(" -")[1:])
    loaded, waiting = 0, [value]
    while waiting:
        inner = waiting.pop()
        loaded += len(inner) if isinstance(inner, dict) else 0
        waiting += inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
    if loaded >= printed:
        return ()
    return (
        Problem(line, shown(text.split("\n", 1)[0]), f"each key once: {printed - loaded} of {printed} were written over by a later one"),
    )


def flatten(value: Any) -> dict[str, str]:
    """Return {dotted key: text} of nested mappings and lists; ValueError when it is deeper or larger than any output of lnetctl."""
    flat: dict[str, str] = {}
    for name, word in _leaves(value, "", 0):
        flat[name] = word
        if len(flat) > _MOST_VALUES:
            raise ValueError(f"at most {_MOST_VALUES} values in one entry")
    return flat


def _leaves(value: Any, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST:
        raise ValueError(f"at most {_DEEPEST} levels")
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{prefix}.{key}" if prefix else str(key), depth + 1)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _leaves(inner, f"{prefix}.{at}" if prefix else str(at), depth + 1)
    elif value not in ("", None):  # `lnd tunables:` without a value is an empty mapping
        yield prefix, str(value)


def whole(word: str | None) -> int | None:
    """Return the number, None where there is none; True and False are 1 and 0. ValueError for other words."""
    if word is None:
        return None
    if word in ("True", "true", "False", "false"):
        return int(word in ("True", "true"))
    if not _INTEGER.match(word):
        raise ValueError(f"a whole number where {shown(word)} stands")
    return int(word)


def signed(word: str | None) -> int | None:
    """Return a 32-bit number with its sign: lnetctl of 2.17.0 prints the credits -63 as 4294967233."""
    number = whole(word)
    return number - 2**32 if number is not None and 2**31 <= number < 2**32 else number


def entries(section: Section) -> list[Any]:
    """Return the section's list; a single mapping counts as a list of one, nothing as an empty list."""
    if section.value in ("", None):
        return []
    return section.value if isinstance(section.value, list) else [section.value]
