"""lustre_oss.ph in real collectl: files that come, go or are forbidden, options, and each way of showing, live and played back."""

import os
import re
import tempfile
from pathlib import Path

import pytest

from tests.collectors.conftest import Plan, export, free_user, lnet, oss, raw_text, run, samples_of
from tests.collectors.test_lustre_oss import DEBUG_ONLY, EVERY, IO, MDT, NAN, OST, exported, io, plan, same, stats, table_of, told

__all__ = ["plan"]
OSTS = "sys/kernel/debug/lustre/ost/OSS"


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
    plan.step({})
    raw = tmp_path / "raw"
    raw.mkdir()
    lines = told("--import", f"{plan.advance()}:{oss(f'path={plan.tree}')}", "-i0", "-c", "3", "-f", raw)[1]
    assert lines == [f"lustre_oss.ph: {plan.tree / IO}: gone"]
    samples = samples_of(raw_text(raw))
    assert [line.split(" ")[:3] for line in samples[2][1] if line.startswith("lsv-ost.OSS.ost_io")] == [
        ["lsv-ost.OSS.ost_io.stats", "absent", "2"]
    ]
    found = exported(told("-p", next(raw.glob("*.raw*")), "--import", oss(), "--export", f"graphite,{DEBUG_ONLY}")[0])
    assert [any(name.startswith("counters.ost_io.") for name in sample) for sample in found] == [True, False, False]
    assert all("counters.ost.obd_ping.samples" in sample for sample in found)
    told_of_itself = told("-p", next(raw.glob("*.raw*")), "--import", oss(), "--export", export("dry", "host=h"))[0].splitlines()
    assert {line.split(" ")[1] for line in told_of_itself if line.startswith("lnet.h.self.errors ")} == {"0"}
    assert any(line.startswith("lnet.h.self.duration_ms ") for line in told_of_itself)


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
def test_a_mistyped_option_is_one_line_and_the_others_go_on(plan: Plan, option: str) -> None:
    plan.step({})
    plan.step({})
    raw = plan.folder / "raw"
    raw.mkdir()
    arguments = ("-i0", "-c1", "-f", raw)
    if ":" in option:  # collectl's own: `:` begins the next module
        assert "can't find import file" in run("--import", oss(option), *arguments, status=1)
        return
    lines = told("--import", f"{plan.advance()}:{oss(option)}:{lnet(f'path={plan.tree}', 'tables=stats')}", *arguments)[1]
    expected = rf"lustre_oss\.ph: option '{re.escape(option)}': expected [^\n]+; lustre_oss\.ph is left out"
    assert re.fullmatch(expected, lines[0]), lines
    assert [line for line in lines[1:] if "no table of LNet" not in line] == []
    assert all(any(line.startswith("lnt-stats ") for line in records) for _, records in samples_of(raw_text(raw)))
    assert "lsv" not in raw_text(raw)


@pytest.mark.parametrize("way", [(), ("--verbose",), ("-P",), ("--export", f"graphite,{DEBUG_ONLY}"), ("--export", export("dry"))])
def test_collectl_goes_on_with_no_import_left(tmp_path: Path, way: tuple[str, ...]) -> None:
    lines = told("--import", oss(f"path={tmp_path}/no"), EVERY, "-c2", *way)[1]
    assert lines == [f"lustre_oss.ph: path={tmp_path}/no: not a folder: a tree with proc/ and sys/ was expected; lustre_oss.ph is left out"]


def test_a_mistyped_option_in_playback(plan: Plan) -> None:
    for at_s in range(3):
        plan.step({IO: io(100 + at_s, 10, 0)})
    raw = plan.folder / "raw"
    raw.mkdir()
    told("--import", f"{plan.advance()}:{oss(f'path={plan.tree}')}", EVERY, "-sc", "-c2", "-f", raw)
    output, lines = told("-p", next(raw.iterdir()), "-sc", "--import", oss("servces=ost"), "-P")
    assert len(table_of(output).rows) == 2
    assert len(lines) == 1
    assert lines[0].startswith("lustre_oss.ph: option 'servces=ost': expected one of ")


def test_playback_shows_the_services_that_are_named(plan: Plan) -> None:
    """services= and also= choose as they do live; with all services all that was recorded is shown."""
    client = "sys/kernel/debug/lustre/obdfilter/FS-OST0000/exports/10.0.0.1@tcp/stats"
    for at_s in range(3):
        plan.step(dict.fromkeys([IO, OST, MDT, client], stats(100 + at_s, "obd_ping 5 [usecs] 1 1 5 5")))
    raw = plan.folder / "raw"
    raw.mkdir()
    also = "also=obdfilter/*/exports/*/stats"
    told("--import", f"{plan.advance()}:{oss(also, f'path={plan.tree}')}", EVERY, "-c2", "-f", raw)

    def shown(*options: str) -> set[str]:
        output = told("-p", next(raw.iterdir()), "--import", oss("d", *options), "--verbose")[0]
        return {line.split()[0] for line in output.splitlines() if " obd_ping " in line}

    exports = "obdfilter.FS-OST0000.exports.10.0.0.1@tcp"
    assert shown() == {"ost_io", "ost", "mdt", exports}
    assert shown("services=ost_*+mdt") == {"ost_io", "mdt"}
    assert shown("services=obdfilter.*") == set()
    assert shown("services=ost", also) == {"ost", exports}


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
    assert len({len(line) for line in output}) == 1


def test_verbose_has_a_line_for_each_service_and_request(tmp_path: Path) -> None:
    plan = busy_plan(tmp_path)
    output = told("--import", f"{plan.advance()}:{oss('sd', f'path={plan.tree}')}", "-i0", "-c1", "--verbose")[0]
    rows = [line.split() for line in output.splitlines()]
    assert ["ost_io", "7", "14", "3.0", "1.0", "5.0", "200"] in rows
    assert ["mdt", "50", "9", "-", "-", "-", "1"] in rows
    assert ["0", "-", "7", "200", "101", "3"] in rows
    assert ["ost_io", "ost_write", "7", "200", "usec"] in [[*row[:3], row[3].removesuffix(".0"), *row[4:]] for row in rows if len(row) == 5]


def raw_of(plan: Plan, to: Path, host: str) -> Path:
    """Record a plan as if it were of that host."""
    to.mkdir()
    told("--import", f"{plan.advance()}:{oss(f'path={plan.tree}')}", EVERY, "-c", str(plan.count - 1), "-f", to)
    (file,) = to.iterdir()
    named = to / re.sub(r"^.*?(-\d{8}-\d{6}\.raw).*", rf"{host}\1", file.name)
    named.write_text(re.sub(r"^(# Host: +)\S+", rf"\1{host}", raw_text(to), flags=re.MULTILINE))
    return named


def test_another_host_in_one_playback_begins_anew(tmp_path: Path) -> None:
    first, second = Plan(tmp_path / "a"), Plan(tmp_path / "b")
    for step in range(3):
        first.step({IO: io(100 + step, 10, 0), OST: stats(100 + step, f"req_waittime {step} [usecs] 1 1 {step}")})
    second.step({IO: io(200, 10, 0), OST: b""})
    for step in range(1, 3):
        second.step({OST: stats(200 + step, f"req_waittime {100 + 7 * step} [usecs] 1 1 {900 + step}")})
    # the second host's file said nothing in its first sample, and the first host's file of that name is not its past
    folder = tmp_path / "raw"
    folder.mkdir()
    for steps, name, host in ((first, "x", "alpha"), (second, "y", "beta")):
        raw = raw_of(steps, tmp_path / name, host)
        raw.rename(folder / raw.name)
    output = told("-p", f"{folder}/*", "--import", oss(), "-P")[0]
    found = [row.split(" ") for row in output.splitlines() if row[:2] == "20"]
    names = next(line for line in output.splitlines() if line.startswith("#Date")).split(" ")
    assert [row[names.index("[LSV]OstReqs")] for row in found] == ["1", "1", "NaN", "7"]


@pytest.mark.parametrize("show", ["s", "d", "sd"])
def test_summary_detail_or_both(tmp_path: Path, show: str) -> None:
    outputs = []
    for way in ("--verbose", "-P"):
        plan = busy_plan(tmp_path / way)
        outputs.append(told("--import", f"{plan.advance()}:{oss(show, f'path={plan.tree}')}", "-i0", "-c1", way)[0])
    verbose, plot = outputs
    assert ("# LUSTRE SERVICES" in verbose, "# LUSTRE REQUESTS" in verbose) == ("s" in show, "s" in show)
    assert ("# LUSTRE SERVICE DETAIL" in verbose) == ("d" in show)
    names = table_of(plot).names
    assert ("[LSV]OstIoWait" in names) == ("s" in show)
    assert ("[LSV:ost_io]Wait" in names) == ("[LSV:ost_io]ost_write_mean" in names) == ("d" in show)
    assert not any("req_" in name for name in names)


def test_totals_of_a_playback(tmp_path: Path) -> None:
    """collectl's --stats asks for the events of the whole, not for rates."""
    plan = busy_plan(tmp_path / "plan")
    raw = tmp_path / "raw"
    raw.mkdir()
    told("--import", f"{plan.advance()}:{oss(f'path={plan.tree}')}", EVERY, "-c5", "-f", raw)
    output = told("-p", next(raw.iterdir()), "--import", oss(), "-s-all", "--stats")[0]
    total = output.splitlines()[-1].split()
    assert (total[0], total[-11:]) == ("T", ["0", "24", "300", "12", "3.0", "-", "-", "500", "5", "9", "-"])
