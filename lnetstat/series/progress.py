"""REC.progress.csv of the simulator: what each I/O process has done so far, once a second of simulated time."""

import numpy as np
import pandas as pd

from lnetstat.errors import SourceError
from lnetstat.series.rows import LARGEST, Skipped, finished, sifted
from lnetstat.series.texts import numbers_of

HEADER = "time_s,group,process,rpcs,bytes"
NOTE = "times count from the start of the simulation: whether dips keep step with the clock cannot be told"


def load(path: str, text: str) -> pd.DataFrame:
    """Return time, value (and source, where there are several groups): the bytes of all processes of a group, as counters."""
    numbers = numbers_of(text, 5)
    if not len(numbers):
        raise SourceError(f"{path}: no rows after the header: the simulation has not begun, or nobody reads or writes in it")
    good = ((numbers >= 0) & (numbers < LARGEST)).all(axis=1)
    torn = Skipped(int((~good).sum()), int(np.argmin(good)) + 2, f"expected {HEADER} as numbers, 0 or more") if not good.all() else None
    rows = pd.DataFrame(numbers[good][:, [0, 1, 4]], columns=["time", "source", "bytes"])
    # The sum of a second without one of its processes would be too low: only seconds with all of them count.
    sums = rows.groupby(["source", "time"], sort=False)["bytes"].agg(["sum", "count"]).reset_index()
    sums = sums[sums["count"] == sums.groupby("source")["count"].transform("max")]
    table = pd.DataFrame({"time": sums["time"], "value": sums["sum"], "source": [f"{source:g}" for source in sums["source"]]})
    if table["source"].nunique() == 1:
        table = table.drop(columns="source")
    table, odd = sifted(table)
    table = finished(path, table, [torn, odd])
    table.attrs.update(kind="counter", clock="phase", notes=[NOTE])
    return table
