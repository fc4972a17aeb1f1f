"""Raw files as collectl writes them with lnet.ph and lustre_oss.ph, made of snapshots: one record a file and sample."""

import gzip
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from lnetstat.model import Snapshot
from lnetstat.reduce.peers import totals, worst
from lnetstat.tables.peers import parse

RULE = "#" * 80 + "\n"
OTHERS = "intr 425078\nctxt 450662\nload 1.26 1.15 0.66 3/99 6788\nNet     lo:  816810     748    0\n"


def header(host: str, begun_s: int = 1795176015, *, ours: bool = True) -> str:
    line = "# lnetstat: lnet.ph 0.5 path=/ rows=1 top=16 peers=1 reset=0 tables=stats+buffers+nis+routes+routers+peers\n" if ours else ""
    return (
        f"{RULE}# Collectl:   V4.3.1-1  HiRes: 1  Options: --import lnet.ph -f /var/log/collectl\n# Host:       {host}  DaemonOpts: \n"
        f"# Date:       20261120-120015  Secs: {begun_s} TZ: +0000\n# SubSys:     c Options:  Interval: 1 NumCPUs: 2\n{line}{RULE}"
    )


def record(snapshot: Snapshot, key: str = "") -> str:
    """Return the line of one read."""
    key = key or ("lsv" if snapshot.name.endswith(".stats") else "lnt")
    text = snapshot.text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    seconds, micros = divmod(snapshot.time_ns // 1000, 10**6)
    flags = ",".join(sorted(snapshot.flags)) or "-"
    name = snapshot.name.replace(" ", "\\s")
    return f"{key}-{name} {snapshot.state.value} {snapshot.errno} {seconds}.{micros:06d} {snapshot.read_ns // 1000} {flags} |{text}\n"


def marker(time_ns: int) -> str:
    return f">>> {time_ns // 10**9}.{time_ns // 10**6 % 1000:03d} <<<\n"


def of_nets(snapshot: Snapshot) -> str:
    """Return the sums of all peers that stand before each record of `peers`."""
    rows = parse(snapshot.text).rows
    lines = []
    for net, total in totals(rows).items():
        limit = sum(row.tx_credits_max for row in rows if row.nid.rpartition("@")[2] == net and row.tx_credits_max > 0)
        words = [*total[:-1], *total.buckets, limit]
        lines.append(f"lnt:{net} " + " ".join("-" if word is None else str(word) for word in words) + "\n")
    return "".join(lines)


def only_worst(snapshot: Snapshot, count: int) -> Snapshot:
    """Return `peers` as lnet.ph records it between whole scans."""
    kept = {peer.nid for peer in worst(parse(snapshot.text).rows, count)}
    head, *lines = snapshot.text.splitlines(keepends=True)
    text = head + "".join(line for line in lines if line.split()[0] in kept)
    return snapshot._replace(text=text, flags=snapshot.flags | {"worst"})


def raw_text(snapshots: Iterable[Snapshot], host: str, *, top: int | None = None, rows: int = 0) -> str:
    """Return one host's raw file; `top`: of `peers` only so many rows are recorded, but for every scan number `rows`."""
    parts, scans = [header(host)], 0
    for stamp, tick in groupby(snapshots, lambda each: each.time_ns // 10**8):
        parts += [marker(stamp * 10**8), OTHERS]
        for each in tick:
            if each.name == "peers":
                parts.append(of_nets(each))
                whole = top is None or (rows and scans % rows == 0)
                each = each if whole or top is None else only_worst(each, top)
                scans += 1
            parts.append(record(each))
        parts.append("lnt=took 1.525\n")
    return "".join(parts)


def write_raw(folder: Path, host: str, text: str, stamp: str = "20261120-120015") -> Path:
    path = folder / f"{host}-{stamp}.raw.gz"
    path.write_bytes(gzip.compress(text.encode("utf-8", "surrogateescape"), 6))
    return path
