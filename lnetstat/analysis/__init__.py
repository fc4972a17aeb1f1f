"""Findings from frames: pure functions, data in, values out. No clock, file or socket here.

`analyze` takes what `lnetstat.frames.load` made of a recording or an archive, `analyze_series` one table of a CSV file.
"""

from lnetstat.analysis.results import (
    Analysis,
    CreditSeries,
    CreditSummary,
    CreditUse,
    DeadTime,
    HostQuality,
    PingBursts,
    Signal,
)
from lnetstat.analysis.run import analyze, analyze_series, joined, within

__all__ = [
    "Analysis",
    "CreditSeries",
    "CreditSummary",
    "CreditUse",
    "DeadTime",
    "HostQuality",
    "PingBursts",
    "Signal",
    "analyze",
    "analyze_series",
    "joined",
    "within",
]
