"""When a file whose read has hung is tried again: after 1, 2, 4 … 60 s, and as before once a read of it came back in time."""

NS = 1_000_000_000
FIRST_NS = NS
LONGEST_NS = 60 * NS


class Backoff:
    """Which names have hung, how often in a row, and when each may be tried again. All times are those of the monotonic clock."""

    def __init__(self) -> None:
        self._hangs: dict[str, int] = {}
        self._due_ns: dict[str, int] = {}

    def hung(self, name: str, now_ns: int) -> None:
        """Note that a try has hung; each in a row doubles the wait that follows."""
        hangs = self._hangs[name] = self._hangs.get(name, 0) + 1
        self._due_ns[name] = now_ns + min(FIRST_NS << min(hangs - 1, 6), LONGEST_NS)

    def answered(self, name: str) -> None:
        """Note that a read came back in time, with whatever it brought."""
        self._hangs.pop(name, None)
        self._due_ns.pop(name, None)

    def has_hung(self, name: str) -> bool:
        """Whether the latest try of this name hung: nobody should wait for the next one."""
        return name in self._hangs

    def is_due(self, name: str, now_ns: int) -> bool:
        return now_ns >= self._due_ns.get(name, now_ns)
