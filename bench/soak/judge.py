"""What a Carbon has on disk against what was acknowledged: whisper is read, never Carbon's cache."""

from typing import NamedTuple

import whisper

from bench.soak.carbon import Carbon
from bench.soak.points import Plan


class Judged(NamedTuple):
    """Points: acknowledged; read back equal; not read back; there with a value that nobody sent. Files that cannot be read."""

    sent: int
    stored: int
    missing: int
    wrong: int
    damaged_files: int

    @property
    def complaints(self) -> list[str]:
        wrong = [f"MISSED: {self.wrong} stored with a wrong value"] if self.wrong else []
        return wrong + ([f"MISSED: {self.damaged_files} files of whisper are damaged"] if self.damaged_files else [])


def read_back(carbon: Carbon, plan: Plan, acked_ticks: int, offered_ticks: int) -> Judged:
    """Look at every point of a plan after Carbon has ended. The first `acked_ticks` are obligations; what was only offered may be there."""
    end_s = plan.begin_s + offered_ticks * plan.seconds_per_tick
    owed_until_s = plan.begin_s + acked_ticks * plan.seconds_per_tick
    stored = wrong = damaged = 0
    for number, path in enumerate(plan.paths):
        try:
            found = carbon.stored(path, plan.begin_s, end_s)
        except whisper.CorruptWhisperFile:
            damaged += 1
            continue
        for second, value in found.items():
            is_right = value == plan.value(number, second)
            wrong += not is_right
            stored += is_right and second < owed_until_s
    sent = acked_ticks * plan.points_per_tick
    return Judged(sent, stored, sent - stored, wrong, damaged)
