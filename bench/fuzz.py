"""Feed mutated texts to every reader: each must give rows or one clear error, never a traceback. `fuzz.py [COUNT] [SEED]`."""

import random
import sys
import time
from pathlib import Path

from lnetstat.errors import LnetstatError, ParseError
from lnetstat.model import Snapshot, State
from lnetstat.reduce import Reducer
from lnetstat.tables import builtin_tables, parse, samples, split

SAMPLES = Path(__file__).parents[1] / "sample-data"
MARKS = [
    "\n",
    "\r\n",
    "\t",
    "\x00",
    "\ufeff",
    " ",
    "-",
    "=",
    ":",
    "[",
    "{",
    "&a",
    "*a",
    "9" * 40,
    "-1",
    "@",
    "\x1c",
    "\u0663",
    "\udc80",
    "_",
    "'",
]


def mutated(text: str, chance: random.Random) -> str:
    """Return the text cut, doubled, overwritten or mixed with itself in one to six places."""
    for _ in range(chance.randint(1, 6)):
        begin = chance.randint(0, len(text))
        end = min(len(text), begin + chance.choice((0, 1, 2, 8, 40, 400)))
        other = chance.randint(0, len(text))
        middle = chance.choice(
            (chance.choice(MARKS), text[begin:end] * 2, text[other : other + end - begin], "", chr(chance.randint(0, 255)))
        )
        text = text[:begin] + middle + text[end:]
    return text[: chance.randint(0, len(text))] if chance.random() < 0.3 else text


def try_all(name: str, text: str) -> None:
    """Read the text by its name, by its words, and as the agent does."""
    for part_name, part in split(name, text):
        for called in (part_name, ""):
            try:
                parse(called, part)
            except ParseError as error:
                if not str(error).isprintable() or len(str(error)) > 700:
                    raise AssertionError(f"not one clear line: {error!s:.300}") from error
    snapshot = Snapshot(name, "fuzz", 10**9, None, 0, State.OK, 0, frozenset(), text)
    for sample in samples(snapshot):
        if sample.state is State.FAILED and not sample.problems:
            raise AssertionError("failed without saying why")
    Reducer("fuzz").add(snapshot)


def main(count: int, seed: int) -> int:
    chance = random.Random(seed)
    seeds = [
        (path.name.partition("--")[0].replace("lnetctl_", "lnetctl ").replace("_show", " show"), path.read_text())
        for path in SAMPLES.glob("*/*--*.txt")
    ]
    names = [table.names[0] for table in builtin_tables().values()]
    began = time.monotonic()
    for number in range(count):
        name, text = chance.choice(seeds)
        text = mutated(text[:6000], chance)
        if chance.random() < 0.2:
            name = chance.choice(names)
        try:
            try_all(name, text)
        except (LnetstatError, Exception) as error:
            where = Path("fuzz-failure.txt")
            where.write_bytes(text.encode("utf-8", "surrogateescape"))
            print(f"input {number} of seed {seed}, read as {name}: {type(error).__name__}: {error}; the text is in {where}")
            raise
    print(f"{count:,} mutated texts, seed {seed}: rows or one clear error each; {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(int((sys.argv[1:] or ["100000"])[0]), int((sys.argv[2:] or ["1"])[0])))
