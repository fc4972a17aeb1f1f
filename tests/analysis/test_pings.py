"""Bursts of messages are followed one by one: drifting cycles, several phase groups, and no chain where there is none."""

import numpy as np
import pytest

from lnetstat.analysis import folding, pings, rates, strict

BEGIN = 1_700_000_000.0


def counted(onsets, sizes, *, seconds, dt=0.1, base=30.0, seed=1):
    """Return the rates of a message counter with bursts of 0.4 s on a Poisson base."""
    random = np.random.default_rng(seed)
    time = BEGIN + np.arange(0, seconds, dt)
    each = random.poisson(base * dt, time.size).astype(float)
    for onset, size in zip(onsets, sizes, strict=True):
        at = int(onset / dt)
        each[at : at + 4] += size / 4
    return rates.from_counter(time, np.cumsum(each))


def test_drifting_bursts_are_one_chain_with_their_mean_period():
    onsets = 5 + np.cumsum(13.3 * (1 + 0.07 * np.random.default_rng(2).standard_normal(30)))
    found, base = pings.bursts_of(counted(onsets, [300] * 30, seconds=onsets[-1] + 10))
    assert base == pytest.approx(30, abs=6)
    assert len(found) == 30
    (chain,) = pings.chains_of(found)
    assert len(chain.bursts) == 30
    assert chain.period_s == pytest.approx(np.diff(onsets).mean(), rel=0.02)
    assert chain.gap_cv == pytest.approx(0.07, abs=0.03)
    assert np.median([burst.size for burst in chain.bursts]) == pytest.approx(300, rel=0.1)
    assert chain.onsets_s - BEGIN == pytest.approx(onsets, abs=0.25)


def test_groups_of_clients_keep_their_own_phase():
    phases = {2.0: 280, 9.0: 390, 14.0: 120}
    onsets, sizes = zip(*sorted((start + 25 * k, size) for start, size in phases.items() for k in range(12)), strict=True)
    found = pings.chains_of(pings.bursts_of(counted(onsets, sizes, seconds=320))[0])
    assert len(found) == 3
    for chain in found:
        assert chain.period_s == pytest.approx(25, rel=0.02)
        assert len(chain.bursts) >= 11


def test_a_second_smaller_period_is_found_beside_the_large_one():
    large = np.arange(5, 300, 13.0)
    small = np.arange(11, 300, 26.0)
    onsets, sizes = zip(*sorted([*((at, 400) for at in large), *((at, 60) for at in small)]), strict=True)
    periods = [chain.period_s for chain in pings.chains_of(pings.bursts_of(counted(onsets, sizes, seconds=305, base=0.5))[0])]
    assert periods[0] == pytest.approx(13, rel=0.02)
    assert any(period == pytest.approx(26, rel=0.05) for period in periods[1:])


def test_missed_bursts_do_not_break_a_chain():
    onsets = [at for number, at in enumerate(np.arange(5, 600, 15.0)) if number not in (4, 11, 12, 30)]
    (chain,) = pings.chains_of(pings.bursts_of(counted(onsets, [300] * len(onsets), seconds=610))[0])
    assert len(chain.bursts) == len(onsets)
    assert chain.period_s == pytest.approx(15, rel=0.01)


@pytest.mark.parametrize("seed", range(8))
def test_bursts_at_random_times_are_no_period(seed):
    onsets = 5 + np.cumsum(np.random.default_rng(seed).exponential(15, 40) + 2)
    found = pings.chains_of(pings.bursts_of(counted(onsets, [300] * 40, seconds=onsets[-1] + 10))[0])
    assert not any(chain.gap_cv <= pings.PERIODIC_CV and len(chain.bursts) > 20 for chain in found)


@pytest.mark.parametrize("base", [0.0, 1.0, 300.0])
def test_a_steady_counter_has_no_chain(base):
    assert pings.chains_of(pings.bursts_of(counted([], [], seconds=300, base=base))[0]) == []


def test_bursts_without_size_end_the_search():
    flat = [pings.Burst(float(at), float(at) + 1, -1.0, 0.0) for at in range(0, 200, 10)]
    assert pings.chains_of(flat) == []


def test_floods_are_searched_for_once_in_each_series_of_pings(monkeypatch):
    searched = []
    search = folding.search
    monkeypatch.setattr(folding, "search", lambda *given, **options: searched.append(given) or search(*given, **options))
    monkeypatch.setattr(strict, "_flood_boxes", {})
    of_20, of_25 = (
        counted(onsets, [300] * onsets.size, seconds=310, base=0.5) for onsets in (np.arange(5, 300, 20.0), np.arange(5, 300, 25.0))
    )
    first, again, other = (strict._flood_box(rates_) for rates_ in (of_20, of_20._replace(rate=of_20.rate.copy()), of_25))
    assert len(searched) == 2
    assert again == first
    assert first.period_s == pytest.approx(20, rel=0.01)
    assert other.period_s == pytest.approx(25, rel=0.01)
