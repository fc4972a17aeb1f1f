"""`buffers`: a router's buffer pools. Beside `peers`; other nodes print the header only.

    pages count credits     min
        0   512     512     510
        1  4096    4096    4086
      256   256     256     254

The pools tiny (0 pages: messages without payload), small (one page: pings among them) and large (1 MiB, so 256 pages of 4 KiB or 16 of
64 KiB). Since 2.3 every pool has one row per CPT, pool after pool. Negative credits: so many messages wait for a buffer. While the pools
start, rows are torn: a CPT that is not built yet prints pages = 0 in the midst of another pool (lnet_debugfs.c: proc_lnet_buffers).
"""

from collections.abc import Mapping
from typing import NamedTuple

from lnetstat.errors import shown
from lnetstat.model import Column, Parsed, Problem, Reduce, Semantics, Table
from lnetstat.tables._rows import Layout, extra_of, integer, read_table

LAYOUT = Layout("buffers of Lustre 1.6-2.17 (4 columns)", ("pages", "count", "credits", "min"))
POOLS = ("tiny", "small", "large")


class BuffersRow(NamedTuple):
    pool: str
    row: int
    pages: int
    count: int  # type: ignore[assignment]  # the kernel's word hides tuple.count, which nobody calls on a row
    credits: int
    credits_min: int
    extra: Mapping[str, str] = {}


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def parse(text: str) -> Parsed:
    """Parse a whole `buffers` text. A text whose rows are torn (pools that start) gives no rows and one problem."""
    found = read_table("buffers", text, (LAYOUT,), _is_number)
    facts: dict[str, int | str] = {} if found.header_seen else {"header": "missing"}
    problems = found.problems
    numbers = []
    for line, words in found.rows:
        try:
            numbers.append((line, [integer(word) for word in words[:4]], extra_of(found.extra, words[4:])))
        except ValueError:
            problems.append(Problem(line, shown(" ".join(words)), "four signed whole numbers"))
    pools = _pools([values[0] for _, values, _ in numbers])
    if pools is None:
        facts["torn"] = 1
        line, words = found.rows[0]
        problems.append(
            Problem(
                line, shown(" ".join(words)), "three pools of as many rows each: the pools are being built (routing starts); read again"
            )
        )
        numbers, pools = [], []
    rows = tuple(
        BuffersRow(pool, row, values[0], values[1], values[2], values[3], more)
        for (pool, row), (_, values, more) in zip(pools, numbers, strict=True)
    )
    return Parsed(rows, LAYOUT.name, facts, tuple(sorted(problems)))


def _pools(pages: list[int]) -> list[tuple[str, int]] | None:
    """Return (pool, row) for each row, from its pages; None when the rows are not three equal pools in their order."""
    if not pages:
        return []
    names = []
    for value in pages:
        names.append("tiny" if value == 0 else "small" if value == 1 else "large")
    cpts, rest = divmod(len(pages), len(POOLS))
    if rest or names != [pool for pool in POOLS for _ in range(cpts)]:
        return None
    return [(pool, row) for pool in POOLS for row in range(cpts)]


def render(parsed: Parsed, layout: str) -> str:
    """Return the text that a kernel prints for the rows: the inverse of parse()."""
    lines = ["%5s %5s %7s %7s\n" % LAYOUT.words]
    lines += ["%5d %5d %7d %7d\n" % tuple(r[2:6]) for r in parsed.rows]
    return "".join(lines)


def looks_like(text: str) -> bool:
    return tuple(text.lstrip("\ufeff\r\n ").split("\n", 1)[0].split())[:4] == LAYOUT.words


table = Table(
    name="buffers",
    help="router buffers of every pool and CPT",
    names=("buffers", "lnet.buffers", "debugfs.lnet.buffers"),
    paths=("sys/kernel/debug/lnet/buffers", "proc/sys/lnet/buffers"),
    row=BuffersRow,
    key=("pool", "row"),
    columns=(
        Column("pool", Semantics.LABEL, "", Reduce.NONE, "tiny, small (one page) or large (1 MiB)"),
        Column("row", Semantics.LABEL, "", Reduce.NONE, "CPT number within the pool"),
        Column("pages", Semantics.LIMIT, "pages", Reduce.NONE, "pages of one buffer"),
        Column("count", Semantics.LIMIT, "buffers", Reduce.LAST, "buffers allocated"),
        Column("credits", Semantics.GAUGE, "buffers", Reduce.MIN, "buffers free; negative: messages waiting for one now"),
        Column("credits_min", Semantics.LOW_WATER, "buffers", Reduce.MIN, "lowest credits since the pool was made or resized"),
    ),
    looks_like=looks_like,
    parse=parse,
    render=render,
    layouts=(LAYOUT.name,),
)
