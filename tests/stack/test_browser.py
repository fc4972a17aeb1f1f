"""A browser shows what the stack draws: the graphs and their lines are in the picture of the page."""

import os
import shutil

import pytest

from tests.chromium import CHROMIUM, look

FIRST_LINE = (0x1F, 0x77, 0xB4)  # the first of lineColors


def screenshot(url, folder):
    """Return the page as {(red, green, blue): pixels}. SCREENSHOTS=DIR in the environment keeps the picture to be looked at."""
    cairocffi = pytest.importorskip("cairocffi", reason="no libcairo.so.2 here to read a picture with", exc_type=(ImportError, OSError))
    picture = folder / "page.png"
    look(folder, url, "--window-size=1280,1100", f"--screenshot={picture}")
    if keep := os.environ.get("SCREENSHOTS"):
        shutil.copy(picture, os.path.join(keep, url.rstrip("/").rpartition("/")[2].partition("?")[0] + ".png"))
    surface = cairocffi.ImageSurface.create_from_png(str(picture))
    data = bytes(surface.get_data())
    found = {}
    for row in range(surface.get_height()):
        line = data[row * surface.get_stride() :][: 4 * surface.get_width()]
        for blue, green, red in zip(line[0::4], line[1::4], line[2::4], strict=True):
            found[red, green, blue] = found.get((red, green, blue), 0) + 1
    return found


LEGEND = 60  # pixels of a legend's square, which is drawn only for a series that has been found
PAGES = [
    ("/dashboard/lnet-router", 4 * 500 * 250, 4 * LEGEND),  # six graphs, four of them fit
    ("/dashboard/lnet-oss", 3 * 500 * 250, 3 * LEGEND),
    ("/render?target=lnet.rtr1.buffers.large.credits_worst&from={begin}&until={end}&lineWidth=5&width=800&height=400", 250_000, 1000),
]


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here (Debian: apt-get install chromium)")
@pytest.mark.parametrize(("page", "white_min", "first_line_min"), PAGES, ids=["lnet-router", "lnet-oss", "render"])
def test_the_page_shows_graphs(filled, tmp_path, page, white_min, first_line_min):
    if any("libcairo" in line for line in filled.told):
        pytest.skip("no libcairo.so.2 here: graphs are off")
    begin_s = filled.points[0].time_s  # not "the last three minutes": the points may have been sent long ago
    pixels = screenshot(filled.stack.web_url + page.format(begin=begin_s - 60, end=begin_s + 120), tmp_path)
    assert pixels.get((255, 255, 255), 0) > white_min
    assert pixels.get(FIRST_LINE, 0) > first_line_min
