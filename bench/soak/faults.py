"""F1 to F8 and F19: what happens to Carbon, to the way there, to the disk of the spool and to the sender."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from bench.soak.relay import FULL_BYTES_PER_S, Relay
from bench.soak.rows import Row
from bench.soak.trial import STOP_S_MAX, Trial

LINE_BYTES = 45  # about; only for the pace of a slow Carbon
SETTLE_TICKS = 3
KERNELS_TAKE_POINTS = 20_000
TRIES_A_MINUTE_MAX = 6
OUTAGE_LINES_MAX = 2  # it is gone; it is back


def no_fault(seed: int, folder: Path) -> Row:
    """The same without a fault: what the other rows are to be compared with."""
    with Trial("none", seed, folder) as trial:
        trial.carbon.start()
        trial.start_sender()
        trial.ticks(10)
        trial.fault_begins()
        trial.ticks(10)
        return trial.judge("no fault, 10 s, for comparison")._replace(notice_s=None)


def carbon_restarts(seed: int, folder: Path, *, restarts: int = 3, **options: float) -> Row:
    """F1: SIGTERM, and back at once."""
    return _restarts("F1", seed, folder, restarts, kill=False, **options)


def carbon_killed(seed: int, folder: Path, *, restarts: int = 3, **options: float) -> Row:
    """F2: kill -9 with a cache full of points that are nowhere else, and back."""
    return _restarts("F2", seed, folder, restarts, kill=True, **options)


def _restarts(fault: str, seed: int, folder: Path, restarts: int, *, kill: bool, **options: float) -> Row:
    random = Random(seed)
    with Trial(fault, seed, folder, **options) as trial:  # type: ignore[arg-type]
        trial.carbon.start()
        trial.start_sender()
        trial.warmed_up()
        for _ in range(restarts):
            trial.ticks(random.randint(1, 3))
            _spin(random.random() * 0.2)
            trial.fault_begins()
            if kill:
                trial.carbon.kill()
            else:
                trial.carbon.stop()
            trial.carbon.start()
        trial.fault_ends()
        trial.ticks(SETTLE_TICKS)
        trial.caught_up()
        return trial.judge(f"{restarts} {'kill -9' if kill else 'SIGTERM'} and back")


def carbon_hangs(
    seed: int, folder: Path, *, killed: bool, hang_ticks: int = 25, series: int = 500, seconds_per_tick: int = 10, **options: float
) -> Row:
    """F3: SIGSTOP, then SIGCONT or, with `killed`, kill -9 (E2): what kernels held of the stream is gone then."""
    random = Random(seed)
    with Trial("F3", seed, folder, series=series, seconds_per_tick=seconds_per_tick, **options) as trial:  # type: ignore[arg-type]
        trial.carbon.start()
        trial.start_sender()
        trial.warmed_up()
        _spin(random.random() * 0.2)
        trial.fault_begins()
        trial.carbon.hang()
        trial.ticks(hang_ticks)
        if killed:
            trial.carbon.kill()
            trial.carbon.start()
        else:
            trial.carbon.go_on()
        trial.fault_ends()
        trial.ticks(SETTLE_TICKS)
        trial.caught_up()
        how = "then kill -9" if killed else "then SIGCONT"
        # Kernels take all of it for as long as Carbon hangs: no write ever blocks.
        is_slow = series * seconds_per_tick * hang_ticks < KERNELS_TAKE_POINTS
        pace = "; a slow stream: no write blocks, it shows when Carbon dies" if is_slow else ""
        return trial.judge(f"SIGSTOP for {hang_ticks} ticks {how}{pace}")


def carbon_is_slow(seed: int, folder: Path, *, slow_ticks: int = 20, **options: float) -> Row:
    """F4: Carbon behind a relay that passes on a tenth of what comes."""
    with Trial("F4", seed, folder, **options) as trial:  # type: ignore[arg-type]
        relay = Relay(trial.carbon.address, trial.carbon.port)
        trial.via = relay
        try:
            trial.carbon.start()
            trial.start_sender()
            trial.ticks(SETTLE_TICKS)
            trial.fault_begins()
            relay.bytes_per_s = trial.plan.points_per_tick * LINE_BYTES // 10
            trial.ticks(slow_ticks)
            waiting = trial.last_counts["queued"]
            relay.bytes_per_s = FULL_BYTES_PER_S
            trial.fault_ends()
            before = trial.last_counts
            trial.caught_up()
            after = trial.last_counts
            trial.ticks(SETTLE_TICKS)
            pace = (after["sent"] - before["sent"]) / max(after["at"] - before["at"], 1e-9) / trial.plan.points_per_tick
            return trial.judge(f"a tenth of the rate for {slow_ticks} ticks, {waiting} waiting; catches up at {pace:.1f} x the live rate")
        finally:
            relay.close()


def refused(seed: int, folder: Path, *, hours: float = 24, **options: float) -> Row:
    """F6: nobody listens for a day of a simulated clock; then Carbon comes."""
    with Trial("F6", seed, folder, outage_s=hours * 3600, **options) as trial:  # type: ignore[arg-type]
        trial.start_sender()
        trial.wait_until(lambda: bool(trial.events("outage")), "the end of the day")
        trial.ticks(SETTLE_TICKS)
        day = trial.events("outage")[0]
        trial.carbon.start()
        trial.fault_ends()
        trial.ticks(SETTLE_TICKS)
        trial.caught_up()
        lines = len(trial.events("told"))
        missed = "MISSED: " if day["tries_a_minute"] > TRIES_A_MINUTE_MAX or lines > OUTAGE_LINES_MAX else ""
        words = f"{missed}{hours:g} h on a simulated clock: {day['tries']} tries, at most {day['tries_a_minute']} in any minute"
        return trial.judge(f"{words}; {lines} lines in the log")


def disk_full(seed: int, folder: Path, *, full_ticks: int = 12, **options: float) -> Row:
    """F7: Carbon is away, the spool's disk of 1 MiB fills up, others take the last byte, and then it has to drain."""
    with small_disk(folder / "small") as small, Trial("F7", seed, folder, spool=small / "spool", **options) as trial:  # type: ignore[arg-type]
        trial.carbon.start()
        trial.start_sender()
        trial.warmed_up()
        trial.fault_begins()
        trial.carbon.kill()
        trial.ticks(full_ticks)
        fill(small / "foreign")
        trial.ticks(2)
        trial.carbon.start()
        trial.wait_until(lambda: trial.events("tick")[-1]["queued"] <= 2 * trial.plan.points_per_tick, "draining with 0 free bytes")
        (small / "foreign").unlink()
        trial.fault_ends()
        trial.ticks(SETTLE_TICKS)
        return trial.judge("disk of 1 MiB full, drained with 0 bytes free", dropped_by_policy=True)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 1 MiB. Raises PermissionError where one may not be mounted."""
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, text=True)
    if done.returncode:
        raise PermissionError(f"cannot mount a tmpfs here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> None:
    """Take all the space that is left."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def sender_killed(seed: int, folder: Path, *, kills: int = 200) -> Row:
    """F8: kill -9 of the sender at any moment, in the middle of a write too, and again and again."""
    random = Random(seed)
    with Trial("F8", seed, folder, series=50, seconds_per_tick=1, interval_s=0.01, jitter_s_max=0.05) as trial:
        trial.carbon.start()
        for _ in range(kills):
            acked = trial.acked
            trial.start_sender()
            wanted = acked + random.randint(1, 10)
            trial.wait_until(lambda wanted=wanted: trial.acked >= wanted, "an acknowledged tick")  # type: ignore[misc]
            _spin(random.random() * 0.02)
            trial.kill_sender()
        trial.start_sender()
        trial.fault_ends()
        trial.ticks(5)
        return trial.judge(f"{kills} kill -9 of the sender", with_lateness=False)._replace(rss_mb=None)


def stopped_in_mid_flush(seed: int, folder: Path, *, hung: bool, away_ticks: int = 12, **options: float) -> Row:
    """F19: SIGTERM to the sender while it sends what has piled up; with `hung`, to a Carbon that no longer reads."""
    random = Random(seed)
    with Trial("F19", seed, folder, jitter_s_max=0.2, **options) as trial:  # type: ignore[arg-type]
        trial.start_sender()
        trial.ticks(away_ticks)
        told = len(trial.events("told"))
        trial.carbon.start()
        trial.wait_until(lambda: len(trial.events("told")) > told, "connecting")
        if hung:
            trial.carbon.hang()
        _spin(random.random() * 0.1)
        took_s = trial.end_sender()
        if hung:
            trial.carbon.go_on()
        end = trial.events("end")[-1]
        missed = "" if took_s < STOP_S_MAX else f"MISSED: took more than {STOP_S_MAX:g} s; "
        words = f"{missed}SIGTERM with {end['queued']} waiting{' for a Carbon that hangs' if hung else ''}: ended in {took_s:.2f} s"
        return trial.judge(words)


def _spin(seconds: float) -> None:
    """Let a random moment pass: that is what a race is about."""
    time.sleep(seconds)
