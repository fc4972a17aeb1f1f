"""lnetcarbon.ph through a real collectl: what arrives, at which second, and what happens while nobody takes it.

numbers.ph exports what a plan says; with `interval=1` and -i0 a plan of minutes passes at once, each sample with the time of the plan.
"""

import signal
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.collectors.conftest import Store, command, export, raw_text, run, samples_of

NUMBERS = Path(__file__).with_name("numbers.ph")
BEGIN_S = 1_795_171_950
PATIENCE_S = 60


class Listener:
    """Somebody who takes Carbon's lines: at once, `bytes_a_read` at a time, or never (`bytes_a_read` 0)."""

    def __init__(self, port: int = 0, host: str = "127.0.0.1", bytes_a_read: int = 1 << 20) -> None:
        self.lines: list[str] = []
        self.connections = 0
        self._changed = threading.Condition()
        self._bytes_a_read = bytes_a_read
        self._open: list[socket.socket] = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._server = socket.socket(family, socket.SOCK_STREAM)
        self._server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if bytes_a_read < 1 << 20:
            self._server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._server.bind((host, port))
        self._server.listen(8)
        self.port: int = self._server.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                line = self._server.accept()[0]
            except OSError:
                return
            with self._changed:
                self.connections += 1
                self._open.append(line)
                self._changed.notify_all()
            if self._bytes_a_read:
                threading.Thread(target=self._read, args=(line,), daemon=True).start()

    def _read(self, line: socket.socket) -> None:
        rest = b""
        while True:
            try:
                data = line.recv(self._bytes_a_read)
            except OSError:
                return
            if not data:
                line.close()
                return
            *whole, rest = (rest + data).split(b"\n")
            with self._changed:
                self.lines += [text.decode() for text in whole]
                self._changed.notify_all()

    def wait(self, seen: Callable[["Listener"], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: seen(self), PATIENCE_S), f"{self.connections} connections, {len(self.lines)} lines"

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)  # close alone leaves accept, and so the port, as they are
        self._accepting.join(PATIENCE_S)
        self._server.close()
        for line in self._open:
            line.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def free_port() -> int:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port: int = line.getsockname()[1]
        return port


def plan(folder: Path, steps: Sequence[Sequence[str]], times: Sequence[float] = (), begin_s: int = BEGIN_S) -> Path:
    """Write a plan: the baseline, then the steps, a second apart from `begin_s` on or at `times` after it."""
    lines = [f"at {begin_s - 1}.001"]
    for at, step in enumerate(steps):
        lines += [f"at {begin_s + (times[at] if times else at) + 0.001:.3f}", *step]
    file = folder / "plan"
    file.write_text("\n".join(lines) + "\n")
    return file


def numbers(file: Path, interval: bool = True) -> str:
    return f"{NUMBERS},plan={file}" + (",interval=1" if interval else "")


def sample(file: Path, *arguments: str, interval: bool = True, allow_words: bool = False) -> tuple[str, str]:
    """Run the `count` steps of a plan as fast as collectl can; return what it printed and what it told."""
    count = file.read_text().count("at ") - 1  # collectl does not count the baseline
    words = command("-i0", f"-c{count}", "--quiet", "--import", numbers(file, interval), *arguments)
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert allow_words or not done.stderr, done.stderr
    return done.stdout, done.stderr


def values_of(lines: Sequence[str], below: str = "lnet.h.") -> dict[tuple[str, int], str]:
    """Return (path below PREFIX.HOST, second) -> value as it was written, without what lnetcarbon.ph tells of itself."""
    found = {}
    for line in lines:
        path, value, second = line.split(" ")
        assert path.startswith(below), line
        path = path.removeprefix(below)
        if not path.startswith("self."):
            found[path, int(second)] = value
    return found


def own(lines: Sequence[str], leaf: str) -> list[float]:
    return [float(line.split(" ")[1]) for line in lines if f".self.{leaf} " in line]


def many(count: int, at: int) -> list[str]:
    return [f"counters.ost_io.c{number}.sum {number * 1_000_003 + at}" for number in range(count)]


def test_a_real_carbon_has_each_value_at_its_second(tmp_path: Path, store: Store) -> None:
    begin_s = int(time.time()) - 100
    names = {"peers.tcp.tx_credits_worst": ["-1184", "-3", "7"], "peers.tcp.in_use": ["0.75", "1e3", "-0.1"], "a.b_c": ["5", "6", "7"]}
    steps = [[f"{name} {values[at]}" for name, values in names.items()] for at in range(3)]
    sample(plan(tmp_path, steps, begin_s=begin_s), "--export", export(store.destination, "host=carbon1.site"))
    found = store.settled("carbon1_site", 9, families=("peers", "a"))
    assert found == {(name, begin_s + at): float(values[at]) for name, values in names.items() for at in range(3)}


def test_values_keep_all_their_digits_and_what_is_no_number_is_counted(tmp_path: Path) -> None:
    good = {
        "a.big": "9223372036854775807",
        "a.third": "0.3333333333333333",
        "a.tenth": "0.1",
        "a.tiny": "-1.5e-300",
        "a.exact": "1234567890123456",
        "a.whole": "1e3",
    }
    bad = ["b.nan nan", "b.inf inf", "b.word high", "b.dash -", "b.none ", "b.two 1,5"]
    steps = [[f"{name} {value}" for name, value in good.items()] + bad, ["a.big 1"]]
    text, _ = sample(plan(tmp_path, steps), "--export", export("dry", "host=h"))
    found = values_of(text.splitlines())
    assert {name: float(found[name, BEGIN_S]) for name in good} == {name: float(value) for name, value in good.items()}
    assert found["a.big", BEGIN_S] == "9223372036854775807"
    assert found["a.whole", BEGIN_S] == "1000"
    assert {name for name, _ in found} == set(good)
    assert own(text.splitlines(), "lost") == [0, len(bad)]


def test_names_become_path_nodes(tmp_path: Path) -> None:
    steps = [["disk./dev/sda.busy 1", "x..é 2", "counters.ost_io.ost_read.sum 3"]]
    text, _ = sample(plan(tmp_path, steps), "--export", export("dry", "prefix=site.my/lnet", "host=a b"))
    found = values_of(text.splitlines(), "site.__6d792f6c6e6574.__612062.")
    assert [name for name, _ in found] == ["disk.__2f6465762f736461.busy", "x.__.__c3a9", "counters.ost_io.ost_read.sum"]


def test_samples_of_one_second_are_reduced_as_the_metric_says(tmp_path: Path) -> None:
    """Every tenth of a second; the samples at .000 and .999 belong to the seconds in which they were taken."""
    metrics = ("peers.tcp.tx_credits_worst", "peers.tcp.oversubscribed", "peers.tcp.in_use", "peers.tcp.count", "mine.own")
    values = [(-5, 3, 1, 10, 4), (-9, 8, 2, 11, 3), (-7, 1, 6, 12, 2), (0, 0, 0, 13, 1)]
    steps = [[f"{name} {value}" for name, value in zip(metrics, row, strict=True)] for row in values]
    text, _ = sample(plan(tmp_path, steps, times=(-0.001, 0.5, 0.998, 0.999)), "--export", export("dry", "host=h"), interval=False)
    found = values_of(text.splitlines())
    assert {name: float(found[name, BEGIN_S]) for name in metrics} == dict(zip(metrics, (-9, 8, 3, 12, 2), strict=True))
    assert {name: float(found[name, BEGIN_S + 1]) for name in metrics} == dict(zip(metrics, (0, 0, 0, 13, 1), strict=True))


def test_a_second_that_comes_twice_is_told_again_with_both_samples(tmp_path: Path) -> None:
    """The clock was set back by two milliseconds: the second sample of the second must not hide the first."""
    steps = [[f"peers.tcp.tx_credits_worst {value}"] for value in (-4, -9, -1, -2)]
    text, _ = sample(plan(tmp_path, steps, times=(0, 1, 1.99, 2)), "--export", export("dry", "host=h"))
    lines = [line for line in text.splitlines() if "worst" in line]
    assert [line.split(" ")[1:] for line in lines] == [
        [str(value), str(BEGIN_S + at)] for value, at in ((-4, 0), (-9, 1), (-9, 1), (-2, 2))
    ]


def test_series_are_limited_and_the_top_peers_have_their_share(tmp_path: Path) -> None:
    tops = [f"peers.tcp.top.10_0_0_{number}_at_tcp.tx_credits -1" for number in range(20)]
    file = plan(tmp_path, [[*many(60, 0), *tops], [*many(60, 1), *tops]])
    text, words = sample(file, "--export", export("dry", "host=h", "series_max=200"), allow_words=True)
    found = values_of(text.splitlines())
    assert sum(second == BEGIN_S + 1 for _, second in found) == 40 + len(tops)
    assert words == "lnetcarbon.ph: more than 200 series: what is new is not sent (series_max=)\n"


def test_what_several_modules_tell_of_themselves_is_added_up(tmp_path: Path) -> None:
    other = tmp_path / "other.ph"
    other.write_text(NUMBERS.read_text().replace("numbers", "other").replace("Numbers", "Other"))
    file = plan(tmp_path, [["a.b 1", "self.errors 2", "self.duration_ms 0.5"]])
    text, _ = sample(file, "--export", export("dry", "host=h"))
    assert own(text.splitlines(), "errors") == [2]
    words = command("-i0", "-c1", "--quiet", "--import", f"{numbers(file)}:{other},plan={file}", "--export", export("dry", "host=h"))
    lines = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    assert (own(lines, "errors"), own(lines, "duration_ms")) == ([4], [1])


def test_playing_back_gives_the_stamps_of_the_past_twice_the_same(tmp_path: Path, listener: Listener) -> None:
    steps = [many(20, at) for at in range(50)]
    file = plan(tmp_path, steps)
    folder = tmp_path / "raw"
    folder.mkdir()
    sample(file, "--export", export("dry", "host=h"), "-f", str(folder))
    raw = next(folder.glob("*.raw.gz"))
    address = f"127.0.0.1:{listener.port}"
    played = []
    for _ in range(2):
        before = len(listener.lines)
        run("-p", raw, "--import", NUMBERS, "--export", export(address, "host=h"))
        played.append(values_of(listener.lines[before:]))
    assert played[0] == played[1]
    assert played[0] == {(f"counters.ost_io.c{n}.sum", BEGIN_S + at): str(n * 1_000_003 + at) for n in range(20) for at in range(50)}


class Running:
    """collectl at ten samples a second, for real, until it is told to end."""

    def __init__(self, *arguments: str | Path) -> None:
        self._process = subprocess.Popen(
            command("-i0.1", "--quiet", *arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self.told: list[str] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stderr
        for line in self._process.stderr:
            with self._changed:
                self.told.append(line.rstrip("\n"))
                self._changed.notify_all()

    def wait_for_words(self, words: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: any(words in line for line in self.told), PATIENCE_S), self.told

    def end(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(PATIENCE_S) == 0, self.told
        self._reader.join(PATIENCE_S)

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(PATIENCE_S)
        assert self._process.stderr
        self._process.stderr.close()


def now_plan(folder: Path, lines: Sequence[str]) -> Path:
    """A plan of one step that is repeated for ever, with the clock as it is."""
    file = folder / "plan"
    file.write_text("\n".join(["at -", *lines]) + "\n")
    return file


def seconds_of(lines: Sequence[str]) -> list[int]:
    return sorted({int(line.split(" ")[2]) for line in lines})


def test_carbon_that_comes_back_gets_all_seconds_and_each_change_is_told_once(tmp_path: Path) -> None:
    """Down at first, then there, then killed, then there again."""
    port = free_port()
    file = now_plan(tmp_path, many(10, 0))
    with Running("--import", numbers(file, interval=False), "--export", export(f"localhost:{port}", "host=h")) as collectl:
        collectl.wait_for_words("cannot connect")
        first = Listener(port)
        first.wait(lambda here: len(seconds_of(here.lines)) >= 3)
        collectl.wait_for_words("connected")
        first.close()
        second = Listener(port)
        second.wait(lambda here: max(own(here.lines, "resent"), default=0) > 0)
        collectl.end()
        second.close()
    lines = second.lines
    seconds = seconds_of(first.lines + lines)
    assert seconds == list(range(seconds[0], seconds[-1] + 1))
    assert set(seconds_of(lines)) >= set(seconds_of(first.lines)), "what the first may not have kept is written again"
    assert own(lines, "lost")[-1] == 0
    at = f"lnetcarbon.ph: carbon localhost:{port}: "
    assert [line.split(";")[0] for line in collectl.told] == [
        f"{at}cannot connect: Connection refused",
        f"{at}connected",
        f"{at}it closed the connection",
        f"{at}connected",
    ]


def test_carbon_that_hangs_is_told_once_and_that_it_is_back_when_it_takes_data(tmp_path: Path) -> None:
    """It takes connections, but never reads: each try comes about, and none is told."""
    peer = Listener(bytes_a_read=0)
    file = now_plan(tmp_path, many(1000, 0))
    address = export(f"127.0.0.1:{peer.port}", "host=h", "series_max=5000", "timeout=0.5", f"spool={tmp_path / 'spool'}")
    with Running("--import", numbers(file, interval=False), "--export", address) as collectl:
        collectl.wait_for_words("it hangs")
        peer.wait(lambda here: here.connections >= 3)
        assert len(collectl.told) == 1
        peer.close()
        reader = Listener(peer.port)
        collectl.wait_for_words("connected")
        reader.close()
        assert reader.lines
        collectl.end()
    at = f"lnetcarbon.ph: carbon 127.0.0.1:{peer.port}: "
    assert [line.split(";")[0] for line in collectl.told[:2]] == [f"{at}it takes nothing for 0.5 s: it hangs", f"{at}connected"]


def test_sigterm_loses_no_second(tmp_path: Path, listener: Listener) -> None:
    folder = tmp_path / "raw"
    folder.mkdir()
    file = now_plan(tmp_path, many(10, 0))
    address = export(f"127.0.0.1:{listener.port}", "host=h")
    with Running("-f", folder, "--import", numbers(file, interval=False), "--export", address) as collectl:
        listener.wait(lambda here: len(seconds_of(here.lines)) >= 2)
        collectl.end()
    assert collectl.told == []
    taken = [milliseconds // 1000 for milliseconds, _ in samples_of(raw_text_of(folder))][1:]  # the first is the baseline
    assert seconds_of(listener.lines) == sorted(set(taken))
    assert not list((folder / "lnetcarbon.spool").glob("0*"))


def raw_text_of(folder: Path) -> str:
    raws = folder / "only"
    raws.mkdir()
    (file,) = folder.glob("*.raw*")
    file.rename(raws / file.name)
    return raw_text(raws)


@pytest.mark.parametrize("bytes_a_read", [0, 512])
def test_carbon_that_hangs_or_is_slow_costs_no_sample(tmp_path: Path, bytes_a_read: int) -> None:
    """20 MB of points in one go, into a peer with a buffer of some kilobytes."""
    peer = Listener(bytes_a_read=bytes_a_read)
    folder = tmp_path / "raw"
    folder.mkdir()
    file = plan(tmp_path, [many(1000, at) for at in range(200)])
    address = export(f"127.0.0.1:{peer.port}", "host=h", "series_max=5000", "timeout=0.3")
    _, words = sample(file, "--export", address, "-f", str(folder), allow_words=True)
    spooled = sum(text.count("\n") for text in spool_of(folder).values())
    peer.close()
    assert len(samples_of(raw_text_of(folder))) == 201
    assert spooled + len(values_of(peer.lines)) >= 200 * 1000
    if not bytes_a_read:
        assert f"carbon 127.0.0.1:{peer.port}: it takes nothing for 0.3 s: it hangs" in words


def spool_of(folder: Path) -> dict[str, str]:
    """Return name -> text of what waits on disk, oldest first."""
    return {file.name: file.read_text() for file in sorted((folder / "lnetcarbon.spool").iterdir()) if file.name != "lock"}


def test_a_spool_is_found_after_a_restart_and_the_newest_goes_first(tmp_path: Path) -> None:
    folder = tmp_path / "raw"
    folder.mkdir()
    port = free_port()
    address = export(f"127.0.0.1:{port}", "host=h", "series_max=5000")
    sample(plan(tmp_path, [many(1000, at) for at in range(60)]), "--export", address, "-f", str(folder), allow_words=True)
    kept = spool_of(folder)
    assert len(kept) > 1
    assert {stat.S_IMODE(file.stat().st_mode) for file in (folder / "lnetcarbon.spool").iterdir()} == {0o600}
    assert stat.S_IMODE((folder / "lnetcarbon.spool").stat().st_mode) == 0o700
    for name, text in kept.items():
        assert text.endswith("\n")
        assert name.partition(".")[2] == str(text.count("\n"))
    (folder / "lnetcarbon.spool" / "000000000099.new").write_text("half a segm")
    peer = Listener(port)
    sample(plan(tmp_path, [many(1000, at) for at in range(3)], begin_s=BEGIN_S + 1000), "--export", address, "-f", str(folder))
    peer.close()
    assert peer.lines[0].split(" ")[2] == str(BEGIN_S + 1000), "live data does not wait behind the backlog"
    assert seconds_of(peer.lines) == [BEGIN_S + at for at in (*range(60), *range(1000, 1003))]
    assert len(values_of(peer.lines)) == 63 * 1000
    assert spool_of(folder) == {}


def test_a_spool_stays_within_its_bound_and_drops_the_oldest(tmp_path: Path) -> None:
    folder = tmp_path / "raw"
    folder.mkdir()
    address = export(f"127.0.0.1:{free_port()}", "host=h", "spool_max=256k")
    _, words = sample(plan(tmp_path, [many(100, at) for at in range(200)]), "--export", address, "-f", str(folder), allow_words=True)
    kept = spool_of(folder)
    assert 128 << 10 < sum(map(len, kept.values())) <= 256 << 10
    lines = "".join(kept.values()).splitlines()
    seconds = seconds_of(lines)
    assert seconds == list(range(seconds[0], BEGIN_S + 200))
    assert own(lines, "lost")[-1] + own(lines, "spooled")[-1] == 199 * 107
    assert [line for line in words.splitlines() if "dropped" in line] == [
        "lnetcarbon.ph: no room for more points: the oldest are dropped from now on"
    ]


def test_what_is_dropped_is_among_what_was_not_delivered(tmp_path: Path) -> None:
    address = export(f"127.0.0.1:{free_port()}", "host=h", "series_max=5000")
    _, words = sample(plan(tmp_path, [many(1000, at) for at in range(60)]), "--export", address, allow_words=True)
    told = words.splitlines()
    assert len(told) == 3
    assert "no room for more points" in told[1]
    assert told[2].endswith(f": ends; points not delivered: {60 * 1007}")


@pytest.mark.parametrize("has_spool", [False, True])
def test_without_a_usable_spool_memory_is_a_mebibyte(tmp_path: Path, has_spool: bool) -> None:
    """spool_max= bounds the disk: where the folder cannot be used it says nothing of the memory."""
    (tmp_path / "no folder").write_text("")
    options = (f"spool={tmp_path / 'no folder'}", "spool_max=8k") if has_spool else ()
    port, gate = free_port(), tmp_path / "gate"
    file = plan(tmp_path, [*(many(1000, at) for at in range(60)), [f"wait {gate}", "a.b 1"]])
    address = export(f"127.0.0.1:{port}", "host=h", "series_max=5000", *options)
    words = command("-i0", "-c61", "--quiet", "--import", numbers(file), "--export", address)
    collectl = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert collectl.stderr
    told = [collectl.stderr.readline()]
    while told[-1] and "no room for more points" not in told[-1]:
        told.append(collectl.stderr.readline())
    peer = Listener(port)
    gate.touch()
    assert collectl.wait(PATIENCE_S) == 0, told
    collectl.stderr.close()
    peer.close()
    assert 15_000 < len(values_of(peer.lines)) < 30_000
    assert len(told) == 2 + has_spool, told


def test_a_spool_that_cannot_be_used_is_told_at_the_start(tmp_path: Path, listener: Listener) -> None:
    (tmp_path / "no folder").write_text("")
    spool = f"spool={tmp_path / 'no folder'}"
    for port in (free_port(), listener.port):
        address = export(f"127.0.0.1:{port}", "host=h", "series_max=5000", spool)
        _, words = sample(plan(tmp_path, [many(1000, at) for at in range(60)]), "--export", address, allow_words=True)
        assert "waits in memory only" in words.splitlines()[0]
        assert words.count("waits in memory only") == 1
    assert len(values_of(listener.lines)) > 0


def test_a_damaged_segment_gives_the_lines_that_are_whole(tmp_path: Path) -> None:
    folder = tmp_path / "raw"
    folder.mkdir()
    port = free_port()
    address = export(f"127.0.0.1:{port}", "host=h", "series_max=5000")
    sample(plan(tmp_path, [many(1000, at) for at in range(60)]), "--export", address, "-f", str(folder), allow_words=True)
    first, second, third = sorted((folder / "lnetcarbon.spool").glob("0*"))[:3]
    kept = sum(text.count("\n") for text in spool_of(folder).values())
    lines = first.read_bytes().split(b"\n")
    lines[5], lines[-9] = b"\0\xff" * 20, b"lnet.h.a.b 1 1795171950 7"
    first.write_bytes(b"\n".join(lines))
    text = second.read_bytes()
    second.write_bytes(text[: text.index(b"\n", len(text) // 2) + 9])
    cut = text.count(b"\n") - second.read_bytes().count(b"\n")
    third.write_bytes(b"x" * third.stat().st_size)
    damaged = 2 + cut + int(third.suffix[1:])
    peer = Listener(port)
    steps = [["a.b 1"]] * 20
    _, words = sample(plan(tmp_path, steps, begin_s=BEGIN_S + 1000), "--export", address, "-f", str(folder), allow_words=True)
    peer.close()
    assert values_of(peer.lines)  # all are whole lines
    old = [line for line in peer.lines if int(line.split(" ")[2]) < BEGIN_S + 1000]
    assert len(old) == len(set(old)) == kept - damaged
    assert max(own(peer.lines, "lost")) == damaged
    assert words.splitlines()[0] == f"lnetcarbon.ph: spool {first}: damaged: what are no points any more is dropped and counted"
    assert words.splitlines()[1:] == [f"lnetcarbon.ph: carbon 127.0.0.1:{port}: ends; points not delivered: {damaged}"]
    assert spool_of(folder) == {}


def test_two_collectls_do_not_share_a_spool(tmp_path: Path) -> None:
    file = now_plan(tmp_path, many(100, 0))
    spool = tmp_path / "spool"
    address = export(f"127.0.0.1:{free_port()}", "host=h", f"spool={spool}", "spool_max=8k")
    with Running("--import", numbers(file, interval=False), "--export", address) as first:
        first.wait_for_words("no room for more points")
        _, words = sample(plan(tmp_path, [many(1000, at) for at in range(3)]), "--export", address, allow_words=True)
        first.end()
    assert f"spool {spool}: another process uses it; what cannot be sent waits in memory only" in words
    assert all("h.counters" in file.read_text() or "h.self" in file.read_text() for file in spool.glob("0*"))


def test_ipv6(tmp_path: Path) -> None:
    try:
        peer = Listener(host="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    sample(plan(tmp_path, [["a.b 1"], ["a.b 2"]]), "--export", export(f"[::1]:{peer.port}", "host=h"))
    peer.close()
    assert values_of(peer.lines) == {("a.b", BEGIN_S): "1", ("a.b", BEGIN_S + 1): "2"}


def test_playing_back_to_nobody_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "raw"
    folder.mkdir()
    sample(plan(tmp_path, [many(10, at) for at in range(3)]), "--export", export("dry", "host=h"), "-f", str(folder))
    words = command("-p", next(folder.glob("*.raw.gz")), "--import", NUMBERS, "--export")
    done = subprocess.run(
        [*words, export(f"127.0.0.1:{free_port()}", "timeout=0.5")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "points not delivered: 51" in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", "address '': expected HOST, HOST:PORT or [IPV6]:PORT, for example carbon.site.org:2003"),
        ("::1:2003", "address '::1:2003': expected HOST, HOST:PORT or [IPV6]:PORT, for example carbon.site.org:2003"),
        ("h:70000", "address 'h:70000': expected HOST, HOST:PORT or [IPV6]:PORT, for example carbon.site.org:2003"),
        ("h,pth=/x", "option 'pth=/x': expected one of dry, host=, prefix=, series_max=, spool=, spool_max=, timeout="),
        ("h,timeout=0", "option 'timeout=0': expected seconds above 0"),
        ("h,spool_max=1X", "option 'spool_max=1X': expected bytes, with k, M or G, for example 64M"),
        ("h,prefix=a..b", "option 'prefix=a..b': expected a name, or names with dots between them"),
        ("h,series_max=199", "option 'series_max=199': expected a number of at least 200"),
        ("dry,series_max=0200", "option 'series_max=0200': expected a number of at least 200"),
    ],
)
def test_what_is_mistyped_is_one_clear_line_and_recording_goes_on(tmp_path: Path, words: str, expected: str) -> None:
    folder = tmp_path / "raw"
    folder.mkdir()
    text, told = sample(plan(tmp_path, [["a.b 1"]] * 3), "--export", export(words), "-f", str(folder), allow_words=True)
    assert (text, told) == ("", f"lnetcarbon.ph: {expected}; lnetcarbon.ph sends nothing\n")
    assert not (folder / "lnetcarbon.spool").exists()
    (raw,) = folder.iterdir()
    assert len(samples_of(raw_text(folder))) == 4
    played = run("-p", raw, "--import", NUMBERS, "--export", export(words), status=1)
    assert played == f"lnetcarbon.ph: {expected}; lnetcarbon.ph sends nothing\n"
