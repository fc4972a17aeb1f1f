"""Answers of FTIO (PyPI: ftio-hpc), run by the Python that has it: it brings 54 packages along, so it lives in an environment of its own.

    PYTHON_WITH_FTIO bench/accuracy/ftio_answers.py FOLDER > answers.jsonl

FOLDER holds ID.npz files with time_s, rate and dips of one dt_s. One line is printed per file and kind of signal: raw rates, and the
detrended dips turned upwards, since FTIO looks for phases of activity.
"""

import contextlib
import io
import json
import sys
import time
from pathlib import Path

import numpy as np
from ftio.cli.ftio_core import core
from ftio.parse.args import parse_args


def main() -> None:
    for path in sorted(Path(sys.argv[1]).glob("*.npz")):
        with np.load(path) as stored:
            time_s, rate, dips, dt_s = stored["time_s"], stored["rate"], stored["dips"], float(stored["dt_s"])
        for name, signal in (("raw", rate), ("dips", dips)):
            began = time.process_time()
            with contextlib.redirect_stdout(io.StringIO()):
                arguments = parse_args(["-e", "no", "-f", repr(1 / dt_s)], "ftio")
                found, _ = core({"time": time_s - time_s[0], "bandwidth": signal, "total_bytes": 0, "ranks": 1}, arguments)
            frequency, trust = np.atleast_1d(found.dominant_freq), np.atleast_1d(found.conf)
            answer = {"case_id": path.stem, "signal": name, "detected": bool(frequency.size), "score": 0.0}
            if frequency.size and frequency[np.argmax(trust)] > 0:
                answer |= {"score": float(trust.max()), "period_s": float(1 / frequency[np.argmax(trust)])}
            print(json.dumps(answer | {"cpu_s": time.process_time() - began}))


if __name__ == "__main__":
    main()
