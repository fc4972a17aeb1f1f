"""The claims of the ping paper (Spitz et al., CUG 2012) that the simulator must carry. P01 to P30: its statements in their order."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from lnetstat.errors import SimulatorError
from lnetstat.simulator.barrier import CLOCK_SPREAD_NS, clumped_barriers
from lnetstat.simulator.scenario import load_scenario
from validation.expected import lost_at_disks
from validation.figures import Figure, band
from validation.probe import Flood, flood
from validation.runs import Run

S = 10**9
INTERVAL_NS = 75 * S
SYSTEM_IMPORTS = 360
Runs = Mapping[str, Run]


class Claim(NamedTuple):
    """One row of the table. `presets`: what it is seen on; `outside`: why a figure outside its band is so."""

    name: str
    says: str
    paper: str
    band: str
    presets: str
    figure: Callable[[Runs], Figure]
    outside: str = ""


def _untuned(runs: Runs) -> Run:
    return runs["paper-untuned"]


def pings_are_all(runs: Runs) -> Figure:
    run = _untuned(runs)
    wanted = run.plan.clients * run.plan.targets * run.plan.pings.mounts
    each = run.merged["pings_per_server"]
    low, high = (each[end] * run.plan.servers for end in ("min", "max"))
    return Figure(f"{low:,} of {wanted:,} in each of {run.merged['periods']} intervals", low == high == wanted)


def petascale_pings(runs: Runs) -> Figure:
    merged = runs["petascale"].merged
    count = merged["pings_served"] / len(merged["floods"])
    return Figure(f"{count / 1e6:.1f} million, {len(merged['servers'])} servers", 10e6 <= count < 100e6)


def pings_of_one(runs: Runs) -> Figure:
    server, router = _untuned(runs).merged["pings_per_server"], _untuned(runs).merged["pings_per_router"]
    inside = server["min"] == server["max"] == 100_000 and router["mean"] == 75_000
    return Figure(f"{server['mean']:,.0f} each; {router['mean']:,.0f} ({router['min']:,.0f} to {router['max']:,.0f})", inside)


def ping_interval(runs: Runs) -> Figure:
    tunables = _untuned(runs).tables["tunables"]
    timeout = int(tunables[tunables["name"] == "timeout"]["value"].iloc[-1])
    return Figure(
        f"obd_timeout {timeout} s / 4 = {timeout / 4:g} s", timeout / 4 * S == _untuned(runs).plan.pings.interval_ns == INTERVAL_NS
    )


def period(runs: Runs) -> Figure:
    return band(_untuned(runs).found["dead_time"]["period_s"], 74.9, 75.1, "{:.2f} s found")


def lost(runs: Runs) -> Figure:
    run = _untuned(runs)
    found = f", {lost_at_disks(run):.1%} found" if run.found["dead_time"]["detected"] else ""
    return band(run.merged["lost_fraction"], 0.05, 0.10, "{:.1%}" + found)


def flood_length(runs: Runs) -> Figure:
    return band(_untuned(runs).merged["flood_s"], 3, 10, "{:.1f} s")


def writes_trickle(runs: Runs) -> Figure:
    share, correlation = (_untuned(runs).merged[key] for key in ("write_minimum_share", "correlation"))
    return Figure(f"{share:.1%} at the lowest; correlation {correlation:.2f}", share <= 0.05 and correlation < -0.8)


def waits_flat(runs: Runs) -> Figure:
    waits = _untuned(runs).merged["req_waittime_s"]["ost_io"]
    quiet, floods = (1e3 * (waits[key] or 0.0) for key in ("quiet", "floods"))
    return Figure(f"{quiet:.3g} ms before, {floods:.3g} ms in floods", abs(floods - quiet) <= max(0.2 * quiet, 0.1))


def not_cpu_bound(runs: Runs) -> Figure:
    used = {name: each["floods"] for name, each in _untuned(runs).merged["utilisation"].items() if name != "ost_io_threads"}
    busiest = max(used, key=lambda name: float(used[name]))
    return band(used[busiest], 0, 0.9, "{:.0%} at most (" + busiest.replace("_", " ") + ")")


def bulk_share(runs: Runs) -> Figure:
    """Bulk messages among those that a server receives in a flood, from its `stats`: sizes tell bulk from small."""
    run = _untuned(runs)
    table = run.tables["lnet_stats"]
    own = table[table["host"] == "oss01"]
    time_s = (own["time_ns"].to_numpy() - run.scenario.start_ns) / S
    count, length = own["recv_count"].to_numpy(), own["recv_length"].to_numpy()
    messages = bulk = 0.0
    for begin_s, end_s in run.merged["floods"]:
        inside = np.flatnonzero((time_s >= begin_s) & (time_s <= end_s))
        received = count[inside[-1]] - count[inside[0]]
        messages += received
        bulk += (length[inside[-1]] - length[inside[0]] - run.plan.ping_bytes * received) / run.plan.bulk_bytes
    return band(bulk / messages, 0.003, 0.03, "{:.2%}")


def credit_limits(_: Runs) -> Figure:
    asked = [{"o2ib.credits": "512", "o2ib.peer_credits": text, "o2ib.map_on_demand": "32"} for text in ("126", "255", "300")]
    held = [load_scenario("paper-untuned", settings).plan(0).router_server_ni.peer_credits for settings in ({}, *asked)]
    return Figure(f"{held[0]} / {held[1]} / {held[2]}; 300 acts as {held[3]}", held == [8, 126, 255, 255])


def oversubscription(runs: Runs) -> Figure:
    run = runs["oversubscribed"]
    low = run.plan.router_server_ni.peer_credits - run.merged["credits_wanted_peak"]["routers"]
    return band(low, -(10**9), -10_000, "{:,} with " + f"{run.plan.router_buffers[1]:,} small buffers")


def marks(runs: Runs) -> Figure:
    """The last low-water marks of a router towards its servers against what the truth says was wanted."""
    run = _untuned(runs)
    truth = [
        run.plan.router_server_ni.peer_credits - each["wanted_peak"] for each in run.merged["entries"] if each["node"] == run.plan.clients
    ]
    peers = run.last_peers[run.last_peers["host"] == "rtr01"]
    shown = peers[peers["tx_credits_max"] == run.plan.router_server_ni.peer_credits]["tx_credits_min"].astype(int).tolist()
    return Figure(f"`peers` of rtr01 {_listed(shown)}, truth {_listed(truth)}", sorted(shown) == sorted(truth))


def _listed(values: list[int]) -> str:
    return " ".join(str(value) for value in values)


def sizes(runs: Runs) -> Figure:
    plan = _untuned(runs).plan
    pools = _untuned(runs).merged["buffers_wanted_peak"]
    shown = f"{plan.ping_bytes} B in small (peak {pools['small']:,}), {plan.bulk_bytes:,} B in large (peak {pools['large']})"
    return Figure(shown, (plan.ping_bytes, plan.bulk_bytes) == (200, 2**20) and pools["tiny"] < pools["large"] < pools["small"])


def hardware_credits(runs: Runs) -> Figure:
    plan = _untuned(runs).plan
    return Figure(f"back {plan.client_net.wire_ns / 1e3:g} us after the send, by no message", plan.client_net.wire_credits == 0)


def identity(_: Runs) -> Figure:
    """Buffers in use are the messages that hold or await peer credits, but for bulk data whose handshake is under way."""
    seen = _flood()
    apart = seen.held - seen.queued
    shown = f"{len(apart)} moments: apart by 0 to {apart.max()}, never more than large buffers in use"
    return Figure(shown, bool((apart >= 0).all() and (apart <= seen.large).all()))


def eager(runs: Runs) -> Figure:
    plan = _untuned(runs).plan
    return Figure(
        f"gni {plan.router_client_ni.eager_ns / 1e3:g} us more; o2ib has none",
        plan.router_client_ni.eager_ns > 0 > plan.router_server_ni.eager_ns,
    )


def software_credits(runs: Runs) -> Figure:
    plan = _untuned(runs).plan
    return Figure(f"back {plan.repost_server_ns / 1e6:g} ms after the receive, by a message", plan.server_net.wire_credits == 8)


def copied(_: Runs) -> Figure:
    allowed, refused = (_sizes_refused(size) for size in ("4 KiB", "4097 B"))
    return Figure("small messages up to 4096 B; bulk from 4097 B on", not allowed and refused)


def _sizes_refused(size: str) -> bool:
    try:
        load_scenario("paper-untuned", {"messages.request": size})
    except SimulatorError:
        return True
    return False


def buffers_follow_credits(_: Runs) -> Figure:
    seen = _flood()
    return band(float(np.corrcoef(seen.small, seen.to_servers)[0, 1]), 0.95, 1, "{:.4f}")


def router_credits_climb(_: Runs) -> Figure:
    seen = _flood()
    during = (seen.time_ns >= seen.begin_ns) & (seen.time_ns <= seen.injected_ns)
    slope = float(np.polyfit((seen.time_ns[during] - seen.begin_ns) / S, seen.from_clients[during], 1)[0])
    return band(slope, 1e-9, 1e12, "{:+,.0f} credits a second" + f", up to {seen.from_clients.max():,}")


_seen: list[Flood] = []


def _flood() -> Flood:
    """Return the flood, simulated once for all claims about it."""
    if not _seen:
        _seen.append(flood())
    return _seen[0]


def validator(_: Runs) -> Figure:
    low = load_scenario("paper-tuned", {"o2ib.concurrent_sends": "50"})
    ends = [load_scenario("paper-tuned", {"o2ib.concurrent_sends": sends}) for sends in ("63", "64")]
    shown = (
        f"126 with 50 holds {low.plan(0).server_net.concurrent_sends} and says so; 63: {len(ends[0].notes)} notes, 64: {len(ends[1].notes)}"
    )
    return Figure(shown, low.plan(0).server_net.concurrent_sends == 63 and bool(low.notes) and not ends[0].notes and bool(ends[1].notes))


def buffers_bounded(runs: Runs) -> Figure:
    run = _untuned(runs)
    most = run.plan.clients * run.plan.router_client_ni.peer_buffer_credits
    return band(run.merged["buffers_wanted_peak"]["small"], 0, most, "{:,} <= " + f"{most:,}")


def recipe_buffers(runs: Runs) -> Figure:
    small = runs["paper-tuned"].plan.router_buffers[1]
    return Figure(f"{small:,} x 4 KiB = {small * 4 // 1024} MiB", small == 16_384)


def recipe_credits(runs: Runs) -> Figure:
    held = runs["paper-tuned"].plan.router_server_ni.peer_buffer_credits
    return Figure(f"{held}", held == 126)


def undersized(runs: Runs) -> Figure:
    run = _untuned(runs)
    return band(run.merged["buffers_wanted_peak"]["small"] / run.plan.router_buffers[1], 2, 1e9, "{:.1f} times the default wanted at once")


def recipe_helps(runs: Runs) -> Figure:
    untuned, tuned, scaled = (runs[name].merged["dead_mean_s"] for name in ("paper-untuned", "paper-tuned", "paper-fake-scaled"))
    shown = f"{untuned:.2f} s untuned, {tuned:.2f} s tuned, {scaled:.2f} s tuned with five times the pings"
    return Figure(shown, tuned <= 0.25 * untuned and 0 < scaled < untuned)


def barriers_at_scale(_: Runs) -> Figure:
    return band(_barrier_ratio(9_408), 2, 100, "{:.2f} times as long")


def barriers_small(_: Runs) -> Figure:
    return band(_barrier_ratio(1_000), 1, 1.15, "{:.2f} times as long")


def _barrier_ratio(nodes: int) -> float:
    """How much longer a 1 ms step is with phases over the whole interval than with all nodes in step."""
    spread, aligned = (
        clumped_barriers(nodes=nodes, imports=SYSTEM_IMPORTS, spread_ns=spread_ns, interval_ns=INTERVAL_NS)
        for spread_ns in (INTERVAL_NS, CLOCK_SPREAD_NS)
    )
    return spread.mean_step_ns / aligned.mean_step_ns


STOPPED = (
    "here writes do not trickle, they stop. Router buffers serve both directions: ping replies wait for small buffers behind pings, and "
    "what a server asks of its writers waits behind those replies for its 8 credits towards each router. In the paper's system something "
    "let a few through; what, it does not say."
)
U, T, V = "paper-untuned", "paper-tuned", "oversubscribed"
CLAIMS = (
    Claim("P01", "every client pings every target", "n x m", "exact", U, pings_are_all),
    Claim("P02", "pings of a petascale system in one interval", "tens of millions", "10 to 100 million", "petascale", petascale_pings),
    Claim(
        "P03", "pings of one server and one router with routing groups", "100,000 and 75,000", "exact; routers in the mean", U, pings_of_one
    ),
    Claim("P04", "PING_INTERVAL", "75 s = 300 / 4", "exact", U, ping_interval),
    Claim("P05", "dead time is periodic", "every 75 s", "75.0 ± 0.1 s", U, period),
    Claim("P06", "bandwidth lost, badly configured", "up to 10 %", "5 to 10 %", U, lost),
    Claim("P07", "a flood lasts seconds", "a chart of 7 s", "3 to 10 s", U, flood_length),
    Claim("P08", "writes trickle while pings surge", "nearly stop", "lowest <= 5 %, correlation < -0.8", U, writes_trickle),
    Claim("P09", "ost_io waittime stays constant", "flat", "± 20 %, or 0.1 ms", U, waits_flat),
    Claim("P10", "neither server nor router is CPU bound", "-", "every serial server < 90 %", U, not_cpu_bound),
    Claim("P11", "bulk share of a server's messages in a flood", "about 1 %", "0.3 to 3 %", U, bulk_share, STOPPED),
    Claim("P12", "o2iblnd peer_credits: default, tested, most", "8 / 126 / 255", "exact", "", credit_limits),
    Claim("P13", "oversubscription with 126 peer credits", "an additional 10K", "<= -10,000", V, oversubscription),
    Claim("P14", "`min` tells the most ever wanted", "-", "exact", U, marks),
    Claim("P15", "pings go by small buffers, bulk by large ones", "200 B, 4 KiB, 1 MiB", "exact", U, sizes),
    Claim("P16", "gnilnd's credits need no software to come back", "-", "by rule", U, hardware_credits),
    Claim("P17", "router buffers are held until the o2iblnd credit is free", "-", "in use = queued + handshakes", V, identity),
    Claim("P18", "no buffer or credit: gnilnd receives eagerly and copies", "-", "by rule", U, eager),
    Claim("P19", "o2iblnd's credit comes back by a message of its own", "-", "by rule", U, software_credits),
    Claim("P20", "up to 4 KiB is copied, above that RDMA", "4 KiB", "by rule", "", copied),
    Claim("P21", "small buffers in use follow o2iblnd peer credits", "the same curve", "correlation >= 0.95", V, buffers_follow_credits),
    Claim("P22", "gnilnd's peer router credits in use climb", "monotone", "slope > 0 while pings come", V, router_credits_climb),
    Claim("P23", "concurrent_sends >= peer_credits / 2; above 63 needs map_on_demand", "126, 63", "by rule", "", validator),
    Claim("P24", "small buffers in use <= clients x 16", "16", "bound holds", U, buffers_bounded),
    Claim("P25", "small_router_buffers of the recipe", "16,384, 64 MiB", "exact", T, recipe_buffers),
    Claim("P26", "peer_buffer_credits of the recipe", "126", "exact", T, recipe_credits),
    Claim("P27", "default buffers are massively undersized", "-", ">= 2 times wanted", U, undersized),
    Claim(
        "P28",
        "the recipe reduces dead time; with more pings it returns",
        "drastically",
        "tuned <= 1/4; 0 < scaled < untuned",
        "paper-fake-scaled",
        recipe_helps,
    ),
    Claim("P29", "barriers at ORNL, nodes' phases spread, 9,408 nodes", "increased immensely", "ratio >= 2", "", barriers_at_scale),
    Claim("P30", "the same on 1,000 nodes", "very small difference", "ratio <= 1.15", "", barriers_small),
)
