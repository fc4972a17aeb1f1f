"""F5: the way to Carbon swallows every packet, and neither end is told."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

from bench.soak import kernel
from bench.soak.carbon import Carbon
from bench.soak.rows import Row
from bench.soak.trial import Trial

NETS = ("203.0.113", "198.51.100", "192.0.2")  # RFC 5737: for examples; still, somebody's sandbox may use one
DARK_TICKS_MORE = 5
SETTLE_TICKS = 3


class Wire:
    """A network of two: ours, with Carbon at `address`, and one for the processes run by `prefix`."""

    def __init__(self, name: str, device: str, address: str) -> None:
        self.address = address
        self.prefix = ("ip", "netns", "exec", name)
        self._device = device

    def cut(self) -> None:
        """Our end is down: what comes from the other side goes nowhere."""
        _ip("link", "set", self._device, "down")

    def mend(self) -> None:
        _ip("link", "set", self._device, "up")


@contextlib.contextmanager
def wire() -> Iterator[Wire]:
    """Make a network namespace and a pair of devices into it. Raises PermissionError where that is not allowed."""
    name, ours, theirs = f"lnetstat-soak-{os.getpid()}", f"soak{os.getpid()}", f"kaos{os.getpid()}"
    try:
        net = next(net for net in NETS if all(route.startswith("default") for route in _ip("route", "show", "to", "match", f"{net}.1")))
        _ip("netns", "add", name)
    except StopIteration:
        raise PermissionError(f"each of the networks {', '.join(NETS)} is in use here") from None
    except (OSError, RuntimeError) as error:
        raise PermissionError(f"cannot make a network namespace here: {error}") from error
    try:
        _ip("link", "add", ours, "type", "veth", "peer", "name", theirs)
        _ip("link", "set", theirs, "netns", name)
        _ip("addr", "add", f"{net}.1/30", "dev", ours)
        _ip("link", "set", ours, "up")
        _ip("-n", name, "addr", "add", f"{net}.2/30", "dev", theirs)
        _ip("-n", name, "link", "set", theirs, "up")
        yield Wire(name, ours, f"{net}.1")
    finally:
        _ip("netns", "del", name)  # and the devices with it


def half_open(seed: int, folder: Path, *, series: int = 500, seconds_per_tick: int = 10, interval_s: float = 1.0) -> Row:
    """F5: until the sender has noticed, and some ticks more; then the packets flow again."""
    random = Random(seed)
    with wire() as way:
        carbon = Carbon(folder / "carbon", way.address)
        with Trial(
            "F5", seed, folder, carbon=carbon, prefix=way.prefix, series=series, seconds_per_tick=seconds_per_tick, interval_s=interval_s
        ) as trial:
            carbon.start()
            trial.start_sender()
            trial.warmed_up()
            trial.ticks(random.randint(0, 2))
            before = kernel.tcp_counters()
            trial.fault_begins()
            way.cut()
            trial.noticed()
            trial.ticks(DARK_TICKS_MORE)
            way.mend()
            trial.fault_ends()
            trial.ticks(SETTLE_TICKS)
            trial.caught_up()
            counted = kernel.grown(before, kernel.tcp_counters())
            return trial.judge("; ".join(word for word in ("every packet dropped until noticed and 5 ticks more", counted) if word))


def _ip(*arguments: str) -> list[str]:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.splitlines()
