"""Where only the worst peers were recorded, numbers of peers come from the sums of all: the same as of whole tables."""

from pathlib import Path

import pytest

from lnetstat.analysis import Analysis, analyze
from lnetstat.frames import load
from lnetstat.model import Finding, Snapshot, State
from lnetstat.sources.collectl import CollectlSource
from tests.sources.raw_files import raw_text, write_raw

BEGIN_NS = 1_795_176_000 * 10**9
HEADER = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
PEERS = 30


def peer(number: int, *, tx: int = 8, low: int = 8, rtr: int = 8, rtr_low: int = 8, state: str = "up", net: str = "tcp1") -> str:
    return f"10.0.0.{number}@{net} 1 {state} -1 8 {rtr} {rtr_low} {tx} {low} 0\n"


def looked_at(folder: Path, row, *, top: int | None, rows: int = 0) -> Analysis:
    """Analyze 60 s in which peer `number` reads row(number, second); of each scan the `top` worst are recorded, of every `rows`th all."""
    texts = (HEADER + "".join(row(number, second) for number in range(PEERS)) for second in range(60))
    snaps = [Snapshot("peers", "rtr", BEGIN_NS + at * 10**9, None, 0, State.OK, 0, frozenset(), text) for at, text in enumerate(texts)]
    folder.mkdir(exist_ok=True)
    return analyze(load(CollectlSource(write_raw(folder, "rtr", raw_text(snaps, "rtr", top=top, rows=rows)))))


def finding(analysis: Analysis, kind: str) -> Finding:
    (found,) = (each for each in analysis.findings if each.kind == kind)
    return found


def short_ones(number: int, second: int) -> str:
    """Peer 0 waits for a while, 24 others did once, a mark tells; the last five never."""
    if number == 0:
        return peer(number, tx=-3 if 20 <= second < 30 else 8, low=-3 if second >= 20 else -1)
    return peer(number, low=-2 if number < 25 else 2)


@pytest.mark.parametrize("rows", [0, 20])
def test_how_many_ran_out_is_what_the_sums_say(tmp_path: Path, rows: int) -> None:
    whole = finding(looked_at(tmp_path / "whole", short_ones, top=None), "oversubscribed_peers")
    worst = finding(looked_at(tmp_path / "worst", short_ones, top=3, rows=rows), "oversubscribed_peers")
    assert whole.evidence["rows"] == worst.evidence["rows"] == 25
    assert not worst.evidence["rows_at_least"]
    assert "24 other peers ran out too (24 touched)" in whole.message
    assert "24 other peers ran out too (" in worst.message
    if not rows:
        assert "(of the 3 worst of them: 3 touched)" in worst.message
    assert worst.subject == whole.subject
    assert "-3 already before the record" not in worst.message, "a peer listed only later had its mark in the record"


def router_short(number: int, second: int) -> str:
    """Messages wait for buffers for two peers whose own credits are all free."""
    bad = number in (27, 28) and 20 <= second < 30
    return peer(number, low=3 if number < 10 else 8, rtr=-5 if bad else 8, rtr_low=-5 if number in (27, 28) and second >= 20 else 8)


def test_router_credits_that_only_the_sums_tell_of_are_told_with_their_network(tmp_path: Path) -> None:
    whole = looked_at(tmp_path / "whole", router_short, top=None)
    worst = looked_at(tmp_path / "worst", router_short, top=3)
    assert "No credits ran out" not in worst.verdict
    assert "(a peer of tcp1 on rtr)" in worst.verdict
    told = finding(worst, "oversubscribed_rtr_credits")
    known = finding(whole, "oversubscribed_rtr_credits")
    assert "a peer of tcp1 on rtr (which is not known: only the worst were recorded): 5 messages waited beyond its 8 router" in told.message
    assert told.evidence["fraction_time_oversubscribed"] == pytest.approx(known.evidence["fraction_time_oversubscribed"])
    assert (told.begin_ns, told.end_ns, told.severity) == (known.begin_ns, known.end_ns, known.severity)
    assert told.evidence["rows_at_least"]
    assert "No credits ran out" not in whole.verdict


def test_no_credits_ran_out_where_the_sums_say_so_too(tmp_path: Path) -> None:
    assert "No credits ran out" in looked_at(tmp_path, lambda number, _: peer(number, low=3), top=3).verdict


def down_ones(number: int, second: int) -> str:
    return peer(number, low=3 if number < 10 else 8, state="down" if number >= 25 and 15 <= second < 50 else "up")


def test_peers_that_are_down_and_not_listed_are_counted(tmp_path: Path) -> None:
    whole = finding(looked_at(tmp_path / "whole", down_ones, top=None), "peer_down")
    worst = finding(looked_at(tmp_path / "worst", down_ones, top=3), "peer_down")
    assert worst.subject == "tcp1 on rtr"
    assert "5 peers of tcp1 were down at once, seen from rtr, between" in worst.message
    assert worst.evidence["subjects"] == []
    assert whole.evidence["count"] == worst.evidence["count"] == 5
    assert (whole.begin_ns, whole.end_ns, whole.severity) == (worst.begin_ns, worst.end_ns, worst.severity)


def test_of_some_that_are_down_one_is_listed(tmp_path: Path) -> None:
    def rows(number: int, second: int) -> str:
        return peer(number, low=-1, state="down") if number == 29 else down_ones(number, second)

    worst = finding(looked_at(tmp_path, rows, top=3), "peer_down")
    assert worst.subject == "10.0.0.29@tcp1 on rtr"
    assert worst.evidence["count"] == 5
    assert "at least 4 other peers too" in worst.message
