"""`make demo`: the main job on real recordings, each step as the command that a user would type.

Bring up Carbon and graphite-web, replay recordings into them (their stamps shifted to now): two of real LNet and real Lustre, one of a
simulated system of the paper's size. Analyze, write the report, say where to look: last of all the page. What cannot be done here is
said, and the rest goes on.
"""

import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parents[1]
FOLDER = Path("demo")
RECORDINGS = Path("sample-data") / "recordings"
PINGS, BURSTS = RECORDINGS / "s7-lustre-pings", RECORDINGS / "s2-bursts"
SIMULATED = RECORDINGS / "simulated-paper-untuned"
WEB_PORT, CARBON_PORT = 28080, 22003


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    say("1. Carbon and graphite-web, on this machine's loopback only")
    stack = FOLDER / "stack"
    is_up = step("stack", "up", "--dir", stack, "--port", WEB_PORT, "--carbon-port", CARBON_PORT)
    if is_up:
        say("2. Three nodes under real load, recorded ten times a second, shipped as if it were now")
        carbon = f"127.0.0.1:{CARBON_PORT}"
        earlier = datetime.now(UTC) - timedelta(seconds=130)
        step("replay", BURSTS, "--carbon", carbon, "--shift-to", f"{earlier:%Y-%m-%dT%H:%M:%SZ}")
        step("replay", PINGS, "--carbon", carbon, "--shift-to", "now")
        say("   A quarter of an hour of a simulated system: 300,000 pings every 75 s stop its writes for 7 s")
        step("replay", SIMULATED, "--carbon", carbon, "--shift-to", "now")
        say("   What begins and ends in it, as events that the graphs mark")
        series = f"graphite://127.0.0.1:{WEB_PORT}/lnet.oss01.lnet_stats.recv_length"
        step("watch", series, "--once", "--events", f"graphite://127.0.0.1:{WEB_PORT}")
    say("3. What is wrong, since when, and why")
    analyzed = step("analyze", PINGS)
    say("4. The same as a page to mail")
    report = (stack if is_up else FOLDER) / "report.html"  # from the stack's folder the page links to it
    reported = step("report", PINGS, "-o", report, "--title", "Lustre ping floods on a small system")
    say("Look at")
    if reported:
        print(f"  the report            {report.resolve().as_uri()}")
    if is_up:
        web = f"http://127.0.0.1:{WEB_PORT}"
        print(f"  the same dashboards   {web}/dashboard/lnet-router   (graphite-web's own pages, as PNG)")
        print(f"Stop it with: .venv/bin/lnetstat stack down --dir {stack}")
        print("\nThe page: ping bursts of the real router, and the dead time of the simulated one (hosts rtr and rtr01)")
        print(f"  {web}/lnetstat/?dashboard=lnet-dead-time&last=15")
    return 0 if analyzed and reported else 3


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
