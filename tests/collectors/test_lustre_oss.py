"""lustre_oss.ph in real collectl: rates of intervals, resets, times as each release prints them; what Carbon gets."""

import math
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from lnetstat.model import Parsed
from lnetstat.recording import Recording
from lnetstat.reduce import Reducer
from lnetstat.sources.live import LiveSource
from lnetstat.tables import parse
from lnetstat.tables.counters import START, CountersRow, render
from tests.collectors.conftest import REPO, Plan, command, oss, run

NS = 1_000_000_000
IO = "sys/kernel/debug/lustre/ost/OSS/ost_io/stats"
OST = "sys/kernel/debug/lustre/ost/OSS/ost/stats"
MDT = "sys/kernel/debug/lustre/mds/MDS/mdt/stats"
DEBUG_ONLY = "localhost:1,d=9"  # graphite.ph prints what it would send, and sends nothing
EVERY = "-i0.1"  # not -i0 where collectl itself divides by the interval: --stats, lexpr
NAN = math.nan
MGS = "sys/kernel/debug/lustre/mgs/MGS/mgs/stats"


def stats(at_s: float, *lines: str, start_s: int = 1_700_000_000) -> bytes:
    """Return a text as Lustre 2.15 and later print it; a line is `NAME COUNT [UNIT] MIN MAX SUM`, or without the last three."""
    text = f"snapshot_time {int(at_s)}.{round(at_s % 1 * NS):09} secs.nsecs\nstart_time {start_s}.000000000 secs.nsecs\n"
    return (text + "".join(re.sub(r"^(\S+ \S+)", r"\1 samples", line) + "\n" for line in lines)).encode()


def io(at_s: float, writes: int, waited_us: int, start_s: int = 1_700_000_000) -> bytes:
    """Return ost_io's text after so many writes of 200 us each, all of which waited so long together, behind three others each."""
    return stats(
        at_s,
        f"req_waittime {writes} [usecs] 1 9 {waited_us} 1",
        f"req_qdepth {writes} [reqs] 0 9 {3 * writes} 1",
        f"req_active {writes} [reqs] 1 1 {writes} 1",
        f"req_timeout {writes} [secs] 5 5 {5 * writes} 1",
        f"ost_write {writes} [usecs] 1 9 {200 * writes} 1",
        start_s=start_s,
    )


def pinged(at_s: float, pings: int) -> bytes:
    return stats(at_s, f"obd_ping {pings} [usecs] 1 9 {30 * pings} 1")


class Table(NamedTuple):
    """What -P printed."""

    names: list[str]
    rows: list[list[float]]

    def column(self, name: str) -> list[float]:
        return [row[self.names.index(name)] for row in self.rows]


def table_of(text: str) -> Table:
    lines = text.splitlines()
    header = next(line for line in lines if line.startswith("#Date"))
    rows = [line.split(" ") for line in lines if line[:2] == "20"]
    assert all(len(row) == len(header.split(" ")) for row in rows), text
    return Table(header.split(" ")[2:], [[float(word) for word in row[2:]] for row in rows])


def plotted(plan: Plan, show: str = "s", *options: str) -> Table:
    """Run all steps through collectl and return the table; its first row belongs to the second step."""
    imports = f"{plan.advance()}:{oss(show, f'path={plan.tree}', *options)}"
    return table_of(run("--import", imports, "-i0", "-c", str(plan.count - 1), "-P"))


def same(found: Sequence[float], wanted: Sequence[float]) -> bool:
    return found == pytest.approx(wanted, abs=1e-3, nan_ok=True)


def exported(text: str) -> list[dict[str, float]]:
    """Return by sample what graphite.ph would send: path below the host -> value."""
    found: list[dict[str, float]] = []
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")[0].rpartition(" ")
        path = name.partition(".")[2]
        if not path or name.startswith("waiting"):
            continue
        if not found or path in found[-1]:
            found.append({})
        found[-1][path] = float(value)
    return found


def told(*arguments: str | Path, as_user: int | None = None) -> tuple[str, list[str]]:
    """Run collectl to its end and return what it printed, and the lines on stderr."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=60, user=as_user, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr.splitlines()


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(tmp_path / "plan")


def test_rates_are_over_the_files_own_time(plan: Plan) -> None:
    """Both samples come within milliseconds; the files say that ten seconds lie between them."""
    for at_s, writes, pings in ((100.5, 1000, 40), (110.5, 1050, 1040), (110.75, 1050, 1040)):
        ping = f"obd_ping {pings} [usecs] 1 9 {30 * pings} 1"
        plan.step({IO: io(at_s, writes, 100 * writes), OST: stats(at_s, f"req_waittime {pings} [usecs] 1 9 {7 * pings} 1", ping)})
    table = plotted(plan, "sd")
    assert same(table.column("[LSV]OstWrite"), [5, 0])
    assert same(table.column("[LSV]OstRead"), [0, 0])
    assert same(table.column("[LSV]OstPing"), [100, 0])
    io_columns = [table.column(f"[LSV]OstIo{name}")[0] for name in ("Reqs", "Wait", "Queue", "Active", "Timeout", "Handle")]
    assert same(io_columns, [5, 100, 3, 1, 5, 200])
    assert same(table.column("[LSV]OstWait"), [7, NAN])
    assert same(table.column("[LSV]MdtReqs"), [NAN, NAN])
    assert same(table.column("[LSV]Errors"), [0, 0])
    assert same(table.column("[LSV:ost_io]ost_write"), [5, 0])
    assert same(table.column("[LSV:ost_io]ost_write_mean"), [200, NAN])
    assert same(table.column("[LSV:ost]obd_ping_mean"), [30, NAN])


def test_a_counter_that_is_new_was_zero(plan: Plan) -> None:
    plan.step({IO: io(100, 10, 0)})
    plan.step({IO: io(102, 10, 0) + b"ost_read 6 samples [usecs] 1 1 6 6\n"})
    assert same(plotted(plan).column("[LSV]OstRead"), [3])


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(io(120, 30, 3000), id="counters fell"),
        pytest.param(io(120, 5000, 500_000, start_s=1_700_000_777), id="another start_time, counters higher than before"),
        pytest.param(stats(120), id="counters are gone"),
        pytest.param(io(120, 1100, 90_000), id="a sum fell"),
    ],
)
def test_a_reset_is_an_interval_without_rate(plan: Plan, after: bytes) -> None:
    plan.step({IO: io(100, 1000, 100_000)})
    plan.step({IO: io(110, 1050, 105_000)})
    plan.step({IO: after})
    writes = 0 if b"ost_write" not in after else int(after.split(b"ost_write ")[1].split()[0])
    start_s = int(after.split(b"start_time ")[1].split(b".")[0])
    waited_us = 0 if not writes else int(after.split(b"req_waittime ")[1].split()[5])
    plan.step({IO: io(130, writes + 20, waited_us + 2000, start_s=start_s)})
    table = plotted(plan, "sd")
    assert same(table.column("[LSV]OstWrite"), [5, NAN, 2])
    assert same(table.column("[LSV]OstIoWait"), [100, NAN, 100])
    assert same(table.column("[LSV:ost_io]ost_write"), [5, NAN, 2])


def test_bare_counts_that_fell_are_a_reset(plan: Plan) -> None:
    """Counters of older releases have no sum that could fall with them."""
    for at_s, writes in ((100, 500), (110, 20), (120, 60)):
        plan.step({IO: stats(at_s, f"ost_write {writes} [reqs]")})
    assert same(plotted(plan).column("[LSV]OstWrite"), [NAN, 4])


def test_one_service_without_a_rate_leaves_the_sum_without(plan: Plan) -> None:
    """Pings of a service that began anew are not quietly left out of the sum; a service that is gone gets none."""
    plan.step({IO: io(100, 10, 0), MDT: pinged(100, 900), MGS: pinged(100, 50)})
    plan.step({IO: io(101, 12, 0), MDT: pinged(101, 30), MGS: pinged(101, 60)})
    plan.step({IO: io(102, 12, 0), MDT: pinged(102, 37), MGS: pinged(102, 80)})
    plan.step({IO: io(103, 12, 0), MDT: pinged(103, 39), MGS: None})
    plan.step({IO: io(104, 12, 0), MDT: None})
    imports = f"{plan.advance()}:{oss(f'path={plan.tree}')}"
    table = table_of(told("--import", imports, "-i0", "-c4", "-P")[0])
    assert same(table.column("[LSV]MdsPing"), [NAN, 27, 2, NAN])
    assert same(table.column("[LSV]OstIoReqs"), [2, 0, 0, 0])
    assert same(table.column("[LSV]OstPing"), [NAN] * 4)


@pytest.mark.parametrize(
    ("first", "second", "rate"),
    [
        pytest.param("5.900000 secs.usecs", "6.100 secs.usecs", 10 / 0.1001, id="microseconds, not padded"),
        pytest.param("5.900000000 secs.nsecs", "6.      100 secs.nsecs", 10 / 0.1000001, id="nanoseconds, padded with blanks"),
        pytest.param("5.9 secs.usecs", "6.100000000 secs.nsecs", 10 / 1.099991, id="an upgrade between"),
        pytest.param("1420750934.57342", "1420750936.57342", 5, id="no unit"),
    ],
)
def test_snapshot_times_as_releases_print_them(plan: Plan, first: str, second: str, rate: float) -> None:
    for time, writes in ((first, 10), (second, 20)):
        plan.step({IO: f"snapshot_time             {time}\nost_write {writes} samples [usec] 1 1 9\n".encode()})
    assert same(plotted(plan).column("[LSV]OstWrite"), [pytest.approx(rate, abs=1e-3)])


def test_without_a_snapshot_time_the_time_of_reading_counts(plan: Plan) -> None:
    for writes in (10, 20):
        plan.step({IO: f"ost_write {writes} samples [usec] 1 1 9\n".encode()})
    imports = f"{plan.advance()}:{oss(f'path={plan.tree}')}"
    output, lines = told("--import", imports, "-i0", "-c", "1", "-P")
    table = table_of(output)
    (rate,) = table.column("[LSV]OstWrite")
    assert 0 < rate < math.inf
    assert table.column("[LSV]Errors") == [2]
    text = "line 1: 'ost_write 10 samples [usec] 1 1 9': expected snapshot_time first"
    assert lines == [f"lustre_oss.ph: ost.OSS.ost_io.stats: {text}"]


def recorded_texts(hosts: Sequence[str] = ("srv",)) -> Iterator[dict[str, str]]:
    """Yield what a server's statistics said at each second of a recording."""
    source = Recording(str(REPO / "sample-data" / "recordings" / "s7-lustre-pings"))
    assert source.begin_ns is not None
    tick: dict[str, str] = {}
    second = 0
    for snapshot in source.snapshots(hosts=list(hosts), end_ns=source.begin_ns + 12 * NS):
        if snapshot.time_ns // NS != second and tick:
            yield tick
        second = snapshot.time_ns // NS
        if snapshot.name.endswith(".stats") and snapshot.text:
            tick = {**tick, snapshot.name: snapshot.text}


def rows_of(texts: dict[str, str], name: str) -> tuple[int, dict[str, CountersRow]]:
    if name not in texts:
        return 0, {}
    parsed = parse(name, texts[name])[1]
    return int(parsed.facts["snapshot_time"]), {row.counter: row for row in parsed.rows}


def test_a_recorded_server(plan: Plan) -> None:
    """The rates that the texts of a real server give when they are taken apart here, by the Python tables."""
    ticks = list(recorded_texts())
    assert len(ticks) > 8
    for texts in ticks:
        plan.step({f"sys/kernel/debug/lustre/{name.replace('.', '/')}": text.encode() for name, text in texts.items()})
    table = plotted(plan)
    columns = {"OstWrite": ("ost_io", "ost_write"), "OstIoReqs": ("ost_io", "req_waittime"), "OstReqs": ("ost", "req_waittime")}
    busy = 0
    for at, (before, after) in enumerate(pairwise(ticks)):
        for column, (service, counter) in columns.items():
            (old_ns, old), (new_ns, new) = (rows_of(texts, f"ost.OSS.{service}.stats") for texts in (before, after))
            events = new[counter].samples - (old[counter].samples if counter in old else 0) if counter in new else 0
            wanted = events / ((new_ns - old_ns) / NS) if new_ns != old_ns else 0.0
            assert same([table.column(f"[LSV]{column}")[at]], [wanted]), (at, column)
            busy += events > 0
    assert busy > 5


def test_carbon_gets_what_the_agent_sends(plan: Plan) -> None:
    """Counters, not rates: names and values of the Python agent over the same tree, targets and imports of a client too."""
    for name in ("ost.OSS.ost", "ost.OSS.ost_io", "mds.MDS.mdt"):
        path = plan.tree / "sys/kernel/debug/lustre" / name.replace(".", "/") / "stats"
        path.parent.mkdir(parents=True)
        shutil.copy(REPO / "sample-data" / "2.17.0" / f"{name}.stats--server.txt", path)
    others = ("obdfilter/lustre-OST0000", "osc/lustre-OST0000-osc-ffff8800", "mgs/MGS/mgs", "obdfilter/a.b", "mdt/MDS/mds")
    for number, other in enumerate(others):
        path = plan.tree / "proc/fs/lustre" / other / "stats"
        path.parent.mkdir(parents=True)
        odd = "thandle starting 4 samples [usec] 1 2 6\nstatfs 2 samples [reqs]\nstatfs 3 samples [reqs]\n" if number == 0 else ""
        path.write_text(f"snapshot_time 5.{number} secs.usecs\nobd_ping 1{number} samples [usec] 1 2 18446744073709551615 3\n{odd}")
    plan.step({})
    reducer = Reducer("node")
    source = LiveSource(str(plan.tree), names=["*.stats"])
    for snapshot in source.tick():
        reducer.add(snapshot)
    source.close()
    wanted = {point.path.split(".", 2)[2]: float(point.value) for point in reducer.points()}
    assert len(wanted) > 70
    found = exported(run("--import", oss(f"path={plan.tree}"), "-i1", "-c1", "--export", f"graphite,{DEBUG_ONLY}"))[0]
    assert reducer.errors == 0
    assert found.keys() == wanted.keys()  # no self.*: stock graphite would send those of lnet.ph and of lustre_oss.ph under one name
    exact = [name for name, value in wanted.items() if value < 2**63]  # graphite.ph sends -1 for larger ones; lnetcarbon.ph does not
    assert len(exact) > 70
    assert {name: found[name] for name in exact} == {name: wanted[name] for name in exact}


def test_a_large_table_of_the_agent_reads_back(plan: Plan) -> None:
    """What the Python table renders, lustre_oss.ph reads: numbers beyond 32 bits stay exact."""
    rows = tuple(CountersRow(f"counter_{n}", 2**40 + n, "usec", 1, 2, 2**52 + n, 2**60) for n in range(200))
    facts: dict[str, int | str] = {"snapshot_time": 5 * NS, "start_time": NS}
    plan.step({IO: render(Parsed(rows, START, facts, ()), START).encode()})
    plan.step({})
    found = exported(run("--import", f"{plan.advance()}:{oss(f'path={plan.tree}')}", "-i1", "-c1", "--export", f"graphite,{DEBUG_ONLY}"))[0]
    assert [found[f"counters.ost_io.{name_of(n)}.sum"] for n in range(200)] == [2**52 + n for n in range(200)]


def name_of(number: int) -> str:
    return f"counter_{number}"
