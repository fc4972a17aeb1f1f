"""What a simulated node's files say is what a kernel of that release would print, and incremental text is the plain text."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lnetstat.model import Parsed
from lnetstat.simulator.text.peers import PeersText
from lnetstat.simulator.text.services import service_text
from lnetstat.simulator.views import Counter, ServiceView
from lnetstat.tables import counters, peers

NS = 10**9
Column = NDArray[np.int64]


class Columns(NamedTuple):
    refs: Column
    rtr_max: Column
    rtr: Column
    rtr_min: Column
    tx_max: Column
    tx: Column
    tx_min: Column
    queue_bytes: Column


small, large = st.integers(-20_000, 70_000), st.integers(0, 2**33)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[Columns]]:
    """NIDs, and samples of their columns of which each changes some rows of the one before."""
    count = draw(st.integers(0, 12))
    nids = [draw(st.sampled_from([f"{row}@gni", f"10.0.0.{row}@o2ib", f"fd00::{row:x}:ffff:ffff:1@tcp1"])) for row in range(count)]
    rows = [[draw(small) for _ in range(7)] + [draw(large)] for _ in range(count)]
    samples = []
    for _ in range(draw(st.integers(1, 4))):
        for row in rows:
            if draw(st.booleans()):
                row[draw(st.integers(0, 6))] = draw(small)
                row[7] = draw(large)
        samples.append(Columns(*np.array(rows, np.int64).reshape(count, 8).T.copy()))
    return nids, samples


def plain(nids: list[str], columns: Columns, layout: str, last_s: list[int]) -> str:
    """The table module's own text of all rows, the queue as a C int."""
    rows = []
    for at, nid in enumerate(nids):
        numbers = [int(column[at]) for column in (columns.tx_max, columns.rtr, columns.rtr_min, columns.tx, columns.tx_min)]
        queue = (int(columns.queue_bytes[at]) + 2**31) % 2**32 - 2**31
        rows.append(peers.PeersRow(nid, 0, int(columns.refs[at]), "NA", last_s[at], *numbers, queue))
    return peers.render(Parsed(tuple(rows), layout, {}, ()), layout)


@settings(max_examples=200, deadline=None)
@given(tables(), st.sampled_from([peers.NINE.name, peers.TEN.name]))
def test_text_of_changed_lines_only_is_the_text_of_all_lines(table: tuple[list[str], list[Columns]], layout: str) -> None:
    nids, samples = table
    text = PeersText(nids, ["NA"] * len(nids), layout)
    for number, columns in enumerate(samples):
        assert text.text(columns, number * NS) == plain(nids, columns, layout, [-1] * len(nids))


def one_row(tx: int) -> Columns:
    return Columns(*(np.array([value], np.int64) for value in (1, 8, 8, 8, 8, tx, 0, 0)))


def test_the_last_sign_of_life_grows_older_until_the_row_changes_and_stops_at_9999_s() -> None:
    text = PeersText(["1@tcp", "1@gni"], ["up", "NA"], peers.TEN.name, np.array([True, False]))
    two = [Columns(*(np.repeat(column, 2) for column in one_row(tx))) for tx in (8, 8, 7, 7)]
    lasts = []
    for columns, time_s in zip(two, (0, 5, 6, 20_000), strict=True):
        rows = peers.parse(text.text(columns, time_s * NS)).rows
        lasts.append([row.last_s for row in rows])
        assert [row.state for row in rows] == ["up", "NA"]
    assert lasts == [[0, -1], [5, -1], [0, -1], [9999, -1]]


UNUSED = Counter(0, 0, 0, 0, 0)


def service(wait: Counter, ping: Counter) -> ServiceView:
    return ServiceView("ost", wait, UNUSED, UNUSED, UNUSED, {"obd_ping": ping, "small": UNUSED}, 0, 0, 0)


def test_counters_that_were_never_used_are_not_printed() -> None:
    text = service_text(service(Counter(3, 1, 5, 9, 35), UNUSED), counters.NANO, 5 * NS + 7, 0)
    assert text == (
        "snapshot_time             5.000000007 secs.nsecs\n"  #
        "req_waittime              3 samples [usec] 1 5 9 35\n"
    )


@pytest.mark.parametrize(("layout", "printed"), [(counters.MICRO, -(2**63)), (counters.NANO, 2**63), (counters.START, 2**63)])
def test_a_sum_of_squares_beyond_63_bits_is_negative_before_2_10_only(layout: str, printed: int) -> None:
    text = service_text(service(UNUSED, Counter(1, 2**32, 2**32, 2**32, -(2**63))), layout, NS, 0)
    (row,) = counters.parse(text).rows
    assert (row.counter, row.sumsq) == ("obd_ping", printed)
