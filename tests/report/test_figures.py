import base64
import json

import numpy as np
import pytest

from lnetstat.report.figures import pictures, row_pictures
from lnetstat.report.profile import folded


def drawn(analysis) -> dict:
    return {each.slug: each for each in pictures(analysis)}


def arrays(figure) -> list[dict]:
    """Return the traces with x and y as arrays, as the browser will decode them."""
    traces = json.loads(figure.to_json())["data"]
    for trace in traces:
        for axis in ("x", "y"):
            if isinstance(trace[axis], dict):
                trace[axis] = np.frombuffer(base64.b64decode(trace[axis]["bdata"]), dtype=trace[axis]["dtype"])
    return traces


def test_all_pictures_of_the_record_share_one_time_axis(analysis_of):
    figures = [each for each in pictures(analysis_of(length_s=1800.0)) if each.linked]
    assert [each.slug for each in figures] == ["axis", "signals"]
    ranges = {tuple(each.figure.layout.xaxis.range) for each in figures}
    assert len(ranges) == 1
    assert {each.figure.layout.xaxis.type for each in figures} == {"date"}


def test_what_the_verdict_is_about_and_its_causes_stand_above_one_another_in_one_picture(analysis_of):
    figure = drawn(analysis_of())["axis"].figure
    assert [title.text for title in figure.layout.annotations if title.xanchor == "left"] == [
        "rtr: route_length, MiB/s",
        "rtr: ost_io ost_read+ost_write, requests/s",
        "rtr: ost obd_ping, pings/s",
        "rtr: 10.1.0.1@tcp: peer credits (tx)",
        "rtr: router buffers in use or waited for",
    ]
    assert len({trace.xaxis for trace in figure.data}) == 1


def test_curves_carry_the_times_and_values_of_the_signal(analysis_of):
    analysis = analysis_of(length_s=100.0)
    curve = arrays(drawn(analysis)["axis"].figure)[0]
    assert curve["x"][0] == analysis.signals[0].time_s[0] * 1000
    assert curve["y"] == pytest.approx(analysis.signals[0].rate / 2**20, rel=1e-6)


def through(figure) -> list:
    return [shape for shape in figure.layout.shapes if shape.yref == "paper"]


def test_each_incident_is_shaded_through_all_panels_where_it_was(analysis_of):
    analysis = analysis_of(length_s=300.0)
    shaded = through(drawn(analysis)["axis"].figure)
    assert [(each.x0, each.x1) for each in shaded] == [(begin * 1000, end * 1000) for begin, end in analysis.dead_time.incidents]
    assert {(each.y0, each.y1) for each in shaded} == {(0, 1)}


def test_bursts_are_shaded_where_there_are_no_dips(analysis_of):
    picture = drawn(analysis_of(dips=False))["axis"]
    assert len(through(picture.figure)) == len(analysis_of().dead_time.incidents)
    assert [key.words for key in picture.keys if key.shape == "band"] == ["burst of pings or messages"]


def test_a_day_of_dips_keeps_every_dip_in_few_points(analysis_of):
    analysis = analysis_of(length_s=20_000.0)
    curve = arrays(drawn(analysis)["axis"].figure)[0]
    for begin, end in analysis.dead_time.incidents:
        inside = (curve["x"] >= begin * 1000) & (curve["x"] <= end * 1000)
        assert curve["y"][inside].min() == pytest.approx(1e5 / 2**20, rel=1e-6)
    assert curve["x"].size < 1400 + 2 + 2 * len(analysis.dead_time.incidents)


def test_negative_credits_stay_negative_and_zero_and_the_limit_are_drawn(analysis_of):
    figure = row_pictures(analysis_of())[0].figure
    now, low = arrays(figure)[:2]
    assert now["y"].min() == low["y"].min() == -63
    assert sorted(shape.y0 for shape in figure.layout.shapes) == [0, 8]
    assert figure.layout.yaxis.range[0] < -63


def test_the_peer_that_findings_name_is_drawn_before_worse_ones_and_then_the_worst_of_each_host(analysis_of):
    analysis = analysis_of()
    row = analysis.credit_series[0]
    others = [
        row._replace(host=host, subject=f"10.9.0.{n}@tcp", credits=row.credits - 100 + n, credits_min=row.credits_min - 100 + n)
        for host in ("rtr", "oss")
        for n in range(3)
    ]
    blamed = analysis.findings[1]._replace(
        kind="first_exhausted", evidence={"host": "rtr", "resource": "peer_credits", "subject": row.subject, "row": 0}
    )
    found = analysis._replace(credit_series=(*others, row), findings=(*analysis.findings, blamed))
    titles = [title.text for title in drawn(found)["axis"].figure.layout.annotations if "credits (tx)" in title.text]
    assert titles == [f"{place}: peer credits (tx)" for place in ("rtr: 10.1.0.1@tcp", "rtr: 10.9.0.0@tcp", "oss: 10.9.0.0@tcp")]


def test_buffers_are_drawn_as_buffers_in_use(analysis_of):
    figure = drawn(analysis_of())["axis"].figure
    small = next(trace for trace in arrays(figure) if trace["name"] == "small, of 512")
    assert (small["y"].min(), small["y"].max()) == (2, 212)


def test_pools_that_were_never_used_are_said_in_words(analysis_of):
    analysis = analysis_of()
    full = analysis.credit_series[1]._replace(credits=np.full(analysis.credit_series[1].time_s.size, 512.0))
    picture = drawn(analysis._replace(credit_series=(full,)))["axis"]
    assert any("1 pool stayed full" in note for note in picture.notes)


def test_a_single_sample_is_no_curve_and_this_is_said(analysis_of):
    analysis = analysis_of(length_s=0.5)
    assert analysis.signals[0].time_s.size == 1
    found = drawn(analysis._replace(dead_time=analysis.dead_time._replace(incidents=()), ping_bursts=()))
    assert [slug for slug, picture in found.items() if picture.figure] == []
    assert "Each peer was read only once" in found["axis"].absent


def test_without_ping_counters_messages_stand_for_them_and_it_is_said(analysis_of):
    analysis = analysis_of()
    silent = analysis._replace(signals=tuple(each for each in analysis.signals if each.purpose != "pings"))
    picture = drawn(silent)["axis"]
    assert any(note.startswith("No ping counters in this recording") for note in picture.notes)
    assert "rtr: route_count, messages/s" in [title.text for title in picture.figure.layout.annotations]


def test_what_there_is_no_room_for_is_counted(analysis_of):
    analysis = analysis_of()
    more = tuple(analysis.signals[3]._replace(instance=f"ost{n}") for n in range(9))
    assert "6 more signals" in " ".join(drawn(analysis._replace(signals=analysis.signals + more))["signals"].notes)


def test_long_records_get_a_close_up_of_twelve_cycles(analysis_of):
    figure = drawn(analysis_of(length_s=1800.0))["close-up"].figure
    begin, end = figure.layout.xaxis.range
    assert (end - begin) / 1000 == pytest.approx(12 * 25.0)
    assert "close-up" not in drawn(analysis_of(length_s=200.0))


def test_the_profile_lays_drifting_incidents_over_one_another(analysis_of):
    signal = analysis_of(length_s=2000.0).signals[0]
    rate = np.full(signal.time_s.size, 100.0)
    onsets = signal.time_s[20] + np.cumsum(np.random.default_rng(1).normal(25.0, 2.0, 70))
    for onset in onsets:
        rate[(signal.time_s >= onset) & (signal.time_s < onset + 1.0)] = 10.0
    profile = folded("x", [signal._replace(rate=rate)], [(float(onset), float(onset) + 1.0) for onset in onsets], 25.0)
    assert profile.middle[np.abs(profile.lag_s - 0.75).argmin()] == pytest.approx(0.1)
    assert profile.middle[np.abs(profile.lag_s + 3).argmin()] == pytest.approx(1.0)
    assert profile.incidents == 70


def test_a_stack_has_a_profile_of_all_its_sources(analysis_of):
    analysis = analysis_of()
    names = ("oss0", "oss1")
    signals = tuple(analysis.signals[0]._replace(instance=name, incidents=()) for name in names)
    verdict = analysis.dead_time._replace(instance="2 sources")
    found = drawn(analysis._replace(signals=signals, dead_time=verdict, series=(verdict,)))
    assert found["profile"].figure is not None
    assert through(found["axis"].figure)


def test_the_profile_shows_the_box_that_was_fitted(analysis_of):
    analysis = analysis_of(length_s=2000.0)
    dead = analysis.dead_time
    lines = {trace.name: trace for trace in drawn(analysis)["profile"].figure.data}
    assert list(lines["fitted box"].x[1:3]) == pytest.approx([0.0, dead.duration_s])
    assert min(lines["fitted box"].y) == pytest.approx(1 - dead.depth)
    assert any("fitted box" in key.words for key in drawn(analysis)["profile"].keys)


def test_no_box_where_samples_are_too_long_to_tell_its_depth(analysis_of):
    analysis = analysis_of(length_s=2000.0)
    vague = [each._replace(depth_resolved=False) for each in analysis.series]
    found = drawn(analysis._replace(series=tuple(vague)))["profile"]
    assert "fitted box" not in [trace.name for trace in found.figure.data]
    assert not any("fitted box" in key.words for key in found.keys)


def test_no_profile_without_dead_time_or_with_too_few_incidents(analysis_of):
    assert drawn(analysis_of(dips=False))["profile"].figure is None
    signal = analysis_of().signals[0]
    assert folded("x", [signal], [(signal.time_s[0], signal.time_s[2])] * 2, 25.0) is None
    assert folded("x", [signal._replace(rate=np.zeros(signal.time_s.size))], analysis_of().dead_time.incidents, 25.0) is None


def test_colours_are_okabe_and_itos(analysis_of):
    palette = {"#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7"}
    for picture in pictures(analysis_of(length_s=1800.0)):
        for trace in json.loads(picture.figure.to_json())["data"]:
            assert trace["line"]["color"] in palette or trace["line"]["color"].startswith("rgba")
