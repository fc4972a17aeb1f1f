"""Points that can be judged: the value of each is its number, and its metric and second follow from it.

Standard library only.
"""

from typing import NamedTuple

from lnetstat.model import Point


class Plan(NamedTuple):
    """What a sender offers: at each tick so many consecutive seconds of so many metrics, one point per metric and second."""

    name: str
    begin_s: int
    series: int
    seconds_per_tick: int

    @property
    def points_per_tick(self) -> int:
        return self.series * self.seconds_per_tick

    @property
    def paths(self) -> list[str]:
        return [f"lnet.{self.name}.soak.m{number}" for number in range(self.series)]

    def seconds(self, tick: int) -> range:
        begin_s = self.begin_s + tick * self.seconds_per_tick
        return range(begin_s, begin_s + self.seconds_per_tick)

    def value(self, number: int, second: int) -> float:
        """Return the value of metric `number` in a second: unlike that of any other point."""
        return float((second - self.begin_s) * self.series + number)

    def points(self, tick: int, paths: list[str]) -> list[Point]:
        return [Point(path, self.value(number, second), second) for second in self.seconds(tick) for number, path in enumerate(paths)]
