"""`make demo`: the main job on recordings, each step as the command that a user would type.

Bring up Carbon and graphite-web and replay two recordings into them, one after the other on the time axis: a simulated system of the
paper's size, whose last second is now, and before it a small real one. Say what is wrong in each, as a report and as marks in the graphs.
An agent that reads a node's files while all this goes on shows what agents say of themselves. The page of all that is the last line.
What cannot be done here is said, and the rest goes on.
"""

import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

from lnetstat.stack.page import VIEWS

HERE = Path(__file__).parents[1]
FOLDER = Path("demo")
RECORDINGS = Path("sample-data") / "recordings"
REAL, SIMULATED = RECORDINGS / "s7-lustre-pings", RECORDINGS / "simulated-paper-untuned"
REAL_LASTS, SIMULATED_LASTS = timedelta(seconds=110), timedelta(minutes=15)
APART = timedelta(minutes=2)  # on the time axis
BEFORE = timedelta(seconds=5)  # shown before the first value
WEB_PORT, CARBON_PORT = 28080, 22003
WEB = f"http://127.0.0.1:{WEB_PORT}"
PAGE = f"{WEB}/lnetstat/"
CARBON = f"127.0.0.1:{CARBON_PORT}"


def main() -> int:
    began = datetime.now(UTC).replace(microsecond=0)
    (HERE / FOLDER).mkdir(exist_ok=True)
    say("1. Carbon and graphite-web, on this machine's loopback only")
    stack = FOLDER / "stack"
    if (HERE / stack / VIEWS).exists():
        # Of a demo before: what it shipped lies at the very times to which this one ships.
        step("stack", "down", "--dir", stack)
        shutil.rmtree(HERE / stack)
    is_up = step("stack", "up", "--dir", stack, "--port", WEB_PORT, "--carbon-port", CARBON_PORT)
    folder = stack if is_up else FOLDER  # the page links to the reports in its own folder
    with live_agent(is_up):
        if is_up:
            fill(began)
        say("3. What is wrong, since when, and why: of the real system")
        done = [step("analyze", REAL)]
        say("4. Of each a page to mail")
        done.append(step("report", REAL, "-o", folder / "report-real.html", "--title", "Ping floods on a small real Lustre"))
        done.append(step("report", SIMULATED, "-o", folder / "report-simulated.html", "--title", "Dead time on a large simulated Lustre"))
    say("Look at")
    for name in ("real", "simulated"):
        print(f"  the report, {name:<12}{(HERE / folder / f'report-{name}.html').as_uri()}")
    if is_up:
        shown = views(began)
        (HERE / stack / VIEWS).write_text(json.dumps(shown, indent=1))
        print(f"  graphite-web's own    {WEB}/dashboard/lnet-router   (the same dashboards as PNG)")
        print(f"Stop it with: .venv/bin/lnetstat stack down --dir {stack}\n")
        for view in shown[1:]:
            print(f"{view['title']}: {PAGE}{view['query']}")
        print(f"{shown[0]['title']}, and links to the others:\n  {PAGE}")
    return 0 if all(done) else 3


def fill(now: datetime) -> None:
    """Ship both recordings, and mark what is found in the simulated one."""
    say("2. Three nodes under real load, recorded ten times a second, shipped as if it had just been")
    step("replay", REAL, "--carbon", CARBON, "--shift-to", iso(now - SIMULATED_LASTS - APART))
    say("   A quarter of an hour of a simulated system: 300,000 pings every 75 s stop its writes for 7 s")
    step("replay", SIMULATED, "--carbon", CARBON, "--shift-to", iso(now))
    say("   What begins and ends in it, as events that the graphs mark")
    step(
        "watch",
        f"graphite://127.0.0.1:{WEB_PORT}/lnet.oss01.lnet_stats.recv_length",
        "--once",
        "--events",
        f"graphite://127.0.0.1:{WEB_PORT}",
    )


def views(now: datetime) -> list[dict[str, str]]:
    """Return what the page offers to begin with, the first of them shown where its address says nothing (lnetstat.stack.page.VIEWS)."""
    real_end = now - SIMULATED_LASTS - APART
    return [
        {
            "title": "Dead time, simulated",
            "words": "every 75 s a flood of pings stops all writes for 7 s; the 12 holes are marked.",
            "query": query("lnet-dead-time", now - SIMULATED_LASTS, now),
            "report": "report-simulated.html",
        },
        {
            "title": "Ping bursts, real",
            "words": "a small Lustre, where 60 mounts ping every 13 s: pings in bursts, and credits far below 0 at each of them.",
            "query": query("lnet-dead-time", real_end - REAL_LASTS, real_end) + "&fold=13",
            "report": "report-real.html",
        },
        {
            "title": "lnetstat itself",
            "words": "the agent that ran while the demo was made.",
            "query": query("lnetstat-self", now, datetime.now(UTC).replace(microsecond=0)),
            "report": "",
        },
    ]


def query(dashboard: str, begin: datetime, end: datetime) -> str:
    """Return the page's query for a time that lies still: it shows the same tomorrow."""
    return "?" + urlencode({"dashboard": dashboard, "from": iso(begin - BEFORE), "until": iso(end)}, safe=":")


def iso(when: datetime) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%SZ}"


@contextmanager
def live_agent(wanted: bool) -> Iterator[None]:
    """Let an agent ship a real router's files, which a replay writes once more at their own pace, until the block ends."""
    tree = FOLDER / "tree"
    begun = []
    try:
        if wanted:
            print("Beside all that, until the end:")
            begun.append(beside("replay", REAL, "--host", "rtr", "--to", tree, "--speed", 1))
            while begun[0].poll() is None and not (HERE / tree).is_dir():
                time.sleep(0.1)  # without the folder the agent would end at once
            begun.append(beside("agent", "--root", tree, "--host", "live", "--carbon", CARBON))
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
