"""The sample configuration of the agent, taken apart: what lnetstat.toml(5) and docs/config.md are made of."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SAMPLE = Path(__file__).parents[2] / "collectors" / "lnetstat.toml"


class Block(NamedTuple):
    """Keys that stand together: `keys` as `name = value`, the `note` above them; the `section` and the `table` that begin with them."""

    section: str
    table: str
    keys: tuple[str, ...]
    note: str


def about(sample: str) -> Iterator[tuple[bool, list[str]]]:
    """Yield the words at the top of the file, without the path that they begin with: whether these lines are commands, and the lines."""
    lines = sample.strip().split("\n\n")[0].splitlines()
    first = lines[0].partition(": ")[2]
    lines = ["# " + first[:1].upper() + first[1:], *lines[1:]]
    for is_command, group in itertools.groupby(lines, lambda line: line.startswith("#    ")):
        yield is_command, [line.removeprefix("#").strip() for line in group]


def blocks(sample: str) -> Iterator[Block]:
    """Yield the rest: blocks of [TABLE], what a key does in comments, `key = value` with a # or without."""
    for text in sample.strip().split("\n\n")[1:]:
        section = table = ""
        keys, note = [], []
        for line in text.splitlines():
            if title := re.fullmatch(r"# ---- (.+) ----", line):
                section = title[1]
            elif name := re.fullmatch(r"\[(\w+)\]", line):
                table = name[1]
            elif key := re.fullmatch(r"(?:# )?(\w+ = .+)", line):
                keys.append(key[1])
            else:
                note.append(line.removeprefix("#").strip())
        yield Block(section, table, tuple(keys), " ".join(note))
