"""Reading many nodes through ssh, where there is nothing but sh, cat and date: routers need no Python and no agent.

`script` is the constant program that a node's shell runs, `frames` takes apart what it prints (pure), `connection` is one ssh, `crew` are
all of them, `recorder` writes what they bring. One that fails never hides the others.
"""

from lnetstat.remote.crew import Crew
from lnetstat.remote.names import folded, node_names

__all__ = ["Crew", "folded", "node_names"]
