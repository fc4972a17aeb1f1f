"""`make demo`: the main job on recordings, each step as the command that a user would type.

Bring up Carbon and graphite-web and replay recordings into them, one after the other on the time axis: a simulated system of the
paper's size, whose last second is now, and before it small real ones. Say what is wrong in the first two, as a report, and as marks in
the graphs. An agent that reads a node's files while all this goes on shows what agents say of themselves. The page of all that is the last
line.
What cannot be done here is said, and the rest goes on.
"""

import fcntl
import json
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from lnetstat.recording import Recording
from lnetstat.stack.page import VIEWS

HERE = Path(__file__).parents[1]
FOLDER = Path("demo")
STACK, TREE = FOLDER / "stack", FOLDER / "tree"
APART = timedelta(minutes=2)  # on the time axis
BEFORE = timedelta(seconds=5)  # shown before the first value
WEB_PORT, CARBON_PORT = 28080, 22003  # or the next that are free
LIVE_SAMPLES = 600  # an agent that outlives a demo that was killed ends by itself
INTERRUPTED = 130
NS = 1_000_000_000


class Part(NamedTuple):
    """A recording: the page offers it as `title`, with `words`, on `dashboard`; `said` when it is shipped.

    `report`: the name of its report, empty where there is none.
    """

    recording: Path
    said: str
    title: str
    words: str
    dashboard: str
    more: str = ""  # of the page's query
    report: str = ""

    def times(self) -> tuple[datetime, datetime]:
        """Return when it was recorded: its first and last second."""
        recorded = Recording(HERE / self.recording)
        assert recorded.begin_ns is not None, self.recording
        assert recorded.end_ns is not None, self.recording
        return datetime.fromtimestamp(recorded.begin_ns // NS, UTC), datetime.fromtimestamp(recorded.end_ns // NS, UTC)


class Shown(NamedTuple):
    """Where on the time axis of the page a recording lies."""

    part: Part
    begin: datetime
    end: datetime


SAMPLES = Path("sample-data")
SIMULATED = Part(
    SAMPLES / "recordings" / "simulated-paper-untuned",
    "A quarter of an hour of a simulated system: 300,000 pings every 75 s stop its writes for 7 s",
    "Dead time, simulated",
    "every 75 s a flood of pings stops all writes for 7 s; the 12 holes are marked.",
    "lnet-dead-time",
    report="simulated",
)
REAL = Part(
    SAMPLES / "recordings" / "s7-lustre-pings",
    "Three nodes under real load, recorded ten times a second, shipped as if it had just been",
    "Ping bursts, real",
    "a small Lustre, where 60 mounts ping every 13 s: pings in bursts, and credits far below 0 at each of them.",
    "lnet-dead-time",
    more="&fold=13",
    report="real",
)
TARGETS = Part(
    SAMPLES / "excerpts" / "s6b-targets",
    "A real object storage server: what its targets write",
    "OSS, real",
    "the server of a small Lustre: a target's writes of 2 MiB beside bursts of 395 pings; then the wire to its client stalls.",
    "lnet-oss",
)
HEALTH = Part(
    SAMPLES / "excerpts" / "s5b-health",
    "A real multi-rail client while its links are disturbed",
    "Interface health, real",
    "a client with several interfaces: one is taken down and stays down, then another is given errors.",
    "lnet-interface-health",
)
PARTS = (SIMULATED, REAL, TARGETS, HEALTH)  # from now on backwards


def main() -> int:
    (HERE / FOLDER).mkdir(exist_ok=True)
    with (HERE / FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another make demo is at work in {HERE / FOLDER}: wait until it ends, or stop it, and try again", file=sys.stderr)
            return 3
        try:
            return demo()
        except KeyboardInterrupt:
            print(f"\nstopped half-way. To stop what still runs: .venv/bin/lnetstat stack down --dir {STACK}", file=sys.stderr)
            return INTERRUPTED


def demo() -> int:
    began = datetime.now(UTC).replace(microsecond=0)
    shown = on_the_axis(began)
    say("1. Carbon and graphite-web, on this machine's loopback only")
    is_cleared = clear()
    web, carbon = free_port(WEB_PORT), free_port(CARBON_PORT)
    is_up = is_cleared and step("stack", "up", "--dir", STACK, "--port", web, "--carbon-port", carbon)
    folder = STACK if is_up else FOLDER  # the page links to the reports in its own folder
    with live_agent(carbon if is_up else None):
        if is_up:
            fill(shown, web, carbon)
        say("3. What is wrong, since when, and why: of the real system")
        done = [step("analyze", REAL.recording)]
        say("4. Of each a page to mail")
        done.append(step("report", REAL.recording, "-o", folder / report_file(REAL), "--title", "Ping floods on a small real Lustre"))
        done.append(
            step("report", SIMULATED.recording, "-o", folder / report_file(SIMULATED), "--title", "Dead time on a large simulated Lustre")
        )
    say("Look at")
    for part in (REAL, SIMULATED):
        print(f"  the report, {part.report:<12}{(HERE / folder / report_file(part)).as_uri()}")
        print(f"{'':<26}(times in the report are those of the recording: {own_times(part)})")
    if is_up:
        offered = [*(view(each) for each in shown), itself(began)]
        (HERE / STACK / VIEWS).write_text(json.dumps(offered, indent=1))
        address = f"http://127.0.0.1:{web}"
        print(f"  graphite-web's own    {address}/dashboard/lnet-router   (the same dashboards as PNG)")
        print(f"Stop it with: .venv/bin/lnetstat stack down --dir {STACK}\n")
        for each in offered[1:]:
            print(f"{each['title']}: {address}/lnetstat/{each['query']}")
        print(f"{offered[0]['title']}, and links to the others:\n  {address}/lnetstat/")
    return 0 if all(done) else 3


def clear() -> bool:
    """Throw away what a demo before left, running or not: what it shipped lies at the very times to which this one ships."""
    shutil.rmtree(HERE / TREE, ignore_errors=True)
    if not (HERE / STACK).exists():
        return True
    print("A demo was here before: it is stopped and its data are removed; this one begins anew.", flush=True)
    if not step("stack", "down", "--dir", STACK):
        return False
    shutil.rmtree(HERE / STACK)
    return True


def free_port(wanted: int) -> int:
    """Return this port, or the next one that nobody listens on, and say so."""
    for port in range(wanted, wanted + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port != wanted:
            print(f"Port {wanted} is taken by another process: {port} in its place.")
        return port
    return wanted  # stack up says what is wrong


def on_the_axis(now: datetime) -> list[Shown]:
    """Return where each recording lies: one before the other, the first one ends now."""
    found, end = [], now
    for part in PARTS:
        begin, last = part.times()
        found.append(Shown(part, end - (last - begin), end))
        end = found[-1].begin - APART
    return found


def fill(shown: list[Shown], web: int, carbon: int) -> None:
    """Ship the recordings, and mark what is found in the simulated one."""
    say("2. Recordings, into Carbon")
    for part, _, end in reversed(shown):
        print(f"   {part.said}")
        step("replay", part.recording, "--carbon", f"127.0.0.1:{carbon}", "--shift-to", iso(end))
    print("   What begins and ends in the simulated one, as events that the graphs mark")
    graphite = f"graphite://127.0.0.1:{web}"
    step("watch", f"{graphite}/lnet.oss01.lnet_stats.recv_length", "--once", "--events", graphite)


def view(shown: Shown) -> dict[str, str]:
    """Return what the page offers of a recording (lnetstat.stack.page.VIEWS); the first of all is shown where its address says nothing."""
    part, begin, end = shown
    return {
        "title": part.title,
        "words": part.words,
        "query": query(part.dashboard, begin, end) + part.more,
        "report": report_file(part) if part.report else "",
        "times": own_times(part),
    }


def itself(began: datetime) -> dict[str, str]:
    """Return what the page offers of the agent that ran beside the demo."""
    now = datetime.now(UTC).replace(microsecond=0)
    words = "the agent that ran while the demo was made."
    return {"title": "lnetstat itself", "words": words, "query": query("lnetstat-self", began, now), "report": "", "times": ""}


def report_file(part: Part) -> str:
    return f"report-{part.report}.html"


def own_times(part: Part) -> str:
    """Return when it was recorded, in words."""
    begin, end = part.times()
    return f"{begin:%Y-%m-%d %H:%M} to {end:%H:%M} UTC"


def query(dashboard: str, begin: datetime, end: datetime) -> str:
    """Return the page's query for a time that lies still: it shows the same tomorrow."""
    return "?" + urlencode({"dashboard": dashboard, "from": iso(begin - BEFORE), "until": iso(end)}, safe=":")


def iso(when: datetime) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%SZ}"


@contextmanager
def live_agent(carbon: int | None) -> Iterator[None]:
    """Let an agent ship a real router's files, which a replay writes once more at their own pace, until the block ends. None: no Carbon."""
    begun: list[subprocess.Popen[bytes]] = []
    try:
        if carbon is not None:
            print("Beside all that, until the end:")
            begun.append(beside("replay", REAL.recording, "--host", "rtr", "--to", TREE, "--speed", 1))
            while begun[0].poll() is None and not (HERE / TREE).is_dir():
                time.sleep(0.1)  # without the folder the agent would end at once
            begun.append(beside("agent", "--root", TREE, "--host", "live", "--carbon", f"127.0.0.1:{carbon}", "-n", LIVE_SAMPLES))
        yield
    finally:
        for process in reversed(begun):
            process.terminate()
            process.wait()


def beside(*words: object) -> subprocess.Popen[bytes]:
    """Say and start one lnetstat command."""
    command = [str(word) for word in words]
    print(f"$ lnetstat {shlex.join(command)} &", flush=True)
    return subprocess.Popen([sys.executable, "-m", "lnetstat", *command], cwd=HERE, stderr=subprocess.DEVNULL)


def step(*words: object) -> bool:
    """Say and run one lnetstat command; return whether it did all it was asked."""
    command = [str(word) for word in words]
    print(f"$ lnetstat {shlex.join(command)}", flush=True)
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "lnetstat", *command], cwd=HERE)
    if done.returncode:
        print(f"  (that did not work, exit status {done.returncode}; the demo goes on)")
    print(f"  [{time.monotonic() - began:.1f} s]\n", flush=True)
    return done.returncode == 0


def say(words: str) -> None:
    print(f"\n== {words}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
