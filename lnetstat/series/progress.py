"""REC.progress.csv of the simulator: what each I/O process has done so far, once a second of simulated time."""

import io

import pandas as pd

from lnetstat.errors import SourceError
from lnetstat.series.rows import finished, sifted

HEADER = "time_s,group,process,rpcs,bytes"
NOTE = "times count from the start of the simulation: whether dips keep step with the clock cannot be told"


def load(path: str, text: str) -> pd.DataFrame:
    """Return time, value (and source, where there are several groups): the bytes of all processes of a group, as counters."""
    try:
        rows = pd.read_csv(io.StringIO(text), dtype={"time_s": float, "group": str, "process": str, "rpcs": float, "bytes": float})
    except ValueError as error:
        raise SourceError(f"{path}: expected rows of {HEADER}: {error}") from None
    if rows.empty:
        raise SourceError(f"{path}: no rows after the header: the simulation has not begun, or nobody reads or writes in it")
    # A row that is cut short would make the sum of its second too low: only seconds with all processes count.
    rows = rows.dropna()
    grouped = rows.groupby(["group", "time_s"], sort=False)["bytes"].agg(["sum", "count"]).reset_index()
    whole = grouped[grouped["count"] == grouped.groupby("group")["count"].transform("max")]
    table = pd.DataFrame({"time": whole["time_s"], "value": whole["sum"], "source": whole["group"]})
    if table["source"].nunique() == 1:
        table = table.drop(columns="source")
    table, odd = sifted(table)
    table = finished(path, table, [odd], place="row")
    table.attrs.update(kind="counter", clock="phase", notes=[NOTE])
    return table
