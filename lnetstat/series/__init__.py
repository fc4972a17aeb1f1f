"""Series from elsewhere, as tables: CSV, Parquet, Graphite, IOR, ltop and the simulator's progress.

A table has float64 columns time (epoch seconds), value and, where known, ping_rate, tx, tx_min, queue_bytes, and source as text. Beside the
columns, `attrs` may say: problems (list: what was skipped), notes (list: what to know), kind (rate or counter: what `value` is, where the
file itself says so), clock (phase: times count from a start of their own), name (the host), cannot_tell (why there is no
series). Which reader is right is told by the name and the first line.
"""

from lnetstat.series.joining import load, load_all
from lnetstat.series.kinds import is_series
from lnetstat.series.times import UNITS_S, Clock

__all__ = ["UNITS_S", "Clock", "is_series", "load", "load_all"]
