"""The page in a real browser: the figures are drawn, the policy lets them, and nobody outside is asked for anything."""

import re
import subprocess
from pathlib import Path

import pytest

from lnetstat.report.html import page
from tests.chromium import CHROMIUM, WITHOUT, look

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)


def browse(tmp_path: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Open a page that holds `text`; console messages come on stderr."""
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    return look(tmp_path, path.as_uri(), *arguments)


def console(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_all_figures_are_drawn_without_a_word_on_the_console(analysis_of, tmp_path):
    done = browse(tmp_path, page(analysis_of(length_s=1800.0)), "--dump-dom")
    assert console(done) == []
    assert 'data-drawn="5"' in done.stdout
    body = done.stdout[done.stdout.index("<body") :]
    assert len(re.findall(r'<svg class="main-svg"', body)) >= 5
    # A drawn curve has many corners; every picture has at least one.
    curves = re.findall(r'class="js-line" d="([^"]+)"', body)
    assert len(curves) >= 7
    assert max(len(curve) for curve in curves) > 1000


def test_hostile_names_run_nothing_and_are_shown_as_they_are(analysis_of, tmp_path):
    nasty = "<img src=x onerror=\"console.error('ran')\"><a href='https://evil.example'>x</a>"
    done = browse(tmp_path, page(analysis_of(host=nasty, nid=nasty), title=nasty), "--dump-dom")
    assert console(done) == []
    body = done.stdout[done.stdout.index("<body") : done.stdout.index('<script type="application/json"')]
    assert "<img" not in body
    assert not re.search(r"<a[\s>]", body)
    assert re.search(r"<text[^>]*>&lt;img src=x", body)


def test_the_policy_stops_a_script_that_is_not_ours(analysis_of, tmp_path):
    text = page(analysis_of()).replace("<footer>", "<script>console.error('ran')</script><footer>")
    said = console(browse(tmp_path, text, "--dump-dom"))
    assert len(said) == 1
    assert "Content Security Policy" in said[0]


def framed(width: int, script: str) -> str:
    """Return a page that holds inner.html in a frame and runs `script` (with `inner`, its window) three seconds after it was loaded."""
    return (
        f'<!DOCTYPE html><body style="margin:0"><iframe src="inner.html" style="width:{width}px;height:1600px;border:0"></iframe>'
        "<script>const frame = document.querySelector('iframe'); frame.onload = () => setTimeout(() => {"
        f"const inner = frame.contentWindow; {script} }}, 3000);</script>"
    )


def test_zooming_one_picture_zooms_all_that_share_the_time_axis(analysis_of, tmp_path):
    (tmp_path / "inner.html").write_text(page(analysis_of(length_s=1800.0)), encoding="utf-8")
    script = (
        "const plots = [...inner.document.querySelectorAll('[data-plot]')];"
        "inner.Plotly.relayout(plots[0], {'xaxis.range': ['2026-08-14 12:01:00', '2026-08-14 12:02:00']});"
        "setTimeout(() => { document.body.dataset.zoomed = plots.filter((plot) => "
        "plot.layout.xaxis.range.join() === plots[0].layout.xaxis.range.join()).map((plot) => plot.dataset.plot).join(); }, 2000);"
    )
    done = browse(tmp_path, framed(1280, script), "--dump-dom", "--allow-file-access-from-files")
    assert console(done) == []
    assert 'data-zoomed="axis,signals,row-0"' in done.stdout


def test_figures_fit_the_paper(analysis_of, tmp_path):
    (tmp_path / "inner.html").write_text(page(analysis_of()), encoding="utf-8")
    script = (
        "inner.dispatchEvent(new Event('beforeprint'));"
        "const plots = [...inner.document.querySelectorAll('svg.main-svg')];"
        "document.body.dataset.widths = plots.map((plot) => plot.getAttribute('width')).join();"
    )
    done = browse(tmp_path, framed(1280, script), "--dump-dom", "--allow-file-access-from-files")
    widths = re.search(r'data-widths="([0-9,.]+)"', done.stdout)[1].split(",")
    assert set(widths) == {"680"}


@pytest.mark.parametrize("width", [390, 900, 1280])
def test_the_page_fits_a_phone_and_a_desk_and_a_picture_of_it_can_be_taken(analysis_of, tmp_path, width):
    # A window cannot be made as narrow as a phone; a frame can.
    (tmp_path / "inner.html").write_text(page(analysis_of(nid="fd00:1234:5678:9abc:def0:1234:5678:9abc@tcp100")), encoding="utf-8")
    frame = framed(width, "document.body.dataset.wide = inner.document.documentElement.scrollWidth;")
    done = browse(tmp_path, frame, "--dump-dom", "--allow-file-access-from-files")
    assert console(done) == []
    assert f'data-wide="{width}"' in done.stdout
    shot = tmp_path / "shot.png"
    browse(tmp_path, frame, f"--screenshot={shot}", f"--window-size={max(width, 500)},1600")
    assert shot.read_bytes().startswith(b"\x89PNG")
    assert shot.stat().st_size > 20_000
