"""What a node's shell prints, taken apart into snapshots. Pure: bytes and our own clock come in, whole looks come out."""

import errno
from collections.abc import Iterator
from typing import NamedTuple

from lnetstat.model import Snapshot, State
from lnetstat.remote.script import READY, snapshot_name
from lnetstat.sources.node import LNET_TABLES

NS = 1_000_000_000
UPTIME_NS = NS // 100  # what /proc/uptime counts in
STEP_NS = NS // 10  # the wall clock and the uptime may differ by as much without one of them having been set
LOOK_BYTES_MAX = 64 << 20  # of one node; 100,000 peers have 8 MB

_ERRORS = {
    "no such file": errno.ENOENT,
    "permission denied": errno.EACCES,
    "operation not permitted": errno.EPERM,
    "stale": errno.ESTALE,
    "invalid argument": errno.EINVAL,
    "input/output error": errno.EIO,
    "is a directory": errno.EISDIR,
    "timed out": errno.ETIMEDOUT,
}
_STATES = {errno.ENOENT: State.ABSENT, errno.EACCES: State.FORBIDDEN, errno.EPERM: State.FORBIDDEN, errno.EINVAL: State.ABSENT}


class Part(NamedTuple):
    """One part of the stream: the words of its mark's line, and the bytes below."""

    words: tuple[str, ...]
    body: bytes


class Stream:
    """One node's output: `feed` takes bytes as they come and yields whole looks, each a list of parts."""

    def __init__(self, mark: str) -> None:
        self._mark = b"\n" + mark.encode() + b" "
        self._end = self._mark + b".\n"
        self._ready = b"\n" + READY.encode() + b"\n"
        self._buffer = bytearray()
        self._seen = 0
        self.is_ready = False

    def feed(self, data: bytes) -> Iterator[list[Part]]:
        """Take bytes. What a login prints before our program began is passed over. Raises ValueError where a look is far too long."""
        self._buffer += data
        if not self.is_ready:
            at = self._buffer.find(self._ready)
            if at < 0:
                del self._buffer[: -len(self._ready)]
                return
            self.is_ready = True
            del self._buffer[: at + len(self._ready)]
        while (at := self._buffer.find(self._end, max(0, self._seen - len(self._end)))) >= 0:
            look = bytes(self._buffer[:at])
            del self._buffer[: at + len(self._end)]
            self._seen = 0
            yield self._parts(look)
        self._seen = len(self._buffer)
        if self._seen > LOOK_BYTES_MAX:
            raise ValueError(f"sent more than {LOOK_BYTES_MAX >> 20} MiB for one look")

    def _parts(self, look: bytes) -> list[Part]:
        parts = []
        for text in look.split(self._mark)[1:]:
            line, _, body = text.partition(b"\n")
            parts.append(Part(tuple(line.decode("utf-8", "surrogateescape").split(" ")), body))
        return parts


class NodeClock:
    """A node's clocks from what its shell can tell: `date` in nanoseconds (where it can), uptime in hundredths of a second.

    The monotonic stamp follows the finer wall clock for as long as both agree, and jumps with the uptime where somebody set the clock.
    """

    def __init__(self) -> None:
        self._base: tuple[int, int] | None = None  # of both clocks

    def stamps(self, body: bytes) -> tuple[int, int | None]:
        """Return (time_ns, mono_ns or None where there is no uptime) of a part with the time. Raises ValueError where it has none."""
        words = body.split()
        if len(words) < 1 or not words[0].isdigit():
            raise ValueError("told no time: `date '+%s %N'` was expected to work there")
        fine = len(words) > 1 and words[1].isdigit() and len(words[1]) == 9
        wall_ns = int(words[0]) * NS + (int(words[1]) if fine else 0)
        uptime = next((word for word in words[1:] if b"." in word), None)
        if uptime is None:
            return wall_ns, None
        up_ns = round(float(uptime) * NS)
        if self._base is not None:
            by_wall, by_uptime = wall_ns - self._base[0], up_ns - self._base[1]
            agree_ns = STEP_NS if fine else NS + UPTIME_NS
            if abs(by_wall - by_uptime) < agree_ns:
                return (wall_ns, self._base[1] + by_wall) if fine else (self._base[0] + by_uptime, up_ns)
        self._base = wall_ns, up_ns
        return wall_ns, up_ns


def snapshots(look: list[Part], host: str, root: str, clock: NodeClock) -> list[Snapshot]:
    """Return what one look brought. All files have the stamp of its beginning, and the time that all of them took as their `read_ns`.

    Raises ValueError where the look is not what our program prints.
    """
    begins = [part for part in look if part.words[0] == "begin"]
    ends = [part for part in look if part.words[0] == "done"]
    if not begins or not ends:
        raise ValueError("the look has no beginning or no end")
    time_ns, mono_ns = clock.stamps(begins[0].body)
    end_ns, _ = clock.stamps(ends[0].body)
    read_ns = max(0, end_ns - time_ns)
    found: dict[str, Snapshot] = {}
    for path, state, number, body, tries in _files(look):
        name = snapshot_name(path, root)
        if name in found and name not in LNET_TABLES:
            continue  # the same parameter in two places: the newer place comes first
        flags = frozenset({"retried"}) if tries > 1 else frozenset()
        text = body.decode("utf-8", "surrogateescape")
        found[name] = Snapshot(name, host, time_ns, mono_ns, read_ns, state, number, flags, text)
    return list(found.values())


def _files(look: list[Part]) -> Iterator[tuple[str, State, int, bytes, int]]:
    """Yield (path, state, error number, text, tries) of each file, the best of its tries."""
    at = 0
    while at < len(look):
        words = look[at].words
        at += 1
        if words[0] != "no":
            continue
        path = " ".join(words[1:-1])
        if words[-1] in ("absent", "forbidden"):
            number = errno.ENOENT if words[-1] == "absent" else errno.EACCES
            yield path, _STATES[number], number, b"", 1
            continue
        tries: list[tuple[bytes, int]] = []
        while at + 1 < len(look) and look[at].words[0] == "file":
            text, end = look[at].body, look[at + 1]
            tries.append((text, 0 if end.words[-1] == "0" else _error_number(end.body)))
            at += 2
        if tries:
            yield (path, *_best(tries), len(tries))


def _best(tries: list[tuple[bytes, int]]) -> tuple[State, int, bytes]:
    text, number = tries[-1]
    if number == 0:
        return State.OK, 0, text
    longest = max((text for text, _ in tries), key=len)
    if number in (errno.ESTALE, errno.EINVAL) and longest:
        return State.PARTIAL, number, longest
    return _STATES.get(number, State.FAILED), number, b""


def _error_number(said: bytes) -> int:
    words = said.decode("utf-8", "replace").lower()
    return next((number for known, number in _ERRORS.items() if known in words), errno.EIO)
