"""lustre_oss.ph in real collectl: rates of intervals, resets, times as each release prints them, files that come and go."""

import math
import os
import re
import shutil
import subprocess
import tempfile
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
from tests.collectors.conftest import REPO, Plan, command, free_user, oss, raw_text, run, samples_of

NS = 1_000_000_000
IO = "sys/kernel/debug/lustre/ost/OSS/ost_io/stats"
OST = "sys/kernel/debug/lustre/ost/OSS/ost/stats"
MDT = "sys/kernel/debug/lustre/mds/MDS/mdt/stats"
OSTS = "sys/kernel/debug/lustre/ost/OSS"
DEBUG_ONLY = "localhost:1,d=9"  # graphite.ph prints what it would send, and sends nothing
EVERY = "-i0.1"  # not -i0 where collectl itself divides by the interval: --stats, lexpr
NAN = math.nan


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


def test_one_service_without_a_rate_leaves_the_sum_without(plan: Plan) -> None:
    """Pings of a service that began anew are not quietly left out of the sum."""
    plan.step({IO: io(100, 10, 0), OST: stats(100, "obd_ping 900 [usecs] 1 1 9 9")})
    plan.step({IO: io(101, 12, 0), OST: stats(101, "obd_ping 30 [usecs] 1 1 9 9")})
    table = plotted(plan)
    assert same(table.column("[LSV]OstPing"), [NAN])
    assert same(table.column("[LSV]OstIoReqs"), [2])


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
    assert lines == [f"lustre_oss.ph: ost.OSS.ost_io.stats: {text}", f"lustre_oss.ph: ost.OSS.ost_io.stats: {text.replace('10', '20')}"]


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
    assert found.pop("self.errors") == reducer.errors == 0
    assert found.pop("self.duration_ms") >= 0
    assert found.keys() == wanted.keys()
    exact = [name for name, value in wanted.items() if value < 2**63]  # graphite.ph sends -1 for larger ones; lnetcarbon.ph does not
    assert len(exact) > 70
    assert {name: found[name] for name in exact} == {name: wanted[name] for name in exact}


def test_files_come_and_go(plan: Plan) -> None:
    """A gap has no values, a new life no rate over the gap; each change is told once, and collectl goes on."""
    plan.step({IO: io(100, 10, 0), OST: stats(100, "obd_ping 5 [usecs] 1 1 5 5")})
    plan.step({IO: None})
    plan.step({IO: None})
    plan.step({IO: io(103, 90, 0)})
    plan.step({IO: io(104, 94, 0)})
    imports = f"{plan.advance()}:{oss(f'path={plan.tree}')}"
    output, lines = told("--import", imports, "-i0", "-c", "4", "-P")
    assert same(table_of(output).column("[LSV]OstIoReqs"), [NAN, NAN, NAN, 4])
    path = plan.tree / IO
    assert lines == [f"lustre_oss.ph: {path}: gone", f"lustre_oss.ph: {path}: readable again"]


def test_a_gap_exports_nothing_for_the_file(tmp_path: Path) -> None:
    plan = Plan(tmp_path / "plan")
    plan.step({IO: io(100, 10, 0), OST: stats(100, "obd_ping 5 [usecs] 1 1 5 5")})
    plan.step({IO: io(101, 10, 0)})
    plan.step({IO: None})
    raw = tmp_path / "raw"
    raw.mkdir()
    told("--import", f"{plan.advance()}:{oss(f'path={plan.tree}')}", "-i0", "-c", "2", "-f", raw)
    samples = samples_of(raw_text(raw))
    assert [line.split(" ")[:3] for line in samples[2][1] if line.startswith("lsv-ost.OSS.ost_io")] == [
        ["lsv-ost.OSS.ost_io.stats", "absent", "2"]
    ]
    found = exported(told("-p", next(raw.glob("*.raw*")), "--import", oss(), "--export", f"graphite,{DEBUG_ONLY}")[0])
    assert [any(name.startswith("counters.ost_io.") for name in sample) for sample in found] == [True, False]
    assert all("counters.ost.obd_ping.samples" in sample and sample["self.errors"] == 0 for sample in found)


def test_what_appears_is_found_when_something_vanished(plan: Plan) -> None:
    """Services that are loaded again may have moved from one folder to the other."""
    plan.step({IO: io(100, 10, 0)})
    plan.step({IO: None, "proc/fs/lustre/ost/OSS/ost_io/stats": io(200, 10, 0)})
    plan.step({})
    plan.step({"proc/fs/lustre/ost/OSS/ost_io/stats": io(202, 14, 0)})
    imports = f"{plan.advance()}:{oss(f'path={plan.tree}')}"
    assert same(table_of(told("--import", imports, "-i0", "-c", "3", "-P")[0]).column("[LSV]OstIoReqs"), [NAN, NAN, 2])


def test_no_lustre_is_told_once_and_collectl_goes_on(tmp_path: Path) -> None:
    output, lines = told("--import", oss(f"path={tmp_path}"), "-i0.05", "-c4", "-P")
    assert [same(row, [NAN] * (len(row) - 1) + [0]) for row in table_of(output).rows] == [True] * 4
    nothing = f"no statistics of Lustre's services under {tmp_path}"
    assert lines == [f"lustre_oss.ph: {nothing}: is Lustre running here, is debugfs mounted, are you root? going on"]


def test_a_forbidden_file_is_an_error_each_time_and_told_once() -> None:
    user = free_user()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, IO)
        path.parent.mkdir(parents=True)
        path.write_bytes(io(100, 10, 0))
        path.chmod(0o600)
        for parent in (Path(folder), *(Path(folder, IO).parents[at] for at in range(6))):
            os.chmod(parent, 0o755)
        output, lines = told("--import", oss(f"path={folder}"), "-i0.05", "-c3", "-P", as_user=user)
    assert lines == [f"lustre_oss.ph: {path}: forbidden: Permission denied (run as root)"]
    table = table_of(output)
    assert table.column("[LSV]Errors") == [2, 3, 4]
    assert same(table.column("[LSV]OstIoReqs"), [NAN] * 3)


@pytest.mark.parametrize("option", ["pth=/x", "path", "path=", "services=", "also=../x", "services=a+", "x", "D", "also=a:b"])
def test_a_mistyped_option_is_one_line(option: str) -> None:
    output = run("--import", oss(option), "-c1", status=1)
    if ":" in option:  # collectl's own: `:` begins the next module
        assert "can't find import file" in output
        return
    assert re.match(rf"Error: lustre_oss\.ph: option '{re.escape(option)}': expected [^\n]+\ntype 'collectl -h' for help\n\Z", output)


def test_a_folder_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    assert f"Error: lustre_oss.ph: path={tmp_path}/no: not a folder" in run("--import", oss(f"path={tmp_path}/no"), "-c1", status=1)


def test_services_chosen_and_files_added(plan: Plan) -> None:
    """services= chooses among the usual files; also= adds others; statistics of single clients stay out of Carbon."""
    client = "sys/kernel/debug/lustre/obdfilter/FS-OST0000/exports/10.0.0.1@tcp/stats"
    files = [IO, OST, MDT, f"{OSTS}/ost_create/stats", "sys/kernel/debug/lustre/mdt/FS-MDT0000/md_stats", client]
    plan.step(dict.fromkeys(files, stats(100, "obd_ping 5 [usecs] 1 1 5 5")))
    plan.step({})
    folder = plan.folder / "raw"
    folder.mkdir()
    options = ("services=ost_*+mdt", "also=mdt/*/md_stats+obdfilter/*/exports/*/stats", f"path={plan.tree}")
    output = run(
        "--import", f"{plan.advance()}:{oss(*options)}", "-i1", "-c1", "-f", folder, "--rawtoo", "--export", f"graphite,{DEBUG_ONLY}"
    )
    names = {line.split(" ")[0] for line in samples_of(raw_text(folder))[0][1] if line.startswith("lsv-")}
    assert names == {
        "lsv-ost.OSS.ost_io.stats",
        "lsv-ost.OSS.ost_create.stats",
        "lsv-mds.MDS.mdt.stats",
        "lsv-mdt.FS-MDT0000.md_stats",
        "lsv-obdfilter.FS-OST0000.exports.10.0.0.1@tcp.stats",
    }
    hexed = "__" + b"mdt.FS-MDT0000.md_stats".hex()
    assert {name.split(".")[1] for name in exported(output)[0] if name.startswith("counters.")} == {"ost_io", "ost_create", "mdt", hexed}
    assert "# lnetstat: lustre_oss.ph " in raw_text(folder)
    assert "services=ost_*+mdt also=mdt/*/md_stats+obdfilter/*/exports/*/stats" in raw_text(folder)


def busy_plan(folder: Path) -> Plan:
    """A reset, a damaged line, a file that goes, a file that comes; an MDS beside the OSS."""
    plan = Plan(folder)
    for step in range(6):
        pings = 100 * step
        plan.step(
            {
                IO: io(100 + step, 1000 + 7 * step if step < 3 else 5 * step, 100 * step if step < 3 else 40 * step),
                OST: None if step == 4 else stats(100 + step, f"obd_ping {pings} [usecs] 1 9 {3 * pings} 1", "req_waittime x [usecs]"),
                MDT: stats(50 + 2 * step, f"req_waittime {pings} [usecs] 1 9 {9 * pings} 1", f"obd_ping {step} [usecs] 1 9 {step} 1"),
            }
        )
    return plan


def test_playback_shows_exports_and_plots_what_live_did(tmp_path: Path) -> None:
    live: dict[str, str] = {}
    played: dict[str, str] = {}
    ways: dict[str, list[str]] = {
        "plot": ["-P"],
        "verbose": ["--verbose"],
        "brief": [],
        "lexp": ["--export", "lexpr"],  # collectl takes the whole word in a path for an import
        "graphite": ["--export", f"graphite,{DEBUG_ONLY}"],
    }
    raw = tmp_path / "raw"
    raw.mkdir()
    recording = busy_plan(tmp_path / "recorded")
    told("--import", f"{recording.advance()}:{oss(f'path={recording.tree}')}", EVERY, "-c5", "-f", raw)
    (file,) = raw.iterdir()
    for way, arguments in ways.items():
        plan = busy_plan(tmp_path / way)
        show = "s" if way == "brief" else "sd"
        live[way] = told("--import", f"{plan.advance()}:{oss(show, f'path={plan.tree}')}", EVERY, "-c5", *arguments)[0]
        played[way] = told("-p", file, "--import", oss(show), *arguments)[0]

    def lines(text: str) -> list[str]:
        """Leave out what says when: collectl's stamps, and how long reading took."""
        stamps = r"^(\d{8} \S+ |waiting .*|###.*|sample\.time .*|.*self\.duration_ms.*)|(?<=\d) \d{10}$"
        return [line for line in (re.sub(stamps, "", line) for line in text.splitlines()) if line]

    for way in ways:
        assert len(lines(live[way])) > 5
        assert lines(played[way]) == lines(live[way]), way


def test_brief_says_dead_time_in_one_line(plan: Plan) -> None:
    """Writes stop, pings come: an OSS has one section, with an MDS on the same node two."""
    for at_s, writes, pings in ((100, 0, 0), (101, 400, 2), (102, 400, 3002)):
        plan.step({IO: io(at_s, writes, 150 * writes), OST: stats(at_s, f"obd_ping {pings} [usecs] 1 9 {pings} 1")})
    output = run("--import", f"{plan.advance()}:{oss(f'path={plan.tree}')}", "-i0", "-c2").splitlines()[1:]
    assert [line.split() for line in output[1:]] == [
        ["#", "Reads", "Writes", "Pings", "IoWait", "IoQue", "OstWait", "OstQue"],
        ["0", "400", "2", "150", "3.0", "-", "-"],
        ["0", "0", "3000", "-", "-", "-", "-"],
    ]
    assert len({len(line.replace("#", "", 1)) for line in output[:2]} | {len(line) - 0 for line in output[2:]}) <= 2


def test_verbose_has_a_line_for_each_service_and_request(tmp_path: Path) -> None:
    plan = busy_plan(tmp_path)
    output = told("--import", f"{plan.advance()}:{oss('sd', f'path={plan.tree}')}", "-i0", "-c1", "--verbose")[0]
    rows = [line.split() for line in output.splitlines()]
    assert ["ost_io", "7", "14", "3.0", "1.0", "5.0", "200"] in rows
    assert ["mdt", "50", "9", "-", "-", "-", "1"] in rows
    assert ["0", "-", "7", "200", "101", "3"] in rows
    assert ["ost_io", "ost_write", "7", "200", "usec"] in [[*row[:3], row[3].removesuffix(".0"), *row[4:]] for row in rows if len(row) == 5]


def test_totals_of_a_playback(tmp_path: Path) -> None:
    """collectl's --stats asks for the events of the whole, not for rates."""
    plan = busy_plan(tmp_path / "plan")
    raw = tmp_path / "raw"
    raw.mkdir()
    told("--import", f"{plan.advance()}:{oss(f'path={plan.tree}')}", EVERY, "-c5", "-f", raw)
    output = told("-p", next(raw.iterdir()), "--import", oss(), "-s-all", "--stats")[0]
    (total,) = [line for line in output.splitlines() if "SUM" in line or "TOTAL" in line.upper()] or [output.splitlines()[-1]]
    assert total.split()[-11:-8] == ["0", "24", "300"], output


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
