"""When to read: on the monotonic clock, at whole multiples of the interval on the wall clock, so that all nodes look together."""

NS = 1_000_000_000
STEP_NS_MIN = NS // 10  # a clock that is steered moves by far less between two ticks
READ_NS_MAX = NS // 100


class Ticks:
    """The moments of one interval. `missed`: how many passed without a sample; `late_ns_worst`: the latest start of a sample."""

    def __init__(self, interval_s: float, mono_ns: int, wall_ns: int) -> None:
        self.interval_ns = round(interval_s * NS)
        self.missed = 0
        self.late_ns_worst = 0
        self.due_ns = 0
        self.align(mono_ns, wall_ns)

    def align(self, mono_ns: int, wall_ns: int) -> None:
        """Let the next tick fall on the next whole multiple of the interval; those that have passed by now are missed."""
        if self.due_ns:
            self.missed += max(0, (mono_ns - self.due_ns) // self.interval_ns)
        self.due_ns = mono_ns + self.interval_ns - wall_ns % self.interval_ns

    def begun(self, mono_ns: int) -> None:
        """Note when the sample that was due did begin."""
        self.late_ns_worst = max(self.late_ns_worst, mono_ns - self.due_ns)

    def advance(self, mono_ns: int) -> None:
        """Go to the next tick that is still to come. Those that have passed are missed and counted, never made up for."""
        self.due_ns += self.interval_ns
        if self.due_ns <= mono_ns:
            missed = (mono_ns - self.due_ns) // self.interval_ns + 1
            self.missed += missed
            self.due_ns += missed * self.interval_ns


class WallClock:
    """Notices that somebody set the wall clock, by comparing it with the monotonic one."""

    def __init__(self, mono_ns: int, wall_ns: int) -> None:
        self._ahead_ns = wall_ns - mono_ns

    def step_ns(self, mono_ns: int, wall_ns: int) -> int:
        """Return by how much the clock was set since the last call; 0 where it only ran, or was steered."""
        before_ns, self._ahead_ns = self._ahead_ns, wall_ns - mono_ns
        step_ns = self._ahead_ns - before_ns
        return step_ns if abs(step_ns) >= STEP_NS_MIN else 0
