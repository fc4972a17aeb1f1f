"""The chance of a false alarm: what the same search and the same tests find in the record once its blocks are shuffled.

Shuffling blocks of 10 s keeps the noise, red and heavy-tailed as it is, and destroys every period beyond a block. The best scores of
such copies follow a Gumbel law, as maxima of many trials do; its scale is known better from many records than from a few copies.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from lnetstat.analysis.normalise import Normalised
from lnetstat.analysis.results import FloatArray

BLOCK_S = 10.0  # longer than dips, shorter than two of the shortest periods
LEAST_BLOCK = 5  # samples: the noise of neighbouring samples must stay together
SEED = 20121  # of the shuffles: the same record gives the same answer
# Read off the best scores of some 200 synthetic records without periodic dips, not fitted; docs/analysis.md says how often it held.
GUMBEL_MODE, GUMBEL_SCALE = 4.4, 0.55
EULER = 0.5772156649  # mean of a Gumbel law = mode + EULER * scale


def false_alarm_probability(score: float) -> float:
    """Return the chance that a record without periodic dips scores this high."""
    return float(-math.expm1(-math.exp(-(score - GUMBEL_MODE) / GUMBEL_SCALE)))


def shuffled(series: Normalised, copies: int, scored: Callable[[Normalised], float]) -> FloatArray:
    """Return the best score of each shuffled copy of a series, (copies,)."""
    block = max(LEAST_BLOCK, round(BLOCK_S / series.dt_s))
    random = np.random.default_rng(SEED)
    parts = np.array_split(np.arange(series.time_s.size), max(2, -(-series.time_s.size // block)))
    found = []
    for _ in range(copies):
        order = np.concatenate([parts[at] for at in random.permutation(len(parts))])
        residual = series.residual[order]
        copy = series._replace(
            x=series.x[order], weight=series.weight[order], residual=residual, rate=np.maximum(series.load, 1e-12) * (1 + residual)
        )
        found.append(scored(copy))
    return np.array(found)


def corrected(score: float, scores_of_copies: Sequence[float] | FloatArray) -> float:
    """Return the score on the scale of a usual record, where the copies show that this one scores high by chance; never a higher one.

    A record whose copies score low is not trusted more: shuffling also destroys what an application does regularly.
    """
    excess = float(np.mean(scores_of_copies)) - EULER * GUMBEL_SCALE - GUMBEL_MODE
    return score - max(0.0, excess)
