"""The links between the project's pages: `python -m lnetstat.cli._links ROOT` names each that leads nowhere and ends with status 1."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

OUTSIDE = ("https://", "http://", "mailto:")  # these are not asked for: pages are built offline


class Link(NamedTuple):
    """Where a link or an image leads, as it is written, and in which line."""

    target: str
    line: int


def pages(root: Path) -> list[Path]:
    """Return the pages of the project: those in docs/, in collectors/, at the top, and that of the sample data."""
    found = [*(root / "docs").rglob("*.md"), *root.glob("*.md"), *(root / "collectors").rglob("*.md"), root / "sample-data" / "README.md"]
    return sorted(page for page in found if page.exists())


def dead_links(page: Path, root: Path) -> list[str]:
    """Return a line, FILE:LINE: what, for each link of a page that leads nowhere or out of the project. Both paths are real ones."""
    return [f"{page.relative_to(root)}:{link.line}: {why}" for link in links(page) if (why := _why_dead(link.target, page, root))]


def _why_dead(target: str, page: Path, root: Path) -> str:
    """Return what is wrong with a link, or "". Of what is outside only the form is looked at."""
    if re.match(r"[a-z]+:", target):
        return "" if target.startswith(OUTSIDE) else f"'{target}' begins with none of {', '.join(OUTSIDE)}"
    file, _, anchor = unquote(target).partition("#")
    there = (page.parent / file).resolve() if file else page
    if not there.is_relative_to(root):
        return f"'{target}' leads out of the project"
    if not there.exists():
        return f"'{target}' leads to a file that is not there"
    if anchor and anchor not in anchors(there):
        return f"'{target}' leads to a heading that {there.name} does not have"
    return ""


def links(page: Path) -> Iterator[Link]:
    """Yield the links and images of a page, those in tables included."""
    line = 0
    for token in tokens(page):
        if token.map:
            line = token.map[0] + 1
        elif token.type in ("softbreak", "hardbreak"):
            line += 1
        if target := token.attrGet("href") or token.attrGet("src"):
            yield Link(str(target), line)


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the usual viewers of Markdown make them; none where it is no page."""
    found: set[str] = set()
    if page.suffix != ".md":
        return found
    for heading, inline in zip(tokens(page), tokens(page)[1:], strict=False):
        if heading.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            base = name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            number = 0
            while name in found:
                number += 1
                name = f"{base}-{number}"
            found.add(name)
    return found


@cache
def tokens(page: Path) -> list[Token]:
    """Return all tokens of a page, those inside of paragraphs and headings included."""
    found: list[Token] = []
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        found += [token, *(token.children or ())]
    return found


def main(root: Path) -> int:
    """Print what leads nowhere in the pages below `root`; return 1 where anything does, else 0."""
    root = root.resolve()
    dead = [line for page in pages(root) for line in dead_links(page, root)]
    for line in dead:
        print(line, file=sys.stderr)
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
