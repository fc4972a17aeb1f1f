"""lnet.ph takes only changed lines of `peers` apart: whatever comes, goes or is damaged, it says what lnetstat/reduce says of the text."""

import os
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lnetstat.model import State
from lnetstat.reduce import Reducer
from lnetstat.reduce.peers import totals, worst
from lnetstat.sources.live import LiveSource
from lnetstat.tables.peers import TEN_HEADER, parse
from tests.collectors.conftest import MODULES

STEPS = 50
NINE_HEADER = "%-24s %4s %5s %5s %5s %5s %5s %5s %s\n" % ("nid", "refs", "state", "max", "rtr", "min", "tx", "min", "queue")
Row = tuple[int | str, ...]


class Lnet:
    """lnet.ph in a perl of its own, asked sample by sample."""

    def __init__(self, tree: Path) -> None:
        command = ["perl", "-w", Path(__file__).with_name("scan.pl"), MODULES / "lnet.ph", tree]
        self.tree = tree
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def put(self, text: str) -> None:
        (self.tree / "new").write_bytes(text.encode("utf-8", "surrogateescape"))
        os.replace(self.tree / "new", self.tree / "peers")

    def ask(self, word: str) -> list[str]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return [line.rstrip("\n") for line in iter(self.process.stdout.readline, "end\n") if line]

    def close(self) -> None:
        _, complaints = self.process.communicate()
        told = re.compile(r"lnet\.ph: peers: (?:lines that cannot be read: [0-9]+; the rest is used|whole again)")
        assert [line for line in complaints.splitlines() if not told.fullmatch(line)] == []


@pytest.fixture
def lnet(tmp_path: Path) -> Iterator[Lnet]:
    made = Lnet(tmp_path)
    yield made
    made.close()


def row_of(rng: random.Random, nid: str) -> Row:
    limit = rng.choice([0, 2, 8, 8, 16])
    tx = rng.choice([limit] * 5 + [limit - 1, 0, -1, rng.randint(-30, limit)]) if limit else 0
    rtr = rng.choice([8, 8, -3, rng.randint(-20, 8)])
    queue = 0 if tx == limit else rng.choice([72, 1048648, rng.randint(0, 2**31 - 1)])
    low = min(tx, rng.choice([limit, -1, rng.randint(-40, 8)]))
    return (
        nid,
        rng.randint(1, 9),
        rng.choice(["up", "down", "NA", "~rtr"]),
        -1,
        limit,
        rtr,
        min(rtr, rng.choice([0, -4, 8])),
        tx,
        low,
        queue,
    )


def peer(number: int) -> str:
    return f"10.{number // 65536}.{number // 256 % 256}.{number % 256}@{('tcp', 'o2ib1', 'tcp7')[number % 3]}"


def tables(rng: random.Random, *, damage: bool) -> Iterator[str]:
    """Yield texts of `peers` as they follow each other: rows change, peers come, go and move, the text is damaged or of Lustre 1.8."""
    rows = [row_of(rng, peer(number)) for number in range(rng.choice([0, 1, 3, 17, 60, 400]))]
    new = len(rows)
    for _ in range(STEPS):
        for _ in range(rng.choice([0, 0, 1, 2, 5, max(1, len(rows) // 3)]) if rows else 0):
            at = rng.randrange(len(rows))
            rows[at] = row_of(rng, str(rows[at][0]))
        what = rng.random()
        if what < 0.15:
            rows.insert(rng.randint(0, len(rows)), row_of(rng, peer(new)))
            new += 1
        elif what < 0.3 and rows:
            rows.pop(rng.randrange(len(rows)))
        elif what < 0.33:
            rows = []
        elif what < 0.36:
            rng.shuffle(rows)
        elif what < 0.4:
            rows += [row_of(rng, peer(new + more)) for more in range(100)]
            new += 100
        nine = rng.random() < 0.05
        text = "".join("%-24s %4d %5s %5d %5d %5d %5d %5d %5d %d\n" % row for row in rows)
        if nine:
            text = "".join("%-24s %4d %5s %5d %5d %5d %5d %5d %d\n" % (*row[:3], *row[4:]) for row in rows)
        text = (NINE_HEADER if nine else TEN_HEADER) + text
        if damage and rng.random() < 0.1:
            at = rng.randint(0, len(text) - 1)
            text = rng.choice([text[:at], text[:at] + rng.choice("x\n@ -é\t") + text[at + 1 :], text[:at] + text[at:].replace(" ", "", 1)])
        yield text


@pytest.mark.parametrize("seed", range(6))
def test_what_changes_is_what_the_agent_sees(lnet: Lnet, seed: int) -> None:
    rng = random.Random(seed)
    source, reducer = LiveSource(str(lnet.tree), host="h"), Reducer("h", series_max=10**6)
    try:
        for text in tables(rng, damage=True):
            lnet.put(text)
            found = dict(line.rsplit(" ", 1) for line in lnet.ask("sample") if line.startswith("peers."))
            for snapshot in source.tick():
                reducer.add(snapshot)
            wanted = {point.path.removeprefix("lnet.h."): point.value for point in reducer.points()}
            assert {path: float(value) for path, value in found.items()} == wanted, text
    finally:
        source.close()


@pytest.mark.parametrize("seed", range(3))
def test_parts_cut_anywhere_and_broken_scans_lose_nothing(lnet: Lnet, seed: int) -> None:
    rng = random.Random(100 + seed)
    for text in tables(rng, damage=False):
        lnet.put(text)
        rows = parse(text).rows
        found = lnet.ask(f"parts {rng.randrange(10**6)}")
        nets = totals(rows)
        limits = {net: sum(row.tx_credits_max for row in rows if row.nid.endswith("@" + net)) for net in nets}
        lines = [
            " ".join("-" if value is None else str(value) for value in (net, *total[:-1], *total.buckets, limits[net]))
            for net, total in sorted(nets.items())
        ]
        of = {row.nid: row for row in rows}
        for each in worst(rows, 16):
            row = of[each.nid]
            numbers = row.tx_credits_max, row.rtr_credits, row.rtr_credits_min, row.tx_credits, row.tx_credits_min, row.queue_bytes
            lines.append(f"{each.nid} {' '.join(map(str, numbers))}")
        assert found == lines


def test_a_scan_that_broke_off_sends_what_the_agent_sends(lnet: Lnet) -> None:
    rng = random.Random(7)
    rows = [row_of(rng, peer(number)) for number in range(40)]
    lnet.put(TEN_HEADER + "".join("%-24s %4d %5s %5d %5d %5d %5d %5d %5d %d\n" % row for row in rows))
    (lnet.tree / "routes").write_text(
        "Routing enabled\nnet      hops priority   state router\ntcp1       -1        0    down 10.0.0.1@tcp\n"
    )
    found = dict(line.rsplit(" ", 1) for line in lnet.ask("partial") if not line.startswith("self."))
    source, reducer = LiveSource(str(lnet.tree), host="h", names=("peers", "routes")), Reducer("h", series_max=10**6)
    try:
        for snapshot in source.tick():
            reducer.add(snapshot._replace(state=State.PARTIAL))
    finally:
        source.close()
    wanted = {point.path.removeprefix("lnet.h."): point.value for point in reducer.points()}
    assert {path: float(value) for path, value in found.items()} == wanted
    assert "peers.tcp.tx_credits_worst" in wanted
    assert "peers.tcp.count" not in wanted


LAYOUTS: list[Callable[[Row], str]] = [
    lambda row: "%-24s %4d %5s %5d %5d %5d %5d %5d %5d %d\n" % row,
    lambda row: "%s %d %s %d %d %d %d %d %d %d\n" % row,  # not the kernel's own widths
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_thousands_of_peers_that_are_alike(lnet: Lnet, layout: Callable[[Row], str]) -> None:
    rows: list[Row] = [(peer(number), 1, "NA", -1, 8, 8, 8, 8, 8, 0) for number in range(3000)]
    text = TEN_HEADER + "".join(map(layout, rows))
    lnet.put(text)
    tops = {line.split(".")[3] for line in lnet.ask("sample") if ".top." in line}
    assert len(tops) == 16
    assert tops == {each.nid.replace(".", "_").replace("@", "_at_") for each in worst(parse(text).rows, 16)}
