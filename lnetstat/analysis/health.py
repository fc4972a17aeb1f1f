"""What is down, dropped or missing: peers, routes and interfaces, dropped messages, gaps in the data."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lnetstat.analysis import listed
from lnetstat.analysis.quality import LNET_FILES, gap_from_ns, gaps_findings, mixed_findings
from lnetstat.analysis.results import HostQuality
from lnetstat.analysis.wording import Clock, and_others, clock_of, counted
from lnetstat.frames import Frames
from lnetstat.frames.loading import WORST
from lnetstat.model import Finding, Severity

HEALTHY = 1000  # lnet/lib-types.h: LNET_MAX_HEALTH_VALUE
MOST_RESETS_TOLD = 3  # one by one
ONE_RESET_NS = 2 * 10**9  # marks that rise this near to each other: peers that come back one after another


class Spell(NamedTuple):
    """One thing that was bad: when it was first and last seen so, in ns, the share of its samples, and whether it was good afterwards.

    `hole_ns`: where it was first seen so after a hole in the data, the last sample before that hole.
    """

    subject: str
    begin_ns: int
    end_ns: int
    share: float
    recovered: bool
    hole_ns: int | None


def findings_of(frames: Frames, quality: tuple[HostQuality, ...], clock: Clock | None = None) -> list[Finding]:
    """Return everything that is or was down, dropped or missing, at most one finding per kind and host.

    `clock` says times; without it, by the record's own begin and end.
    """
    clock = clock or clock_of(min((host.begin_ns for host in quality), default=0), max((host.end_ns for host in quality), default=0))
    peer_down = functools.partial(_peer_down, counts=listed.most_down(frames))
    found: list[Finding] = []
    found += _spell_findings(listed.with_peers_known_up(frames), ["nid"], lambda t: t["state"] == "down", peer_down, clock)
    found += _spell_findings(frames.tables.get("routes"), ["net", "router"], lambda t: t["state"] == "down", _route_down, clock)
    found += _spell_findings(frames.tables.get("nis"), ["nid"], lambda t: t["status"] == "down", _ni_down, clock)
    found += _spell_findings(frames.tables.get("lnetctl_net"), ["nid"], _ni_sick, _ni_unhealthy, clock)
    found += _routing_changes(frames.facts, clock)
    found += _drops(frames.tables.get("lnet_stats"), clock)
    found += _vanished(frames.states, clock)
    found += gaps_findings(quality, clock) + mixed_findings(quality, clock)
    found += _mark_resets(frames.tables.get("peers"), clock)
    return found


def _spell_findings(
    table: pd.DataFrame | None,
    key: list[str],
    is_bad: Callable[[pd.DataFrame], "pd.Series[Any]"],
    finding: Callable[[str, list[Spell], Clock], Finding],
    clock: Clock,
) -> list[Finding]:
    if table is None or table.empty:
        return []
    bad = is_bad(table).fillna(False).to_numpy(bool)
    if not bad.any():
        return []
    found = []
    for host in table.loc[bad, "host"].unique():
        own = (table["host"] == host).to_numpy(bool)
        concerned = table[own & bad].groupby(key, observed=True)["time_ns"].agg(["min", "max", "size"])
        everything = table[own].groupby(key, observed=True)["time_ns"].agg(["max", "size"])
        stamps = np.unique(table.loc[own, "time_ns"].to_numpy(np.int64))
        spells = []
        for name, row in concerned.iterrows():
            parts = name if isinstance(name, tuple) else (name,)
            total = everything.loc[name]
            subject = " via ".join(str(part) for part in parts)
            begin, end = int(row["min"]), int(row["max"])
            share, recovered = float(row["size"] / total["size"]), bool(total["max"] > end)
            spells.append(Spell(subject, begin, end, share, recovered, gap_from_ns(stamps, begin)))
        spells.sort(key=lambda spell: (spell.recovered, spell.begin_ns - spell.end_ns))
        found.append(finding(str(host), spells, clock))
    return found


def _seen(what: str, spell: Spell, clock: Clock) -> str:
    """Return what was bad and when; of a thing seen once only that it was seen."""
    link = (" " if "seen from" in what else ", seen ") if spell.begin_ns == spell.end_ns else ", " if "seen from" in what else " "
    return f"{what}{link}{_when(spell, clock)}"


def _when(spell: Spell, clock: Clock) -> str:
    if spell.share >= 1:
        return "during the whole record" if spell.end_ns > spell.begin_ns else f"at {clock(spell.begin_ns)} UTC, the only sample"
    hole = "" if spell.hole_ns is None else f", after a hole without data since {clock(spell.hole_ns)}"
    if spell.begin_ns == spell.end_ns:
        return f"{'' if spell.recovered else 'in the last sample, '}at {clock(spell.begin_ns)} UTC{hole}"
    if spell.recovered:
        return f"between {clock(spell.begin_ns)} and {clock(spell.end_ns)} UTC{hole}"
    return f"since {clock(spell.begin_ns)} UTC{hole}{',' if hole else ''} and to the end of the record"


def _spell_finding(
    kind: str, severity: Severity, host: str, spells: list[Spell], clock: Clock, what: str, noun: str, advice: str, reference: str
) -> Finding:
    worst = spells[0]
    evidence = {
        "host": host,
        "subjects": [spell.subject for spell in spells[:20]],
        "count": len(spells),
        "share": worst.share,
        "hole_since_ns": worst.hole_ns,
    }
    begin, end = min(spell.begin_ns for spell in spells), max(spell.end_ns for spell in spells)
    message = f"{_seen(what, worst, clock)}{and_others(len(spells) - 1, noun)}"
    return Finding(kind, severity, f"{worst.subject} on {host}", begin, end, evidence, message, advice, reference)


def _peer_down(host: str, spells: list[Spell], clock: Clock, counts: Mapping[str, int]) -> Finding:
    """`counts`: by network how many peers were down where only the worst were recorded, else nothing."""
    # Down all the time is how a node that was taken out looks; a minute without a client is normal, half a minute without a router is not.
    lasting = any(spell.share < 1 and (not spell.recovered or spell.end_ns - spell.begin_ns > 30e9) for spell in spells)
    severity = Severity.WARNING if lasting else Severity.INFO
    found = _spell_finding(
        "peer_down",
        severity,
        host,
        spells,
        clock,
        f"peer {spells[0].subject} was down, seen from {host}",
        "peer",
        "Is the node up, its link, its LNet? A down router takes its routes with it.",
        "lnet/lnet/router.c; column state of the file peers",
    )
    known = [spell.subject for spell in spells if not spell.subject.startswith(listed.UNLISTED)]
    count = sum(counts.values())
    if count <= len(known):
        return found
    evidence = dict(found.evidence) | {"subjects": known[:20], "count": count}
    if spells[0].subject in known:
        seen = _seen(f"peer {known[0]} was down, seen from {host}", spells[0], clock)
        others = f"at least {counted(count - 1, 'other peer')} too, not all known: only the worst were recorded"
        return found._replace(evidence=evidence, message=f"{seen}; {others}")
    net = spells[0].subject.removeprefix(listed.UNLISTED)
    here, rest = counts[net], count - counts[net]
    what = f"{counted(here, 'peer')} of {net} {'was' if here == 1 else 'were'} down{' at once' if here > 1 else ''}, seen from {host}"
    others = f"; {counted(rest, 'peer')} of other networks too" if rest else ""
    message = f"{_seen(what, spells[0], clock)}: which is not known, only the worst were recorded{others}"
    return found._replace(subject=f"{net} on {host}", evidence=evidence, message=message)


def _route_down(host: str, spells: list[Spell], clock: Clock) -> Finding:
    severity = Severity.WARNING if spells[0].recovered else Severity.CRITICAL
    return _spell_finding(
        "route_down",
        severity,
        host,
        spells,
        clock,
        f"the route to {spells[0].subject} was down on {host}",
        "route",
        "Traffic to that network uses the other routers or none. Check the router's LNet, its interfaces on both sides, and routing there.",
        "lnet/lnet/router.c: lnet_is_route_alive(); file routes",
    )


def _ni_down(host: str, spells: list[Spell], clock: Clock) -> Finding:
    return _spell_finding(
        "ni_unhealthy",
        Severity.WARNING if spells[0].recovered else Severity.CRITICAL,
        host,
        spells,
        clock,
        f"interface {spells[0].subject} of {host} was down",
        "interface",
        "Check the link and the cable; `lnetctl net show -v 3` shows fatal_error and the error counts.",
        "column status of the file nis; the health value may stay 1000 when a link is down (measured on 2.17)",
    )


def _ni_sick(table: pd.DataFrame) -> "pd.Series[Any]":
    sick = (table["fatal_error"].fillna(0) > 0) | (table["health_value"].fillna(HEALTHY) < HEALTHY)
    # 0@lo always shows 0 and is never sick.
    return sick & (table["nid"].astype(str) != "0@lo") & table["nid"].notna()


def _ni_unhealthy(host: str, spells: list[Spell], clock: Clock) -> Finding:
    return _spell_finding(
        "ni_unhealthy",
        Severity.WARNING,
        host,
        spells,
        clock,
        f"interface {spells[0].subject} of {host} reported errors (health below {HEALTHY} or a fatal error)",
        "interface",
        "LNet avoids it while others are healthier. Look at the error counts of `lnetctl net show -v 3` and at the fabric.",
        "LNet Health (Lustre 2.12 and later); lnet/lnet/lib-msg.c: lnet_handle_local_failure()",
    )


def _routing_changes(facts: pd.DataFrame, clock: Clock) -> list[Finding]:
    if facts.empty:
        return []
    found = []
    for host, own in facts[(facts["table"] == "routes") & (facts["fact"] == "routing")].groupby("host", observed=True):
        own = own.sort_values("time_ns", kind="stable")
        changed = own[own["value"] != own["value"].shift()]
        if len(changed) < 2 or not (changed["value"] == "enabled").any():
            continue
        steps = list(zip(changed["value"].astype(str), changed["time_ns"].astype(int), strict=True))
        path = ", ".join(f"{value} at {clock(time_ns)}" for value, time_ns in steps[1:7])
        found.append(
            Finding(
                "route_down",
                Severity.INFO if steps[-1][0] == "enabled" else Severity.CRITICAL,
                f"routing on {host}",
                steps[1][1],
                steps[-1][1],
                {"host": str(host), "steps": [list(step) for step in steps[:50]]},
                f"routing on {host} did not stay enabled: {path} UTC{' …' if len(steps) > 7 else ''}",
                "Somebody switched routing or LNet. Once on again, routes stay down for alive_router_check_interval and a ping timeout.",
                "lnet/lnet/router.c; first line of the file routes",
            )
        )
    return found


def _drops(stats: pd.DataFrame | None, clock: Clock) -> list[Finding]:
    if stats is None or stats.empty:
        return []
    found = []
    for host, own in stats.groupby("host", observed=True, sort=False):
        own = own.sort_values("time_ns", kind="stable")
        lost = {}
        for column in ("drop_count", "errors"):
            steps = np.diff(own[column].to_numpy(np.float64, na_value=np.nan))
            lost[column] = float(np.nansum(steps[steps > 0]))
        if not any(lost.values()):
            continue
        grown = own[(own["drop_count"].diff() > 0) | (own["errors"].diff() > 0)]["time_ns"]
        found.append(
            Finding(
                "drops",
                Severity.WARNING,
                str(host),
                int(grown.iloc[0]),
                int(grown.iloc[-1]),
                {"host": str(host)} | lost,
                f"{host} dropped {counted(lost['drop_count'], 'message')} and counted {counted(lost['errors'], 'error')}, "
                f"first at {clock(grown.iloc[0])} UTC",
                "Drops come with peers that vanish, routes that are down, and buffers freed while routing is switched off.",
                "file stats: drop_count, errors; lnet/lnet/lib-msg.c",
            )
        )
    return found


def _vanished(states: pd.DataFrame, clock: Clock) -> list[Finding]:
    """Files that were there and then were not: LNet was unloaded, or the node was restarted. What a node never had does not count."""
    if states.empty:
        return []
    found = []
    files = states[states["name"].isin(LNET_FILES)]
    for host, own in files.groupby("host", observed=True, sort=False):
        gone = own[own["state"] == "absent"]
        there = own[own["state"].isin(["ok", "partial", WORST])]
        since_ns = there.groupby("name", observed=True)["time_ns"].min()
        gone = gone[gone["time_ns"] > gone["name"].astype(object).map(since_ns)]  # not of what was never there: not a number compares False
        if gone.empty:
            continue
        begin, end = int(gone["time_ns"].min()), int(gone["time_ns"].max())
        back = there["time_ns"].max() > end
        ending = f"to {clock(end)} UTC" if back else "to the end of the record"
        found.append(
            Finding(
                "data_gap",
                Severity.WARNING if back else Severity.CRITICAL,
                str(host),
                begin,
                end,
                {"host": str(host), "files": sorted(str(name) for name in gone["name"].unique()), "came_back": bool(back)},
                f"LNet's files were absent on {host} from {clock(begin)} {ending}: LNet was not loaded, its counters and marks start anew",
                "Expected if somebody unloaded LNet or restarted the node; else look into the kernel log of that time.",
                "ENOENT for the whole directory; measured on 2.17 with lustre_rmmod",
            )
        )
    return found


def _mark_resets(peers: pd.DataFrame | None, clock: Clock) -> list[Finding]:
    """Low-water marks that rise: somebody wrote to the file, or LNet started anew. From then on they tell of a shorter time."""
    if peers is None or peers.empty:
        return []
    found = []
    plain = peers[["host", "nid", "row", "time_ns", "tx_credits_min"]]
    if peers["low_water_reset"].any():
        plain = plain[~peers["low_water_reset"]]
    if not plain["time_ns"].is_monotonic_increasing:
        plain = plain.sort_values("time_ns", kind="stable")
    rises = plain.groupby(["host", "nid", "row"], observed=True, sort=False)["tx_credits_min"].diff() > 0
    for host, own in plain[rises].groupby("host", observed=True):
        if own.empty:
            continue
        stamps = own["time_ns"].to_numpy(np.int64)
        times = stamps[np.diff(stamps, prepend=np.int64(0)) > ONE_RESET_NS].tolist()
        told = f"at {' and '.join(clock(time_ns) for time_ns in times)}"
        if len(times) > MOST_RESETS_TOLD:
            told = f"first at {clock(times[0])}, last at {clock(times[-1])}"
        often = "" if len(times) == 1 else f" {len(times)} times,"
        found.append(
            Finding(
                "data_gap",
                Severity.INFO,
                f"low-water marks on {host}",
                times[0],
                int(stamps[-1]),
                {"host": str(host), "rises": len(own), "resets": len(times), "times_ns": times[:50]},
                f"low-water marks of {counted(own['nid'].nunique(), 'peer')} on {host} rose{often} {told} UTC: they were reset",
                "Somebody wrote to the file peers, or peers or LNet were created anew. Marks are exact only since the last reset.",
                "a write of anything to peers or nis resets min (measured on 2.17)",
            )
        )
    return found
