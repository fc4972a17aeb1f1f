"""What an analysis hands on: small NamedTuples that the text output, the JSON of `analyze` and the report are all made from.

Times in float64 seconds are seconds since the epoch (exact to 0.2 us); times in integers end in `_ns`. Every array is one-dimensional
and arrays of one tuple have equal length. None means "not known" or "does not apply", never zero.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.model import Finding

FloatArray = npt.NDArray[np.float64]
Interval = tuple[float, float]  # [start_s, stop_s] in epoch seconds

SCHEMA_VERSION = 1
FEW = 10  # samples: with fewer it is told what was seen, not for how much of the time


class Signal(NamedTuple):
    """One rate over time, made of a counter or a rate column.

    `role`: router, oss, client or csv. `purpose`: throughput (searched for dips), messages (searched for bursts) or pings (their
    bursts explain dips). `name`: the column or counters (route_length, ost_read+ost_write, obd_ping, value). `rate[i]` is the mean, in
    `unit`, over an interval of `interval_s[i]` seconds whose middle is `time_s[i]`; gaps and resets are left out, so steps of
    `time_s` may be longer than intervals. `incidents`: the dips (throughput) or bursts (messages, pings) found in this signal.
    """

    host: str
    role: str
    table: str
    instance: str
    name: str
    purpose: str
    unit: str
    time_s: FloatArray
    rate: FloatArray
    interval_s: FloatArray
    incidents: tuple[Interval, ...]


class DeadTime(NamedTuple):
    """The verdict on periodic dips of one throughput signal (or of several stacked). Keys of CONTRACT.md section 5.

    `detected`: brief, periodic dips are there (gaps between onsets vary with a coefficient of variation <= 0.15). `recurrent`: they
    come again and again but less evenly (CV up to 0.30). `verdict`: detected, recurrent, none or cannot_tell; `reason`: for the last,
    why; where the dips were found at bursts of messages: that.
    `score` grows with certainty, `fap` is the false-alarm probability it stands for. `depth` 0..1 of the local load.
    `lost_fraction`: share of the bytes lost, net of what was caught up afterwards; `lost_fraction_gross`: without catch-up.
    `cause`: ping, other, unknown or none. `ping_z`: how far the coincidence with the ping series stands above chance, in robust sigmas;
    `chance`: probability that two unrelated series of this period coincide by phase alone. `epoch_hypothesis_s`: the exact period with
    which epoch alignment was tested. `depth_resolved`: False where samples are longer than the dip, so that only depth x duration is known.
    `present_s`: the epoch range in which the dips are there; `phase_jumps`: where the phase jumped within it, (epoch s, jump in s),
    as after a failover. `ping_lag_s`: how long after the pings the dips begin, None where samples are too coarse to tell; `ping_dose`:
    rank correlation of what single dips take with the pings in them, None where all floods are alike; `pings_inside`: share of the
    pings in dips over share of the time in them; `cause_words`: why that cause, in words.
    """

    host: str
    role: str
    table: str
    instance: str
    signal: str
    verdict: str
    reason: str
    detected: bool
    recurrent: bool
    score: float
    fap: float
    period_s: float | None = None
    period_err_s: float | None = None
    duration_s: float | None = None
    depth: float | None = None
    depth_resolved: bool = True
    lost_fraction: float | None = None
    lost_fraction_gross: float | None = None
    epoch_aligned: bool | None = None
    epoch_hypothesis_s: float | None = None
    epoch_phase_s: float | None = None
    cause: str = "none"
    ping_z: float | None = None
    chance: float | None = None
    gap_cv: float | None = None
    drift_ms_per_cycle: float | None = None
    present_s: Interval | None = None
    phase_jumps: tuple[tuple[float, float], ...] = ()
    ping_lag_s: float | None = None
    ping_dose: float | None = None
    pings_inside: float | None = None
    cause_words: str = ""
    incidents: tuple[Interval, ...] = ()


class PingBursts(NamedTuple):
    """Bursts of messages that come again and again, followed one by one (a fixed period would smear real, drifting pings).

    One tuple is one phase group of one signal. `period_s`: mean gap between neighbouring onsets; `gap_cv`: its coefficient of
    variation; `size`: median number of messages (or pings) of a burst above the base; `periodic`: gap_cv <= 0.15.
    """

    host: str
    table: str
    instance: str
    signal: str
    periodic: bool
    period_s: float
    gap_cv: float
    size: float
    peak_rate: float
    base_rate: float
    onsets_s: tuple[float, ...]
    incidents: tuple[Interval, ...]


class Sizing(NamedTuple):
    """Whether credits limited what passed, or the other end did: `limited_by` is credits, peer or unknown, that with its reason in `why`.

    For the peers of one network together, as messages are counted by node. `hold_s`: how long a credit was held while some were free,
    `hold_saturated_s`: while messages waited. `offered_peak`: most messages per second that wanted to go; `messages`: that went, in all.
    """

    limited_by: str
    why: str
    hold_s: float | None = None
    hold_saturated_s: float | None = None
    offered_peak: float | None = None
    messages: float | None = None


class CreditUse(NamedTuple):
    """How far the credits of one row were used: a peer, an NI on one CPT, or a buffer pool on one CPT (a limit acts per row).

    `resource`: peer_credits (peers tx), peer_router_credits (peers rtr), ni_credits or router_buffers. `grade`: never, touched,
    intermittent or sustained (defined in credits.py). `required_peak` = `limit` - `low_water`, exact since the last reset;
    `required_p99`: 99th time percentile of credits in use or waiting, from samples. `fraction_time_oversubscribed`: share of the
    time sampled below 0; `fraction_windows`: share of the intervals whose own minimum was below 0, only where low-water marks were
    reset after each read. `waiting_max`: messages that waited at once (0: none ever). `first_low_ns`, `last_low_ns`: when it was
    seen below 0 for the first and the last time in the record; `low_at_start`: the mark was below 0 already when the record began.
    `dead_time_share`: share of the samples below 0 that lie inside dips or bursts, None where none are known.
    `worst_sampled`, at `worst_sampled_ns`: the lowest credits that a sample saw. `low_water_before_record`: the mark was at `low_water`
    when the record began, so that it tells of an unknown time before. `worst_in_record`: the lowest that samples and marks prove for the
    record itself; `low_water_fell_ns`: the samples between which a mark fell so low, None where samples alone saw it.
    `samples`: how many there are, one every `interval_s` seconds, `samples_below` of them below 0; below FEW of them shares of the
    time say nothing.
    `fraction_error`: one standard deviation of `fraction_time_oversubscribed`, by spell; `fraction_inside`, `fraction_outside`: that share
    within dips or bursts and between them. `spells`: when it was seen below 0, neighbours of one interval as one.
    `backlog_message_s`: integral of the messages waiting; `mean_wait_s`: that per message sent (Little), where messages were counted.
    `queued_bytes_max`: most bytes that waited: of `queue` the share that is not in flight. `resets_ns`: when the mark rose, the first 50.
    `sizing`: whether more credits would help; `required_credits`: of this row, for the offered peak at the hold time of free credits.
    `rows_short`: how many rows of this host and resource ran out, also those that are not told of one by one; `rows_at_least`: more of
    them may have, as only the worst peers were recorded. `subject` ?@NET: a peer of that network that was not recorded, see listed.py.
    """

    host: str
    resource: str
    table: str
    subject: str
    row: int
    grade: str
    limit: int
    low_water: int
    required_peak: int
    required_p99: float
    fraction_time_oversubscribed: float
    fraction_windows: float | None
    waiting_max: int
    spell_max_s: float
    first_low_ns: int | None
    last_low_ns: int | None
    resets: int
    dead_time_share: float | None
    low_at_start: bool = False
    worst_sampled: int | None = None
    worst_sampled_ns: int | None = None
    worst_in_record: int | None = None
    low_water_before_record: bool = False
    low_water_fell_ns: tuple[int, int] | None = None
    samples: int | None = None
    samples_below: int = 0
    interval_s: float = 0.0
    fraction_error: float | None = None
    fraction_inside: float | None = None
    fraction_outside: float | None = None
    backlog_message_s: float = 0.0
    mean_wait_s: float | None = None
    queued_bytes_max: float | None = None
    resets_ns: tuple[int, ...] = ()
    spells: tuple[Interval, ...] = ()
    sizing: Sizing | None = None
    required_credits: float | None = None
    rows_short: int | None = None
    rows_at_least: bool = False

    @property
    def is_chance(self) -> bool:
        """Whether the share of the time below 0 is no larger than its error: then it is not told."""
        return bool(self.samples) and self.fraction_error is not None and self.fraction_error >= self.fraction_time_oversubscribed > 0

    @property
    def few(self) -> bool:
        """Whether there are too few samples to speak of shares of the time."""
        return self.samples is not None and self.samples < FEW

    @property
    def waiting(self) -> int:
        """How many messages waited at once within the record; 0 where only an older mark tells of any."""
        return self.waiting_max if self.worst_in_record is None else max(0, -self.worst_in_record)

    @property
    def wanted_peak(self) -> int:
        """How many credits were wanted at once: within the record, or before it where it holds no shortage."""
        return self.limit + self.waiting if self.waiting else self.required_peak


class CreditSeries(NamedTuple):
    """Credits of one row over time, for drawing: the worst rows of each table, and all buffer pools.

    `credits` = tx_credits (peers, nis), rtr_credits (resource peer_router_credits) or credits (buffers); `credits_min` the low-water
    mark printed beside it; `queue_bytes` only of peers, else None. `limit` is the configured number of credits.
    """

    host: str
    resource: str
    table: str
    subject: str
    row: int
    limit: int
    time_s: FloatArray
    credits: FloatArray
    credits_min: FloatArray
    queue_bytes: FloatArray | None


class CreditSummary(NamedTuple):
    """The `credits` object of the JSON: the worst peer's figures (of `tx` for CSV)."""

    subject: str
    fraction_time_oversubscribed: float
    required_peak: float
    required_p99: float
    samples: int | None = None


class HostQuality(NamedTuple):
    """What one host's data looks like: samples read, typical and worst spacing, what is missing. Seconds.

    `begin_ns`, `end_ns` and `gaps` hold for all files; `samples` are those of the file read most often. `dense_s`: where its series
    begins and ends, without single snapshots long before and after. `clock_offset_s`: how far the host's clock is ahead of the others',
    where that is beyond doubt, and its standard deviation; with `clock_period_s` it is ambiguous: floods are periodic, so that it may be
    off by that much more or less, or come of their phase and not of clocks.
    `peers`: how many the host knew at once, the most of any sample, None where the file peers was not read. `intervals`: where the spacing
    of samples changes for good, each stretch as (begin, spacing); empty where it does not.
    """

    host: str
    begin_ns: int
    end_ns: int
    samples: int
    interval_s: float
    interval_p99_s: float
    gaps: tuple[Interval, ...]
    resets: int
    states: dict[str, int]
    dense_s: Interval = (0.0, 0.0)
    clock_offset_s: float | None = None
    clock_error_s: float | None = None
    clock_period_s: float | None = None
    peers: int | None = None
    intervals: tuple[tuple[float, float], ...] = ()


class Analysis(NamedTuple):
    """Everything that was found. `findings` are sorted, worst first; `verdict` is one or two plain sentences."""

    verdict: str
    dead_time: DeadTime
    series: tuple[DeadTime, ...]
    ping_bursts: tuple[PingBursts, ...]
    credits: CreditSummary | None
    credit_use: tuple[CreditUse, ...]
    findings: tuple[Finding, ...]
    quality: tuple[HostQuality, ...]
    signals: tuple[Signal, ...]
    credit_series: tuple[CreditSeries, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the document of CONTRACT.md section 5, made of plain dicts, lists, numbers, strings and None."""
        from lnetstat.analysis.schema import document

        return document(self)
