"""The project's pages, read as Markdown: their links, their anchors, the commands in them."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "collectors").rglob("*.md"), ROOT / "sample-data" / "README.md"])
_OPERATORS = {"&", "&&", "|", ">", ">>", "<", "<(", "(", ")", ";", "\n"}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@cache
def tokens(page: Path) -> list[Token]:
    """Return all tokens of a page, those inside of paragraphs and headings included."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        found += [token, *(token.children or ())]
    return found


def links(page: Path) -> list[str]:
    """Return where links and images of a page lead, as they are written."""
    return [str(target) for token in tokens(page) if (target := token.attrGet("href") or token.attrGet("src"))]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the usual viewers of Markdown make them."""
    found: set[str] = set()
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


def command_lines(page: Path) -> Iterator[list[str]]:
    """Yield the words behind `lnetstat` of each command in a page's blocks, and of code in its text that is one.

    A comment stands behind a # or two blanks; pipes and the like divide commands; what continues behind a \\ is one line.
    """
    for token in tokens(page):
        if token.type in ("code_block", "fence") and token.info.strip() not in ("text", "toml", "json"):
            for line in token.content.replace("\\\n", " ").splitlines():
                if re.search(r"(?:^|[ (/])lnetstat [a-z]", line):
                    yield from _commands(line)
        elif token.type == "code_inline" and re.match(r"lnetstat [a-z]+", token.content):
            yield from _commands(token.content)


def _commands(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(re.split(r"\s{2,}(?=[^-\s])|\s#\s", line.strip())[0], posix=True, punctuation_chars="&|;<>()")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in _OPERATORS:
            words.append(word)
            continue
        places = [place for place, each in enumerate(words) if each == "lnetstat" or each.endswith("bin/lnetstat")]
        if places:
            yield words[places[0] + 1 :]
        words = []
