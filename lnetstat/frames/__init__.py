"""Samples become pandas DataFrames: the one door to pandas for everything above it."""

from lnetstat.frames.export import to_parquet
from lnetstat.frames.loading import Frames, from_changes, load

__all__ = ["Frames", "from_changes", "load", "to_parquet"]
