"""The sink with a spool: against a real carbon-cache that is ended, killed and stopped, a full disk, and its own death at any moment."""

import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random

import pytest

from lnetstat.model import Point
from lnetstat.sinks._delivery import HELD_BYTES_MAX, Delivery
from lnetstat.sinks.carbon import CarbonSink
from lnetstat.sinks.spool import Spool
from tests.sinks.test_carbon import SERIES, Peer, drain, missing, quick, read_lines, second_of_points, wait_until

KILLS = int(os.environ.get("LNETSTAT_KILLS", "25"))
PACKAGE_PARENT = str(Path(__file__).parents[2])


@pytest.fixture
def peer():
    made = Peer()
    with made.listener:
        yield made


def spool_at(folder, **options):
    return Spool(str(folder), **{"max_bytes": 64 << 20, "max_age_s": 0} | options)


def accounted(sink, spool, offered):
    counts = sink.counts
    return counts.sent + counts.queued + counts.dropped + counts.refused == spool.counts.found + offered


# ---- a real carbon ----


def end(carbon):
    carbon.stop()
    carbon.start()


def kill(carbon):
    carbon.kill()
    carbon.start()


def hang(carbon):
    carbon.hang()


@pytest.mark.parametrize("fault", [end, kill])
def test_carbon_restarts_five_times_and_has_every_point(carbon, tmp_path, fault):
    carbon.start()
    spool = spool_at(tmp_path / "spool")
    sink = CarbonSink("127.0.0.1", carbon.port, pacer=quick(), spool=spool)
    begin_s = int(time.time()) - 600
    seconds = range(begin_s, begin_s + 300)
    for second in seconds:
        sink.offer(second_of_points(second))
        if (second - begin_s) % 50 == 25:
            fault(carbon)
    assert sink.flush(60)
    assert accounted(sink, spool, len(seconds) * SERIES)
    sink.close(60)
    carbon.stop()
    assert missing(carbon, seconds) == []
    assert (sink.sent, sink.queued, sink.dropped, sink.refused) == (len(seconds) * SERIES, 0, 0, 0)
    assert spool.counts.points == len(seconds) * SERIES  # kept until the window has passed: who comes next sends them again


def test_a_carbon_that_hangs_and_dies_has_every_point_and_memory_holds_none(carbon, tmp_path):
    carbon.start()
    spool = spool_at(tmp_path / "spool")
    sink = CarbonSink("127.0.0.1", carbon.port, pacer=quick(), write_timeout_s=0.2, queue_points_max=10 * SERIES, spool=spool)
    begin_s = int(time.time()) - 3000
    seconds = range(begin_s, begin_s + 2500)
    hang(carbon)
    for second in seconds:
        sink.offer(second_of_points(second))
        assert sink.commit(60)
    wait_until(lambda: "took nothing" in sink.last_error, "the write timeout")
    carbon.kill()
    carbon.start()
    assert sink.flush(120)
    sink.close(60)
    carbon.stop()
    assert missing(carbon, seconds) == []
    assert (sink.sent, sink.dropped) == (len(seconds) * SERIES, 0)


def test_carbon_was_away_and_gets_the_rest_from_the_next_process(carbon, tmp_path):
    told = []
    begin_s = int(time.time()) - 600
    seconds = range(begin_s, begin_s + 100)
    sink = CarbonSink("127.0.0.1", carbon.port, pacer=quick(), spool=spool_at(tmp_path / "spool"), report=told.append)
    for second in seconds:
        sink.offer(second_of_points(second))
    sink.close(0.1)
    assert f"points that wait in {tmp_path}/spool: {100 * SERIES}" in told[-1]
    assert (sink.sent, sink.dropped) == (0, 0)
    carbon.start()
    sink = CarbonSink("127.0.0.1", carbon.port, pacer=quick(), spool=spool_at(tmp_path / "spool"))
    assert sink.flush(60)
    sink.close(60)
    carbon.stop()
    assert missing(carbon, seconds) == []


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(path):
    """Take all the space that is left."""
    with open(path, "wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(4096))
            except OSError:
                return


def test_a_full_disk_drains_and_what_was_dropped_is_counted(carbon, small_disk):
    told = []
    spool = spool_at(small_disk / "spool")
    sink = CarbonSink("127.0.0.1", carbon.port, pacer=quick(), spool=spool, report=told.append)
    begin_s = int(time.time()) - 3500
    seconds = range(begin_s, begin_s + 2500)
    for second in seconds:
        sink.offer(second_of_points(second))
        assert sink.commit(60)
    dropped = sink.dropped
    assert dropped > 0
    assert dropped == spool.counts.lost
    fill(small_disk / "foreign")
    carbon.start()
    assert sink.flush(120)
    assert accounted(sink, spool, len(seconds) * SERIES)
    sink.close(60)
    carbon.stop()
    lost = missing(carbon, seconds)
    assert len(lost) == dropped
    assert max(point.time_s for point in lost) < begin_s + dropped // SERIES  # the oldest
    assert sink.sent + dropped == len(seconds) * SERIES


def test_what_the_disk_does_not_take_goes_through_memory(peer, small_disk):
    told = []
    spool = spool_at(small_disk / "spool")
    fill(small_disk / "foreign")
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), spool=spool, report=told.append)
    with peer.accept() as connection:
        for value in (1.0, 2.0):
            sink.offer([Point("a.b", value, 1)])
            assert read_lines(connection, 1) == [f"a.b {value:.0f} 1\n"]
        (small_disk / "foreign").unlink()
        sink.offer([Point("a.b", 3.0, 1)])
        assert read_lines(connection, 1) == ["a.b 3 1\n"]
    sink.close()
    assert len([line for line in told if "cannot be written: No space left" in line]) == 1
    assert len([line for line in told if "is written again" in line]) == 1
    assert (sink.sent, sink.dropped, spool.counts.appended) == (3, 0, 1)


# ---- peers that behave badly ----


def test_delivered_is_what_carbon_has_read_and_the_connection_outlived(peer, tmp_path):
    now = [0.0]
    spool = spool_at(tmp_path / "spool")
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), spool=spool, clock=lambda: now[0], random=Random(1))
    with peer.accept() as connection:
        sink.offer([Point("a.b", 1.0, 1)])
        assert read_lines(connection, 1) == ["a.b 1 1\n"]
        assert sink.flush(60)
        now[0] = 450.0  # longer than proof may take: what we hold of it is in the kernel's hands only
        sink.offer([Point("a.b", 2.0, 2)])
        assert drain(connection) == ["a.b 2 2"]  # we are told that nothing more comes, and close our end in return
    with peer.accept() as connection:
        wait_until(lambda: spool.counts.delivered == 1, "read for certain, and the window has passed")
        sink.offer([Point("a.b", 3.0, 3)])
        assert read_lines(connection, 1) == ["a.b 3 3\n"]
        assert sink.flush(60)
        assert spool.counts.delivered == 1
    sink.offer([Point("a.b", 4.0, 4)])
    with peer.accept() as connection:
        assert read_lines(connection, 3) == ["a.b 2 2\n", "a.b 3 3\n", "a.b 4 4\n"]
        closing = threading.Thread(target=sink.close, args=(60,))
        closing.start()
        assert drain(connection) == []
    closing.join()
    assert (sink.sent, sink.resent, sink.dropped) == (4, 2, 0)


def test_more_than_a_kernel_holds_proves_what_was_written_before(tmp_path):
    with contextlib.closing(spool_at(tmp_path / "spool")) as spool:
        delivery = Delivery(spool, 60.0, Random(1))
        for second in range(2):
            spool.append(b"a.b 1 1\n", 1, second)
            delivery.written(spool.next_batch().id, 8, float(second))
        delivery.confirm(100.0)
        assert spool.counts.delivered == 0
        spool.append(b"a.b 1 1\n", 1, 2)
        delivery.written(spool.next_batch().id, HELD_BYTES_MAX - 8, 100.0)
        delivery.confirm(100.0)
        assert spool.counts.delivered == 1, "as much was written after it, and its window has passed; not yet after the second one"
        delivery.proved(100.0)
        assert spool.counts.delivered == 2


def test_a_peer_that_stops_reading_confirms_nothing(peer, tmp_path):
    now = [0.0]
    spool = spool_at(tmp_path / "spool")
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), spool=spool, resend_s=0.3, clock=lambda: now[0])
    with peer.accept() as connection:
        sink.offer([Point("a.b", 1.0, 1)])
        assert sink.flush(60)
        assert connection.recv(3) == b"a.b"  # the rest is never read
        now[0] = 3.0
        sink.offer([Point("a.b", 2.0, 2)])
        wait_until(lambda: "did not confirm" in sink.last_error, "it does not close its end in time")
        assert spool.counts.delivered == 0
    with peer.accept() as connection:
        assert read_lines(connection, 2) == ["a.b 1 1\n", "a.b 2 2\n"]
    sink.close(0.1)


def test_a_slow_stream_to_a_carbon_that_hangs_and_dies_loses_nothing(carbon, tmp_path):
    """The kernel of a hung Carbon takes all that a slow stream has: nothing blocks, nothing fails."""
    carbon.start()
    spool = spool_at(tmp_path / "spool")
    sink = CarbonSink("127.0.0.1", carbon.port, pacer=quick(), spool=spool, resend_s=0.2)
    begin_s = int(time.time()) - 600
    seconds = range(begin_s, begin_s + 60)
    carbon.hang()
    for second in seconds:
        sink.offer(second_of_points(second))
        assert sink.flush(60)
    wait_until(lambda: "did not confirm" in sink.last_error, "that it does not read is noticed")
    carbon.kill()
    carbon.start()
    assert sink.flush(60)
    sink.close(60)
    carbon.stop()
    assert missing(carbon, seconds) == []
    assert (sink.sent, sink.dropped) == (60 * SERIES, 0)


def test_a_peer_that_never_reads_costs_the_disk_and_no_memory(peer, tmp_path):
    spool = spool_at(tmp_path / "spool", max_bytes=1 << 20)
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), write_timeout_s=0.1, queue_points_max=5_000, spool=spool)
    offered = 0
    with peer.accept():
        while not sink.last_error or spool.counts.lost == 0:
            sink.offer(Point(f"lnet.r1.peers.net{n}.tx_credits_low", -1.0, 1) for n in range(1000))
            offered += 1000
            assert sink.commit(60)
            assert accounted(sink, spool, offered)
    peer.listener.close()
    sink.close(0.5)
    assert accounted(sink, spool, offered)
    assert spool.counts.bytes <= 1 << 20


# ---- our own death ----

CHILD = """
import sys
sys.path.append(sys.argv[1])
from random import Random
from lnetstat.model import Point
from lnetstat.sinks._connection import Pacer
from lnetstat.sinks.carbon import CarbonSink
from lnetstat.sinks.spool import Spool
spool = Spool(sys.argv[2], max_bytes=64 << 20, max_age_s=0)
pacer = Pacer(Random(1), delay_s_min=0.01, delay_s_max=0.05, tries_a_minute_max=10_000)
sink = CarbonSink("127.0.0.1", int(sys.argv[3]), pacer=pacer, spool=spool, resend_s=0.3)
number = int(sys.argv[4])
while True:
    sink.offer(Point(f"lnet.r1.m{n % 7}", float(n), n) for n in range(number, number + 10))
    assert sink.commit(60)
    number += 10
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


class Receiver(threading.Thread):
    """Takes whole lines as Carbon does, and resets a connection now and then."""

    def __init__(self, seed):
        super().__init__(daemon=True)
        self.peer = Peer()
        self.random = random.Random(seed)
        self.numbers = set()
        self.wrong = []
        self.start()

    def run(self):
        while True:
            try:
                connection = self.peer.accept()
            except OSError:
                return
            with connection:
                self.take(connection)

    def take(self, connection):
        rest = b""
        try:
            while data := connection.recv(65_536):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    path, value, second = line.split(b" ")
                    if value != second or path != b"lnet.r1.m%d" % (int(value) % 7):
                        self.wrong.append(line)
                    self.numbers.add(int(value))
                if self.random.random() < 0.02:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    return
        except OSError:
            return


@pytest.mark.parametrize("seed", [1])
def test_killed_at_any_moment_nothing_acknowledged_is_lost(tmp_path, seed):
    receiver = Receiver(seed)
    moments = random.Random(seed)
    acknowledged = 0
    folder = str(tmp_path / "spool")
    for _ in range(KILLS):
        command = [sys.executable, "-I", "-S", "-c", CHILD, PACKAGE_PARENT, folder, str(receiver.peer.port), str(acknowledged)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(moments.randint(1, 40)):
            line = child.stdout.readline()
            assert line, child.stderr.read()
            acknowledged = int(line)
        begin_s = time.perf_counter()
        delay_s = moments.random() * 0.02
        while time.perf_counter() - begin_s < delay_s:  # any moment will do
            pass
        child.kill()
        acknowledged = max([acknowledged, *(int(line) for line in child.communicate()[0].splitlines() if line)])
    spool = Spool(folder, max_bytes=64 << 20, max_age_s=0)
    sink = CarbonSink("127.0.0.1", receiver.peer.port, pacer=quick(), spool=spool)
    assert sink.flush(60)
    sink.close(60)
    receiver.peer.listener.close()
    wait_until(lambda: acknowledged <= 0 or set(range(acknowledged)) <= receiver.numbers, "every number acknowledged has arrived")
    assert receiver.wrong == []
    assert spool.counts.lost == spool.counts.unconfirmed == spool.counts.damaged == 0


def test_a_small_spool_asks_for_proof_before_it_is_full(peer, tmp_path):
    now = [0.0]
    spool = spool_at(tmp_path / "spool", max_bytes=256 << 10)
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), spool=spool, clock=lambda: now[0])
    with peer.accept() as connection:
        sink.offer(Point("lnet.r1." + "x" * 1000, float(n), n) for n in range(80))
        assert len(read_lines(connection, 80)) == 80
        assert sink.flush(60)
        now[0] = 61.0  # one window: much earlier than where there is room
        sink.offer([Point("a.b", 1.0, 1)])
        assert drain(connection) == ["a.b 1 1"]
    with peer.accept():
        wait_until(lambda: spool.counts.delivered == 80, "read for certain")
        sink.close(0.1)
    assert spool.counts.unconfirmed == 0


def empty(folder):
    for segment in folder.glob("*.spool"):
        segment.write_bytes(b"")


@pytest.mark.parametrize("take_away", [shutil.rmtree, empty])
def test_a_spool_that_somebody_deletes_is_told_counted_and_made_anew(peer, tmp_path, take_away):
    spool = spool_at(tmp_path / "spool")
    told = []
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), spool=spool, report=told.append)
    with peer.accept() as connection:
        sink.offer([Point("a.b", 1.0, 1)])
        assert read_lines(connection, 1) == ["a.b 1 1\n"]
        assert sink.flush(60)
        take_away(tmp_path / "spool")
        sink.offer([Point("a.b", 2.0, 2)])
        assert read_lines(connection, 1) == ["a.b 2 2\n"]
        assert sink.flush(60)
        assert accounted(sink, spool, 2)
        assert (sink.sent, sink.dropped, sink.counts.unconfirmed) == (2, 0, 1)
        assert [line for line in told if "somebody deleted or emptied files of it" in line and "lost since the start: 1" in line]
    peer.listener.close()
    sink.close(0.1)
    with contextlib.closing(spool_at(tmp_path / "spool")) as again:
        assert again.counts.found == 1


def test_a_full_spool_and_a_damaged_one_are_told_once_and_again_when_it_has_doubled(peer, tmp_path):
    told = []
    spool = spool_at(tmp_path / "spool", max_bytes=256 << 10)
    peer.listener.close()
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), spool=spool, report=told.append)
    for second in range(1000):
        sink.offer([Point("lnet.r1." + "x" * 1000, float(second), second)])
        assert sink.commit(60)
    sink.close(0.1)
    full = [line for line in told if "it is full" in line]
    assert 1 <= len(full) <= 6
    segment = next(tmp_path.glob("spool/*.spool"))
    data = bytearray(segment.read_bytes())
    data[5000:5010] = bytes(10)
    segment.write_bytes(bytes(data))
    with contextlib.closing(socket.create_server(("127.0.0.1", peer.port))) as listener:
        told.clear()
        spool = spool_at(tmp_path / "spool")
        sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), spool=spool, report=told.append, resend_s=0.1)
        with listener.accept()[0] as connection:
            reader = threading.Thread(target=lambda: (drain(connection), connection.close()))  # as Carbon at the end of a stream
            reader.start()
            assert sink.flush(60)
            sink.offer([Point("a.b", 1.0, 1)])
            assert sink.commit(60)
            sink.close(60)
            reader.join()
    assert [line for line in told if "damaged" in line and "skipped" in line]


def test_a_segment_of_another_version_stays_where_it_is(tmp_path):
    (tmp_path / "spool").mkdir()
    other = tmp_path / "spool" / "0000000007.spool"
    other.write_bytes(b"lnetstat spool 2\nwhatever")
    with contextlib.closing(spool_at(tmp_path / "spool")) as spool:
        assert spool.counts.damaged == 1
        spool.append(b"a.b 1 1\n", 1, 1)
    assert other.read_bytes() == b"lnetstat spool 2\nwhatever"
