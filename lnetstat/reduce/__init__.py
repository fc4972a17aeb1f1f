"""Rows to the bounded set of points that a node may send: aggregates per net, pools, a histogram, the worst K peers."""

from lnetstat.reduce.reducer import Reducer

__all__ = ["Reducer"]
