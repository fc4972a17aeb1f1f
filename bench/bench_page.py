"""How soon curves are seen in a browser: the stack's page against graphite-web's own dashboard, the same six panels of the same hour.

First paint is the first frame in which the first panel shows its curves: ours when the values of /render stand as lines in the picture,
drawn bare until plotly is read, else by plotly; graphite-web's when its first PNG is there. Counted from the start of the navigation, in
the same Chromium, each time with an empty cache. Both also say when all six are there. Runs take turns, so that a busy machine is busy
for both, and one page has all that it asked for before the next is opened; the ratio is the median of those of the turns.
"""

import http.client
import json
import socket
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from lnetstat.dashboards import DASHBOARDS, graphite  # noqa: E402
from lnetstat.dashboards.definition import Dashboard  # noqa: E402
from lnetstat.stack import Stack, page  # noqa: E402
from tests.chromium import CHROMIUM, Browser, chromium  # noqa: E402

Figure = tuple[str, float, float, str]
RECORDING = ROOT / "sample-data" / "recordings" / "simulated-paper-untuned"
RECORDING_MIN = 15
PANELS = 6
OURS = "document.querySelectorAll('.panel[data-seen]').length"
THEIRS = "[...document.querySelectorAll('img.graph-img')].filter((each) => each.complete && each.naturalWidth > 0).length"
WATCH = (
    "window.seen = {{}}; (function look() {{ for (let n = {count}; n > 0; n--) seen[n] ??= performance.now();"
    " requestAnimationFrame(look); }})()"
)


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare); nothing without a Chromium. `scale` below 1: fewer runs and fewer minutes."""
    if CHROMIUM is None:
        return []
    six = _six()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        stack = Stack(Path(folder) / "stack", *_free_ports())
        stack.up()
        try:
            page.write(stack.folder, print, (six,))
            _fill(stack, max(1, round(60 / RECORDING_MIN * scale)))
            name = _put_dashboard(stack.web_url, six)
            urls = {
                "ours": (f"{stack.page_url}?dashboard={six.slug}&last=60", OURS, "document.documentElement.dataset.turn"),
                "theirs": (f"{stack.web_url}/dashboard/{name}", THEIRS, "document.readyState === 'complete'"),
            }
            with chromium(Path(folder)) as browser:
                seen = _seen(browser, urls, max(2, round(11 * scale)))
        finally:
            stack.down()
    return [
        (f"page: {words}: page / graphite-web's dashboard, 6 panels of an hour", _ratio(seen, count), 1.0, "<=")
        for words, count in (("first paint", 1), ("all six panels", PANELS))
    ]


def _six() -> Dashboard:
    """Return the router's first six panels over an hour: buffers and credits."""
    router = next(each for each in DASHBOARDS if each.slug == "lnet-router")
    return router._replace(slug="bench", minutes=60, panels=router.panels[:PANELS])


def _fill(stack: Stack, times: int) -> None:
    """Replay the recording so often, end to end, until now."""
    now = datetime.now(UTC)
    for turn in range(times):
        end = now - timedelta(minutes=RECORDING_MIN * (times - turn - 1))
        address = ":".join(map(str, stack.carbon_address))
        # The pace is "as fast as can be", so the stamp is that of the end.
        command = [
            sys.executable,
            "-m",
            "lnetstat",
            "replay",
            str(RECORDING),
            "--carbon",
            address,
            "--shift-to",
            f"{end:%Y-%m-%dT%H:%M:%SZ}",
        ]
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)


def _put_dashboard(web_url: str, dashboard: Dashboard) -> str:
    """Store the same panels in graphite-web; return the name under which they are shown."""
    host, _, port = web_url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    body = urlencode({"state": json.dumps(graphite.state(dashboard))})
    connection.request("POST", "/dashboard/create-temporary", body, {"Content-Type": "application/x-www-form-urlencoded"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return str(answer["name"])


def _seen(browser: Browser, urls: dict[str, tuple[str, str, str]], runs: int) -> dict[str, list[list[float]]]:
    """Return for each of the two a list of runs: milliseconds until 1, 2, … PANELS panels were seen."""
    found: dict[str, list[list[float]]] = {name: [] for name in urls}
    for turn in range(runs + 1):
        for name, (url, count, settled) in urls.items():
            view = browser.page(1280, 1400)
            view.before(WATCH.format(count=count))
            view.open(url)
            view.wait(f"window.seen && seen[{PANELS}] && {settled}")
            if turn:  # the first warms the server
                found[name].append(view.value(f"Array.from({{ length: {PANELS} }}, (_, at) => seen[at + 1])"))
            view.close()
    return found


def _ratio(seen: dict[str, list[list[float]]], count: int) -> float:
    turns = zip(seen["ours"], seen["theirs"], strict=True)
    return statistics.median(ours[count - 1] / theirs[count - 1] for ours, theirs in turns)


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]


if __name__ == "__main__":
    for figure in run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0):
        print(figure)
