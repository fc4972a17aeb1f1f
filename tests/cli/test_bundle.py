"""A bundle holds what was read and nothing that names the site; `dump` and `analyze` read it as it is."""

import errno
import io
import json
import os
import random
import re
import stat
import tarfile

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lnetstat.bundle.names import Names
from lnetstat.bundle.reading import Material
from lnetstat.bundle.writing import members, write_archive
from lnetstat.cli.bundle import command
from lnetstat.cli.dump import command as dump
from lnetstat.model import Snapshot, State
from lnetstat.sources import open_source
from lnetstat.tables import samples

T0 = 1_790_000_000_000_000_000
UUID = "3c8f1a2b-11aa-4bcd-8eef-0123456789ab"
PEERS = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
NIS = "nid                      status alive refs peer  rtr   max    tx   min\n"


def peer(nid, tx=8):
    return f"{nid:<24} {1:4d} {'up':>5} {-1:5d} {8:5d} {8:5d} {8:5d} {tx:5d} {tx:5d} {0}\n"


def shot(name, text="", state=State.OK, number=0):
    return Snapshot(name, "rtr17", T0, None, 5000, state, number, frozenset(), text)


def unpacked(data):
    """Return {path below the top folder: bytes}, and all bytes of the tar file, names of members included."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = {info.name.removeprefix("lnetstat-bundle/"): tar.extractfile(info).read() for info in tar}
    return files, b"\0".join([*(name.encode() for name in files), *files.values()])


def packed(tmp_path, material, names, doctor=""):
    path = tmp_path / "b.tar.gz"
    path.unlink(missing_ok=True)
    write_archive(str(path), members(material, names, T0, doctor), T0)
    return path


# ---- nothing of the site is left ----

OCTETS = st.tuples(*[st.integers(0, 255)] * 4).map(lambda octets: ".".join(map(str, octets)))
NETS = st.sampled_from(["tcp", "tcp1", "o2ib", "o2ib100", "gni3"])
PLAIN = ("0.0.0.0", "127.0.0.1", "255.255.255.255")
ADDRESSES = OCTETS.filter(lambda address: address not in PLAIN)
DENSE = st.integers(1, 40).map(lambda n: f"10.0.0.{n}")
IPV6 = st.lists(st.integers(0x1000, 0xFFFF), min_size=2, max_size=2).map(lambda g: f"fd00:{g[0]:x}::{g[1]:x}")
NIDS = st.lists(st.tuples(ADDRESSES | DENSE | IPV6 | st.integers(0, 99).map(str), NETS).map("@".join), min_size=1, max_size=30, unique=True)
HOSTS = st.from_regex(r"\A[a-z]{2,5}[0-9]{2,4}(\.[a-z]{3}[0-9]\.example)?\Z")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(nids=NIDS, host=HOSTS, carbon=HOSTS, uuid=st.uuids().map(str), seed=st.integers(0, 1000))
def test_no_nid_no_host_and_no_uuid_is_anywhere_in_the_archive(tmp_path, nids, host, carbon, uuid, seed):
    peers = PEERS + "".join(peer(nid, tx) for tx, nid in enumerate(nids))
    lines = "".join(f"tcp9 1 0 up {nid}\n" for nid in nids)
    routes = f"Routing enabled\n{'net':<8} {'hops':>4} {'priority':>8} {'state':>7} router\n{lines}"
    stats = "snapshot_time 1790000000.1 secs.nsecs\nreq_waittime 5 samples [usec] 1 2 3 4\n"
    read = [
        shot("peers", peers),
        shot("routes", routes),
        shot("lnet.networks", f"tcp(eth0)[{nids[0]}]\n"),
        shot(f"obdfilter.{uuid[:6]}-OST0001.stats", stats),
        shot("nis", state=State.FORBIDDEN, number=errno.EACCES),
        shot("version", "2.15.8\n"),
    ]
    about = {"agent-status.json": json.dumps({"host": host, "why": f"no answer of {carbon}:2003 ({nids[-1]}), client {uuid}"})}
    material = Material([read, read], about, [host, carbon], [f"/x/{host}: gone"])
    names = Names(random.Random(seed))
    path = packed(tmp_path, material, names, f"OK: {host} {nids[0]}\n")
    files, everything = unpacked(path.read_bytes())
    for name in {host, carbon, host.split(".")[0], carbon.split(".")[0], uuid, f"{uuid[:6]}-OST0001"}:
        assert not re.search(rb"(?<![A-Za-z0-9])" + re.escape(name.encode()) + rb"(?![A-Za-z0-9])", everything, re.IGNORECASE), name
    for nid in nids:
        address = nid.partition("@")[0]
        if "." in address or ":" in address:
            assert nid.encode() not in everything
            assert address.encode() not in everything
        else:
            assert not re.search(rb"(?<![0-9A-Za-z_.:])" + re.escape(nid.encode()) + rb"(?![0-9a-z])", everything)
    assert "MANIFEST.txt" in files
    assert b"Not taken:\n  /x/" in files["MANIFEST.txt"]
    _rows_are_the_same_but_for_names(path, read, nids)


def _rows_are_the_same_but_for_names(path, read, nids):
    back = {(snapshot.name.partition(".")[0], snapshot.time_ns): snapshot for snapshot in open_source(str(path)).snapshots()}
    assert len(back) == len({each.name.partition(".")[0] for each in read})
    stand_ins = {}
    for before in read:
        after = back[before.name.partition(".")[0], before.time_ns]
        assert (after.state, after.errno, after.read_ns) == (before.state, before.errno, before.read_ns)
        for one, other in zip(samples(before), samples(after), strict=True):
            assert one.table == other.table
            assert len(one.rows) == len(other.rows)
            assert not other.problems
            for row, new in zip(one.rows, other.rows, strict=True):
                for value, stand_in in zip(row, new, strict=True):
                    if isinstance(value, str) and value in nids:
                        assert stand_ins.setdefault(value, stand_in) == stand_in  # the same in peers and routes
                        assert stand_in.rpartition("@")[2] == value.rpartition("@")[2]
                    elif isinstance(value, int):
                        assert stand_in == value
    assert set(stand_ins) == set(nids)
    assert len(set(stand_ins.values())) == len(nids)


def test_columns_keep_their_places_where_an_address_of_the_same_width_is_free():
    nids = [f"10.{n % 7}.{n % 250}.{n % 13 + 1}@o2ib1" for n in range(900)]
    text = PEERS + "".join(map(peer, dict.fromkeys(nids)))
    names = Names()
    names.learn(text)
    names.settle()
    widths = {len(line) for line in text.splitlines()[1:]}
    assert {len(line) for line in names.replaced(text).splitlines()[1:]} == widths


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("12:30:45 Linux 4.18.0-553 2.15.8 5.14", "12:30:45 Linux 4.18.0-553 2.15.8 5.14"),
        ("0@lo up ::1 0.0.0.0 127.0.0.1", "0@lo up ::1 0.0.0.0 127.0.0.1"),
    ],
)
def test_times_versions_and_loopback_are_no_names(text, kept):
    names = Names()
    names.learn(text)
    names.settle()
    assert names.replaced(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        f"lustre-OST0000_UUID {UUID}",
        "osc.scratch-OST0001-osc-ffff8881b2c3d800.stats",
        "MGC10.9.8.7@o2ib 12345-10.9.8.7@o2ib",
        "- job_id:  cp.1000.login7",
        "o2ib 10.1.[1-3].*, tcp 192.168.7.[2-9/2]",
        "00:1b:21:0a:9f:3c fe80:0000:0000:0000:506b:4b03:00aa:7e2c fd12:3456::1",
        "7@gni 12345-7@gni99",
    ],
)
def test_everything_that_names_something_gets_another_name(text):
    names = Names()
    names.learn(text)
    names.settle()
    new = names.replaced(text)
    assert names.left_in(new) == []
    found = [name for _, name in names.mapping]
    assert found
    for name in found:
        assert not re.search(rf"(?<![0-9A-Za-z]){re.escape(name)}(?![0-9A-Za-z])", new)
    assert names.replaced(text) == new


def test_a_host_called_like_a_word_of_a_table_does_not_spoil_the_table(tmp_path):
    material = Material([[shot("peers", PEERS + peer("10.0.0.1@tcp")), shot("version", "2.15.8\n")]], {}, ["up"], [])
    files, _ = unpacked(packed(tmp_path, material, Names()).read_bytes())
    assert not any(name.endswith("/peers") for name in files)
    assert b"peers: its names could not be replaced without changing its numbers" in files["MANIFEST.txt"]


# ---- the verb ----


@pytest.fixture
def tree(tmp_path):
    """A router of 10.1.2.3 with an agent, below proc, sys, etc and run."""
    root = tmp_path / "tree"
    texts = {
        "sys/kernel/debug/lnet/peers": PEERS + peer("10.1.2.4@tcp", -7),
        "sys/kernel/debug/lnet/nis": NIS + f"{'10.1.2.3@tcp':<24}     up     3    1    8    0   256   250   200\n",
        "sys/kernel/debug/lnet/stats": "0 13 0 179 179 11483 0 5952 6096 212909968 0\n",
        "sys/fs/lustre/version": "2.15.8\n",
        "proc/sys/kernel/hostname": "rtr17.site.example\n",
        "etc/lnetstat/lnetstat.toml": '# ask bob\nprefix = "secretsite.lnet"\n[carbon]\nto = ["graphite.site.example:2003"]\n'
        '[other]\ntoken = "hunter2"\n',
        "run/lnetstat/status.json": json.dumps({"host": "rtr17", "destinations": [{"name": "graphite.site.example:2003"}], "troubles": []}),
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def bundle(*words):
    done = CliRunner().invoke(command, [str(word) for word in words], standalone_mode=False)
    assert done.exception is None, done.output
    return done


def test_the_verb_makes_an_archive_that_dump_reads(tree, tmp_path):
    path, map_path = tmp_path / "b.tar.gz", tmp_path / "names.tsv"
    done = bundle("--root", tree, "-o", path, "--samples", "2", "-i", "0.05", "--map", map_path)
    assert done.stdout == f"{path}\n"
    assert [stat.S_IMODE(os.stat(each).st_mode) for each in (path, map_path)] == [0o600, 0o600]
    files, everything = unpacked(path.read_bytes())
    for secret in (b"10.1.2.", b"rtr17", b"graphite", b"site.example", b"secretsite", b"hunter2", b"bob", str(tree).encode()):
        assert secret not in everything, secret
    assert json.loads(files["about/agent-config.json"])["carbon.to"][0].endswith(":2003")
    assert b"OK: table peers" in files["about/doctor.txt"]
    assert b"2.15.8" in files["about/system.txt"]
    said = json.loads(CliRunner().invoke(dump, [str(path), "--format", "json"]).stdout)["files"]
    peers = [file for file in said if file["name"] == "peers"]
    assert [file["rows"][0]["tx_credits"] for file in peers] == [-7, -7]
    mapped = dict(reversed(line.split("\t")[:2]) for line in map_path.read_text().splitlines()[1:])
    assert peers[0]["rows"][0]["nid"] == f"{mapped['10.1.2.4']}@tcp"
    assert {file["host"] for file in said} == {mapped["rtr17"]}


def test_analyze_reads_it(tree, tmp_path):
    from lnetstat.cli.analyze import command as analyze

    bundle("--root", tree, "-o", tmp_path / "b.tar.gz", "--samples", "1")
    done = CliRunner().invoke(analyze, [str(tmp_path / "b.tar.gz"), "--json", "--processes", "1"], standalone_mode=False)
    assert done.return_value == 0, done.output
    assert "oversubscribed_peers" in {finding["kind"] for finding in json.loads(done.stdout)["findings"]}


def test_names_are_kept_where_asked_for(tree, tmp_path):
    bundle("--root", tree, "-o", tmp_path / "b.tar.gz", "--samples", "1", "--keep-names")
    files, _ = unpacked((tmp_path / "b.tar.gz").read_bytes())
    (peers,) = (data for name, data in files.items() if name.endswith("/peers"))
    assert peers == (tree / "sys/kernel/debug/lnet/peers").read_bytes()
    assert b"rtr17" in files["hostname"]


def test_links_that_lead_out_are_not_followed(tree, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(PEERS + peer("192.168.99.99@tcp"))
    for path in ("sys/kernel/debug/lnet/peers", "etc/lnetstat/lnetstat.toml", "proc/sys/kernel/hostname"):
        (tree / path).unlink()
        (tree / path).symlink_to(secret)
    bundle("--root", tree, "-o", tmp_path / "b.tar.gz", "--samples", "1", "--keep-names")
    files, everything = unpacked((tmp_path / "b.tar.gz").read_bytes())
    assert b"192" not in files["hostname"]
    assert b"192.168.99.99" not in everything
    assert b"doctor: not asked" in files["about/doctor.txt"]
    assert b"a link that leads out of ROOT" in files["MANIFEST.txt"]


def test_a_file_that_is_there_is_not_overwritten_nor_a_link_followed(tree, tmp_path):
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_text("mine")
    link.symlink_to(tmp_path / "new")
    for path in (there, link):
        done = CliRunner().invoke(command, ["--root", str(tree), "-o", str(path), "--samples", "1"], standalone_mode=False)
        assert "cannot be made: File exists: name a new file" in str(done.exception)
    assert there.read_text() == "mine"
    assert not (tmp_path / "new").exists()


def test_a_node_without_lnet_still_gives_a_bundle_that_says_so(tmp_path):
    root = tmp_path / "empty"
    root.mkdir()
    bundle("--root", root, "-o", tmp_path / "b.tar.gz", "--samples", "1")
    files, _ = unpacked((tmp_path / "b.tar.gz").read_bytes())
    assert b"peers (No such file or directory)" in files["MANIFEST.txt"]
    assert b"UNKNOWN: table peers" in files["about/doctor.txt"]


def test_a_bundle_is_bounded(tree, tmp_path, monkeypatch):
    monkeypatch.setattr("lnetstat.bundle.reading.TOTAL_BYTES_MAX", 1 << 20)
    with (tree / "sys/kernel/debug/lnet/peers").open("a") as file:
        file.write("".join(peer(f"10.9.{n // 250}.{n % 250}@tcp") for n in range(8000)))
    bundle("--root", tree, "-o", tmp_path / "b.tar.gz", "--samples", "3", "-i", "0.05")
    files, everything = unpacked((tmp_path / "b.tar.gz").read_bytes())
    assert sum(name.endswith("/peers") for name in files) == 1
    assert b"a bundle holds 1 MiB in all" in everything


def test_a_bundle_without_anything_of_lnet_is_written_and_told(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "stat").write_text("cpu  1 2 3 4 5 6 7 8 0 0\n")
    path = tmp_path / "b.tar.gz"
    words = ["--root", str(tmp_path), "-o", str(path), "--samples", "1"]
    done = CliRunner().invoke(command, words, standalone_mode=False)
    assert (done.return_value, done.stdout) == (3, f"{path}\n")
    assert f"no file of LNet or Lustre could be read under {tmp_path}: is LNet loaded" in done.stderr
    assert path.exists()
