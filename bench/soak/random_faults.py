"""F20: one fault after the other, drawn at random, for as long as one likes, on two senders and one Carbon.

The first sender lives all the time, behind a relay, at a thousand points a second: its memory and its open files are watched. The second is
the one that is killed, and where a network namespace can be made its packets are dropped now and then.
"""

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from bench.soak.carbon import Carbon
from bench.soak.half_open import Wire, wire
from bench.soak.relay import FULL_BYTES_PER_S, Relay
from bench.soak.rows import Row
from bench.soak.trial import Trial

SETTLE_TICKS = 3
SECONDS_MAX = 4 * 3600  # one second of whisper per tick, and it keeps six hours of them
SLOPE_MB_PER_H_MAX = 1.0
SLOPE_S_MIN = 300.0  # of less, a slope per hour says nothing
SLOW_PART = 10
LINE_BYTES = 45
HANG_S = (2.0, 15.0)
AWAY_S = (0.0, 10.0)


class Field(NamedTuple):
    """What faults happen to. `way` is None where no network namespace can be made."""

    carbon: Carbon
    relay: Relay
    long_lived: Trial
    killed: Trial
    way: Wire | None
    random: Random
    scale: float

    def wait(self, seconds: tuple[float, float]) -> None:
        """A fault goes on for a while."""
        time.sleep(self.random.uniform(*seconds) * self.scale)


def carbon_ends(field: Field) -> None:
    field.carbon.stop()
    field.wait(AWAY_S)
    field.carbon.start()


def carbon_dies(field: Field) -> None:
    field.carbon.kill()
    field.wait(AWAY_S)
    field.carbon.start()


def carbon_hangs(field: Field) -> None:
    field.carbon.hang()
    field.wait(HANG_S)
    field.carbon.go_on()


def carbon_hangs_and_dies(field: Field) -> None:
    field.carbon.hang()
    field.wait(HANG_S)
    carbon_dies(field)


def carbon_slows_down(field: Field) -> None:
    field.relay.bytes_per_s = field.long_lived.plan.points_per_tick * LINE_BYTES // SLOW_PART
    field.wait(HANG_S)
    field.relay.bytes_per_s = FULL_BYTES_PER_S


def packets_are_dropped(field: Field) -> None:
    assert field.way is not None
    field.way.cut()
    field.wait(HANG_S)
    field.way.mend()


def sender_dies(field: Field) -> None:
    field.killed.kill_sender()
    field.killed.start_sender()


EVERYWHERE = (carbon_ends, carbon_dies, carbon_hangs, carbon_hangs_and_dies, carbon_slows_down, sender_dies)


def random_faults(seed: int, folder: Path, seconds: float, *, interval_s: float = 1.0, scale: float = 1.0) -> list[Row]:
    """F20: faults for so long, then a row for each of the two senders. `scale`: how long faults take, of what is usual."""
    if not 0 < seconds <= SECONDS_MAX:
        raise ValueError(f"{seconds:g} s of random faults: at most {SECONDS_MAX} s, whisper keeps a second for six hours only")
    random = Random(seed)
    with _wire_or_none() as way, contextlib.ExitStack() as closing:
        carbon = Carbon(folder / "carbon", way.address) if way is not None else Carbon(folder / "carbon")
        relay = Relay(carbon.address, carbon.port)
        closing.callback(relay.close)
        prefix = way.prefix if way is not None else ()
        pace = {"seconds_per_tick": 1, "interval_s": interval_s, "jitter_s_max": 2.0}
        long_lived = closing.enter_context(Trial("F20", seed, folder / "long-lived", series=1000, carbon=carbon, via=relay, **pace))  # type: ignore[arg-type]
        killed = closing.enter_context(Trial("F20", seed + 1_000_000, folder / "killed", series=20, carbon=carbon, prefix=prefix, **pace))  # type: ignore[arg-type]
        field = Field(carbon, relay, long_lived, killed, way, random, scale)
        happened = _hurt(field, seconds)
        return [*_rows(field, happened, seconds)]


def _hurt(field: Field, seconds: float) -> dict[str, int]:
    """Let faults happen; return how often each did."""
    faults: list[Callable[[Field], None]] = [*EVERYWHERE, *([packets_are_dropped] if field.way is not None else [])]
    happened = {fault.__name__: 0 for fault in faults}
    field.carbon.start()
    field.long_lived.start_sender()
    field.killed.start_sender()
    field.long_lived.warmed_up()
    field.killed.warmed_up()
    field.long_lived.fault_begins()
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        fault = field.random.choice(faults)
        fault(field)
        happened[fault.__name__] += 1
        field.wait((0.5, 3.0))
    for trial in (field.long_lived, field.killed):
        trial.fault_ends()
        trial.ticks(SETTLE_TICKS)
        trial.caught_up()
    return happened


def _rows(field: Field, happened: dict[str, int], seconds: float) -> Iterator[Row]:
    ticks = field.long_lived.events("tick")
    words = ", ".join(f"{count} x {name.replace('_', ' ')}" for name, count in happened.items() if count)
    settled = [event for event in ticks if event["at"] - ticks[0]["at"] > seconds / 4]
    growth = ""
    if seconds >= SLOPE_S_MIN:
        slope = statistics.linear_regression([event["at"] / 3600 for event in settled], [event["rss_mb"] for event in settled]).slope
        growth = f"; memory {'MISSED: ' if slope >= SLOPE_MB_PER_H_MAX else ''}{slope:+.2f} MB/h"
    files = [event["files"] for event in settled]
    remark = f"{seconds:.0f} s: {words}{growth}; {min(files)} to {max(files)} open files"
    for trial in (field.long_lived, field.killed):  # none may send while Carbon ends for the judge
        trial.end_sender()
    row = field.long_lived.judge(remark)
    field.carbon.start()
    yield row._replace(notice_s=None)
    row = field.killed.judge("the sender that was killed", with_lateness=False)
    yield row._replace(rss_mb=None, notice_s=None)


@contextlib.contextmanager
def _wire_or_none() -> Iterator[Wire | None]:
    with contextlib.ExitStack() as closing:
        try:
            way = closing.enter_context(wire())
        except PermissionError:
            way = None
        yield way
