"""The few types that everything speaks: small NamedTuples, signed integers, nanoseconds.

A *Snapshot* is the text of one file, read at one time on one host. A table's `parse` makes it *Parsed*, with its origin it is a
*Sample*; `reduce` makes *Points* of samples, `analysis` makes *Findings*. Names are settled in ARCHITECTURE.md.
"""

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol


class State(enum.Enum):
    """What became of one read. Absent, empty (OK without rows) and zero are three different things."""

    OK = "ok"
    ABSENT = "absent"  # no such file
    FORBIDDEN = "forbidden"  # permission denied
    FAILED = "failed"  # any other error, or no answer within the deadline
    PARTIAL = "partial"  # the table changed in mid-scan: what there was


class Semantics(enum.Enum):
    """How a column's numbers are to be understood."""

    LABEL = "label"
    COUNTER = "counter"  # grows until it is reset
    GAUGE = "gauge"
    LOW_WATER = "low_water"  # lowest value since the last reset
    LIMIT = "limit"  # configured
    STATE = "state"


class Reduce(enum.Enum):
    """What one second of sub-second samples becomes in Carbon, which keeps whole seconds only."""

    NONE = "none"
    MIN = "min"
    MAX = "max"
    MEAN_MAX = "mean_max"  # two metrics: the mean and, under NAME_max, the maximum
    LAST = "last"


class Snapshot(NamedTuple):
    """The raw text of one file or parameter, with when and how it was read.

    `time_ns`: wall clock at the start of the read; `mono_ns`: monotonic clock then (None where unknown: archives);
    `read_ns`: how long the read took; `errno`: 0 or the error number; `flags`: low_water_reset, retried, torn.
    """

    name: str
    host: str
    time_ns: int
    mono_ns: int | None
    read_ns: int
    state: State
    errno: int
    flags: frozenset[str]
    text: str


class Problem(NamedTuple):
    """One line that was skipped: its 1-based number, its text and what was expected."""

    line: int
    text: str
    expected: str


class Parsed(NamedTuple):
    """What a table's parse() understood.

    `layout` names the layout and the releases that print it; `facts` holds what stands outside the rows.
    """

    rows: tuple[Any, ...]
    layout: str
    facts: Mapping[str, int | str]
    problems: tuple[Problem, ...]


class Sample(NamedTuple):
    """Parsed rows with their origin. `instance` tells tables of one format apart: ost_io, obdfilter.FS-OST0000."""

    table: str
    instance: str
    host: str
    time_ns: int
    state: State
    flags: frozenset[str]
    rows: tuple[Any, ...]
    facts: Mapping[str, int | str]
    problems: tuple[Problem, ...]


class Point(NamedTuple):
    """One value of one metric at one whole second, as Carbon keeps it."""

    path: str
    value: float
    time_s: int


class Column(NamedTuple):
    """What one column means: the single truth for metrics, units, help texts and the reference page."""

    name: str
    semantics: Semantics
    unit: str
    reduce: Reduce
    help: str


class Table(NamedTuple):
    """One text format: a value, not a class hierarchy.

    `names`: fnmatch patterns of snapshot names that hold this table; `paths`: where a live node has the file, relative to the root,
    in the order to try; `looks_like(text)`: True when the text's own words say that it is this table; `key`: the columns that
    identify a row; `layouts`: what `render` can write.
    """

    name: str
    help: str
    names: tuple[str, ...]
    paths: tuple[str, ...]
    row: Any
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    looks_like: Callable[[str], bool]
    parse: Callable[[str], Parsed]
    render: Callable[[Parsed, str], str] | None = None
    layouts: tuple[str, ...] = ()


class Severity(enum.IntEnum):
    """How much a finding matters; --fail-on compares with it."""

    INFO = 0
    WARNING = 1
    CRITICAL = 2


class Finding(NamedTuple):
    """One conclusion, with its evidence and where to read on. Kinds are listed in ARCHITECTURE.md; times are epoch nanoseconds."""

    kind: str
    severity: Severity
    subject: str
    begin_ns: int
    end_ns: int
    evidence: Mapping[str, Any]
    message: str
    advice: str
    reference: str


class Source(Protocol):
    """Anything that yields snapshots: a live node, a recording, an archive, the simulator."""

    def snapshots(self) -> Iterator[Snapshot]: ...


class Sink(Protocol):
    """Where points go. `offer` never blocks; what it cannot keep it counts."""

    def offer(self, points: Iterable[Point]) -> None: ...

    def close(self) -> None: ...
