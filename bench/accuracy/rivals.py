"""Other ways to look for periodic dips, each as a practitioner would set it up; and lnetstat, called the same way.

Every method takes a case (a line of cases.jsonl) and its table, and gives an answer for score.py. All but the threshold and FTIO on
raw rates get the detrended series that lnetstat itself works on: they compete in the search, not in the preparation.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from astropy.timeseries import BoxLeastSquares, LombScargle

from lnetstat.analysis import rates
from lnetstat.analysis.normalise import Normalised, normalise, on_grid, stack
from lnetstat.analysis.rates import Rates
from lnetstat.analysis.run import analyze_series
from lnetstat.analysis.schema import document

Floats = npt.NDArray[np.float64]
Answer = dict[str, Any]

SHORTEST_S, LONGEST_S = 5.0, 300.0  # the range of periods that is asked for
FEWEST_CYCLES = 6
BRIEFEST_S = 0.2  # the shortest dip of the sets: it sets the step of a complete grid of periods
LOW = 0.7  # of the median
REGULAR_CV = 0.1
BRIEF_SHARE = 0.25  # of the time: what is low for longer is an application's pause, not a dip
ACF_SIGMAS = 6.0
LOMB_FAP = 1e-2
BLS_SDE, BLS_SNR = 9.0, 8.0
BLS_POINT_OPERATIONS = 4e8  # samples x periods a case: a complete grid needs up to 50 times as many, and hours for a set


def lnetstat_answer(case: dict[str, Any], table: pd.DataFrame) -> Answer:
    """What `lnetstat analyze --json` says: the whole analysis, credits and findings included."""
    analysis = analyze_series(table, kind=case["kind"], interval_s=case["dt_nominal"], credits_max=case.get("credits_max"))
    told = document(analysis)
    return told["dead_time"] | ({"credits": told["credits"]} if told["credits"] else {})


def sources_of(case: dict[str, Any], table: pd.DataFrame) -> list[Rates]:
    """The rates of every source, by the intervals that really passed."""
    make = rates.from_counter if case["kind"] == "counter" else rates.from_rate
    parts = [rows for _, rows in table.groupby("source", sort=False)] if "source" in table else [table]
    return [make(rows["time"].to_numpy(float), rows["value"].to_numpy(float), interval_s=case["dt_nominal"]) for rows in parts]


def detrended(case: dict[str, Any], table: pd.DataFrame) -> Normalised:
    """The load taken out, several sources stacked, idle samples left out."""
    each = [normalise(source) for source in sources_of(case, table)]
    whole = each[0] if len(each) == 1 else stack(each)
    used = whole.weight > 0
    return Normalised(*(value[used] if isinstance(value, np.ndarray) else value for value in whole))


def threshold(case: dict[str, Any], table: pd.DataFrame) -> Answer:
    """Samples below 0.7 of the median are dips; periodic when they are brief and gaps between them vary by < 10 %. First source only."""
    series = sources_of(case, table)[0]
    low = series.rate < LOW * np.median(series.rate)
    edges = np.diff(low.astype(int), prepend=0, append=0)
    first, last = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0) - 1
    if first.size < FEWEST_CYCLES:
        return {"detected": False, "score": 0.0}
    starts = series.time_s[first] - series.interval_s[first] / 2
    stops = series.time_s[last] + series.interval_s[last] / 2
    gaps = np.diff(starts)
    variation = float(gaps.std() / gaps.mean())
    depth = float(1 - series.rate[low].mean() / np.median(series.rate))
    lost = min(1.0, depth * float((stops - starts).sum()) / float(np.ptp(series.time_s)))
    return {
        "detected": bool(variation < REGULAR_CV and low.mean() < BRIEF_SHARE),
        "score": -math.log10(variation + 1e-4),
        "period_s": float(np.median(gaps)),
        "duration_s": float(np.median(stops - starts)),
        "depth": depth,
        "lost_fraction": lost,
        "lost_fraction_gross": lost,
        "incidents": np.column_stack([starts, stops]).tolist(),
    }


def autocorrelation(case: dict[str, Any], table: pd.DataFrame) -> Answer:
    """The highest local maximum of the autocorrelation between 5 s and 300 s, against 1/sqrt(n) of white noise."""
    series = detrended(case, table)
    cells = int(np.ptp(series.time_s) / series.dt_s) + 1
    weighted, weight = on_grid(series, float(series.time_s[0]) - series.dt_s / 2, cells + 1)
    correlation = _correlation(weighted) / np.maximum(_correlation(weight), 1.0)
    correlation /= correlation[0]
    first = max(2, math.ceil(SHORTEST_S / series.dt_s))
    last = min(int(_longest(series) / series.dt_s), correlation.size - 2)
    lags = np.arange(first, last + 1)
    if not lags.size:
        return {"detected": False, "score": 0.0}
    peak = (correlation[lags] >= correlation[lags - 1]) & (correlation[lags] >= correlation[lags + 1])
    lags = lags[peak] if peak.any() else lags
    best = int(lags[np.argmax(correlation[lags])])
    sigmas = float(correlation[best] * math.sqrt(series.x.size))
    left, middle, right = correlation[best - 1 : best + 2]
    bend = left - 2 * middle + right
    period = (best + (0.5 * (left - right) / bend if bend < 0 else 0.0)) * series.dt_s
    return {"detected": sigmas > ACF_SIGMAS, "score": sigmas, "period_s": float(period)}


def lomb_scargle(case: dict[str, Any], table: pd.DataFrame) -> Answer:
    """Astropy's Lomb–Scargle periodogram, five frequencies per 1/length.

    False-alarm probability: power of white noise is exponential, and length x bandwidth frequencies are independent (Scargle 1982).
    """
    series = detrended(case, table)
    time_s = series.time_s - series.time_s[0]
    step = 1 / (5 * float(np.ptp(time_s)))
    frequencies = np.arange(1 / _longest(series), 1 / max(SHORTEST_S, 2 * series.dt_s), step)
    search = LombScargle(time_s, series.x)
    power = search.power(frequencies, method="fast", assume_regular_frequency=True)
    best = int(np.argmax(power))
    height = float(power[best] * time_s.size / 2)
    independent = float(np.ptp(time_s)) * float(frequencies[-1] - frequencies[0])
    fap = -math.expm1(independent * math.log1p(-math.exp(-height))) if height > 0 else 1.0
    return {
        "detected": fap < LOMB_FAP,
        "score": height,
        "fap": fap,
        "period_s": float(1 / frequencies[best]),
    }


def box_least_squares(case: dict[str, Any], table: pd.DataFrame) -> Answer:
    """Astropy's BLS on a capped grid; declared when the peak stands out (SDE) and the dip is significant (SNR)."""
    series = detrended(case, table)
    time_s = series.time_s - series.time_s[0]
    model = BoxLeastSquares(time_s, series.residual, dy=np.full(time_s.size, series.sigma))
    periods, power, results = [], [], []
    for chosen, durations in bls_grid(series):
        if not durations.size or not chosen.size:
            continue
        result = model.power(chosen, durations, objective="likelihood", method="fast", oversample=5)
        results.append(result)
        periods.append(chosen)
        power.append(np.where(result.depth > 0, result.power, 0.0))
    if not results:
        return {"detected": False, "score": 0.0}
    whole = np.concatenate(power)
    sde = float((whole.max() - whole.mean()) / max(whole.std(), 1e-12))
    part = int(np.argmax([each.max() for each in power]))
    at = int(np.argmax(power[part]))
    best = results[part]
    snr = float(best.depth_snr[at])
    depth, duration, period = float(best.depth[at]), float(best.duration[at]), float(periods[part][at])
    cycles = np.arange(np.ceil((0 - float(best.transit_time[at])) / period), (time_s[-1] - float(best.transit_time[at])) / period)
    starts = series.time_s[0] + float(best.transit_time[at]) + cycles * period - duration / 2
    lost = max(0.0, depth) * duration / period
    return {
        "detected": sde > BLS_SDE and snr > BLS_SNR,
        "score": sde,
        "period_s": period,
        "duration_s": duration,
        "depth": min(1.0, max(0.0, depth)),
        "lost_fraction": lost,
        "lost_fraction_gross": lost,
        "incidents": np.column_stack([starts, starts + duration]).tolist(),
    }


def bls_grid(series: Normalised) -> list[tuple[Floats, Floats]]:
    """Periods and durations in three ranges, since BLS takes no duration longer than the shortest period of a call.

    A complete grid has neighbouring periods drift apart by a third of the shortest dip over the record; the cap makes it coarser.
    """
    low, high = max(SHORTEST_S, 4 * series.dt_s), _longest(series)
    if high <= low:
        return []
    complete = math.log(high / low) * float(np.ptp(series.time_s)) * 3 / BRIEFEST_S
    count = int(min(complete, BLS_POINT_OPERATIONS / series.x.size))
    periods = np.exp(np.linspace(math.log(low), math.log(high), max(count, 100)))
    durations = np.array([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0])
    durations = durations[durations >= min(series.dt_s / 2, 5.0)]
    edges = [low, low * (high / low) ** (1 / 3), low * (high / low) ** (2 / 3), high * 1.001]
    parts = []
    for begin, end in itertools.pairwise(edges):
        chosen = periods[(periods >= begin) & (periods < end)]
        parts.append((chosen, durations[durations <= 0.2 * begin]))
    return parts


def _correlation(values: Floats) -> Floats:
    """Sums of products at every lag.  (n,) -> (n,)."""
    padded = 1 << (2 * values.size - 1).bit_length()
    return np.asarray(np.fft.irfft(np.abs(np.fft.rfft(values, padded)) ** 2, padded)[: values.size])


def _longest(series: Normalised) -> float:
    return min(LONGEST_S, float(np.ptp(series.time_s)) / FEWEST_CYCLES)


METHODS = {
    "lnetstat": lnetstat_answer,
    "threshold and gap statistics": threshold,
    "autocorrelation, z > 6": autocorrelation,
    "Lomb–Scargle (astropy), FAP < 0.01": lomb_scargle,
    "BLS (astropy), capped grid, SDE > 9 and SNR > 8": box_least_squares,
}
