"""Dips of a strict period: searched for without a hint, and at the period of the pings where there are any.

Strong application phases that the search meets are taken away and the search is repeated. A doubtful find is compared with what the
same search finds in shuffled copies of the record.
"""

import hashlib
import math
from typing import NamedTuple

import numpy as np

from lnetstat.analysis import folding, null, pings, vetting
from lnetstat.analysis.folding import Candidate
from lnetstat.analysis.normalise import Normalised, standardise
from lnetstat.analysis.rates import Rates
from lnetstat.analysis.results import FloatArray
from lnetstat.analysis.vetting import Box, Prefix, Vetted

DECLARED_SCORE = 6.9  # reached by 1 of 100 records without periodic dips (own set, docs/analysis.md): see null.GUMBEL_MODE
GUIDING_Z = 5.0
SCORE_OF_Z = 1.6  # a coincidence of 4.25 sigma is declared: it is one test, not the best of a search
HARMONIC_STAT = 1.5  # a harmonic folds the same dips, with less plateau between them
SAME_PERIOD = 0.003  # of the period: as near as two folds of one phase and its sidelobes come
STRONG_STAT = 15.0  # a rejected phase this strong is subtracted before searching again
TRUST_AFTER_SUBTRACTION = 0.8  # edges of a phase that is not quite regular remain and look like brief dips
SURE_SCORE = 10.0  # no copy of a record without dips comes near, and no closer look finds better
COPIES = 6  # shuffled ones: their mean is known to a quarter of the law's scale, at six times the cost of the search
MOST_FLOOD_BOXES = 4096  # remembered, some 100 bytes each
DOUBTFUL = 5.0, SURE_SCORE  # scores that shuffled copies can decide: what is below is chance, what is above none of them reaches

# By digest of a series of pings: all signals of a host, stacks, and routers without pings of their own are held against the same one.
_flood_boxes: dict[bytes, Box | None] = {}


class Found(NamedTuple):
    """The best explanation: a box, its score, and the onsets (strict cycles, or followed one by one: then with the CV of the gaps)."""

    series: Normalised
    box: Box
    score: float
    passed: bool
    onsets_s: FloatArray
    depths: FloatArray
    gap_cv: float | None
    trigger: str = ""  # whose bursts gave the onsets: pings or messages


def blind(series: Normalised, phases_s: list[float]) -> tuple[Normalised, Found | None]:
    """Search without a hint; subtract up to two strong application phases on the way. Return (series less these, best find).

    `phases_s`: periods of phases that were met before; those met here are added.
    """
    best: Vetted | None = None
    trust = 1.0
    for fine in (False, True, True, True):  # most dips that matter are found with coarse cells
        candidates = folding.search(series, fine=fine)
        vetted = [each for each in _vetted(series, vetting.prefix_sums(series), candidates) if not _in_phase(series, each.box, phases_s)]
        best = vetted[0] if vetted else None
        rejected = [each for each in vetted if not each.passed and each.box.stat > STRONG_STAT and not _belongs_to_a_find(each, vetted)]
        strongest = max(rejected, key=lambda each: each.box.stat, default=None)
        clear = strongest is None or (best is not None and best.passed and best.box.stat >= 0.8 * strongest.box.stat)
        if clear and (fine or (best is not None and best.passed and best.score > SURE_SCORE)):
            break
        if not fine or strongest is None:
            continue
        series = without_phase(series, strongest.box.period_s)
        phases_s.append(strongest.box.period_s)
        trust = TRUST_AFTER_SUBTRACTION
    if best is None:
        return series, None
    return series, _against_copies(_strict(series, best._replace(score=trust * best.score)))


def _in_phase(series: Normalised, box: Box, phases_s: list[float]) -> bool:
    """Return True for a period in a small ratio to that of an application's phase: what is left of its edges looks like brief dips."""
    length = float(series.time_s[-1] - series.time_s[0])
    coherent = min(3 * max(box.width_s, series.dt_s) / length, SAME_PERIOD)
    ratios = (1 / 3, 1 / 2, *range(2, vetting.MOST_CLASSES + 1))
    return any(
        abs(phase_s / box.period_s - 1) < SAME_PERIOD or any(abs(phase_s / box.period_s / ratio - 1) < coherent for ratio in ratios)
        for phase_s in phases_s
    )


def _against_copies(found: Found) -> Found:
    """Return a doubtful find with its score corrected for what shuffled copies of the series score."""
    if not (found.passed and DOUBTFUL[0] < found.score < DOUBTFUL[1]):
        return found
    return found._replace(score=null.corrected(found.score, null.shuffled(found.series, COPIES, _best_score)))


def _best_score(series: Normalised) -> float:
    vetted = _vetted(series, vetting.prefix_sums(series), folding.search(series, keep=6))
    return vetted[0].score if vetted else 0.0


def _vetted(series: Normalised, sums: Prefix, candidates: list[Candidate]) -> list[Vetted]:
    """Return the candidates fitted and vetted, best first; of nearly equal scores the better box counts."""
    length = float(series.time_s[-1] - series.time_s[0])
    boxes: list[Box] = []
    for candidate in candidates:
        if all(abs(candidate.period_s / box.period_s - 1) > max(box.width_s, series.dt_s) / length for box in boxes):
            boxes.append(vetting.fit_box(series, candidate))
    vetted = [vetting.vet(series, sums, box) for box in boxes]
    vetted = [vetting.shorter_period(series, sums, each) if each.passed else each for each in vetted]
    top = max((each.score for each in vetted), default=0.0)
    vetted.sort(key=lambda each: (each.score > 0.97 * top, each.box.stat if each.score > 0.97 * top else each.score), reverse=True)
    return vetted


def _belongs_to_a_find(rejected: Vetted, vetted: list[Vetted]) -> bool:
    """Return True when a box of nearly the same period passed, or of a fraction or multiple that is no weaker: then the rejected one is
    its blurred copy or its harmonic, no phase of an application."""
    for each in vetted:
        if each.passed and each.score > DECLARED_SCORE:
            ratio = max(each.box.period_s / rejected.box.period_s, rejected.box.period_s / each.box.period_s)
            first, last = vetting.stretch(each.depths)
            whole = each.box.stat / math.sqrt(max(last - first, 1) / each.depths.size)  # as if the dips were in all of the record
            if ratio < 1.01 or (abs(ratio / round(ratio) - 1) < 0.01 and rejected.box.stat < HARMONIC_STAT * whole):
                return True
    return False


def _strict(series: Normalised, vetted: Vetted) -> Found:
    onsets = vetting.onsets_of(vetted.box, series)
    return Found(series, vetted.box, vetted.score, vetted.passed, onsets, vetted.depths, None)


def without_phase(series: Normalised, period_s: float) -> Normalised:
    """Return the series less its mean profile at a period: what an application does in step with itself hides brief dips."""
    bins = int(np.clip(4 * period_s / series.dt_s, 8, max(8, series.time_s.size / 30)))
    phase = (series.time_s / period_s) % 1.0
    index = np.minimum((phase * bins).astype(np.int64), bins - 1)
    weight = np.bincount(index, series.weight, bins)
    profile = np.bincount(index, series.weight * series.residual, bins) / np.maximum(weight, 1e-9)
    centres = (np.arange(-1, bins + 1) + 0.5) / bins
    mean = np.interp(phase, centres, np.concatenate((profile[-1:], profile, profile[:1])))
    # Divided, not subtracted: a dip takes its share of the load that the application makes in that phase.
    residual = np.where(series.weight > 0, (series.residual - mean) / np.maximum(1 + mean, 0.3), 0.0)
    rate = series.load * (1 + residual)
    found = standardise(series.time_s, series.interval_s, series.dt_s, rate, series.load, residual, series.weight)
    return found._replace(window_s=series.window_s)


def guided(series: Normalised, ping_rates: Rates, test: pings.PingTest, found: Found | None) -> Found | None:
    """Return the find at the period of the pings themselves, its score lifted by the coincidence; None where it is no dip."""
    ping_box = _flood_box(ping_rates)
    if ping_box is None:
        return None
    sums = vetting.prefix_sums(series)
    length = float(series.time_s[-1] - series.time_s[0])
    widths = np.geomspace(max(0.7 * series.dt_s, 0.2), min(0.2 * ping_box.period_s, folding.LONGEST_DIP_S), 6)
    boxes = [vetting.fit_box(series, Candidate(ping_box.period_s, float(width), 0.0), wide=False) for width in widths]
    vetted = vetting.vet(series, sums, max(boxes, key=lambda box: box.stat))
    strict = _strict(series, vetted)
    agrees = found is not None and abs(found.box.period_s / ping_box.period_s - 1) < max(0.003, series.dt_s / length)
    if agrees and found is not None and found.score > vetted.score:
        strict = found
    if not strict.passed or (test.z <= GUIDING_Z and strict.score <= 4):
        return None
    return strict._replace(score=max(strict.score, SCORE_OF_Z * test.z))


def _flood_box(ping_rates: Rates) -> Box | None:
    """Return the box of the floods in a series of pings, which is searched once; None where they never pause or keep no period."""
    digest = hashlib.blake2b(repr(ping_rates.dt_s).encode())
    for column in (ping_rates.time_s, ping_rates.rate, ping_rates.interval_s):
        digest.update(column.tobytes())
    key = digest.digest()
    if key not in _flood_boxes:
        if len(_flood_boxes) >= MOST_FLOOD_BOXES:
            _flood_boxes.clear()
        upside_down = pings.as_dips(ping_rates)
        candidates = folding.search(upside_down, keep=8)
        likely = [each for each in candidates if each.snr > max(0.0, 0.8 * candidates[0].snr)]
        _flood_boxes[key] = _flood_cycle(upside_down, likely)
    return _flood_boxes[key]


def _flood_cycle(upside_down: Normalised, likely: list[Candidate]) -> Box | None:
    """Return the shortest likely period of the floods at which every cycle has one; None where floods are missing at all of them."""
    sums = vetting.prefix_sums(upside_down)
    for candidate in sorted(likely, key=lambda each: each.period_s):
        box = vetting.fit_box(upside_down, candidate)
        flood_cycles = vetting.vet(upside_down, sums, box)
        if flood_cycles.score > 4 and vetting.is_even(flood_cycles.depths):
            return box
    return None
