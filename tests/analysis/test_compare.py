"""Two records side by side: no difference claimed between runs of one set-up, real ones named, and no claim that the data do not bear."""

import itertools

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnetstat.analysis import analyze_series, comparison, cycles
from lnetstat.analysis.compare import compare
from lnetstat.analysis.compare_schema import COMPARE_SCHEMA
from lnetstat.analysis.cycles import Estimate
from lnetstat.analysis.normalise import normalise
from lnetstat.analysis.rates import from_rate

PERIOD, WIDTH = 25.0, 2.0


def record(seed, *, depth=0.6, width=WIDTH, load=1e9, noise=0.05, seconds=1500, period=PERIOD, queue=-12, gap=None):
    """Return a series of `seconds` samples: uneven dips at a phase of the seed's, pings in them, and credits that run out in them."""
    random = np.random.default_rng(seed)
    fine, step = np.full(seconds * 50, load), 0.02
    inside = np.zeros(fine.size)
    for onset in np.arange(random.uniform(0, period), seconds, period) if depth else ():
        first, last = np.searchsorted(np.arange(fine.size) * step, [onset, onset + width * random.uniform(0.8, 1.2)])
        fine[first:last] *= 1 - min(1.0, depth * random.uniform(0.8, 1.2))
        inside[first:last] = 1
    value = fine.reshape(seconds, 50).mean(axis=1) * (1 + noise * random.standard_normal(seconds))
    share = inside.reshape(seconds, 50).mean(axis=1)
    free = np.where(share > 0, np.round(queue * share), 6)
    stamps = 1.7e9 + np.arange(1.0, seconds + 1)
    table = pd.DataFrame({"time": stamps, "value": value, "ping_rate": 200 * share, "tx": free, "tx_min": np.minimum.accumulate(free)})
    return table if gap is None else table[(stamps < 1.7e9 + gap[0]) | (stamps >= 1.7e9 + gap[1])]


def analysis(seed, **options):
    return analyze_series(record(seed, **options), interval_s=1.0, credits_max=8)


@pytest.fixture(scope="module")
def untuned():
    """Five runs of one set-up, each with noise and phases of its own."""
    return [analysis(seed) for seed in range(5)]


def figure(found, name):
    return next(each for each in found.figures if each.name == name)


def test_runs_of_one_set_up_show_no_difference(untuned):
    """Ten pairs of five runs; a run against itself too. No figure of any pair may be claimed to differ."""
    for before, after in itertools.combinations_with_replacement(untuned, 2):
        found = compare(before, after)
        assert found.same_load is True
        assert found.verdict == "no difference shown", found.words
        assert {each.verdict for each in found.figures} <= {"", "no difference shown"}


def test_half_the_depth_is_better_and_the_other_way_round_worse(untuned):
    tuned = analysis(50, depth=0.3)
    found = compare(untuned[0], tuned)
    assert found.verdict == "better"
    lost = figure(found, "lost_fraction")
    assert lost.before == untuned[0].dead_time.lost_fraction
    assert lost.change_interval[1] < 0
    assert compare(tuned, untuned[0]).verdict == "worse"


def test_gone_says_how_small_a_dip_would_have_been_seen(untuned):
    found = compare(untuned[0], analysis(51, depth=0))
    assert found.verdict == "better"
    assert "gone: after, a dip of more than" in found.words
    assert found.sensitivity.least_depth < 0.15
    assert not found.sensitivity.seen
    new = compare(analysis(51, depth=0), untuned[0])
    assert new.verdict == "worse"
    assert "new: before, a dip of more than" in new.words


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({"seconds": 120}, "fewer than 6 cycles"),
        ({"noise": 4.0}, "would have been seen"),
        ({"gap": (60, 1440)}, "fewer than 6 cycles"),
    ],
)
def test_a_record_that_could_not_show_the_dips_proves_nothing(untuned, after, told):
    found = compare(untuned[0], analysis(52, depth=0, **after))
    assert figure(found, "lost_fraction").verdict == "cannot tell"
    assert found.verdict == "cannot tell"
    assert told in found.words


def test_gaps_in_a_record_are_no_difference(untuned):
    assert compare(untuned[0], analysis(53, gap=(300, 700))).verdict == "no difference shown"


def test_less_dead_time_under_less_load_proves_nothing_but_more_does(untuned):
    lighter = compare(untuned[0], analysis(54, depth=0, load=5e8))
    assert lighter.same_load is False
    assert lighter.verdict == "cannot tell"
    assert lighter.words.startswith("The load is not the same: outside dips 0.5 times")
    assert compare(untuned[0], analysis(55, depth=0.95, width=3.0, load=5e8)).verdict == "worse"


def test_no_dead_time_on_both_sides_is_no_difference():
    found = compare(analysis(56, depth=0), analysis(57, depth=0))
    assert found.verdict == "no difference shown"
    assert "no dead time found before or after" in found.words


def credits_only(seed, queue):
    table = record(seed, queue=queue).assign(value=np.nan)
    return analyze_series(table[["time", "value", "tx", "tx_min"]], interval_s=1.0, credits_max=8)


def test_credits_alone_are_compared():
    assert compare(credits_only(1, -12), credits_only(2, -12)).verdict == "no difference shown"
    found = compare(credits_only(1, -12), credits_only(3, 4))
    assert found.same_load is None
    assert figure(found, "peer_credits.required_p99").verdict == "better"
    assert figure(found, "peer_credits.oversubscribed").after == 0
    assert found.first_exhausted == ("peer_credits", "none")


def test_a_percentile_of_samples_is_no_better_than_sampling():
    """Blocks of one record agree to a credit, but what samples see of the peak is 10 % off as a whole."""
    found = figure(compare(credits_only(1, -12), credits_only(2, -13)), "peer_credits.required_p99")
    assert (found.before, found.after) == (20, 21)
    assert found.verdict == "no difference shown"


def test_the_json_satisfies_its_schema(untuned):
    for after in (untuned[1], analysis(58, depth=0), credits_only(4, -12), analysis(59, seconds=3)):
        jsonschema.validate(compare(untuned[0], after).as_json(), COMPARE_SCHEMA)
        jsonschema.validate(compare(after, untuned[0]).as_json(), COMPARE_SCHEMA)


def test_the_interval_of_lost_bytes_holds_the_truth(untuned):
    truth = 0.6 * WIDTH / PERIOD
    intervals = [figure(compare(each, each), "lost_fraction").before_interval for each in untuned]
    assert all(low < truth < high for low, high in intervals)


def test_dips_of_the_size_named_are_seen_and_noise_is_not():
    """The test at a known period: at its own least depth it sees 95 %, and of noise alone 1 %."""
    seen = false = 0
    for seed in range(60):
        quiet = record(seed, depth=0, noise=0.2, seconds=1000)
        result = cycles.known_period_test(normalise(from_rate(quiet["time"], quiet["value"], interval_s=1.0)), PERIOD, WIDTH)
        false += result.seen
        dips = record(seed + 100, depth=result.least_depth, noise=0.2, seconds=1000)
        seen += cycles.known_period_test(normalise(from_rate(dips["time"], dips["value"], interval_s=1.0)), PERIOD, WIDTH).seen
    assert false <= 4  # of 60 at 1 %: more would come in 1 of 10,000
    assert seen >= 51  # of 60 at 95 %


def test_student_quantiles():
    assert cycles.student(0.95, 10) == pytest.approx(2.228, abs=0.01)
    assert cycles.student(0.99, 30) == pytest.approx(2.750, abs=0.01)


def test_intervals_that_do_not_touch_are_a_difference_that_is_claimed(untuned):
    """What is shown decides: of every judged figure, and at one level for all."""
    others = [analysis(70 + place, depth=depth, queue=queue) for place, (depth, queue) in enumerate([(0.3, -12), (0.5, -9), (0.6, -4)])]
    for other in others:
        found = compare(untuned[0], other)
        assert found.level == pytest.approx(1 - 0.05 / found.compared)
        for each in found.figures:
            if each.verdict and each.before_interval and each.after_interval:
                apart = each.before_interval[1] < each.after_interval[0] or each.after_interval[1] < each.before_interval[0]
                assert not apart or each.verdict != "no difference shown", each


def test_shares_of_time_as_close_as_their_errors_show_no_difference():
    """8.0 % +- 0.63 % against none in six blocks: apart at 95 % each, not at the level of twelve figures, and shown so."""
    found = comparison.tested("peer_credits.oversubscribed", "", Estimate(0.08, 0.0063, 12), Estimate(0.0, 0.02, 6), 1 - 0.05 / 12, None)
    assert found.verdict == "no difference shown"
    assert found.before_interval[0] < found.after_interval[1]


@pytest.mark.parametrize(("before", "after", "verdict"), [(1.0, 0.0, "better"), (0.0, 1.0, "worse"), (1.0, 1.0, "no difference shown")])
def test_credits_gone_all_the_time_and_then_never_is_a_difference_within_what_is_possible(before, after, verdict):
    """All of 8 cycles against none: the bootstrap knows no error of either, and value ± error would go beyond 100 %."""
    level = 1 - 0.05 / 12
    found = comparison.tested_share("peer_credits.oversubscribed", Estimate(before, 0.001, 4), Estimate(after, 0.0, 4), (8, 8), level, None)
    assert found.verdict == verdict
    for low, high in (found.before_interval, found.after_interval):
        assert 0 <= low <= high <= 1
    assert -1 <= found.change_interval[0] <= after - before <= found.change_interval[1] <= 1


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 0.5))
def test_an_interval_that_was_cut_off_at_a_bound_claims_no_more_than_the_error_does(before, after, before_err, after_err):
    found = comparison.tested("depth", "", Estimate(before, before_err, 12), Estimate(after, after_err, 12), 0.95, None)
    reach = cycles.student(0.95, 11) * np.hypot(before_err, after_err)
    assert -1 <= found.change_interval[0] <= after - before <= found.change_interval[1] <= 1
    if found.verdict in ("better", "worse"):
        assert abs(after - before) >= reach * (1 - 1e-9)


def test_records_of_one_sample_are_too_short_and_have_no_length(untuned):
    one = untuned[0]._replace(quality=(untuned[0].quality[0]._replace(samples=1, interval_s=0.0),), series=())
    found = compare(one, one)
    assert found.words.startswith("Too short to compare: before and after hold one sample each; record at least 6 ping intervals")
    assert not {"duration", "sampling_interval"} & {each.name for each in found.load}


def test_bytes_are_counted_in_powers_of_1024():
    throughput = comparison.plain_figure("throughput_median", "bytes/s", None, None, 0.95)
    assert [comparison.shown(throughput, value) for value in (3.4e6, 512.0, 0.0, 2.0**31)] == ["3.24 MiB/s", "512 B/s", "0 B/s", "2 GiB/s"]


def test_the_worst_row_of_each_side_is_its_own(untuned):
    """After, another peer is the one that runs out: that one is compared and named."""
    before = untuned[0]
    use = before.credit_use[0]
    other = use._replace(subject="10.9.9.9@tcp", waiting_max=use.waiting_max)
    after = before._replace(credit_use=(use._replace(grade="never", waiting_max=0, fraction_time_oversubscribed=0.0), other))
    assert compare(before, after).rows["peer_credits"] == (use.subject, "10.9.9.9@tcp")
    quiet = before._replace(credit_use=tuple(each._replace(grade="never", waiting_max=0) for each in after.credit_use))
    assert compare(before, quiet).rows["peer_credits"] == (use.subject, use.subject), "where nothing ran out: the same row"
