"""For how much of a record messages waited: in how many of its looks each row of credits was below 0."""

from collections.abc import Iterable
from typing import NamedTuple

Key = tuple[str, int]


class Share(NamedTuple):
    """The row that was below 0 in most looks. `subject` is empty where no row ever was."""

    subject: str
    below: int
    looks: int

    @property
    def percent(self) -> float:
        return 100 * self.below / self.looks

    @property
    def words(self) -> str:
        """Say whose share it is, and of how many looks."""
        return f"{self.subject}, in {self.below} of {self.looks} samples" if self.below else f"in none of {self.looks} samples"


class BelowZero:
    """Counts looks, not time: a gap in the data says nothing of what was in it. Rows that nobody names stay as they were."""

    def __init__(self) -> None:
        self._looks = 0
        self._since: dict[Key, int] = {}  # of rows that are below 0: the look that saw it first
        self._before: dict[Key, int] = {}  # looks below 0 in runs that are over
        self._subjects: dict[Key, str] = {}

    def look(self) -> None:
        """Begin the next look."""
        self._looks += 1

    def put(self, key: Key, subject: str, value: float) -> None:
        """Take what this look sees of a row."""
        if value < 0:
            self._since.setdefault(key, self._looks)
            self._subjects[key] = subject
        else:
            self.drop(key)

    def drop(self, key: Key) -> None:
        """Note that a row is gone, or not below 0, from this look on."""
        if key in self._since:
            self._before[key] = self._before.get(key, 0) + self._looks - self._since.pop(key)

    def keep(self, keys: Iterable[Key]) -> None:
        """Drop all rows but these."""
        if self._since:
            for key in self._since.keys() - set(keys):
                self.drop(key)

    @property
    def worst(self) -> Share | None:
        """The worst row's share, None without a look."""
        if not self._looks:
            return None
        below = dict(self._before)
        for key, first in self._since.items():
            below[key] = below.get(key, 0) + self._looks + 1 - first
        if not below:
            return Share("", 0, self._looks)
        key = max(sorted(below), key=below.__getitem__)
        return Share(self._subjects[key], below[key], self._looks)
