"""What finding dead time costs: a whole `analyze` in a process of its own against a search with astropy's BoxLeastSquares.

The series is flat with noise of 15 % and dips of 2 s every 75 s to half the load. BoxLeastSquares gets a complete grid: periods of 5 to
300 s, so near to each other that the shortest dip that is sought moves by a third of its duration over the record. At a day of samples
that takes hours: then periods spread evenly over the grid are timed, and scaled.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from astropy.timeseries import BoxLeastSquares

Figure = tuple[str, float, float, str]
Floats = npt.NDArray[np.float64]

PERIOD_S, DIP_S, DEPTH, NOISE = 75.0, 2.0, 0.5, 0.15
SHORTEST_S, LONGEST_S = 5.0, 300.0
# (samples, seconds between them, periods of BoxLeastSquares that are timed, target of the ratio)
RECORDS = ((36_000, 0.1, 0, 15), (86_400, 1.0, 2_000, 90), (864_000, 0.1, 200, 400))
MOST_MIB = 500.0
MANY, HOUR = 100, 3600

# As `lnetstat analyze` judges the signals of many hosts of one recording: each by itself, on all cores. Reading them is not in it.
CHILD = """
import os
import sys
import numpy as np
from lnetstat.analysis import rates, verdicts
from lnetstat.analysis.deadtime import Label
from lnetstat.analysis.signals import Hints
from lnetstat.workers import crew_of, in_order
cases = [
    verdicts.Case(Label(f"host{number}", "csv", "csv", "", "value"), [rates.from_rate(*series)], None, None, Hints((), None))
    for number, series in enumerate(np.load(sys.argv[1]))
]
with crew_of(processes=min(len(cases), len(os.sched_getaffinity(0)))) as crew:
    in_order(crew, verdicts.judged, cases)
"""


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes shorter records: for tests, not for figures."""
    with tempfile.TemporaryDirectory() as folder:
        _spent([sys.executable, "-c", CHILD, _saved(Path(folder), 1, HOUR)])  # the first run on a machine compiles
        figures = []
        for points, dt_s, timed, target in RECORDS:
            points = max(3000, round(points * scale))
            figures += _one(Path(folder), points, dt_s, timed if scale == 1 else 20, target)
        count = max(2, round(MANY * scale))
        began_s = time.perf_counter()
        cpu_s, _ = _spent([sys.executable, "-c", CHILD, _saved(Path(folder), count, HOUR)])
        many_s = time.perf_counter() - began_s
        one_s = _box_least_squares_s(*_series(HOUR, 1.0), 1.0, 0 if scale == 1 else 20)
    cores = len(os.sched_getaffinity(0))
    # A busy machine lengthens what elapses, not the CPU; it is told beside.
    name = f"{count} series of one hour at 1 Hz as of one recording: CPU ({cpu_s:.1f} s; {many_s:.1f} s elapsed) on each of {cores} cores"
    return [*figures, (f"{name} / CPU of BoxLeastSquares on one of them", cpu_s / cores / one_s, 3, "<=")]


def _one(folder: Path, points: int, dt_s: float, timed: int, target: float) -> list[Figure]:
    time_s, rate = _series(points, dt_s)
    path = folder / "series.csv"
    path.write_text("time,value\n" + "".join(f"{when:.3f},{value:.0f}\n" for when, value in zip(time_s, rate, strict=True)))
    spent_s, mib = _spent([sys.executable, "-m", "lnetstat", "analyze", "--json", str(path)])
    grid_s = _box_least_squares_s(time_s, rate, dt_s, timed)
    how = f"{timed:,} periods of the complete grid, scaled" if timed else "the complete grid"
    return [
        (f"{points:,} samples: CPU of BoxLeastSquares ({how}) / CPU of analyze ({spent_s:.1f} s)", grid_s / spent_s, target, ">="),
        (f"{points:,} samples: MiB of analyze", mib, MOST_MIB, "<="),
    ]


def _series(points: int, dt_s: float, seed: int = 1) -> tuple[Floats, Floats]:
    """Return (epoch seconds, bytes per second over the interval that ends then)."""
    fine = max(1, round(dt_s / 0.05))
    begin = np.arange(points * fine) * (dt_s / fine)
    load = np.where((begin - 10) % PERIOD_S < DIP_S, 1 - DEPTH, 1.0).reshape(points, fine).mean(axis=1)
    noisy = load * (1 + NOISE * np.random.default_rng(seed).standard_normal(points))
    time_s: Floats = 1.7e9 + (np.arange(points, dtype=np.float64) + 1) * dt_s
    return time_s, 1e9 * np.maximum(noisy, 0)


def _saved(folder: Path, count: int, points: int) -> str:
    path = folder / f"{count}.npy"
    np.save(path, np.array([_series(points, 1.0, seed) for seed in range(count)]))
    return str(path)


def _box_least_squares_s(time_s: Floats, rate: Floats, dt_s: float, timed: int) -> float:
    """Return CPU seconds of the complete grid; of `timed` of its periods (0: all), scaled."""
    shortest_s = max(0.2, 0.8 * dt_s)  # a sample of 1 s still shows dips of 0.8 s
    durations = np.geomspace(shortest_s, 0.9 * SHORTEST_S, 4)
    length_s = float(time_s[-1] - time_s[0])
    step = shortest_s / 3 / length_s
    longest_s = min(LONGEST_S, length_s / 6)
    size = int(np.log(longest_s / SHORTEST_S) / np.log1p(step))
    periods = SHORTEST_S * (1 + step) ** np.arange(size)
    chosen = periods[:: max(1, size // timed)] if timed else periods
    search = BoxLeastSquares(time_s - time_s[0], rate / np.median(rate) - 1)
    began_s = time.process_time()
    search.power(chosen, durations)
    return (time.process_time() - began_s) * size / chosen.size


def _spent(command: list[str]) -> tuple[float, float]:
    """Return (CPU seconds, peak MiB) of a process."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(command[1:4])} ended with status {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    for figure in run():
        print(*figure)
