"""Faults against real processes, for as long as one likes: `python -m bench.soak`."""
