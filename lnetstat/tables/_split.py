"""Undo the wrappers that tools put around the kernel's text, before any table parses it.

`lctl get_param` prints `NAME=VALUE`, or `NAME=` and the text on the next lines; many parameters run together. sysctl(8) puts
`lnet.peers = ` before every line. `lnetctl export` prints several sections in one document. A plain text comes back as it is.
"""

import re
from collections.abc import Iterator

# A parameter's text is a table, also when it has one line, if its name ends so; else one line is one value, for the table `tunables`.
_TABLE_NAME = re.compile(r"(?:(?:^|[._])stats|(?:^|\.)(?:peers|nis|buffers|routes|routers|timeouts|req_history))\Z")
_PARAMETER = re.compile(
    r"^(?:([A-Za-z_][A-Za-z0-9_.@:+*<>/-]{0,200})=|(?=error: [gs]et_param: |error: list_param: ))", re.MULTILINE | re.ASCII
)
_COMPLAINT_ABOUT = re.compile(r"'([^'\n]{1,200})'")
_SYSCTL = re.compile(r"([a-z][\w-]{0,40}(?:\.[\w/-]{1,80}){1,8}) = ?(.*)", re.ASCII | re.DOTALL)
LNETCTL_SECTIONS = {
    "net": "lnetctl net show",
    "peer": "lnetctl peer show",
    "route": "lnetctl route show",
    "routing": "lnetctl routing show",
    "buffers": "lnetctl routing show",
    "statistics": "lnetctl stats show",
    "global": "lnetctl global show",
    "numa": "lnetctl global show",
}
_SECTION = re.compile(r"^(net|peer|route|routing|buffers|statistics|global|numa):[ \t]*\r?$", re.MULTILINE)
_LEFT_MARGIN = re.compile(r"^[^\s#-]", re.MULTILINE)  # a sequence's dash may stand at the left margin


def split(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of every parameter or section of a text; one-value parameters of a mixed text come together as `tunables`."""
    if "=" in text and not name.startswith("params."):  # our captures' lists of module parameters: `routes` is one of lnet's
        plain = text.removeprefix("\ufeff")
        first = next((line for line in plain[:65536].split("\n") if line.strip()), "")
        if _SYSCTL.match(first):
            yield from _sysctl_parameters(name, plain)
            return
        if _PARAMETER.match(first) or _begins_with_junk(plain):
            yield from _lctl_parameters(name, plain)
            return
    elif _SECTION.match(text.removeprefix("\ufeff").lstrip("\r\n")):
        yield from _lnetctl_documents(name, text)
        return
    yield name, text


def _begins_with_junk(text: str) -> bool:
    """True when a parameter whose name says that it is a table stands somewhere below other text, such as a shell's prompt."""
    return any(found[1] and "." in found[1] and _TABLE_NAME.search(found[1]) for found in _PARAMETER.finditer(text))


def _lctl_parameters(name: str, text: str) -> Iterator[tuple[str, str]]:
    starts = list(_PARAMETER.finditer(text))
    if head := text[: starts[0].start()].strip():
        yield name, head + "\n"
    values = []
    for at, start in enumerate(starts):
        body = text[start.end() : starts[at + 1].start() if at + 1 < len(starts) else len(text)]
        if start[1] is None:
            about = _COMPLAINT_ABOUT.search(body)
            yield (about[1] if about else name), body
        elif _is_one_value(start[1], body):
            values.append(f"{start[1]}={body.lstrip() if body.strip() else body}")
        else:  # lctl of some releases prints the name of an empty file too: its text is empty then
            yield start[1], re.sub(r"\A\r?\n", "", body) if body.strip() else ""
    if values:
        yield ("tunables" if len(values) < len(starts) else name), "".join(values)


def _is_one_value(parameter: str, body: str) -> bool:
    return "\n" not in body.strip() and not _TABLE_NAME.search(parameter)


def _sysctl_parameters(name: str, text: str) -> Iterator[tuple[str, str]]:
    parameters: dict[str, list[str]] = {}
    for line in text.splitlines(keepends=True):
        found = _SYSCTL.match(line)
        if found:
            parameters.setdefault(found[1], []).append(found[2])
        elif parameters:
            parameters[next(reversed(parameters))].append(line)
    values = []
    for parameter, lines in parameters.items():
        if len(lines) == 1 and not _TABLE_NAME.search(parameter):
            values.append(f"{parameter}={lines[0]}")
        else:
            yield parameter, "".join(lines)
    if values:
        yield ("tunables" if len(values) < len(parameters) else name), "".join(values)


def _lnetctl_documents(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Divide a document at its sections; one whose indentation is lost stays whole, so that there is one diagnostic and not many."""
    sections = lnetctl_sections(text)
    tables = {LNETCTL_SECTIONS[key] for key, _, _ in sections}
    if len(tables) < 2 or stray_line(text):
        yield name, text
        return
    merged: list[tuple[str, str]] = []
    for key, _, section in sections:
        if merged and key in ("buffers", "numa") and merged[-1][0] == LNETCTL_SECTIONS[key]:
            merged[-1] = (merged[-1][0], merged[-1][1] + section)  # the buffer totals belong to the routing section before them
        else:
            merged.append((LNETCTL_SECTIONS[key], section))
    yield from merged


def lnetctl_sections(text: str) -> list[tuple[str, int, str]]:
    """Return (key, 1-based number of its line, text) of each section that stands at the left margin."""
    starts = list(_SECTION.finditer(text))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    lines = (text.count("\n", 0, start.start()) + 1 for start in starts)
    return [(start[1], line, text[start.start() : end]) for start, line, end in zip(starts, lines, ends, strict=False)]


def stray_line(text: str) -> int:
    """Return the 1-based number of the first line that stands at the left margin and begins no section; 0 when there is none."""
    for found in _LEFT_MARGIN.finditer(text):
        if not _SECTION.match(text, found.start()):
            return text.count("\n", 0, found.start()) + 1
    return 0
