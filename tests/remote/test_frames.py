"""What a node's shell prints: any text survives, tries after ESTALE are one file, the clock follows the node's."""

import errno
import os
import shutil
import subprocess

import pytest

from lnetstat.model import State
from lnetstat.remote.frames import NS, NodeClock, Stream, snapshots
from lnetstat.remote.script import READY, script

MARK = "5f" * 16
SHELLS = [words for words in ("dash", "bash", "bash --posix", "busybox sh", "ksh", "mksh", "yash") if shutil.which(words.split()[0])]


class Shell:
    """The program in a shell of this machine, looked at as ssh would have it."""

    def __init__(self, words, root, environment=None):
        self._root, self._clock, self._stream = str(root), NodeClock(), Stream(MARK)
        self._process = subprocess.Popen(words.split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self._send(script())
        while not self._stream.is_ready:
            list(self._stream.feed(self._read()))
        self._send(f"{MARK}\n{root}\n")

    def look(self):
        self._send("\n")
        looks = []
        while not looks:
            looks = list(self._stream.feed(self._read()))
        return {s.name: s for s in snapshots(looks[0], "rtr", self._root, self._clock)}

    def end(self):
        self._process.stdin.close()
        self._process.stdout.close()
        return self._process.wait(30)

    def _send(self, text):
        self._process.stdin.write(text.encode("utf-8", "surrogateescape"))
        self._process.stdin.flush()

    def _read(self):
        data = os.read(self._process.stdout.fileno(), 65536)
        assert data, "the shell ended"
        return data


HOSTILE = b"\n5f5f file x\n\nlnetstat-ready\n\0\xff$(reboot) `id` %s \\n\n\n"


@pytest.mark.parametrize("words", SHELLS)
def test_any_text_survives_in_every_shell(words, tmp_path):
    root = tmp_path / "a tree; $(touch x) *"
    (root / "proc/fs/lustre/obdfilter/FS-OST0000 $(id)").mkdir(parents=True)
    (root / "peers").write_bytes(HOSTILE)
    (root / "stats").write_bytes(b"")
    (root / "nis").write_bytes(b"no line end")
    (root / "proc/fs/lustre/obdfilter/FS-OST0000 $(id)/stats").write_bytes(b"x" * 300_000 + b"\n")
    shell = Shell(words, root)
    for _ in range(2):
        found = shell.look()
        assert found["peers"].text.encode("utf-8", "surrogateescape") == HOSTILE
        assert (found["stats"].state, found["stats"].text) == (State.OK, "")
        assert found["nis"].text == "no line end"
        assert found["routes"].state is State.ABSENT
        assert len(found["obdfilter.FS-OST0000 $(id).stats"].text) == 300_001
    assert shell.end() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [root.name]


def test_a_table_that_changes_in_mid_scan_is_read_again_and_then_partial(tmp_path):
    (tmp_path / "bin").mkdir()
    # the first two scans of `peers` end as the kernel ends them when a peer is added; `nis` never succeeds, `buffers` is on a bad disk
    (tmp_path / "bin/cat").write_text(
        "#!/bin/sh\n"
        'case $1 in */peers) echo x >> "$0.tries"; echo row\n'
        '  [ "$(wc -l < "$0.tries")" -gt 2 ] || { echo "cat: peers: Stale file handle" >&2; exit 1; }; echo rest;;\n'
        "*/nis) echo row; echo 'cat: nis: Stale file handle' >&2; exit 1;;\n"
        "*/buffers) echo 'cat: buffers: Input/output error' >&2; exit 1;;\n"
        '*) exec /bin/cat "$@";; esac\n'
    )
    (tmp_path / "bin/cat").chmod(0o755)
    for name in ("peers", "nis", "buffers"):
        (tmp_path / name).write_text("")
    shell = Shell("sh", tmp_path, {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})
    found = shell.look()
    assert (found["peers"].state, found["peers"].text, found["peers"].flags) == (State.OK, "row\nrest\n", {"retried"})
    assert (found["nis"].state, found["nis"].errno, found["nis"].text) == (State.PARTIAL, errno.ESTALE, "row\n")
    assert (found["buffers"].state, found["buffers"].errno, found["buffers"].text) == (State.FAILED, errno.EIO, "")
    shell.end()


def test_what_a_login_prints_before_is_passed_over_and_pieces_are_put_together():
    stream = Stream(MARK)
    text = f"Welcome!\n{READY} not yet\n\n{READY}\n\n{MARK} begin\n1 2\n\n{MARK} .\n".encode()
    looks = [look for at in range(len(text)) for look in stream.feed(text[at : at + 1])]
    assert [[part.words for part in look] for look in looks] == [[("begin",)]]
    assert looks[0][0].body == b"1 2\n"


def test_the_clock_is_the_node_s_and_a_step_of_it_does_not_move_the_monotonic_one():
    clock = NodeClock()
    assert clock.stamps(b"1000 000000000\n50.00 1.0\n") == (1000 * NS, 50 * NS)
    assert clock.stamps(b"1001 250000000\n51.26 1.0\n") == (1001_250_000_000, 51_250_000_000)
    assert clock.stamps(b"5000 000000000\n52.00 1.0\n") == (5000 * NS, 52 * NS)
    assert clock.stamps(b"5001 000000000\n53.00 1.0\n") == (5001 * NS, 53 * NS)


def test_a_date_without_nanoseconds_is_made_finer_by_the_uptime():
    clock = NodeClock()
    assert clock.stamps(b"1000 %N\n50.00 1.0\n") == (1000 * NS, 50 * NS)
    assert clock.stamps(b"1000 %N\n50.25 1.0\n") == (1000_250_000_000, 50_250_000_000)
    assert clock.stamps(b"1000\n50.50 1.0\n")[0] == 1000_500_000_000
    assert clock.stamps(b"1000 123456789\n")[1] is None
    with pytest.raises(ValueError, match="told no time"):
        clock.stamps(b"sh: date: not found\n")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user who may not read the files")
def test_a_forbidden_folder_is_not_an_absent_one(tmp_path):
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(0o755)
    lnet = tmp_path / "sys/kernel/debug/lnet"
    lnet.mkdir(parents=True)
    (lnet / "peers").write_text("x\n")
    (tmp_path / "sys/kernel/debug").chmod(0o700)
    shell = Shell("setpriv --reuid 65534 --regid 65534 --clear-groups sh", tmp_path)
    found = shell.look()
    assert (found["peers"].state, found["peers"].errno) == (State.FORBIDDEN, errno.EACCES)
    shell.end()
