"""What Prometheus' own parser makes of our page, and what clients that mean harm can do: nothing."""

import contextlib
import http.client
import math
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from lnetstat.errors import SinkError
from lnetstat.model import Point
from lnetstat.reduce.metrics import METRICS, WILDCARDS
from lnetstat.reduce.paths import host_node, name_node, net_node, nid_node
from lnetstat.sinks import _exposition, _page_server
from lnetstat.sinks._exposition import CONTENT_TYPE, Exposition, exposed
from lnetstat.sinks.prometheus import PrometheusSink, TextfileSink

NODES = {
    "NET": "o2ib1",
    "NID": "10_10_1_2_at_o2ib1",
    "POOL": "small",
    "CPT": "cpt12",
    "INSTANCE": "obdfilter_FS-OST0000",
    "COUNTER": "ost_read",
    "BUCKET": "lt0",
}
WAIT_S = 20


def path_of(metric):
    return "lnet.rtr1_site_org." + ".".join(NODES.get(node, node) for node in metric.pattern.split("."))


def page_of(points, prefix="lnet"):
    page = Exposition(prefix)
    page.offer(points, 0.0)
    return page.text(page.points(0.0))


def samples(text):
    """Return {(name, labels): value} as Prometheus reads it; a series that stands twice is refused by Prometheus, and here."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, key
            assert sample.timestamp is None  # the textfile collector refuses a file with time stamps
            found[key] = sample.value
    return found


def nids(text):
    return {dict(labels)["nid"] for _, labels in samples(text) if "nid" in dict(labels)}


def test_every_metric_is_read_with_its_type_help_labels_and_value():
    points = [Point(path_of(metric), float(number), 1_700_000_000) for number, metric in enumerate(METRICS)]
    families = {family.name: family for family in text_string_to_metric_families(page_of(points))}
    assert families.pop("lnet_sampled_time_seconds").samples[0].value == 1_700_000_000
    assert len(families) == len(METRICS)
    for number, metric in enumerate(METRICS):
        shown = exposed(metric)
        family = families[shown.name.removesuffix("_total")]
        assert (family.type, family.documentation) == (shown.type, shown.help)
        (sample,) = family.samples
        assert (sample.name, sample.value) == (shown.name, number)
        assert sample.labels.pop("host") == "rtr1.site.org"
        assert len(sample.labels) == sum(node in WILDCARDS for node in metric.pattern.split("."))


def test_names_types_and_labels_are_those_of_the_documentation():
    shown = {metric.pattern: exposed(metric)[:2] for metric in METRICS}
    assert shown["peers.NET.tx_credits_worst"] == ("lnet_peers_tx_credits_worst", "gauge")
    assert shown["peers.NET.top.NID.queue_bytes"] == ("lnet_peers_top_queue_bytes", "gauge")
    assert shown["lnet_stats.msgs_max"] == ("lnet_stats_msgs_max", "gauge")
    counters = {pattern for pattern, (_, kind) in shown.items() if kind == "counter"}
    # Whatever the list of metrics says has been counted "since" something, and nothing else.
    assert counters == {metric.pattern for metric in METRICS if " since " in metric.help}
    text = page_of([Point("lnet.r1.counters.obdfilter_FS-OST0000.obd_ping.samples", 5, 7), Point("lnet.r1.nis.12_at_gni.cpt3.up", 1, 7)])
    assert 'lnet_counters_samples_total{host="r1",service="obdfilter.FS-OST0000",counter="obd_ping"} 5\n' in text
    assert 'lnet_nis_up{host="r1",nid="12@gni",cpt="3"} 1\n' in text


@pytest.mark.parametrize(
    ("nid", "shown"),
    [
        ("10.10.1.2@o2ib1", "10.10.1.2@o2ib1"),
        ("12@gni", "12@gni"),
        ("fd00::1@tcp", "fd00::1@tcp"),
        ('a"b\\c@d', 'a"b\\c@d'),
        ("<script>é", "<script>é"),
        ("__6162", nid_node("__6162")),  # a name that looks like our hex stays hex
        ("a\nb", nid_node("a\nb")),
        ("a\x00b\x7f", nid_node("a\x00b\x7f")),
        ("\udcff@tcp", nid_node("\udcff@tcp")),
        ("x" * 300, nid_node("x" * 300)),
        ("", nid_node("")),
    ],
)
def test_a_nid_is_as_readable_as_it_was_where_its_node_leads_back_to_it(nid, shown):
    assert nids(page_of([Point(f"lnet.r1.peers.tcp.top.{nid_node(nid)}.tx_credits", -3, 7)])) == {shown}


def test_a_node_to_which_no_name_leads_stays_what_it_is():
    nodes = ["__4a", "__4A", "999_1_1_1_at_tcp", "0_at_", "-_at_tcp", "__zz", "__"]
    assert nids(page_of([Point(f"lnet.r1.peers.tcp.top.{node}.tx_credits", 1, 7) for node in nodes])) == {"J", *nodes[1:]}


@given(st.lists(st.text(max_size=60) | st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){3}@tcp[0-9]?", fullmatch=True), unique=True, max_size=8))
def test_different_names_are_different_series_and_the_page_can_always_be_read(names):
    points = []
    for name in names:
        node = name_node(name)
        points.append(Point(f"lnet.{host_node(name)}.counters.{node}.{node}.samples", 1.0, 7))
        points.append(Point(f"lnet.{host_node(name)}.peers.{net_node(name)}.top.{nid_node(name)}.tx_credits", 1.0, 7))
    text = page_of(points)
    assert len([key for key in samples(text) if key[0] != "lnet_sampled_time_seconds"]) == len(points)
    assert all(line.isprintable() for line in text.split("\n"))


@given(st.lists(st.tuples(st.text(), st.floats()), max_size=5))
def test_paths_that_no_reducer_makes_are_left_out_or_read(odd):
    paths = [f"lnet.{words}" for words, _ in odd] + [f"lnet.r1.peers.tcp.top.{words}.tx_credits" for words, _ in odd]
    page = Exposition()
    page.offer([Point(path, value, 7) for path in paths for _, value in odd], 0.0)
    text = page.text(page.points(0.0))
    samples(text)
    assert len(samples(text)) <= len(set(paths)) + 1
    assert all(math.isfinite(value) for value in samples(text).values())


def test_what_is_none_of_our_metrics_is_refused_and_counted():
    page = Exposition("site.lnet")
    odd = ["lnet.r1.cpu.busy", "site.lnet.r1.nothing.known", "site.lnet", "", "site.lnet..cpu.busy"]
    page.offer(
        [*(Point(path, 1, 7) for path in odd), Point("site.lnet.r1.cpu.softirq", math.nan, 7), Point("site.lnet.r1.cpu.busy", 1, 7)], 0
    )
    assert set(samples(page.text(page.points(0)))) == {
        ("lnet_cpu_busy_total", (("host", "r1"),)),
        ("lnet_sampled_time_seconds", (("host", "r1"),)),
    }
    assert page.refused == len(odd) + 1


def test_a_series_that_is_gone_disappears_and_an_empty_batch_changes_nothing():
    page = Exposition()
    top = "lnet.r1.peers.tcp.top.10_0_0_{}_at_tcp.tx_credits"
    page.offer([Point(top.format(1), 1, 7), Point(top.format(2), 2, 7)], 0)
    page.offer([Point(top.format(2), 3, 8)], 1)
    page.offer([], 1.1)
    assert nids(page.text(page.points(1.2))) == {"10.0.0.2@tcp"}
    assert 'top_tx_credits{host="r1",net="tcp",nid="10.0.0.2@tcp"} 3\n' in page.text(page.points(1.2))


def test_of_a_batch_of_two_seconds_the_newer_counts():
    text = page_of([Point("lnet.r1.cpu.busy", 9, 8), Point("lnet.r1.cpu.busy", 5, 7), Point("lnet.r1.cpu.softirq", 2, 7)])
    assert samples(text)["lnet_cpu_busy_total", (("host", "r1"),)] == 9
    assert samples(text)["lnet_cpu_softirq_total", (("host", "r1"),)] == 2
    assert samples(text)["lnet_sampled_time_seconds", (("host", "r1"),)] == 8


def test_what_is_read_every_half_minute_stays_between_and_goes_when_it_is_gone():
    page = Exposition()
    busy, health = Point("lnet.r1.cpu.busy", 1, 7), Point("lnet.r1.health.10_0_0_1_at_tcp.value", 1000, 7)
    page.offer([busy, health], 0)
    for second in (1, 30, 70):
        page.offer([busy], second)
        assert nids(page.text(page.points(second))) == {"10.0.0.1@tcp"}
    page.offer([busy], 80)
    assert nids(page.text(page.points(80))) == set()


def test_when_nothing_is_offered_any_more_old_values_do_not_pass_for_new():
    page = Exposition()
    page.offer([Point("lnet.r1.cpu.busy", 1, 7)], 0)
    assert page.points(140)
    assert page.text(page.points(160)) == ""


@pytest.fixture
def sink():
    made = PrometheusSink("127.0.0.1", 0)
    yield made
    made.close()


def get(port, path="/metrics", method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    with contextlib.closing(connection):
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read().decode()


def raw(port, data, then=True):
    """Send bytes, then say that no more will come (or not), and return all that comes back until the end."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as client:
        client.sendall(data)
        if then:
            client.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while part := client.recv(65536):
                answer += part
        return answer


def test_the_page_is_served_and_nothing_else(sink):
    assert get(sink.port) == (200, CONTENT_TYPE, "")
    sink.offer(Point(path_of(metric), 1.0, 7) for metric in METRICS)
    status, _, text = get(sink.port, "/metrics?collect[]=x")
    assert status == 200
    assert len(samples(text)) == len(METRICS) + 1
    assert [get(sink.port, path)[0] for path in ("/", "/metrics/", "/../etc/passwd", "/metrics%00")] == [404] * 4
    assert [get(sink.port, method=method)[0] for method in ("POST", "PUT", "DELETE", "TRACE")] == [405] * 4


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"", b""),
        (b"\n\n", b"400"),
        (b"GET /metrics\r\n\r\n", b"400"),
        (b"GET  /metrics HTTP/1.1\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00" + bytes(range(256)) + b"\r\n\r\n", b"400"),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 100_000, b"431"),
        (b"GET /metrics HTTP/1.1\nHost: \xff\xfe\n\n", b"200"),
        (b"GET /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\nrest", b"200"),
        (b"GET /metrics HTTP/1.1\r\n", b""),
    ],
)
def test_odd_requests_get_an_answer_or_the_end_and_the_next_one_its_page(sink, request_bytes, status):
    assert raw(sink.port, request_bytes)[9:12] == status
    assert get(sink.port)[0] == 200


@given(st.binary(max_size=300))
def test_no_bytes_end_the_server(data):
    raw(shared().port, data)
    assert get(shared().port)[0] == 200


def shared(kept=[]):  # noqa: B006 - one server for all examples
    if not kept:
        kept.append(PrometheusSink("127.0.0.1", 0))
    return kept[0]


def test_idle_clients_and_clients_that_never_read_keep_nobody_out(sink):
    sink.offer(Point(f"lnet.r1.peers.tcp.top.10_0_{n >> 8}_{n & 255}_at_tcp.tx_credits", 1, 7) for n in range(60_000))
    with contextlib.ExitStack() as stack:
        for number in range(3 * _page_server.CONNECTIONS_MAX):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", sink.port), timeout=WAIT_S))
            if number % 2:
                client.sendall(b"GET /metr")
            elif number > 2 * _page_server.CONNECTIONS_MAX:
                client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert get(sink.port, "/")[0] == 404
        sink.offer([Point("lnet.r1.cpu.busy", 1, 7)])
        assert len(samples(get(sink.port)[2])) == 2
        assert len(sink._server._connections) <= _page_server.CONNECTIONS_MAX


def test_a_client_that_dawdles_is_dropped_at_its_deadline():
    now_s = [0.0]
    server = _page_server.PageServer("127.0.0.1", 0, "/metrics", "text/plain", lambda: b"x", clock_s=lambda: now_s[0])
    with contextlib.closing(server), socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as client:
        client.sendall(b"GET /")
        assert raw(server.port, b"GET /metrics HTTP/1.1\r\n\r\n")[9:12] == b"200"  # by now the first is known
        now_s[0] = _page_server.DEADLINE_S
        raw(server.port, b"")  # wakes it
        assert client.recv(1) == b""


def test_an_address_that_cannot_be_listened_on_is_one_line(sink):
    with pytest.raises(SinkError, match=rf"prometheus: cannot listen on 127.0.0.1:{sink.port}: .*in use"):
        PrometheusSink("127.0.0.1", sink.port)
    for addr, port in (("192.0.2.1", 0), ("no.such.host.invalid", 0), ("127.0.0.1", 99_999), ("a..b", 1)):
        with pytest.raises(SinkError, match="cannot listen"):
            PrometheusSink(addr, port)


def test_offer_does_not_wait_while_a_page_is_made(sink, monkeypatch):
    making, go_on = threading.Event(), threading.Event()
    made = Exposition.text

    def slowly(self, points):
        making.set()
        assert go_on.wait(WAIT_S)
        return made(self, points)

    monkeypatch.setattr(Exposition, "text", slowly)
    sink.offer([Point("lnet.r1.cpu.softirq", 1, 6)])
    client = threading.Thread(target=get, args=(sink.port,))
    client.start()
    assert making.wait(WAIT_S)
    sink.offer([Point("lnet.r1.cpu.busy", 1, 7)])  # would never return
    go_on.set()
    client.join()
    assert "lnet_cpu_busy_total" in get(sink.port)[2]


class Told(list):
    """Lines as they come; `wait` for so many."""

    def __init__(self):
        super().__init__()
        self.changed = threading.Condition()

    def __call__(self, line):
        with self.changed:
            self.append(line)
            self.changed.notify()

    def wait(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self) >= count, WAIT_S)


@pytest.fixture
def replaced(monkeypatch):
    """Calls `os.replace`, then lets the test go on."""
    done = threading.Semaphore(0)
    replace = os.replace

    def replace_and_tell(*paths):
        replace(*paths)
        done.release()

    monkeypatch.setattr("lnetstat.sinks.prometheus.os.replace", replace_and_tell)
    return done


def test_the_file_is_replaced_whole_readable_by_all_and_gone_at_the_end(tmp_path, replaced):
    path = tmp_path / "lnet.prom"
    (tmp_path / ".lnet.prom.tmp").symlink_to(tmp_path / "victim")  # left behind, or put there: never followed
    before = os.umask(0o077)
    try:
        sink = TextfileSink(str(path))
        sink.offer([Point("lnet.r1.cpu.busy", 1, 7)])
        assert replaced.acquire(timeout=WAIT_S)
    finally:
        os.umask(before)
    assert samples(path.read_text())["lnet_cpu_busy_total", (("host", "r1"),)] == 1
    assert path.stat().st_mode & 0o777 == 0o644
    with path.open() as old:
        sink.offer([Point("lnet.r1.cpu.softirq", 2, 8)])
        assert replaced.acquire(timeout=WAIT_S)
        assert "busy" in old.read()  # who reads has the old file, whole
    assert set(samples(path.read_text())) == {(name, (("host", "r1"),)) for name in ("lnet_cpu_softirq_total", "lnet_sampled_time_seconds")}
    sink.close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_told_once_and_again_when_it_can(tmp_path, replaced):
    path, told = tmp_path / "lnet.prom", Told()
    path.mkdir()
    sink = TextfileSink(str(path), report=told)
    for second in range(3):
        sink.offer([Point("lnet.r1.cpu.busy", 1, second)])
        told.wait(1)
    path.rmdir()
    sink.offer([Point("lnet.r1.cpu.busy", 1, 9)])
    told.wait(2)
    sink.close()
    assert [line.split(": ")[1] for line in told] == ["cannot be written", "written again"]
    assert sink.written


def test_offer_does_not_wait_for_a_disk_that_hangs(tmp_path, monkeypatch):
    hanging, go_on = threading.Event(), threading.Event()

    def hang(self, page):
        hanging.set()
        assert go_on.wait(WAIT_S)

    monkeypatch.setattr(TextfileSink, "_replace", hang)
    sink = TextfileSink(str(tmp_path / "lnet.prom"))
    for second in range(5):
        sink.offer([Point("lnet.r1.cpu.busy", 1, second)])
        assert hanging.wait(WAIT_S)
    sink.close(timeout_s=0)
    go_on.set()
    sink.close()


def test_a_name_or_folder_that_node_exporter_would_not_read_is_refused(tmp_path):
    with pytest.raises(SinkError, match=r"must end in \.prom"):
        TextfileSink(str(tmp_path / "lnet.txt"))
    with pytest.raises(SinkError, match=r"is no folder: make it"):
        TextfileSink(str(tmp_path / "none" / "lnet.prom"))


def test_it_runs_where_there_is_nothing_but_the_standard_library():
    code = (
        "import sys; sys.path.append(sys.argv[1]); from lnetstat.model import Point;"
        "from lnetstat.sinks.prometheus import PrometheusSink as S;"
        "s = S('127.0.0.1', 0); s.offer([Point('lnet.r1.cpu.busy', 1, 7)]); print(s._page().decode()); s.close();"
        "assert not {'http.server', 'email', 'ssl'} & set(sys.modules)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(Path(_exposition.__file__).parents[2])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(samples(done.stdout)) == 2
