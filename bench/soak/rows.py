"""A row of the table of faults: what every fault hands back."""

from typing import NamedTuple


class Row(NamedTuple):
    """One run of one fault. None where a column does not apply.

    `sent`, `stored`, `lost` and `duplicates` count points: acknowledged by the spool, read back equal from where they belong, acknowledged
    and not read back, written more than once. `lateness_*`: of the ticks or samples, in per cent of their interval and in ms.
    `rss_mb`: the most above what is normal. `notice_s`: from the fault until it was reported. `remark`: one short line; with MISSED in it
    the run counts as failed.
    """

    fault: str
    seed: int
    sent: int | None
    stored: int | None
    lost: int | None
    duplicates: int | None
    lateness_p99_percent: float | None
    lateness_max_ms: float | None
    rss_mb: float | None
    notice_s: float | None
    remark: str
