"""Raw files of collectl give the snapshots that were recorded in them, whatever else stands there and however they end."""

import gzip
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from lnetstat.errors import SourceError
from lnetstat.frames import load
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording
from lnetstat.sources import open_recorded, open_source
from lnetstat.sources.collectl import CollectlSource, is_collectl
from tests.sources.raw_files import OTHERS, header, marker, raw_text, record, write_raw

SAMPLES = Path(__file__).parents[2] / "sample-data"
RECORDED = SAMPLES / "recordings" / "s7-lustre-pings"
PEERS = "nid refs state last max rtr min tx min queue\n1@gni 1 up -1 8 8 8 8 -4 0\n"
NS = 10**9


def snapshot(second: float = 0, name: str = "peers", text: str = PEERS, state: State = State.OK, **words: object) -> Snapshot:
    whole = Snapshot(name, "rtr", 1795176000 * NS + round(second * NS), None, 118_000, state, 0, frozenset(), text)
    return whole._replace(**words)


def raw(*lines: str, host: str = "rtr") -> str:
    return header(host) + "".join(lines)


def read(path: Path) -> list[Snapshot]:
    return list(CollectlSource(path).snapshots())


def hosts_of(recording: Path) -> dict[str, list[Snapshot]]:
    """A recording's snapshots by host, as a raw file keeps them: to the microsecond, without the monotonic clock."""
    found: dict[str, list[Snapshot]] = {}
    for each in Recording(recording).snapshots():
        exact = each._replace(time_ns=each.time_ns // 1000 * 1000, read_ns=each.read_ns // 1000 * 1000, mono_ns=None)
        found.setdefault(each.host, []).append(exact)
    return found


@pytest.fixture(scope="module")
def raw_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three hosts of a recording as raw files, beside what else collectl leaves in its folder."""
    folder = tmp_path_factory.mktemp("collectl")
    for host, snapshots in hosts_of(RECORDED).items():
        write_raw(folder, host, raw_text(snapshots, host))
    (folder / "rtr-20261120-120015.tab").write_text(raw() + "#Date Time [CPU]User%\n20261120 12:00:16 3\n")
    (folder / "rtr-collectl-202611.log").write_text("starting up\n")
    return folder


def test_a_folder_gives_each_hosts_snapshots(raw_folder: Path) -> None:
    source = CollectlSource(raw_folder)
    expected = hosts_of(RECORDED)
    assert source.hosts == ("c1", "rtr", "srv")
    found: dict[str, list[Snapshot]] = {}
    stamps = []
    for each in source.snapshots():
        found.setdefault(each.host, []).append(each)
        stamps.append(each.time_ns)
    assert found == expected
    assert stamps == sorted(stamps), "hosts one behind the other would not replay at their pace"
    assert (source.begin_ns, source.end_ns) == (min(stamps), max(stamps))
    assert source.problems == []
    assert source.notes == []


def test_a_window_a_host_and_a_name(raw_folder: Path) -> None:
    source = CollectlSource(raw_folder)
    begin_ns = source.begin_ns + 5 * NS
    found = list(source.snapshots(begin_ns=begin_ns, end_ns=begin_ns + NS, names=("peers",), hosts=("rtr",)))
    wanted = [each for each in hosts_of(RECORDED)["rtr"] if each.name == "peers" and begin_ns <= each.time_ns < begin_ns + NS]
    assert found == wanted
    assert len(wanted) == 10


def test_the_short_way_of_the_frames_gives_what_parsing_every_text_gives(raw_folder: Path) -> None:
    class Plain:
        def snapshots(self):
            return CollectlSource(raw_folder).snapshots()

    short, plain = load(CollectlSource(raw_folder)), load(Plain())
    for name, table in plain.tables.items():
        assert_frame_equal(short.tables[name], table)
    assert_frame_equal(short.facts, plain.facts)
    assert_frame_equal(short.states, plain.states)


@given(st.lists(st.text(st.sampled_from("a@1 |\\nr\n\r\x00é\ud880"), max_size=12), min_size=1, max_size=6), st.data())
@settings(max_examples=100, deadline=None)
def test_any_text_comes_back_byte_for_byte(tmp_path_factory: pytest.TempPathFactory, texts: list[str], data: st.DataObject) -> None:
    texts = [text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape") for text in texts]
    given_ones = [snapshot(at, data.draw(st.sampled_from(["peers", "nis", "lnetctl net show"])), text) for at, text in enumerate(texts)]
    path = write_raw(tmp_path_factory.mktemp("x"), "rtr", raw(*(marker(each.time_ns) + record(each) for each in given_ones)))
    assert read(path) == given_ones


def test_states_errors_and_flags_come_through(tmp_path: Path) -> None:
    given_ones = [
        snapshot(0, state=State.ABSENT, text="", errno=2),
        snapshot(1, state=State.FORBIDDEN, text="", errno=13),
        snapshot(2, state=State.PARTIAL, errno=116, flags=frozenset({"retried"})),
        snapshot(3, flags=frozenset({"retried", "low_water_reset"})),
        snapshot(4, text="", name="lnet.peer_credits"),
    ]
    path = write_raw(tmp_path, "rtr", raw(marker(0), *map(record, given_ones)))
    assert read(path) == given_ones


def test_cpu_lines_become_proc_stat_at_the_markers_time(tmp_path: Path) -> None:
    cpu = "cpu  63875 0 7696 68749 1081 0 301 1917 0 0\ncpu0 17484 0 3293 49834 241 0 25 942 0 0\n"
    one = snapshot(1.5, "stats", "0 13 0 213 213 15291 0 7040 7296 358688640 0\n")
    path = write_raw(tmp_path, "rtr", raw(cpu, marker(one.time_ns), cpu, OTHERS, record(one)))
    stat, stats = read(path)
    assert (stat.name, stat.text, stat.time_ns) == ("proc/stat", cpu, one.time_ns)
    assert stats == one


def test_a_log_roll_a_clock_that_stepped_and_other_records_are_borne_with(tmp_path: Path) -> None:
    first, second, back = snapshot(0), snapshot(1), snapshot(-3600)
    unknown = "lnt:tcp 1 0\nlnt=took 1\nlntx-y ok\nlustre 1 2\ncpuinfo 3\nproc:1 x\n"
    write_raw(tmp_path, "rtr", raw(record(first), marker(first.time_ns), unknown, marker(second.time_ns)))
    later = (
        header("rtr", 1795176100) + marker(second.time_ns) + marker(second.time_ns) + record(second) + marker(back.time_ns) + record(back)
    )
    write_raw(tmp_path, "rtr", later, "20261121-000000")
    source = CollectlSource(tmp_path)
    assert list(source.snapshots()) == [first, second, back]
    assert source.problems == []
    assert (source.begin_ns, source.end_ns) == (back.time_ns, second.time_ns)


def test_a_file_that_is_still_written_gives_what_is_there_and_one_line(tmp_path: Path) -> None:
    given_ones = [snapshot(at, text=PEERS.replace(" -4 ", f" -{at} ")) for at in range(400)]
    text = raw(*(marker(each.time_ns) + record(each) for each in given_ones)).encode()
    packer = zlib.compressobj(wbits=31)
    path = tmp_path / "rtr-20261120-120015.raw.gz"
    path.write_bytes(packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH))
    source = CollectlSource(path)
    assert list(source.snapshots()) == given_ones
    assert len(source.problems) == 1
    assert "middle of its gzip stream" in source.problems[0]

    path.write_bytes(gzip.compress(text)[:-1500])
    source = CollectlSource(path)
    found = list(source.snapshots())
    assert 0 < len(found) < 400
    assert found == given_ones[: len(found)]
    assert len(source.problems) == 1
    assert "middle of its gzip stream" in source.problems[0]

    plain = tmp_path / "rtr-20261120-120015.raw"
    plain.write_bytes(text[:-20])
    source = CollectlSource(plain)
    assert list(source.snapshots()) == given_ones[:-1]
    assert len(source.problems) == 1
    assert "last line is not whole" in source.problems[0]


def test_what_was_written_behind_a_damage_is_read(tmp_path: Path) -> None:
    """collectl was killed, and went on in the same file when it was started again."""
    first = raw(marker(0), *(record(snapshot(at / 10)) for at in range(3000)))
    last = snapshot(9999)
    path = tmp_path / "rtr-20261120-120015.raw.gz"
    path.write_bytes(gzip.compress(first.encode())[:-300] + gzip.compress(raw(marker(last.time_ns), record(last)).encode()))
    source = CollectlSource(path)
    found = list(source.snapshots())
    assert found[:2000] == [snapshot(at / 10) for at in range(2000)]
    assert found[-1] == last
    assert any("damaged near byte" in line or "middle of its gzip stream" in line for line in source.problems)


def test_a_line_that_is_no_record_is_told_once_and_left_out(tmp_path: Path) -> None:
    bad = "lnt-peers maybe 0 1795176001.000000 1 - |x\n"
    untimely = record(snapshot()).replace("1795176000.", "99999.")
    path = write_raw(tmp_path, "rtr", raw(marker(0), bad, bad, untimely, ">>> now <<<\n", record(snapshot())))
    source = CollectlSource(path)
    assert list(source.snapshots()) == [snapshot()]
    assert len(source.problems) == 1
    assert "lnt-peers maybe" in source.problems[0]
    assert "3 other lines likewise" in source.problems[0]


def test_files_without_our_records_are_said_to_be_so(tmp_path: Path) -> None:
    other = header("rtr", ours=False) + marker(NS) + OTHERS
    path = write_raw(tmp_path, "other", other)
    assert is_collectl(path)
    assert is_collectl(tmp_path)
    with pytest.raises(SourceError, match=r"holds no records of lnet\.ph or lustre_oss\.ph: was collectl started with --import"):
        open_source(str(path))
    write_raw(tmp_path, "rtr", raw(marker(0), record(snapshot())))
    source = CollectlSource(tmp_path)
    assert list(source.snapshots()) == [snapshot()]
    assert len(source.notes) == 1
    assert "other-2026" in source.notes[0]


def test_raw_files_are_told_by_their_content(tmp_path: Path) -> None:
    odd = tmp_path / "copy-of-a-file"
    odd.write_bytes(gzip.compress(raw(marker(0), record(snapshot())).encode()))
    assert isinstance(open_recorded(str(odd)), CollectlSource)
    tab = tmp_path / "rtr-20261120.raw"
    tab.write_text(raw() + "#Date Time [CPU]User%\n20261120 12:00:16 3\n")
    assert not is_collectl(tab)
    assert not is_collectl(SAMPLES / "2.17.0")
    (tmp_path / "empty.raw.gz").write_bytes(b"")
    assert not is_collectl(tmp_path / "empty.raw.gz")


def test_a_file_of_a_gzip_header_only_is_cut_short(tmp_path: Path) -> None:
    """collectl was killed before zlib gave it the first block to write."""
    cut = tmp_path / "rtr-20261120-120015.raw.gz"
    cut.write_bytes(gzip.compress(b"")[:10])
    for path in (cut, tmp_path):
        with pytest.raises(SourceError, match=r"rtr-20261120-120015\.raw\.gz: not a whole gzip file: cut short"):
            open_source(str(path))
    write_raw(tmp_path, "rtr", raw(marker(0), record(snapshot())), "20261121-000000")
    source = CollectlSource(tmp_path)
    assert list(source.snapshots()) == [snapshot()]
    assert len(source.problems) == 1
    assert "rtr-20261120-120015.raw.gz: not a whole gzip file" in source.problems[0]


def test_a_file_with_its_header_only_holds_no_sample_yet(tmp_path: Path) -> None:
    source = CollectlSource(write_raw(tmp_path, "rtr", raw()))
    assert list(source.snapshots()) == []
    assert source.begin_ns is None
    assert source.end_ns is None
    assert len(source.problems) == 1
    assert "holds no sample yet" in source.problems[0]


def test_of_the_worst_peers_the_sums_of_all_come_too(tmp_path: Path) -> None:
    text = PEERS + "2@gni 1 up -1 8 8 8 8 8 0\n"
    nets = "lnt:gni 3 0 0 1 0 8 -4 8 8 0 0 0 0 0 0 3 24\n"
    few = snapshot(1, text=text, flags=frozenset({"worst"}))
    path = write_raw(
        tmp_path, "rtr", raw(nets, record(few), nets.replace(" 3 0", " 2 0", 1), record(few._replace(time_ns=few.time_ns + NS)))
    )
    source = CollectlSource(path)
    by_net, peers, whole = source.snapshots()
    assert by_net.name == "peers_by_net"
    assert by_net.time_ns == few.time_ns
    assert by_net.text.split("\n")[1] == nets[4:-1]
    assert peers == few
    assert "worst" not in whole.flags, "all of two peers are no choice"
    assert len(source.notes) == 1
    assert "only the 2 worst peers were recorded in 1 of 2 samples" in source.notes[0]
