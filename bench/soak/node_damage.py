"""F9: a spool damaged in one place, ten thousand times: only the record that was hit is lost, and it is counted.

`python -m bench.soak.node_damage [SECONDS] [SEED]`.
"""

import sys
import time
from random import Random

from bench.soak.rows import Row
from lnetstat.sinks.spool import Spool
from tests.sinks.simulated_files import SimulatedFiles

FAULTS = ("F9",)
CASES = 10_000
RECORDS = 12
SEGMENTS_SMALL = 8 * (32 << 10)  # free space that makes segments as small as they get
HOWS = ("flip", "insert", "truncate")
GONE_MAX = {"flip": 1, "insert": 1, "truncate": 6}  # what is cut off takes its segment's rest along


def opened(files: SimulatedFiles) -> Spool:
    return Spool("/spool", max_bytes=1 << 30, max_age_s=0, clock=lambda: 1000.0, files=files)


def case(chance: Random) -> str:
    """Damage one spool and open it again; return what is wrong then, or nothing."""
    files = SimulatedFiles(free_told=SEGMENTS_SMALL)  # type: ignore[no-untyped-call]
    spool = opened(files)
    for number in range(RECORDS):
        spool.append(b"%d %s\n" % (number, b"x" * 6000), 1, number)
    if chance.random() < 0.5:
        spool.close()
    files.kill()  # type: ignore[no-untyped-call]
    path, how = chance.choice(sorted(files.files)), chance.choice(HOWS)
    file = files.files[path]
    at = chance.randrange(len(file.data))
    rest = {"flip": bytes([file.data[at] ^ chance.randint(1, 255)]) + file.data[at + 1 :], "truncate": b""}
    file.data = file.data[:at] + rest.get(how, chance.randbytes(chance.randint(1, 200)) + file.data[at:])
    spool = opened(files)
    back: set[int] = set()
    while (batch := spool.next_batch()) is not None:
        back.update(int(line.partition(b" ")[0]) for line in batch.payload.splitlines())
        spool.written(batch.id)
        spool.acknowledged(batch.id)
    gone = set(range(RECORDS)) - back
    where = f"{how} at byte {at} of {path}"
    if len(gone) > GONE_MAX[how] or back - set(range(RECORDS)):
        return f"{where}: {len(gone)} records are gone"
    if gone and how == "flip" and not spool.counts.damaged:
        return f"{where}: {len(gone)} records are gone and none is counted"
    return ""


def run(seconds: float, seed: int) -> list[Row]:
    chance, end_s, cases = Random(seed), time.monotonic() + seconds, 0
    wrong: list[str] = []
    while cases < CASES and time.monotonic() < end_s:
        cases += 1
        try:
            problem = case(chance)
        except Exception as error:  # a traceback is what must not be
            problem = f"{type(error).__name__}: {error}"
        wrong += [f"case {cases}: {problem}"] if problem else []
    remark = f"{cases:,} spools damaged in one place each: {len(wrong)} went wrong"
    remark = f"MISSED: {'; '.join(wrong[:3])}: {remark}" if wrong else remark
    return [Row("F9 damage", seed, None, None, len(wrong), None, None, None, None, None, remark)]


if __name__ == "__main__":
    words = [*sys.argv[1:], *("600", "1")[len(sys.argv) - 1 :]]
    for row in run(float(words[0]), int(words[1])):
        print(row)
