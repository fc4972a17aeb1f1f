"""Read a header-and-rows text tolerantly: the header words are the schema, white space separates, nothing is lost silently."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lnetstat.errors import ParseError, shown
from lnetstat.model import Parsed, Problem

_NUMBER = re.compile(r"-?[0-9]+\Z", re.ASCII)
_HOST = r"[0-9A-Za-z.:_-]{1,60}"
NID_BEFORE_NET = rf"(?:U?[0-9]+-)?{_HOST}@"
_NID = re.compile(NID_BEFORE_NET + r"[a-z][a-z0-9]*\Z", re.ASCII)
CUT = "a line end: the row is kept, but its last number may be cut"
LONGEST_LINE = 4096  # the kernel's longest row has some 130 characters: a longer line is no row


class Layout(NamedTuple):
    """One header form: its words, and the releases that print it."""

    name: str
    words: tuple[str, ...]


class TableText(NamedTuple):
    """A text taken apart: its layout, names of unknown extra columns, the rows as (line number, words), and what was skipped."""

    layout: Layout
    extra: tuple[str, ...]
    header_seen: bool
    rows: list[tuple[int, list[str]]]
    problems: list[Problem]


def read_table(table: str, text: str, layouts: Sequence[Layout], starts_row: Callable[[str], bool], first_line: int = 1) -> TableText:
    """Split `text` into rows of one of `layouts`.

    Where the header is missing, the width of the first row decides. A row that was wrapped over two lines is joined again; a row that was
    cut short is a problem, and so is a last row without a line end, whose number may be cut. Raises ParseError when the text has neither a
    header nor a row.
    """
    lines = _lines(text)
    found = _find_header(lines, layouts)
    problems: list[Problem] = []
    extra: tuple[str, ...]
    if found is None:
        layout, extra, body = _layout_by_width(table, lines, layouts, starts_row, first_line), (), lines
    else:
        at, layout, extra = found
        body = lines[at + 1 :]
        problems += [Problem(first_line + n - 1, shown(line), "the header line first") for n, line in lines[:at] if line.strip()]
    width = len(layout.words) + len(extra)
    complete = text.endswith(("\n", "\r"))
    rows = list(_join_rows(body, width, starts_row, problems, first_line))
    if rows and not complete and body and rows[-1][0] == first_line + body[-1][0] - 1:
        problems.append(Problem(rows[-1][0], shown(" ".join(rows[-1][1])), CUT))
    return TableText(layout, extra, found is not None, rows, problems)


def parse_table(
    table: str,
    text: str,
    layouts: Sequence[Layout],
    starts_row: Callable[[str], bool],
    make_row: Callable[[list[str], Layout, tuple[str, ...], int], Any],
    expected: str,
    first_line: int = 1,
) -> Parsed:
    """Parse a whole text. `make_row(words, layout, extra names, number)` gives a row, or ValueError for a bad one, which becomes a problem.

    `number`: how many rows with the same first word stood before. The fact `header` is "missing" where the width of a row had to tell.
    """
    found = read_table(table, text, layouts, starts_row, first_line)
    numbers = numbered([words[0] for _, words in found.rows])
    rows, problems = [], found.problems
    for (line, words), number in zip(found.rows, numbers, strict=True):
        try:
            rows.append(make_row(words, found.layout, found.extra, number))
        except ValueError:
            problems.append(Problem(line, shown(" ".join(words)), expected))
    if problems and not rows:
        first = min(problems)
        raise ParseError(table, first.line, first.text.strip("'"), first.expected)
    facts: dict[str, int | str] = {} if found.header_seen else {"header": "missing"}
    return Parsed(tuple(rows), found.layout.name, facts, tuple(sorted(problems)))


def _lines(text: str) -> list[tuple[int, str]]:
    return [
        (n, line) for n, line in enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), 1) if line and not line.isspace()
    ]


def _find_header(lines: list[tuple[int, str]], layouts: Sequence[Layout]) -> tuple[int, Layout, tuple[str, ...]] | None:
    """Return (position, layout, extra column names) of the first line whose words begin with a layout's words; the longest layout wins."""
    for at, (_, line) in enumerate(lines[:8]):
        words = tuple(line[:LONGEST_LINE].split())
        for layout in sorted(layouts, key=lambda candidate: -len(candidate.words)):
            if words[: len(layout.words)] == layout.words:
                return at, layout, words[len(layout.words) :]
    return None


def _layout_by_width(
    table: str, lines: list[tuple[int, str]], layouts: Sequence[Layout], starts_row: Callable[[str], bool], first_line: int
) -> Layout:
    headers = " or ".join("'" + " ".join(layout.words) + "'" for layout in layouts)
    if not lines:
        raise ParseError(table, first_line, "", f"the header {headers}: the text is empty")
    for _, line in lines:
        words = line[:LONGEST_LINE].split()
        for layout in layouts:
            if words and len(words) == len(layout.words) and starts_row(words[0]):
                return layout
    number, line = lines[0]
    raise ParseError(table, first_line + number - 1, line, f"the header {headers}")


def _join_rows(
    lines: list[tuple[int, str]], width: int, starts_row: Callable[[str], bool], problems: list[Problem], first_line: int
) -> Iterator[tuple[int, list[str]]]:
    pending: tuple[int, list[str]] | None = None
    for number, line in lines:
        at = first_line + number - 1
        words = line.split() if len(line) <= LONGEST_LINE else []
        if pending and words and len(pending[1]) + len(words) == width and not starts_row(words[0]):
            yield pending[0], pending[1] + words
            pending = None
            continue
        if pending:
            problems.append(Problem(pending[0], shown(" ".join(pending[1])), f"{width} columns"))
            pending = None
        if len(words) == width:
            yield at, words
        elif 0 < len(words) < width and starts_row(words[0]):
            pending = (at, words)
        else:
            problems.append(Problem(at, shown(line), f"{width} columns"))
    if pending:
        problems.append(Problem(pending[0], shown(" ".join(pending[1])), f"{width} columns"))


def integer(word: str) -> int:
    """Return a plain decimal integer; ValueError for anything that int() would forgive (underscores, plus signs, other scripts)."""
    if not _NUMBER.match(word):
        raise ValueError(word)
    return int(word)


def is_nid(word: str) -> bool:
    """True for the text of a NID: 10.0.0.7@o2ib, 12@gni, fd00::1@tcp, 0@lo, also with a process id before it (12345-10.0.0.1@tcp)."""
    return _NID.match(word) is not None


def extra_of(names: tuple[str, ...], words: Sequence[str]) -> Mapping[str, str]:
    """Return the unknown columns of a row by their header words."""
    return dict(zip(names, words, strict=False)) if names else {}


def numbered(keys: Sequence[str]) -> list[int]:
    """Return for each key how often it stood before: it tells the rows of one NID apart, which has a row per CPT and no CPT column."""
    if len(set(keys)) == len(keys):
        return [0] * len(keys)
    seen: dict[str, int] = {}
    numbers = []
    for key in keys:
        numbers.append(seen.get(key, 0))
        seen[key] = numbers[-1] + 1
    return numbers
