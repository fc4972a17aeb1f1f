"""The live view in a terminal of textual's own: keys and clicks, time travel, sizes, and what stands on the screen."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from lnetstat.cli._times import parse_moment
from lnetstat.cli.top import _moment_in as moment_in
from lnetstat.recording import Recording
from lnetstat.top import terminal
from lnetstat.top.grid import Grid
from lnetstat.top.model import Model
from lnetstat.top.recorded import RecordingFeed
from lnetstat.top.ticks import Parser
from lnetstat.top.view import Top
from tests.top.screens import PEERS, peer, record, screen, settle, snapshot, ticks

GOLDEN = Path(__file__).parent / "golden"


class Still:
    """A feed that is alive, but of which nothing new comes."""

    hint, problems = "", ()

    def read(self):
        threading.Event().wait()


def on_screen(app, keys=(), *, size=(80, 24), then=None):
    """Run an app, press keys one after another, and return the screen after each; `then` is awaited in the end."""

    async def run():
        screens = []
        async with app.run_test(size=size) as pilot:
            await settle(pilot.app)
            screens.append(screen(app))
            for key in keys:
                await pilot.press(key)
                await settle(pilot.app)
                screens.append(screen(app))
            if then:
                screens.append(await then(pilot))
        return screens

    return asyncio.run(run())


def top(feed, first, **options):
    model = Model()
    *_, view = [model.feed(tick) for tick in first]
    return Top(feed, model, view, **options)


def alive(seconds=4, hosts=("rtr1",)):
    return top(Still(), ticks(seconds, hosts))


def replay(folder):
    feed = RecordingFeed(Recording(record(folder, 40)), "rec")
    return top(feed, feed.first(), moment=lambda text: moment_in(feed, "rec", parse_moment(text)))


@pytest.mark.parametrize(
    ("name", "keys", "size", "hosts"),
    [
        ("peers", (), (80, 24), ("rtr1",)),
        ("peers-wide", (), (140, 30), ("rtr1", "rtr2")),
        ("nis", "2", (80, 24), ("rtr1",)),
        ("buffers", "3", (80, 24), ("rtr1",)),
        ("services", "4", (80, 24), ("rtr1",)),
        ("help", ("question_mark",), (80, 24), ("rtr1",)),
    ],
)
def test_the_screen_is_as_it_was(name, keys, size, hosts):
    """LNETSTAT_GOLDEN=1 writes the files anew: look at them before they are committed."""
    file = GOLDEN / f"{name}.txt"
    shown = on_screen(alive(12, hosts), keys, size=size)[-1]
    if os.environ.get("LNETSTAT_GOLDEN"):
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")


def first_row(shown):
    return next(line for line in shown.splitlines() if "@" in line)


def test_keys_sort_by_each_column_turn_it_around_and_go_back_to_the_worst():
    before, by_nid, reverse, by_max, worst = on_screen(alive(), ("greater_than_sign", "r", "greater_than_sign", "w"))
    assert "10.2.0.3@tcp1" in first_row(before)
    assert "NID▲" in by_nid
    assert "10.2.0.1@tcp1" in first_row(by_nid)
    assert "NID▼" in reverse
    assert "10.9.0.9@o2ib" in first_row(reverse)
    assert "max▲" in by_max
    assert worst == before


def test_a_click_on_a_title_sorts_another_turns_it_around_and_one_on_a_tab_opens_it():
    async def clicks(pilot):
        lines = screen(pilot.app).splitlines()
        queue = next(line for line in lines if "tx low" in line).index("queue") + 1
        screens = []
        for selector, offset in (("#grid", (queue, 0)), ("#grid", (queue, 0)), ("#tabs", (20, 0))):
            await pilot.click(selector, offset=offset)
            await settle(pilot.app)
            screens.append(screen(pilot.app))
        return screens

    once, twice, tab = on_screen(alive(), then=clicks)[-1]
    assert ("queue▼" in once, "10.2.0.3@tcp1" in first_row(once)) == (True, True)
    assert ("queue▲" in twice, "10.2.0.3@tcp1" in first_row(twice)) == (True, False)
    assert "10.2.0.200@tcp1" in tab


def test_the_filter_shows_what_fits_as_one_types_enter_keeps_it_escape_ends_it():
    *_, typed, kept, all_again = on_screen(alive(), ("slash", "o", "2", "i", "b", "enter", "escape"))
    for shown in (typed, kept):
        assert ("10.9.0.9@o2ib" in shown, "10.2.0.1@tcp1" in shown) == (True, False)
    assert "/o2ib: 1 rows" in kept
    assert "10.2.0.1@tcp1" in all_again


def test_keys_that_are_typed_into_the_filter_do_nothing_else():
    *_, shown = on_screen(alive(), ("slash", "q", "p", "2", "question_mark"))
    assert "1 Peers 5" in shown
    assert "/qp2?: 0 rows" in shown


def test_every_key_of_the_help_is_one_and_any_key_ends_it():
    before, helps, after = on_screen(alive(), ("question_mark", "tab"))
    assert "sort by the next column" in helps
    assert after == before


def test_in_a_recording_one_goes_to_and_fro_and_to_both_ends(tmp_path):
    keys = ("right", "right", "right", "left", "end", "left", "right", "right", "home", "left")
    seconds = [shown.split("T12:00:")[1][:6] for shown in on_screen(replay(tmp_path), keys)]
    assert seconds == ["00.000", "01.000", "02.000", "03.000", "02.000", "39.000", "38.000", "39.000", "39.000", "00.000", "00.000"]


def test_one_goes_by_minutes_to_a_time_and_to_the_next_row_that_ran_out(tmp_path):
    keys = ("n", "right", "n", "N", "full_stop", "comma", "pagedown", "N", "g", *"12:00:10", "enter", "n", "g", *"12:59:59", "enter")
    screens = on_screen(replay(tmp_path), [{":": "colon"}.get(key, key) for key in keys])
    seconds = [shown.split("T12:00:")[1][:2] for shown in screens]
    assert seconds[:9] == ["00", "03", "04", "07", "03", "39", "00", "39", "35"]
    assert (seconds[18], seconds[19], seconds[-1]) == ("10", "11", "11")
    assert "no samples at 2026-08-14T12:59:59Z" in screens[-1]


def test_a_search_that_finds_nothing_says_so_and_stays_where_it_was(tmp_path):
    *_, kept, shown, moved = on_screen(replay(tmp_path), ("right", "slash", *"9", "enter", "n", "right"))
    assert "T12:00:01" in kept
    assert "no row that the filter shows has run out after this moment" in shown
    assert ("T12:00:01" in shown, "T12:00:02" in moved, "no row" in moved) == (True, True, False)


def test_going_back_shows_what_going_on_showed(tmp_path):
    on = on_screen(replay(tmp_path / "a"), ("4", *["right"] * 12))
    back = on_screen(replay(tmp_path / "b"), ("4", *["right"] * 16, *["left"] * 4))
    assert back[-1] == on[-1]
    assert "█" * 12 in on[-1]


def test_a_recording_plays_and_stops_at_a_key(tmp_path):
    async def until_it_moves(pilot):
        app = pilot.app
        app._speed = 6
        await pilot.press("space")
        while "T12:00:00" in (shown := screen(app)):
            await pilot.pause(0.02)
        assert "playing" in shown
        await pilot.press("space")
        await settle(pilot.app)
        return screen(app)

    assert "paused" in on_screen(replay(tmp_path), then=until_it_moves)[-1]


def test_a_pause_keeps_the_screen_and_stops_the_reading():
    class Counting:
        hint, problems = "", ()
        reads = 0

        def read(self):
            self.reads += 1
            return ticks(self.reads % 3 + 1)[-1]

    feed = Counting()

    async def pause(pilot):
        while feed.reads < 2:
            await pilot.pause(0.02)
        await pilot.press("p")
        reads, shown = feed.reads, screen(pilot.app)
        await pilot.pause(0.4)
        return reads, feed.reads, "paused" in screen(pilot.app), shown

    before, after, is_told, _ = on_screen(top(feed, ticks(1), interval_s=0.05), then=pause)[-1]
    assert after <= before + 1  # the one under way
    assert is_told


def test_ten_thousand_peers_are_scrolled_and_only_those_in_sight_are_drawn(monkeypatch):
    drawn = []
    segments = Grid._segments
    monkeypatch.setattr(Grid, "_segments", lambda grid, layout, row: drawn.append(row) or segments(grid, layout, row))
    text = PEERS + "".join(peer(f"10.{n // 250}.{n % 250}.1@o2ib", 8 - n % 9, 8 - n % 9) for n in range(10_000))
    first, bottom, up = on_screen(top(Still(), [Parser().tick([snapshot("peers", text)])]), ("G", "pageup"))
    assert "1 Peers 10,000" in first
    assert first_row(bottom) != first_row(first)
    assert first_row(up) != first_row(bottom)
    assert 0 < len(drawn) < 400


def test_names_are_never_read_as_markup():
    text = PEERS + peer("10.0.0.1@tcp", 8, 8)
    name = "obdfilter.[red]x[/] [@click=app.quit]y[/].stats"
    counters = "snapshot_time 1.000000000 secs.nsecs\n[bold]z[/] 5 samples [reqs]\n"
    app = top(Still(), [Parser().tick([snapshot("peers", text), snapshot(name, counters), snapshot("nis", "[link=x]bad[/link]\n")])])
    _, nis, services = on_screen(app, "24", size=(120, 24))
    assert "[link=x]bad[/link]" in nis
    assert "[red]x[/] [@click=app.quit]y[/]" in services
    assert "[bold]z[/]" in services


def test_the_screen_fits_again_after_the_terminal_was_made_smaller():
    async def resize(pilot):
        await pilot.resize_terminal(80, 24)
        await settle(pilot.app)
        await settle(pilot.app)
        return screen(pilot.app)

    *_, shown = on_screen(alive(12), size=(140, 50), then=resize)
    assert shown == (GOLDEN / "peers.txt").read_text(encoding="utf-8")


def styles(app):
    """Return the styles that reach the terminal, each once."""
    return {segment.style for strip in app.screen._compositor.render_strips() for segment in strip if segment.style}


def test_without_colour_all_is_the_terminal_s_own_and_signs_tell(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")

    async def colours(pilot):
        return {colour.name for style in styles(pilot.app) for colour in (style.color, style.bgcolor) if colour}

    shown, found = on_screen(top(Still(), ticks(4), theme="none"), then=colours)
    assert found <= {"default"}
    assert "!! 10.2.0.3@tcp1" in shown
    assert " x 10.2.0.4@tcp1" in shown


def brightness(colour):
    """Return the relative luminance that WCAG 2 defines."""
    parts = [value / 255 for value in colour.triplet]
    linear = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in parts]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(style):
    low, high = sorted((brightness(style.color), brightness(style.bgcolor)))
    return (high + 0.05) / (low + 0.05)


def test_all_can_be_read_on_a_dark_and_on_a_light_ground_and_a_key_turns_it_around():
    async def grounds(pilot):
        found = []
        for _ in range(2):
            found.append(styles(pilot.app))
            await pilot.press("t")
            await settle(pilot.app)
        return found

    dark, light = on_screen(alive(12), then=grounds)[-1]
    for found, is_light in ((dark, False), (light, True)):
        assert min(contrast(style) for style in found if style.color and style.bgcolor) >= 4.5
        assert any(style.bgcolor and (brightness(style.bgcolor) > 0.5) is is_light for style in found)


@pytest.mark.parametrize(
    ("answer", "theme"),
    [
        (b"\x1b]11;rgb:ffff/ffff/eeee\x1b\\\x1b[?62;4c", "light"),
        (b"\x1b]11;rgb:1e/1e/2e\x07\x1b[?1;2c", "dark"),
        (b"\x1b[?6c", None),
        (b"", None),
    ],
)
def test_the_ground_is_what_the_terminal_answers(answer, theme):
    assert terminal.by_answer(answer) == theme


def test_the_ground_is_what_the_environment_says():
    assert [terminal.by_environment(value) for value in ("0;15", "15;default;0", "", None, "x;default")] == [
        "light",
        "dark",
        None,
        None,
        None,
    ]
