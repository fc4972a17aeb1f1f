"""The claims of the other papers: B Caldwell (LUG 2013), C Ezell et al. (CUG 2012), D Laifer (LAD 2016), E Shehata and Weber."""

import numpy as np

from lnetstat.simulator.engine import Engine
from lnetstat.simulator.run import run_group
from lnetstat.simulator.scenario import load_scenario
from validation.claims import Claim, Runs
from validation.figures import Figure, band
from validation.runs import Run

MIB = 2**20
ALONE_MIB_S, MOST_MIB_S = 698.37, 1181.56
HEADER_BYTES = 72  # of an LNet message
MESSAGE_BYTES = 160  # of lnet-selftest
FIFO = (
    "with few RPCs in flight a request waits behind another's bulk data on the one connection, and the line is idle until the server has "
    "fetched the next. The law is an interpolation of two measured points, both of which hold (B1)."
)
FAILED_S, BACK_S, END_S = 60, 240, 480


def rate_ends(_: Runs) -> Figure:
    alone, most = (_rate_mib_s(window) for window in (1, 16))
    inside = abs(alone / ALONE_MIB_S - 1) <= 0.01 and abs(most / MOST_MIB_S - 1) <= 0.01
    return Figure(f"{alone:,.2f} and {most:,.2f} MiB/s", inside)


def rate_between(_: Runs) -> Figure:
    shares = {window: _rate_mib_s(window) / min(window * ALONE_MIB_S, MOST_MIB_S) for window in (2, 3, 8)}
    shown = ", ".join(f"{window}: {share:.3f}" for window, share in shares.items())
    return Figure(f"of the law with {shown}", all(abs(share - 1) <= 0.01 for share in shares.values()))


def _rate_mib_s(window: int) -> float:
    return _mean_rate("ornl-tcp", {"io.0.window": str(window), "run.duration": "10 s"}) / MIB


def _mean_rate(preset: str, settings: dict[str, str]) -> float:
    return float(run_group(load_scenario(preset, settings).plan(0))["mean_rate"])


def golden_rows(_: Runs) -> Figure:
    """Rows of `peers` at a client, at many moments: tx = max - queued, refs = 1 + queued, queue = the bytes of those messages."""
    kinds = []
    for window, limit in ((1, 8), (16, 8), (3, 2)):
        settings = {"io.0.window": str(window), "tcp.peer_credits": str(limit), "run.duration": "3 s"}
        kinds.append(_rows(settings))
    wrong = sum(not _consistent(row) for rows in kinds for row in rows)
    lone = (8, 7, 2, MIB + HEADER_BYTES)  # max tx refs queue of the printed row for one RPC
    shown = f"{sum(map(len, kinds)):,} rows, {wrong} break an identity; row of one RPC {'seen' if lone in kinds[0] else 'not seen'}"
    return Figure(shown, wrong == 0 and lone in kinds[0])


def _rows(settings: dict[str, str]) -> list[tuple[int, ...]]:
    engine = Engine(load_scenario("ornl-tcp", settings).plan(0))
    rows = []
    for time_ns in range(10**9, 3 * 10**9, 1_300_001):
        engine.advance(time_ns)
        peers = engine.peers(0)
        rows.append(tuple(int(column[0]) for column in (peers.tx_max, peers.tx, peers.refs, peers.queue_bytes)))
    return rows


def _consistent(row: tuple[int, ...]) -> bool:
    """Whether refs and bytes are those of max - tx messages, each of a request or of bulk data."""
    most, free, refs, queue_bytes = row
    queued = most - free
    bulk, rest = divmod(queue_bytes - queued * (MESSAGE_BYTES + HEADER_BYTES), MIB - MESSAGE_BYTES)
    return refs == 1 + queued and rest == 0 and 0 <= bulk <= queued


def throughput_flat(runs: Runs) -> Figure:
    many, few = (runs[name].merged["mean_rate"] for name in ("nics-credits", "nics-credits-192"))
    return band(few / many, 0.98, 1.02, f"{24 * many / 1e9:.1f} and {24 * few / 1e9:.1f} GB/s for 24 groups; " + "ratio {:.4f}")


def queue_falls(_: Runs) -> Figure:
    """Requests at the servers against RPCs in flight of all clients: each one more in flight waits at a server."""
    windows = (8, 16, 32, 64, 85)
    waiting = [_at_servers(window) for window in windows]
    slope = float(np.polyfit(windows, waiting, 1)[0]) / 392
    return band(slope, 0.9, 1.1, f"{waiting[0]:,} with 8 in flight to {waiting[-1]:,} with 85; " + "slope {:.2f} of clients x window")


def _at_servers(window: int) -> int:
    plan = load_scenario("nics-credits", {"io.0.window": str(window), "run.duration": "40 s"}).plan(0)
    engine = Engine(plan)
    engine.advance(plan.end_ns)
    services = [engine.services(plan.clients + plan.routers + server)[1] for server in range(plan.servers)]
    return sum(service.threads_busy + service.queued + service.portal_queued for service in services)


def slowest_link(runs: Runs) -> Figure:
    return band(runs["kit-links"].merged["mean_rate"] / 1e9, 0.9 * 23, 23, "{:.1f} GB/s (measured there: 22)")


def seven_links(_: Runs) -> Figure:
    settings = {"groups": "7", "servers.count": "1", "run.duration": "40 s"}
    return band(7 * _mean_rate("kit-links", settings) / 1e9, 0.9 * 32.2, 32.2, "{:.1f} GB/s, 7 x one link (measured there: 29.2)")


def metadata_far_away(_: Runs) -> Figure:
    """Small RPCs one at a time over 33 km and without the way."""
    settings = {"io.0.kind": "small", "io.0.window": "1", "io.0.processes": "1", "io.0.rpcs": "20000", "run.duration": "30 s"}
    near = settings | {"network.server.wire": "3 us"}
    far_ns, near_ns = (_time_of_rpc(each) for each in (settings, near))
    return band(near_ns / far_ns, 0.2, 0.45, f"{near_ns / 1e3:.0f} us near, {far_ns / 1e3:.0f} us far: " + "{:.0%} of the rate")


def _time_of_rpc(settings: dict[str, str]) -> float:
    plan = load_scenario("kit-links", settings | {"run.duration": "2 s", "pings.policy": "suppressed"}).plan(0)
    engine = Engine(plan)
    engine.advance(plan.end_ns)
    return plan.end_ns / int(engine.rpcs_done()[0])


def failed_share(runs: Runs) -> Figure:
    return band(_share_of_failed(runs["mr-failure"], FAILED_S + 10, BACK_S - 5), 0, 0.02, "{:.1%} of oss01's messages in flight")


def _share_of_failed(run: Run, begin_s: float, end_s: float) -> float:
    """The share of oss01's NI credits in use that its second interface has, mean over samples, from `nis`."""
    table = run.tables["nis"]
    time_s = (table["time_ns"] - run.scenario.start_ns) / 1e9
    own = table[(table["host"] == "oss01") & (table["tx_credits_max"] > 0) & (time_s >= begin_s) & (time_s <= end_s)]
    used = (own["tx_credits_max"] - own["tx_credits"]).astype(float)
    by_ni = used.groupby(own["nid"].astype(str)).sum()
    return float(by_ni.iloc[1] / by_ni.sum())


def rate_halves(runs: Runs) -> Figure:
    run = runs["mr-failure"]
    before, failed = _read_rate(run, 20, FAILED_S - 2), _read_rate(run, FAILED_S + 10, BACK_S - 5)
    return band(failed / before, 0.45, 0.55, f"{before / 1e9:.2f} to {failed / 1e9:.2f} GB/s: " + "{:.2f}")


def _read_rate(run: Run, begin_s: float, end_s: float) -> float:
    """Bytes that oss01 sends a second, from its `stats`."""
    table = run.tables["lnet_stats"]
    own = table[table["host"] == "oss01"]
    time_s = ((own["time_ns"] - run.scenario.start_ns) / 1e9).to_numpy()
    sent = own["send_length"].to_numpy()
    inside = np.flatnonzero((time_s >= begin_s) & (time_s <= end_s))
    return float((sent[inside[-1]] - sent[inside[0]]) / (time_s[inside[-1]] - time_s[inside[0]]))


def back_in_time(runs: Runs) -> Figure:
    """When the second interface has 40 % of the messages in flight again."""
    run = runs["mr-failure"]
    for begin_s in range(BACK_S, END_S - 5):
        if _share_of_failed(run, begin_s, begin_s + 5) > 0.4:
            longest_s = run.plan.health.recovery_max_ns / 1e9
            return band(begin_s - BACK_S, 0, min(longest_s, FAILED_S * 4), "{:g} s after the link; recovery pings double their distance")
    return Figure("not back when the run ends", False)


CLAIMS = (
    Claim("B1", "rate with 1 and with 16 RPCs in flight", "698.37 and 1181.56 MB/s", "± 1 %", "ornl-tcp", rate_ends),
    Claim("B3", "between them: the smaller of C x 698.37 and 1181.56", "not measured there", "± 1 %", "ornl-tcp", rate_between, FIFO),
    Claim("B2", "rows of `peers` at the client", "tx = max - queued, refs = 1 + queued, queue", "exact", "ornl-tcp", golden_rows),
    Claim("C1", "2048 to 192 credits: throughput", "not degraded", "± 2 %", "nics-credits-192", throughput_flat),
    Claim("C2", "and the servers' queue falls with what is in flight", "load fell", "slope 0.9 to 1.1", "nics-credits", queue_falls),
    Claim("D1", "10 servers, two to a link of 4.6 GB/s", "24 at best, 22 measured", "20.7 to 23 GB/s", "kit-links", slowest_link),
    Claim("D2", "7 servers with a link each", "29.2 measured", "29 to 32.2 GB/s", "kit-links", seven_links),
    Claim("D3", "metadata over 33 km", "about one third", "20 to 45 %", "kit-links", metadata_far_away),
    Claim("E1", "share of an interface while it is failed", "none", "<= 2 %", "mr-failure", failed_share),
    Claim("E2", "rate with one of two interfaces", "(k - 1) / k", "0.45 to 0.55", "mr-failure", rate_halves),
    Claim("E3", "the interface comes back", "in bounded time", "<= 240 s", "mr-failure", back_in_time),
)
