"""The project's pages, read as Markdown, and the commands in them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from lnetstat.cli import _links
from lnetstat.cli._links import tokens

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = _links.pages(ROOT)
_OPERATORS = {"&", "&&", "|", ">", ">>", "<", "<(", "(", ")", ";", "\n"}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


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
