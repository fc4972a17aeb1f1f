"""Samples become pandas DataFrames: the one door to pandas for everything above it."""

from lnetstat.frames.export import to_parquet
from lnetstat.frames.loading import Frames, load

__all__ = ["Frames", "load", "to_parquet"]
