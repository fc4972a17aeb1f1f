"""The sink against a real carbon-cache that is killed, and against peers that hang, end and talk. Each point is accounted for."""

import contextlib
import itertools
import socket
import threading
import time
from random import Random

import pytest

from lnetstat.errors import SinkError
from lnetstat.model import Point
from lnetstat.sinks._connection import Pacer
from lnetstat.sinks.address import parse_address, parse_addresses
from lnetstat.sinks.carbon import CarbonSink

SERIES = 20


def quick():
    """A pace for tests: no time is to be waited for."""
    return Pacer(Random(1), delay_s_min=0.01, delay_s_max=0.1, tries_a_minute_max=10_000)


def second_of_points(second):
    return [Point(f"lnet.r1.peers.net{n}.tx_credits_low", float(second % 1000 - 500 + n), second) for n in range(SERIES)]


def wait_until(true, what):
    deadline_s = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.01)


def accounted(sink, offered):
    counts = sink.counts
    return counts.sent + counts.queued + counts.dropped + counts.refused == offered


def missing(carbon, seconds):
    """Return what a stopped carbon does not have on disk, or has with another value."""
    points = [point for second in seconds for point in second_of_points(second)]
    stored = {path: carbon.stored(path) for path in {point.path for point in points}}
    return [point for point in points if stored[point.path].get(point.time_s) != point.value]


# ---- a real carbon ----


def test_a_killed_carbon_loses_nothing(carbon):
    carbon.start()
    told = []
    sink = CarbonSink("127.0.0.1", carbon.port, pacer=quick(), report=told.append)
    begin_s = int(time.time()) - 600
    seconds = range(begin_s, begin_s + 300)
    for second in seconds[:100]:
        sink.offer(second_of_points(second))
    assert sink.flush(60)
    carbon.kill()  # what it has not written to its files is gone, what lies in the socket too
    for second in seconds[100:200]:
        sink.offer(second_of_points(second))
    wait_until(lambda: sink.last_error, "the loss is noticed")
    carbon.start()
    for second in seconds[200:]:
        sink.offer(second_of_points(second))
    sink.close(60)
    carbon.stop()
    assert missing(carbon, seconds) == []
    assert (sink.sent, sink.queued, sink.dropped, sink.refused) == (300 * SERIES, 0, 0, 0)
    assert sink.resent >= 100 * SERIES
    assert [words in line for line, words in zip(told, ("connected;", "connection lost", "connected;"), strict=True)] == [True] * 3


def test_a_carbon_that_was_away_gets_the_newest_points_and_the_rest_is_counted(carbon):
    told = []
    sink = CarbonSink("127.0.0.1", carbon.port, pacer=quick(), queue_points_max=50 * SERIES, report=told.append)
    begin_s = int(time.time()) - 600
    seconds = range(begin_s, begin_s + 80)
    for second in seconds:
        sink.offer(second_of_points(second))
    assert (sink.queued, sink.dropped) == (50 * SERIES, 30 * SERIES)
    wait_until(lambda: "refused" in sink.last_error, "carbon is not there")
    assert len([line for line in told if "cannot connect" in line]) == 1
    assert len([line for line in told if "the oldest are dropped" in line]) == 1
    assert not sink.connected
    carbon.start()
    assert sink.flush(60)
    assert sink.connected
    assert sink.last_error == ""
    sink.close(60)
    carbon.stop()
    assert missing(carbon, seconds[30:]) == []
    assert len(missing(carbon, seconds[:30])) == 30 * SERIES
    assert (sink.sent, sink.dropped) == (50 * SERIES, 30 * SERIES)


def test_a_carbon_that_hangs_for_a_while_has_everything_afterwards(carbon):
    carbon.start()
    sink = CarbonSink("127.0.0.1", carbon.port, pacer=quick(), write_timeout_s=0.2, queue_points_max=200_000)
    begin_s = int(time.time()) - 3000
    seconds = range(begin_s, begin_s + 2500)
    carbon.hang()
    try:
        for second in seconds:
            sink.offer(second_of_points(second))
        wait_until(lambda: "took nothing" in sink.last_error, "the write timeout")
    finally:
        carbon.go_on()
    sink.close(120)
    carbon.stop()
    assert missing(carbon, seconds) == []
    assert (sink.sent, sink.dropped) == (len(seconds) * SERIES, 0)


def test_what_carbon_would_choke_on_does_not_reach_it(carbon):
    carbon.start()
    now_s = int(time.time()) - 60
    good = [Point("lnet.r1.self.late", -0.125, now_s), Point("lnet.r1.self.sent", 12345678901.0, now_s)]
    values = [Point("lnet.r1.self.errors", value, now_s) for value in (float("nan"), float("inf"), float("-inf"))]
    paths = [Point(path, 1.0, now_s) for path in ("", "lnet.two words", "lnet.é", "lnet.line\nbreak", "lnet.nul\0", "x" * 20_000)]
    sink = CarbonSink("127.0.0.1", carbon.port)
    sink.offer([*values, *paths, *good])
    sink.close(60)
    carbon.stop()
    assert (sink.refused, sink.sent, sink.dropped, sink.resent) == (9, 2, 0, 0)
    assert [carbon.stored(point.path) for point in good] == [{now_s: -0.125}, {now_s: 12345678901.0}]
    assert carbon.stored("lnet.r1.self.errors") == {}


# ---- peers that behave badly ----


class Peer:
    """A listener on loopback that does what the test says, one accepted connection after the other."""

    def __init__(self, family=socket.AF_INET, host="127.0.0.1"):
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.bind((host, 0))
        self.listener.listen()
        self.listener.settimeout(60)
        self.host, self.port = self.listener.getsockname()[:2]

    def accept(self):
        connection = self.listener.accept()[0]
        connection.settimeout(60)
        return connection


@pytest.fixture
def peer():
    made = Peer()
    with made.listener:
        yield made


def read_lines(connection, count):
    with connection.makefile("rb") as lines:
        return [lines.readline().decode() for _ in range(count)]


def drain(connection):
    """Read until the other side has nothing more to say."""
    parts = []
    while part := connection.recv(65_536):
        parts.append(part)
    return b"".join(parts).decode().splitlines()


def test_the_end_of_a_connection_is_seen_before_the_next_write(peer):
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), resend_s=0)  # nothing is sent twice: only the look before the write saves it
    with peer.accept() as first:
        sink.offer([Point("a.b", 1.0, 1)])
        assert read_lines(first, 1) == ["a.b 1 1\n"]
        assert sink.flush(60)
    sink.offer([Point("a.b", 2.0, 2)])
    with peer.accept() as second:
        assert read_lines(second, 1) == ["a.b 2 2\n"]
    sink.close()
    assert (sink.sent, sink.resent, sink.dropped) == (2, 0, 0)


def test_what_was_written_lately_is_written_again_on_the_next_connection(peer):
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick())
    with peer.accept():
        sink.offer([Point("a.b", -1.0, 1)])
        assert sink.flush(60)  # taken by the kernel, never read by the peer
    sink.offer([Point("a.b", -2.0, 2)])
    with peer.accept() as second:
        assert read_lines(second, 2) == ["a.b -1 1\n", "a.b -2 2\n"]
        sink_closing = threading.Thread(target=sink.close, args=(60,))
        sink_closing.start()
        assert drain(second) == []
    sink_closing.join()
    assert (sink.sent, sink.resent, sink.dropped) == (2, 1, 0)


def test_a_peer_that_never_reads_blocks_nobody(peer):
    told = []
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), write_timeout_s=0.1, queue_points_max=1000, report=told.append)
    offered = 0
    with peer.accept():
        while not sink.last_error:
            sink.offer(Point(f"lnet.r1.peers.net{n}.tx_credits_low", -1.0, 1) for n in range(1000))
            offered += 1000
            assert accounted(sink, offered)
            assert sink.queued <= 1000 + 65_536 // 30  # and the batch that is being written
        assert sink.dropped > 0
    peer.listener.close()
    sink.close(0.5)
    assert sink.queued == 0
    assert accounted(sink, offered)
    assert "points not delivered" in told[-1]


def test_a_peer_that_answers_is_not_carbon(peer):
    told = []
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), report=told.append)
    with peer.accept() as connection:
        connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        peer.listener.close()  # one connection is enough to see it
        wait_until(lambda: sink.connected, "connected")
        sink.offer([Point("a.b", 1.0, 1)])
        wait_until(lambda: sink.last_error, "the answer is noticed")
    sink.close(0.1)
    assert "not Carbon's plaintext port" in "".join(told)
    assert sink.sent == 0


def test_close_waits_until_the_peer_has_read_everything(peer):
    sink = CarbonSink("127.0.0.1", peer.port)
    offered = [Point(f"lnet.r1.peers.net{n}.tx_credits_low", -1.0, 1) for n in range(30_000)]
    with peer.accept() as connection:
        sink.offer(offered)
        closing = threading.Thread(target=sink.close, args=(60,))
        closing.start()
        assert len(drain(connection)) == len(offered)
        assert closing.is_alive()  # all is read, but the peer has not confirmed it by closing its end
    closing.join()
    assert (sink.sent, sink.dropped) == (len(offered), 0)


def test_close_counts_what_it_could_not_deliver():
    told = []
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound, not listening: refused
        sink = CarbonSink("127.0.0.1", nobody.getsockname()[1], pacer=quick(), report=told.append)
        sink.offer([Point("a.b", 1.0, 1), Point("a.b", 2.0, 2)])
        assert sink.flush(0.01) is False
        sink.close(1)
        sink.close(1)
        sink.offer([Point("a.b", 3.0, 3)])
    assert (sink.sent, sink.queued, sink.dropped) == (0, 0, 3)
    assert [line for line in told if "not delivered: 2" in line] == told[-1:]


def test_ipv6(request):
    with contextlib.ExitStack() as stack:
        try:
            peer = Peer(socket.AF_INET6, "::1")
        except OSError as error:
            pytest.skip(f"no IPv6 here: {error}")
        stack.enter_context(peer.listener)
        sink = CarbonSink("::1", peer.port)
        assert sink.name == f"carbon [::1]:{peer.port}"
        with peer.accept() as connection:
            sink.offer([Point("a.b", 1.0, 1)])
            assert read_lines(connection, 1) == ["a.b 1 1\n"]
        sink.close()


# ---- the pace of reconnects ----


@pytest.mark.parametrize("seed", range(20))
def test_at_most_six_tries_a_minute_and_never_a_wait_of_more_than_thirty_seconds_beyond_that(seed):
    pacer = Pacer(Random(seed))
    now_s = 0.0
    tries = []
    for _ in range(200):
        delay_s = pacer.delay_s(now_s)
        assert 0 <= delay_s <= 60
        now_s += delay_s
        pacer.tried(now_s)
        tries.append(now_s)
    for index, begin_s in enumerate(tries):
        assert len([t for t in tries[index:] if t < begin_s + 60]) <= 6
    gaps = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert tries[0] == 0
    assert 1 <= gaps[0] <= 3
    assert sum(gaps) / len(gaps) <= 30


def test_many_nodes_do_not_come_back_together():
    delays = []
    for seed in range(500):
        pacer = Pacer(Random(seed))
        for _ in range(4):
            pacer.tried(0.0)
            delay_s = pacer.delay_s(100.0)
        delays.append(delay_s)
    assert max(delays) - min(delays) > 10
    assert max(sum(1 for d in delays if begin <= d < begin + 1) for begin in range(31)) < 250


def test_three_thousand_nodes_come_back_within_thirty_seconds_but_never_at_once():
    delays = []
    for seed in range(3000):
        pacer = Pacer(Random(seed))
        pacer.tried(0.0)
        pacer.succeeded()
        delays.append(pacer.delay_s(100_000.0))
    assert max(delays) <= 30
    assert max(sum(1 for d in delays if begin <= d < begin + 1) for begin in range(31)) < 150


@pytest.mark.parametrize("seed", range(20))
def test_a_peer_that_takes_every_connection_and_ends_it_sees_at_most_six_a_minute(seed):
    pacer = Pacer(Random(seed))
    now_s, tries = 0.0, []
    for _ in range(200):
        now_s += pacer.delay_s(now_s)
        pacer.tried(now_s)
        pacer.succeeded()
        tries.append(now_s)
    assert all(len([t for t in tries[index:] if t < begin_s + 60]) <= 6 for index, begin_s in enumerate(tries))


# ---- addresses ----


@pytest.mark.parametrize(
    ("text", "address"),
    [("graphite:2003", ("graphite", 2003)), (" 10.0.0.1:1 ", ("10.0.0.1", 1)), ("[fd00::1]:65535", ("fd00::1", 65_535))],
)
def test_address(text, address):
    assert parse_address(text) == address


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("graphite", "expected HOST:PORT"),
        ("", "expected HOST:PORT"),
        (":2003", "expected HOST:PORT"),
        ("graphite:", "port from 1 to 65535"),
        ("graphite:0", "port from 1 to 65535"),
        ("graphite:65536", "port from 1 to 65535"),
        ("graphite:-1", "port from 1 to 65535"),
        ("graphite:http", "port from 1 to 65535"),
        ("fd00::1:2003", "needs brackets"),
        ("[fd00:::1]:2003", "not an IPv6 address"),
        ("http://graphite:2003", "no http://"),
        ("two words:2003", "not a host name"),
    ],
)
def test_wrong_address(text, words):
    with pytest.raises(SinkError) as caught:
        parse_address(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_queue_needs_room():
    with pytest.raises(SinkError, match="at least one point"):
        CarbonSink("127.0.0.1", 1, queue_points_max=0)


# ---- one that stands in for another ----


def test_a_stand_in_gets_the_points_while_the_first_is_away_and_what_the_first_may_have_lost(peer):
    stand_in = Peer()
    told = []
    sink = CarbonSink("127.0.0.1", peer.port, stand_ins=[(stand_in.host, stand_in.port)], pacer=quick(), report=told.append)
    with stand_in.listener:
        with peer.accept() as connection:
            sink.offer([Point("a.b", 1.0, 1)])
            assert read_lines(connection, 1) == ["a.b 1 1\n"]
            assert sink.flush(60)
        peer.listener.close()
        sink.offer([Point("a.b", 2.0, 2)])
        with stand_in.accept() as connection:
            assert read_lines(connection, 2) == ["a.b 1 1\n", "a.b 2 2\n"]
            closing = threading.Thread(target=sink.close, args=(60,))
            closing.start()
            assert drain(connection) == []
        closing.join()
    assert (sink.sent, sink.resent, sink.dropped) == (2, 1, 0)
    assert f"connected to 127.0.0.1:{stand_in.port}, which stands in" in told[-1]


def test_a_first_that_accepts_and_hangs_does_not_keep_the_stand_in_out(peer):
    stand_in = Peer()
    sink = CarbonSink("127.0.0.1", peer.port, stand_ins=[(stand_in.host, stand_in.port)], pacer=quick(), write_timeout_s=1)
    lines = [Point("lnet.r1." + "x" * 1000, float(n), n) for n in range(8_000)]
    with stand_in.listener, peer.accept():
        sink.offer(lines)
        with stand_in.accept() as connection:
            closing = threading.Thread(target=sink.close, args=(60,))
            closing.start()
            assert len(drain(connection)) == len(lines)
        closing.join()
    assert (sink.sent, sink.dropped) == (len(lines), 0)


def test_the_first_is_used_again_when_it_is_back(peer):
    now = [0.0]
    first = Peer()
    first.listener.close()
    told = []
    addresses = {"stand_ins": [(peer.host, peer.port)], "clock": lambda: now[0]}
    sink = CarbonSink("127.0.0.1", first.port, pacer=quick(), report=told.append, **addresses)
    with peer.accept() as connection:
        sink.offer([Point("a.b", 1.0, 1)])
        assert read_lines(connection, 1) == ["a.b 1 1\n"]
        assert sink.flush(60)
        with socket.create_server(("127.0.0.1", first.port)) as listener:
            now[0] = 301.0
            sink.offer([Point("a.b", 2.0, 2)])
            assert drain(connection) == ["a.b 2 2"]
            connection.close()
            with listener.accept()[0] as again:
                assert read_lines(again, 1) == ["a.b 2 2\n"]  # of the resend window: nobody would see the other one die now
                closing = threading.Thread(target=sink.close, args=(60,))
                closing.start()
                assert drain(again) == []
            closing.join()
    assert (sink.sent, sink.resent, sink.dropped) == (2, 1, 0)
    assert told[-1].endswith(f"connected again to 127.0.0.1:{first.port}")


def test_a_hung_peer_at_the_end_is_told(peer):
    told = []
    sink = CarbonSink("127.0.0.1", peer.port, pacer=quick(), report=told.append)
    with peer.accept():
        sink.offer([Point("a.b", 1.0, 1)])
        assert sink.flush(60)
        sink.close(0.1)
    assert told[-1].endswith("closed, but the peer did not confirm that it read everything")


@pytest.mark.parametrize("text", ["a:2003,", "a:2003,b", "a:2003,a:2003"])
def test_wrong_stand_ins(text):
    with pytest.raises(SinkError):
        parse_addresses(text)
