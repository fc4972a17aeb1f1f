"""Record, play back, plot, print: one short recording through real collectl in every way, and the ways agree."""

import gzip
import re
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from lnetstat.recording import Recording
from tests.collectors.conftest import (
    NS,
    REPO,
    Plan,
    Store,
    difference,
    export,
    lnet,
    oss,
    raw_text,
    run,
    samples_of,
    shifted_to_now,
    ticks_of,
)
from tests.collectors.test_conformance import planned

NODE = ("s7-lustre-pings", "srv")
TICKS = 120
SHOWN = ("s", "d", "sd")


class Recorded(NamedTuple):
    """One recorded run: the folder of its raw file, and how many samples it has."""

    raw: Path
    samples: int
    host: str


def plan_of(folder: Path) -> tuple[Plan, int]:
    """Return a plan of twelve seconds of a server, and of how many samples."""
    recording, host = NODE
    source = Recording(str(REPO / "sample-data" / "recordings" / recording))
    assert source.begin_ns is not None
    begin_ns, end_ns = source.begin_ns, source.begin_ns + TICKS // 10 * NS
    plan = Plan(folder)
    # where it begins and ends does not move from run to run of one test session: their outputs are compared
    shift_ns = plan_of.__dict__.setdefault("shift_ns", shifted_to_now(end_ns))
    samples = planned(plan, ticks_of(source.snapshots(begin_ns=begin_ns, end_ns=end_ns, hosts=[host])), shift_ns)
    return plan, len(samples)


def imports_of(plan: Plan, show: str = "s", *more: str) -> str:
    return f"{plan.advance()}:{lnet(show, f'path={plan.tree}', *more)}:{oss(show, f'path={plan.tree}')}"


def live(folder: Path, show: str, *arguments: str | Path) -> str:
    """Run a plan of its own live: all such runs see the same texts at the same times."""
    plan, count = plan_of(folder / "plan")
    return run("--import", imports_of(plan, show), "-i0", "-c", str(count - 1), *arguments)


def played(recorded: Recorded, show: str, *arguments: str | Path) -> str:
    return run("-p", next(recorded.raw.glob("*.raw*")), "--import", f"{lnet(show)}:{oss(show)}", *arguments)


@pytest.fixture(scope="module")
def recorded(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("recorded")
    plan, count = plan_of(folder)
    raw = folder / "raw"
    raw.mkdir()
    run(
        "--import",
        imports_of(plan, "s", "rows=5"),
        "-i0",
        "-c",
        str(count - 1),
        "-f",
        raw,
        "--export",
        export(store.destination, "host=live"),
    )
    return Recorded(raw, count, "live")


def test_one_record_for_each_file_and_sample(recorded: Recorded) -> None:
    samples = samples_of(raw_text(recorded.raw))
    assert len(samples) == recorded.samples
    for at, (_, lines) in enumerate(samples):
        types = [line.split(" ", 1)[0] for line in lines]
        for kind in ("lnt-stats", "lnt-buffers", "lnt-nis", "lnt-routes", "lnt-routers", "lnt-peers", "lsv-ost.OSS.ost_io.stats"):
            assert types.count(kind) == 1, (at, kind, types)
        (peers,) = (line for line in lines if line.startswith("lnt-peers "))
        assert ("worst" in peers.split(" ")[5]) == (at % 5 != 0)


def test_playback_sends_the_same_points_every_time(store: Store, recorded: Recorded) -> None:
    sent = store.settled(recorded.host, 1)
    assert len({second for _, second in sent}) >= TICKS // 10
    for host in ("played", "played", "again"):
        played(recorded, "s", "--export", export(store.destination, f"host={host}"))
        told = difference(store.settled(host, len(sent)), sent)
        assert not told, told


def rows_of(file: Path) -> tuple[str, list[str]]:
    """Return the last header line and the data lines of a plot file."""
    text = gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text()
    lines = text.splitlines()
    header = [line for line in lines if line.startswith("#")][-1]
    return header, [line for line in lines if not line.startswith("#")]


def plots_in(folder: Path) -> dict[str, tuple[str, list[str]]]:
    """Return header and rows by extension: tab, lnt, lsv."""
    return {file.name.removesuffix(".gz").rpartition(".")[2]: rows_of(file) for file in folder.iterdir() if ".raw" not in file.name}


@pytest.mark.parametrize("show", SHOWN)
def test_plot_files_have_as_many_columns_in_every_row_as_in_the_header(recorded: Recorded, tmp_path: Path, show: str) -> None:
    played(recorded, show, "-P", "-f", tmp_path)
    plots = plots_in(tmp_path)
    wanted = {"s": {"tab"}, "d": {"lnt", "lsv"}, "sd": {"tab", "lnt", "lsv"}}
    if show == "d":
        plots.pop("tab", None)  # collectl's own, of its date and time alone
    assert plots.keys() == wanted[show]
    for kind, (header, rows) in plots.items():
        columns = header.split()
        assert len(columns) > 5, header
        assert len(set(columns)) == len(columns), header
        assert len(rows) == recorded.samples - 1, kind
        assert {len(row.split()) for row in rows} == {len(columns)}, kind


def test_plot_files_written_live_and_from_playback_are_the_same(tmp_path: Path) -> None:
    first, second = tmp_path / "live", tmp_path / "played"
    first.mkdir()
    second.mkdir()
    live(tmp_path, "sd", "-P", "--rawtoo", "-f", first)
    played(Recorded(first, 0, ""), "sd", "-P", "-f", second)
    assert plots_in(first) == plots_in(second)
    assert plots_in(first).keys() >= {"tab", "lnt", "lsv"}


@pytest.mark.parametrize("words", [(), ("--verbose",)], ids=["brief", "verbose"])
@pytest.mark.parametrize("show", SHOWN)
def test_what_is_printed_live_is_printed_again_by_playback(recorded: Recorded, tmp_path: Path, show: str, words: tuple[str, ...]) -> None:
    printed = live(tmp_path, show, *words).splitlines()
    again = played(recorded, show, *words).splitlines()
    assert [line for line in printed if not line.startswith("waiting for")] == again
    assert len(again) >= recorded.samples


def test_negative_credits_are_printed_negative(tmp_path: Path) -> None:
    plan = Plan(tmp_path)
    header = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
    buffers = "pages   count credits     min\n    0     512     -77     -88\n    1  256 256 256\n  256  32  32  32\n"
    files = {"peers": f"{header}10.2.0.21@tcp1  3  up  -1  2  2  -1  -1184  -1284 2097296\n".encode(), "buffers": buffers.encode()}
    for at in range(3):
        plan.step(files, (1_795_000_000 + at) * NS)
    printed = run("--import", f"{plan.advance()}:{lnet('sd', f'path={plan.tree}')}", "-i0", "-c2", "--verbose")
    assert "-1184" in printed
    assert "-1284" in printed
    assert "-77" in printed


@pytest.fixture
def plain_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is not named after its test: collectl takes an import with the name of an export anywhere in it for a mistake."""
    return tmp_path_factory.mktemp("plain")


def exported(text: str) -> list[tuple[str, int]]:
    """Return (path, value) of the lines that stock graphite says it would send."""
    return [(words[0], int(words[1])) for line in text.splitlines() if len(words := line.split()) == 3 and words[0].startswith("lnet.")]


def test_stock_graphite_export_says_the_same_names_and_values(store: Store, plain_path: Path) -> None:
    """Whole numbers, one a sample: three samples that stand still, so that no reduction is in the way."""
    plan, _ = plan_of(plain_path / "first")
    run("--import", imports_of(plan), "-i0", "-c0")  # puts the first step in place
    imports = f"{lnet(f'path={plan.tree}')}:{oss(f'path={plan.tree}')}"
    text = run("--import", imports, "-i0.1", "-c2", "--export", "graphite,127.0.0.1,b=lnet.,e=_,d=9")
    run("--import", imports, "-i0.1", "-c2", "--export", export(store.destination, "host=beside-graphite"))
    sent = {(path, value) for (path, _), value in store.settled("beside-graphite", 1).items()}
    said = {(path.split(".", 2)[2], float(value)) for path, value in exported(text) if ".self." not in path}
    assert len(sent) > 50
    assert said == sent


def test_stock_lexpr_export_keeps_negative_numbers(plain_path: Path) -> None:
    plan = Plan(plain_path)
    header = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
    plan.step({"peers": f"{header}10.2.0.21@tcp1  3  up  -1  2  2  -1  -1184  -1284 2097296\n".encode()})
    plan.step({})
    text = run("--import", f"{plan.advance()}:{lnet('sd', f'path={plan.tree}')}", "-i0.1", "-c2", "--export", "lexpr")
    values = dict(line.split(" ", 1) for line in text.splitlines() if re.match(r"[\w.-]+ \S+$", line))
    assert {"-1184", "-1284"} <= set(values.values()), text


def test_log_rolls_lose_nothing(store: Store, recorded: Recorded, tmp_path: Path) -> None:
    """The raw file cut in two, as collectl rolls it, the last marker of one being the first of the other: the same points."""
    text = raw_text(recorded.raw)
    (file,) = recorded.raw.glob("*.raw*")
    header, samples = text[: text.index(">>>")], text[text.index(">>>") :]
    at = [found.start() for found in re.finditer(r"^>>> ", samples, re.MULTILINE)][recorded.samples // 2]
    end = samples.index("\n", at) + 1
    stem, _, clock = file.name.removesuffix(".raw.gz").rpartition("-")
    names = (f"{stem}-{clock}.raw.gz", f"{stem}-{int(clock) + 1:06}.raw.gz")
    for name, part in zip(names, (samples[:end], samples[at:]), strict=True):
        (tmp_path / name).write_bytes(gzip.compress((header + part).encode("utf-8", "surrogateescape")))
    run("-p", f"{tmp_path}/*.raw.gz", "--import", f"{lnet()}:{oss()}", "--export", export(store.destination, "host=rolled"))
    sent = store.settled(recorded.host, 1)
    told = difference(store.settled("rolled", len(sent)), sent)
    assert not told, told


def test_lnet_that_comes_goes_and_comes_is_told_once_each(tmp_path: Path) -> None:
    plan = Plan(tmp_path)
    stats = b"0 0 0 0 0 0 0 0 0 0 0\n"
    for data in (None, None, stats, stats, None, None, stats, stats):
        plan.step({"stats": data})
    told = run("--import", f"{plan.advance()}:{lnet(f'path={plan.tree}')}", "-i0.05", "-c", str(plan.count - 1))
    assert told.count("no table of LNet under") == 2, told
    assert told.count("LNet is there") == 2, told
    assert len(re.findall(r"lnet\.ph: ", told)) == 4, told  # nothing about each table


@pytest.mark.parametrize(
    ("imports", "word"),
    [
        (lnet("pth=/x"), "pth=/x"),
        (lnet("rows=many"), "rows=many"),
        (lnet("path=/no/such/folder"), "/no/such/folder"),
        (lnet("tables=peers+gardens"), "tables=peers+gardens"),
        (lnet("path=/tmp", "reset"), "reset"),
        (oss("srvices=ost"), "srvices=ost"),
    ],
)
def test_a_mistyped_option_leaves_the_module_out_with_one_line(imports: str, word: str) -> None:
    told = run("-sc", "--import", imports, "-i0", "-c1")
    (line,) = [line for line in told.splitlines() if ".ph: " in line]
    assert word in line
    assert line.endswith(".ph is left out")
    assert "cpu sys inter" in told  # collectl goes on


def test_sub_second_markers_are_those_of_the_samples(recorded: Recorded) -> None:
    stamps = [stamp for stamp, _ in samples_of(raw_text(recorded.raw))]
    assert all(50 <= later - earlier <= 400 for earlier, later in pairwise(stamps))
