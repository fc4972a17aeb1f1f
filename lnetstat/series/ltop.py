"""Logs of `ltop -r` (Lustre Monitoring Tool): bytes read and written per OST over time.

A line (utils/ltop.c: _record_file) is `NOW RECEIVED NODE METRIC VALUE`, both times in seconds since the epoch; ltop asks more often than
the servers send, so most samples stand there several times. The value of lmt_ost (liblmt/ost.c) is 2;OSS;CPU;MEMORY; and then 15 fields per
OST, 9 in old releases, each ended by a semicolon: read_bytes and write_bytes are counters, the sixth and seventh field. lmt_mdt and lmt_osc
hold no bytes.
"""

import re

import numpy as np
import pandas as pd

from lnetstat.errors import SourceError, shown

FIRST_LINE = re.compile(r"[0-9]{9,11} [0-9]{9,11} [^ ]+ lmt_(?:ost|mdt|osc) [0-9.]+;", re.ASCII)
FIELDS, OLD_FIELDS = 15, 9
READ, WRITTEN = 5, 6
LONGEST_COUNT = 20  # digits of 64 bits
OLD_STATUS = 8  # the last field of nine is the recovery status; of fifteen, the ninth is a number
NOTE = "ltop keeps bytes per OST every {interval:g} s: shorter dips show only with their share, and neither pings nor credits are known"


def is_log(head: str) -> bool:
    """Return True when a file that begins so is a log of ltop."""
    return FIRST_LINE.match(head) is not None


def load(path: str, text: str) -> pd.DataFrame:
    """Return time, value, source: the bytes each OST has read and written, as counters (`attrs["kind"]`).

    Lines that are none are skipped and told. Raises SourceError where no line has an OST.
    """
    rows: dict[tuple[str, int], float] = {}
    skipped = first = 0
    why = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        fault = _take(line, rows)
        if fault:
            skipped, first, why = skipped + 1, first or number, why or fault
    if not rows:
        if skipped:
            raise SourceError(f"{path}: line {first}: {why}")
        raise SourceError(f"{path}: no lmt_ost records: only those hold bytes over time")
    table = pd.DataFrame(
        {"time": [float(time_s) for _, time_s in rows], "value": list(rows.values()), "source": [name for name, _ in rows]}
    )
    told = [f"{path}: line {first}: {why}; {skipped:,} lines like this were skipped"] if skipped else []
    steps = np.diff(np.unique(table["time"].to_numpy(np.float64)))
    own = table["time"].groupby(table["source"]).diff()
    interval = float(own.median()) if own.notna().any() else 0.0
    table.attrs.update(kind="counter", problems=told, notes=[NOTE.format(interval=interval)] if steps.size else [])
    return table


def _take(line: str, rows: dict[tuple[str, int], float]) -> str:
    """Add the OSTs of a line to `rows`; return what is wrong with it, empty where nothing is."""
    words = line.split(" ", 4)
    if len(words) < 5 or not (_is_count(words[0]) and _is_count(words[1])):
        return f"{shown(line)}: expected NOW RECEIVED NODE METRIC VALUE as ltop -r writes them"
    if words[3] != "lmt_ost":
        return ""
    fields = words[4].rstrip("\r").split(";")
    if fields[0] not in ("2", "2.0") or len(fields) < 5 or fields[-1] != "":
        return f"{shown(words[4])}: expected a whole lmt_ost record of version 2"
    parts = fields[4:-1]
    size = FIELDS if len(parts) > OLD_STATUS and parts[OLD_STATUS].isdecimal() else OLD_FIELDS
    if not parts or len(parts) % size:
        return f"{shown(words[4])}: expected {FIELDS} (or {OLD_FIELDS}) fields for each OST, found {len(parts)} in all"
    for at in range(0, len(parts), size):
        own = parts[at : at + size]
        if not (_is_count(own[READ]) and _is_count(own[WRITTEN])):
            return f"{shown(';'.join(own))}: expected read_bytes and write_bytes as the sixth and seventh field"
        rows.setdefault((own[0].removesuffix("_UUID"), int(words[1])), float(int(own[READ]) + int(own[WRITTEN])))
    return ""


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= LONGEST_COUNT
