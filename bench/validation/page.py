"""docs/simulator-validation.md: two tables, made from what was just simulated."""

from collections.abc import Sequence

from validation.claims import Claim
from validation.expected import EXPECTED, failures, found, must
from validation.figures import Figure
from validation.runs import Run

HEAD = """# The simulator against the papers, and the analyzer against the simulator

For whoever asks how far the simulator and the analyzer may be believed: what was published, beside what is simulated and found here. What
the simulator is: [simulator.md](simulator.md), begin there. Made by `make validate`, which simulates every preset at its full length; do
not edit.

"""
PRESETS_HEAD = """## What the analyzer must find in each preset

The recording of each preset goes through `lnetstat analyze`, which knows nothing of the simulator; the truth is what the simulator's
own file says. `petascale` simulates all of its 150 groups, for one interval only: too short a record for the analyzer to claim a
period, and it must say so. Bytes lost are those that the server's own `ost_io` counters miss; the router's counters, which the analyzer
reports beside them, see up to 0.3 points more: disks go on for a moment when a flood begins, and routers make it up afterwards.

| preset | what it is | must find | found | | claims |
|---|---|---|---|---|---|
"""
CLAIMS_HEAD = """
## What the papers claim

P: Spitz et al., "Minimizing Lustre Ping Effects at Scale on Cray Systems" (CUG 2012), whose figures have no numbers, so that bands
stand for "nearly", "drastically" and the like. B: Caldwell, "Getting the most out of Lustre with the TCP LND" (LUG 2013). C: Ezell et
al., "Lustre at Petascale" (CUG 2012). D: Laifer, "Performance of and experiences with Lustre over a long distance InfiniBand
connection" (LAD 2016). E: Shehata and Weber, "LNet Multi-Rail Health". "By rule": it is how the model is built, and the row shows that
the preset uses it.

| | claim | paper | band | simulated | seen on | inside |
|---|---|---|---|---|---|---|
"""


def page(runs: Sequence[Run], claims: Sequence[tuple[Claim, Figure]]) -> str:
    """Return the page for runs and figures."""
    rows = "".join(_preset_row(run, [claim for claim, _ in claims]) for run in runs)
    text = HEAD + PRESETS_HEAD + rows + CLAIMS_HEAD + "".join(_claim_row(claim, figure) for claim, figure in claims)
    reasons = [f"- {claim.name}: {claim.outside}\n" for claim, figure in claims if not figure.inside]
    return text + ("\n## Outside their bands, and why\n\n" + "".join(reasons) if reasons else "")


def _preset_row(run: Run, claims: list[Claim]) -> str:
    wrong = failures(run)
    carried = " ".join(claim.name for claim in claims if claim.presets == run.preset)
    return (
        f"| `{run.preset}` | {EXPECTED[run.preset].what} | {must(run.preset)} | {found(run)} | {'; '.join(wrong) or 'yes'} | {carried} |\n"
    )


def _claim_row(claim: Claim, figure: Figure) -> str:
    preset = f"`{claim.presets}`" if claim.presets else ""
    inside = "yes" if figure.inside else "**no**"
    return f"| {claim.name} | {claim.says} | {claim.paper} | {claim.band} | {figure.shown} | {preset} | {inside} |\n"
