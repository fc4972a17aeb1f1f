"""What a comparison hands on: figures before and after with intervals, and how they are told apart from chance."""

import math
from statistics import NormalDist
from typing import Any, NamedTuple

from lnetstat.analysis import cycles
from lnetstat.analysis.cycles import Estimate, Seen
from lnetstat.analysis.results import Interval
from lnetstat.analysis.schema import plain
from lnetstat.analysis.wording import percent

SCHEMA_VERSION = 1
LEVEL = 0.95
SAME_LOAD = 0.10  # loads nearer than this are called the same: what analyze says of lost bytes is no better than 10 %
# What no bootstrap within one record sees, as 1 sigma of the value: the fit of the shape and, for the 99th percentile, sampling (DEADTIME,
# section 5: median error 7 %, that is 10 % at 1 sigma). The others were measured between runs that differ by their seed only.
SYSTEMATIC = {"lost_fraction": 0.05, "lost_fraction_gross": 0.05, "duration_s": 0.10, "depth": 0.10, "required_p99": 0.10}
LEAST_SHARE = 1e-3  # of the bytes, or of the time: smaller differences matter to nobody
BLOCKS = 20  # stretches that a record is cut into where no period is known

TOO_SMALL = f"the change is less than {percent(LEAST_SHARE)}, too small to matter"

BETTER, WORSE, SAME, CANNOT_TELL = "better", "worse", "no difference shown", "cannot tell"


class Figure(NamedTuple):
    """One figure before and after. Intervals are all of the level at which changes are claimed, so that those of all figures hold
    together with LEVEL: where two do not touch, the change is claimed. None: not known or none there.

    `verdict`: better, worse, no difference shown, cannot tell; "" where neither direction is better. `reason`: what it rests on.
    """

    name: str
    unit: str
    before: float | None
    before_interval: Interval | None
    after: float | None
    after_interval: Interval | None
    change: float | None
    change_interval: Interval | None
    verdict: str
    reason: str


class Comparison(NamedTuple):
    """What changed from `before` to `after`.

    `verdict`: one of the four words; `words`: it in plain sentences; `signal`: whose dips were compared; `rows`: by resource,
    whose credits, before and after ("" where there is none); `same_load`: None where no
    throughput is known; `sensitivity`: the test of the side without dead time at the other side's period, None where both or none have any;
    `compared`: how many figures are judged; `level`: of each interval, so that all hold together with LEVEL.
    """

    verdict: str
    words: str
    signal: str
    rows: dict[str, tuple[str, str]]
    same_load: bool | None
    load: tuple[Figure, ...]
    figures: tuple[Figure, ...]
    first_exhausted: tuple[str, str]
    sensitivity: Seen | None
    compared: int
    level: float

    def as_json(self) -> dict[str, Any]:
        """Return the document of `compare --json` (COMPARE_SCHEMA in compare_schema.py)."""
        document: dict[str, Any] = plain(
            {
                "schema": SCHEMA_VERSION,
                "verdict": self.verdict,
                "words": self.words,
                "signal": self.signal,
                "rows": self.rows,
                "same_load": self.same_load,
                "load": [each._asdict() for each in self.load],
                "figures": [each._asdict() for each in self.figures],
                "first_exhausted": {"before": self.first_exhausted[0], "after": self.first_exhausted[1]},
                "sensitivity": self.sensitivity._asdict() if self.sensitivity else None,
                "method": {
                    "level": LEVEL,
                    "interval_level": self.level,
                    "compared": self.compared,
                    "draws": cycles.DRAWS,
                    "seed": cycles.SEED,
                    "resampled": "blocks of cycles",
                },
            }
        )
        return document


def plain_figure(name: str, unit: str, before: Estimate | None, after: Estimate | None, level: float) -> Figure:
    """Return a figure that is told, not judged; its intervals are of that level."""
    change = after.value - before.value if before and after else None
    return Figure(
        name,
        unit,
        before.value if before else None,
        _bounded(before, unit, level),
        after.value if after else None,
        _bounded(after, unit, level),
        change,
        None,
        "",
        "",
    )


def _bounded(estimate: Estimate | None, unit: str, level: float) -> Interval | None:
    """Return the interval of a figure; shares lie within 0 and 1, everything else that is told here at or above 0."""
    if estimate is None or (found := cycles.interval(estimate, level)) is None:
        return None
    low, high = max(0.0, found[0]), min(1.0, found[1]) if unit == "" else found[1]
    return min(low, estimate.value), max(high, estimate.value)


def share_interval(share: Estimate | None, count: int, other: float, level: float) -> Interval | None:
    """Return the interval of a share of time that was measured over `count` cycles; `other`: the share of the other record.

    Of 0 and of 1 a bootstrap knows no error, as all cycles are alike. There it is Wilson's score interval: z²/(n + z²) of the cycles may
    be otherwise, each as much so as those of the other record are. It lies within 0 and 1 and shrinks with the length of the record.
    """
    if share is None or share.err is None:
        return None
    if 0 < share.value < 1:
        return _bounded(share, "", level)
    z2 = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    reach = z2 / (max(1, count) + z2)
    return (0.0, reach * other) if share.value <= 0 else (1 - reach * (1 - other), 1.0)


def _change_interval(before: float, of_before: Interval, after: float, of_after: Interval) -> Interval:
    """Return the interval of after - before from those of both, as Newcombe (1998) and Zou and Donner (2008) do.

    Each end is as far away as the ends of both that lead to it, added in squares. So it never leaves what is possible (a share from 1 to
    0 changes by no more than 1), which value ± error does. Where no end was cut off at a bound it is the same as that.
    """
    change = after - before
    low = math.hypot(after - of_after[0], of_before[1] - before)
    high = math.hypot(of_after[1] - after, before - of_before[0])
    return change - low, change + high


def exact(value: float | None) -> Estimate | None:
    """Return a figure that has no error, or none that is known."""
    return None if value is None else Estimate(float(value), None, 0)


def tested(name: str, unit: str, before: Estimate | None, after: Estimate | None, level: float, ratio: float | None) -> Figure:
    """Return a figure of which less is better, claimed to differ only where the interval of the change leaves 0 out."""
    if before is None or after is None or before.err is None or after.err is None:
        figure = plain_figure(name, unit, before, after, level)
        return figure._replace(verdict=CANNOT_TELL, reason="no error is known of one of the two: too few cycles")
    # All three intervals are of the same quantile: two that do not touch leave 0 out of the third, whose reach is less than their sum.
    blocks = min(before.blocks, after.blocks)
    return _judged(plain_figure(name, unit, before._replace(blocks=blocks), after._replace(blocks=blocks), level), ratio)


def tested_share(
    name: str, before: Estimate | None, after: Estimate | None, counts: tuple[int, int], level: float, ratio: float | None
) -> Figure:
    """Return the same of a share of time; `counts`: over how many cycles each was measured."""
    figure = tested(name, "", before, after, level, ratio)
    if figure.change_interval is None or before is None or after is None:
        return figure
    intervals = share_interval(before, counts[0], after.value, level), share_interval(after, counts[1], before.value, level)
    return _judged(figure._replace(before_interval=intervals[0], after_interval=intervals[1]), ratio)


def _judged(figure: Figure, ratio: float | None) -> Figure:
    """Return the figure with the interval of its change, and what that bears."""
    before, after = figure.before, figure.after
    assert before is not None
    assert after is not None
    assert figure.before_interval is not None
    assert figure.after_interval is not None
    change = _change_interval(before, figure.before_interval, after, figure.after_interval)
    if change[0] <= 0 <= change[1]:
        verdict, reason = SAME, "the interval of the change holds 0"
    elif figure.unit == "" and abs(after - before) < LEAST_SHARE:
        verdict, reason = SAME, TOO_SMALL
    else:
        verdict, reason = under_load(BETTER if after < before else WORSE, ratio, "the interval of the change leaves 0 out")
    return figure._replace(change_interval=change, verdict=verdict, reason=reason)


def under_load(verdict: str, ratio: float | None, reason: str) -> tuple[str, str]:
    """Return the verdict, or "cannot tell" where the other load alone may have made it."""
    if ratio is None or (verdict == BETTER) == (ratio > 1):
        return verdict, reason
    return CANNOT_TELL, f"the load is {ratio:.2g} times what it was: that alone may have done it"


TITLES = {
    "throughput_outside_dips": "throughput outside dips",
    "throughput_p10": "  its 10th percentile",
    "throughput_median": "  its median",
    "throughput_p90": "  its 90th percentile",
    "pings": "pings",
    "ping_interval": "ping interval",
    "hosts": "hosts",
    "peers": "peers, of the host with most",
    "duration": "length of the record",
    "sampling_interval": "sampling interval",
    "period_s": "period of the dips",
    "duration_s": "duration of a dip",
    "depth": "depth of a dip",
    "lost_fraction": "bytes lost to dead time, net",
    "lost_fraction_gross": "bytes lost, before catching up",
    "limit": "limit",
    "required_peak": "wanted at the peak",
    "required_p99": "wanted for 99 % of the time",
    "oversubscribed": "share of time oversubscribed",
}


_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def shown(figure: Figure, value: float) -> str:
    """Return a value of a figure as people read it."""
    if figure.unit == "":
        return f"-{percent(-value)}" if value < 0 else percent(value)
    if figure.unit == "s":
        return f"{value:.4g} s"
    if figure.unit in ("credits", "hosts", "peers"):
        return f"{value:,.0f}"
    if figure.unit.startswith("bytes"):
        step = next((step for step in reversed(range(len(_BYTES))) if abs(value) >= 1024**step), 0)
        return f"{value / 1024**step:.3g} {figure.unit.replace('bytes', _BYTES[step], 1)}"
    unit = "/s" if figure.unit == "1/s" else f" {figure.unit}"
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {figure.unit}"
