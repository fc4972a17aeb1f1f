"""What `lnetstat analyze` must find in the recording of each preset: the one place where that is written."""

from typing import Any, NamedTuple

from validation.runs import Run

PERIOD_WITHIN_S = 0.1
LOST_WITHIN = 0.003  # of the bytes: 0.3 percentage points


class Expected(NamedTuple):
    """`what`: what the preset is, for the table. `period_s`, `cause`: of the dead time; None where none may be found.

    `first`: the resource that ran out first or was the scarcest; None: no credits may be named in a finding above info.
    `kinds`: kinds of findings that must be among them. `bursts_s`: the mean time between bursts of pings, lowest and highest.
    """

    what: str
    period_s: float | None = None
    cause: str | None = None
    first: str | None = None
    kinds: tuple[str, ...] = ()
    bursts_s: tuple[float, float] | None = None


FLOODED = ("dead_time", "oversubscribed_peers", "oversubscribed_buffers", "ping_burst")

EXPECTED = {
    "paper-untuned": Expected("Cray system, default tunables", 75, "ping", "peer_credits", FLOODED),
    "paper-tuned": Expected("the same with the paper's recipe", 75, "ping", "peer_credits", FLOODED),
    "paper-fake-scaled": Expected("tuned, five mounts on each client", 75, "ping", "peer_credits", FLOODED),
    "oversubscribed": Expected("tuned, 32,768 small buffers", 75, "ping", "peer_credits", FLOODED),
    "petascale": Expected("150 such groups, tuned, for one interval", first="peer_credits", kinds=("cannot_tell",)),
    "control-interval-25": Expected("control: untuned, pings every 25 s", 25, "ping", "peer_credits", FLOODED),
    "control-spread": Expected("control: as many pings, spread evenly"),
    "control-suppressed": Expected("control: no pings"),
    "real-pings": Expected(
        "80 mounts on one client, as we measured them; dips of 0.4 s, too short for 4 samples a second",
        first="peer_credits",
        kinds=("ping_burst",),
        bursts_s=(12.0, 15.0),
    ),
    "mr-failure": Expected("two rails; one of a server's fails for three minutes", kinds=("ni_unhealthy",)),
    "nics-credits": Expected("Kraken with 2048 credits on each client", first="peer_credits"),
    "nics-credits-192": Expected("the same with 192"),
    "ornl-tcp": Expected("two nodes on 10 Gbit/s Ethernet, lnet-selftest", first="peer_credits", kinds=("oversubscribed_peers",)),
    "kit-links": Expected("five long InfiniBand links, static routes", first="peer_credits", kinds=("oversubscribed_peers",)),
}


def must(preset: str) -> str:
    """Say in words what must be found."""
    each = EXPECTED[preset]
    if each.period_s is None:
        words = "no dead time"
    else:
        words = f"dead time every {each.period_s:g} ± {PERIOD_WITHIN_S} s, cause {each.cause}, lost within {LOST_WITHIN:.1%} of the truth"
    if each.bursts_s:
        words += "; bursts of pings every {:g} to {:g} s".format(*each.bursts_s)
    words += f"; {_resource(each.first)} first" if each.first else "; no warning about credits"
    more = [kind for kind in each.kinds if kind not in FLOODED]
    return "; ".join([words, *more])


def found(run: Run) -> str:
    """Say in words what was found, and the truth beside it."""
    dead, truth = run.found["dead_time"], run.merged["lost_fraction"]
    if dead["detected"]:
        words = f"every {dead['period_s']:.2f} s, cause {dead['cause']}, {lost_at_disks(run):.2%} lost at the disks"
    else:
        words = {"none": "no dead time", "cannot_tell": "cannot tell", "recurrent": "uneven dips"}[dead["verdict"]]
    words += f" (truth {round(truth, 4) + 0.0:.2%})" if truth is not None and run.merged["ping_pattern"] != "none" else ""
    resource = first_of(run)
    parts = [words, f"{_resource(resource)} first" if resource else "no credits ran out"]
    if EXPECTED[run.preset].bursts_s and run.found["ping_bursts"]:
        parts.append("bursts every " + ", ".join(f"{each:.1f} s" for each in sorted(set(_burst_periods(run)))))
    return "; ".join(parts)


def failures(run: Run) -> list[str]:
    """Return what is not as it must be, one phrase each."""
    wanted, dead = EXPECTED[run.preset], run.found["dead_time"]
    wrong = []
    if (wanted.period_s is not None) != dead["detected"]:
        wrong.append(f"dead time {'found' if dead['detected'] else 'not found'}")
    elif wanted.period_s is not None:
        wrong += _wrong_dead_time(run, wanted)
    if first_of(run) != wanted.first and (wanted.first or _warned_of_credits(run)):
        wrong.append(f"first exhausted: {first_of(run)}, not {wanted.first}")
    kinds = {finding["kind"] for finding in run.found["findings"]}
    wrong += [f"no finding {kind}" for kind in wanted.kinds if kind not in kinds]
    if wanted.bursts_s and not any(wanted.bursts_s[0] <= period <= wanted.bursts_s[1] for period in _burst_periods(run)):
        wrong.append("no bursts at that distance")
    return wrong


def lost_at_disks(run: Run) -> float:
    """Return the share lost by the server's ost_io counters, which count what the truth counts, else that of the verdict.

    A router passes less than disks write when a flood begins, which still have a queue, and more after it.
    """
    series: list[dict[str, Any]] = run.found["series"]
    own = next((each for each in series if each["instance"] == "ost_io" and each["detected"]), run.found["dead_time"])
    return float(own["lost_fraction"])


def first_of(run: Run) -> str | None:
    """Return the resource that the analyzer names as exhausted first, or as the scarcest."""
    return next((finding["evidence"]["resource"] for finding in run.found["findings"] if finding["kind"] == "first_exhausted"), None)


def _wrong_dead_time(run: Run, wanted: Expected) -> list[str]:
    dead, truth = run.found["dead_time"], run.merged["lost_fraction"]
    wrong = []
    if abs(dead["period_s"] - (wanted.period_s or 0)) > PERIOD_WITHIN_S:
        wrong.append(f"period {dead['period_s']:.3f} s")
    if dead["cause"] != wanted.cause:
        wrong.append(f"cause {dead['cause']}")
    if abs(lost_at_disks(run) - truth) > LOST_WITHIN:
        wrong.append(f"lost {lost_at_disks(run):.2%}, truth {truth:.2%}")
    return wrong


def _warned_of_credits(run: Run) -> bool:
    kinds = ("first_exhausted", "oversubscribed_")
    return any(finding["kind"].startswith(kinds) and finding["severity"] != "info" for finding in run.found["findings"])


def _burst_periods(run: Run) -> list[float]:
    return [each["period_s"] for each in run.found["ping_bursts"] if "ping" in each["signal"]]


def _resource(name: str | None) -> str:
    return (name or "").replace("_", " ")
