"""docs/simulator-keys.md: every key of a scenario and of a truth file. `python -m lnetstat.simulator.keys_page` prints it."""

import sys

from lnetstat.simulator import truth
from lnetstat.simulator.scenario import keys

HEAD = """# Keys of a scenario and of a truth file

For whoever writes a scenario for the simulator, or reads the truth file that it leaves beside a recording. How both are used is told in
[simulator.md](simulator.md): begin there. Made by `make docs`; do not edit.

"""
SCENARIO_HEAD = """## Scenario

A scenario is a TOML file; `lnetstat simulate --show PRESET` prints one to start from. `run.duration` stands in section `[run]`, a name
without a dot at the top. `io.N.…` and `faults.N.…` are blocks, `[[io]]` and `[[faults]]`, any number of them; --set counts them from 0:
`io.0.window=4`. Times are numbers with a unit (ns us ms s min h d), sizes too (B KiB MiB GiB, kB MB GB), rates such as "3.2 GB/s".

"""
TRUTH_HEAD = """
## Truth file

`lnetstat simulate -o REC` writes REC.truth.json: {"schema": 1, "scenario": …, "merged": {…}, "groups": [{…}, …]}. `merged` sees all
groups as one system, each of `groups` one of them, with the same keys. Times are simulated seconds from the start; add `start_ns` for
the time of the recording's stamps. null: cannot be told.

"""


def page() -> str:
    """Return the page."""
    return HEAD + SCENARIO_HEAD + keys.keys_markdown() + TRUTH_HEAD + truth.keys_markdown()


if __name__ == "__main__":
    sys.stdout.write(page())
