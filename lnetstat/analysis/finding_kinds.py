"""Every kind of finding: what it means, its evidence, how severe it is, what it rests on, what to look at next.

The evidence keys are part of the versioned schema of `analyze --json` (schema.py) and of docs/findings.md (findings_page.py). A key's
name says its unit by its last word: _s seconds, _ns epoch nanoseconds, _bytes; shares are 0..1.
"""

from typing import Any, NamedTuple

from lnetstat.analysis.wording import PAPER


class Key(NamedTuple):
    """One evidence key: its JSON type (number, integer, string, boolean, array, object), what it means, whether it may be null.

    `always`: the key is there whenever the finding is.
    """

    type: str
    meaning: str
    null: bool = False
    always: bool = True

    def schema(self) -> dict[str, Any]:
        """Return the key's JSON Schema."""
        return {"type": [self.type, "null"] if self.null else self.type}


Form = dict[str, Key]


class Kind(NamedTuple):
    """One kind of finding. `forms`: the sets of evidence keys it comes with, one for each way to find it."""

    meaning: str
    severity: str
    forms: tuple[Form, ...]
    reference: str
    next: str

    def evidence_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the evidence: all keys of one form are there; a later version may add some."""
        forms = [
            {
                "type": "object",
                "properties": {name: key.schema() for name, key in form.items()},
                "required": [name for name, key in form.items() if key.always],
            }
            for form in self.forms
        ]
        return forms[0] if len(forms) == 1 else {"anyOf": forms}


HOST = Key("string", "name of the node, empty for a series without one")
SIGNAL = Key("string", "counter or column")
SUBJECTS = Key("array", "the first 20 that are concerned, worst first")

_CREDITS: Form = {
    "host": HOST,
    "resource": Key("string", "peer_credits, peer_router_credits, ni_credits or router_buffers"),
    "table": Key("string", "file that the row stands in"),
    "subject": Key("string", "the worst row: a NID or a pool; ?@NET: a peer of that network that was not recorded"),
    "row": Key("integer", "number of the row among those of one name (one per CPT)"),
    "grade": Key("string", "touched, intermittent or sustained"),
    "limit": Key("integer", "credits that the row has"),
    "low_water": Key("integer", "the row's own low-water mark, signed"),
    "required_peak": Key("integer", "limit − low-water mark: exact since the last reset of the mark"),
    "required_p99": Key("number", "99th time percentile of credits in use or waiting, from samples"),
    "fraction_time_oversubscribed": Key("number", "share of the time sampled below 0"),
    "fraction_error": Key("number", "one standard deviation of that share, by spell", null=True),
    "fraction_windows": Key("number", "share of the intervals whose own minimum was below 0; only with --reset-low-water", null=True),
    "fraction_inside": Key("number", "share of the time below 0 within dips or bursts", null=True),
    "fraction_outside": Key("number", "share of the time below 0 between them", null=True),
    "dead_time_share": Key("number", "share of the samples below 0 that lie inside dips or bursts", null=True),
    "waiting": Key("integer", "messages that waited at once within the record"),
    "waiting_max": Key("integer", "messages that waited at once, within the record or before it"),
    "wanted_peak": Key("integer", "credits wanted at the peak of the record"),
    "spell_max_s": Key("number", "longest time below 0, from samples"),
    "backlog_message_s": Key("number", "integral of the messages waiting"),
    "mean_wait_s": Key("number", "mean wait of a message: backlog by messages sent (Little's law)", null=True),
    "queued_bytes_max": Key("number", "most bytes that waited", null=True),
    "resets": Key("integer", "how often the mark rose: somebody reset it, or the peer came anew"),
    "resets_ns": Key("array", "when, the first 50"),
    "low_at_start": Key("boolean", "the mark was below 0 already when the record began"),
    "low_water_before_record": Key("boolean", "the lowest mark tells of an unknown time before the record"),
    "low_water_fell_ns": Key("array", "the two samples between which the mark fell to its lowest", null=True),
    "worst_sampled": Key("integer", "lowest credits that a sample saw", null=True),
    "worst_sampled_ns": Key("integer", "when", null=True),
    "worst_in_record": Key("integer", "lowest that samples and marks prove for the record itself", null=True),
    "samples": Key("integer", "samples of the row", null=True),
    "samples_below": Key("integer", "of them below 0"),
    "interval_s": Key("number", "time between samples"),
    "sizing": Key("object", "limited_by credits, peer or unknown, and the hold times behind it", null=True),
    "required_credits": Key("number", "credits of this row for the offered peak at the hold time of free credits", null=True),
    "follows": Key("array", "host, resource and subject that ran out before and caused this, null for a cause of its own", null=True),
    "rows": Key("integer", "rows of this host and resource that ran out"),
    "rows_at_least": Key("boolean", "more may have: only the worst peers were recorded, and no sums tell"),
    "subjects": SUBJECTS,
}

_CREDIT_SEVERITY = (
    "touched: info (warning where more waited than there are credits); intermittent: warning; sustained: critical, but warning where less "
    "than 5 % of the time and no spell of 1 s, where samples are few, or where it only follows something else"
)

_SPELLS: Form = {
    "host": HOST,
    "subjects": SUBJECTS,
    "count": Key("integer", "how many are concerned, also those not recorded one by one"),
    "share": Key("number", "share of the worst one's samples in which it was so"),
    "hole_since_ns": Key("integer", "begin of a hole in the data just before, null without one", null=True),
}


def _starved(what: str, reference: str, look: str) -> Kind:
    return Kind(f"{what} ran out: messages waited.", _CREDIT_SEVERITY, (_CREDITS,), reference, look)


KINDS = {
    "dead_time": Kind(
        "Throughput dips briefly, again and again, at a period.",
        "critical where 1 % of the bytes are lost net of what is caught up (or 2 % before that), else warning",
        (
            {
                "period_s": Key("number", "mean time from dip to dip"),
                "period_err_s": Key("number", "one standard deviation of the period"),
                "duration_s": Key("number", "of one dip"),
                "depth": Key("number", "share of the local load that is missing in a dip"),
                "lost_fraction": Key("number", "share of all bytes lost, net of what is caught up after the dips"),
                "lost_fraction_gross": Key("number", "the same without the catch-up"),
                "cause": Key("string", "ping, other, or unknown where there is nothing to compare with"),
                "ping_z": Key("number", "how far the coincidence with the pings stands above chance, in robust sigmas", null=True),
                "chance": Key("number", "probability that two unrelated series of this period coincide by phase alone", null=True),
                "score": Key("number", "certainty; compare it between signals"),
                "incidents": Key("integer", "how many dips"),
            },
        ),
        f"{PAPER}, IV; lustre/ptlrpc/pinger.c: ptlrpc_update_next_ping()",
        "The cause. ping: the interval, the number of clients and targets, what ran out first. other: what runs at this period (cron, "
        "flushers, monitoring). `--incidents` lists the dips.",
    ),
    "ping_burst": Kind(
        "Pings, or messages, come in bursts. By itself this says nothing about throughput.",
        "info",
        (
            {
                "host": HOST,
                "signal": SIGNAL,
                "period_s": Key("number", "mean time from burst to burst"),
                "gap_cv": Key("number", "coefficient of variation of those times"),
                "periodic": Key("boolean", "that is at most 0.15"),
                "bursts": Key("integer", "how many, of the largest group"),
                "size": Key("number", "messages of a median burst above the base"),
                "peak_rate": Key("number", "per second"),
                "base_rate": Key("number", "per second, between bursts"),
                "groups": Key("integer", "how many groups with a phase of their own"),
            },
        ),
        f"{PAPER}, IV; lustre/ptlrpc/pinger.c: ptlrpc_update_next_ping()",
        "Whether throughput dips with them (dead_time) and whether credits run out in them (oversubscribed_*, dead_time_share).",
    ),
    "oversubscribed_peers": _starved(
        "Peer credits (column tx of the file peers)",
        f"{PAPER}, IV.B and VI.A; lnet/lnet/lib-move.c: lnet_post_send_locked()",
        "`sizing`: whether more credits would help, or the peer answers late. first_exhausted: whether this is the cause or follows one.",
    ),
    "oversubscribed_nis": _starved(
        "Credits of a network interface (file nis)",
        "Lustre Operations Manual, Tuning LNet; lnet/lnet/lib-move.c: lnet_post_send_locked()",
        "The peers behind the interface: all messages sent through it share its credits.",
    ),
    "oversubscribed_buffers": _starved(
        "Router buffers (file buffers)",
        f"{PAPER}, IV.C and VI.B; lnet/lnet/lib-move.c: lnet_post_routed_recv_locked()",
        "Peer credits on the outgoing side first: buffers are held until the next hop has taken the message.",
    ),
    "oversubscribed_rtr_credits": _starved(
        "Router buffer credits of a peer (column rtr of the file peers)",
        f"{PAPER}, IV.C and VI.B; lnet/lnet/lib-move.c: lnet_post_routed_recv_locked()",
        "Peer credits on the outgoing side first, then peer_buffer_credits.",
    ),
    "first_exhausted": Kind(
        "Along the way of a message, what ran out first; what only follows is named as such.",
        "warning",
        (
            {
                "resource": Key("string", "what ran out first; server where nothing did and messages wait inside it", null=True),
                "ordered": Key("boolean", "whether times tell the order"),
                "order": Key("array", "each resource and when it was first seen below 0, ns"),
                "follows": Key("array", "host, resource and rows that ran out only because others did"),
                "host": Key("string", "of the row that ran out first", always=False),
                "subject": Key("string", "that row", always=False),
                "row": Key("integer", "its number among those of one name", always=False),
                "queues": Key("array", "where messages waited: host, resource, subject, waiting"),
                "messages_held": Key("integer", "messages that the router's peers held or wanted", always=False),
                "router_buffers": Key("integer", "buffers there, where the order follows from that", always=False),
                "sizing": Key("object", "limited_by credits, peer or unknown, and the hold times behind it", always=False),
                "cpu": Key("array", "use of each host's CPUs inside and outside dips; empty where /proc/stat was not recorded"),
            },
        ),
        f"{PAPER}, IV.C, Figures 5 and 6: buffers in use = sum of (max − tx) over the router's peers",
        "The advice belongs to the resource named. Raising what only follows moves the queue and shortens nothing.",
    ),
    "peer_down": Kind(
        "A peer's state was down.",
        "warning where it stayed down for over 30 s or to the end of the record, else info",
        (_SPELLS,),
        "lnet/lnet/router.c; column state of the file peers",
        "Is the node up, its link, its LNet? A router that is down takes its routes with it.",
    ),
    "route_down": Kind(
        "A route was down, or routing on a router did not stay enabled.",
        "critical where it is still so at the end, else warning (routing: info)",
        (_SPELLS, {"host": HOST, "steps": Key("array", "state of routing and when, ns: the first 50 changes")}),
        "lnet/lnet/router.c: lnet_is_route_alive(); file routes",
        "The router behind it: its LNet, its interfaces on both sides, routing there.",
    ),
    "ni_unhealthy": Kind(
        "A network interface was down, reported errors or lost health.",
        "critical where an interface is down at the end, else warning",
        (_SPELLS,),
        "LNet Health (Lustre 2.12 and later); column status of the file nis; lnet/lnet/lib-msg.c: lnet_handle_local_failure()",
        "The link, the cable, `lnetctl net show -v 3`: fatal_error and the error counts.",
    ),
    "drops": Kind(
        "LNet dropped messages or counted errors.",
        "warning",
        (
            {
                "host": HOST,
                "drop_count": Key("number", "messages dropped during the record"),
                "errors": Key("number", "errors counted during the record"),
            },
        ),
        "file stats: drop_count, errors; lnet/lnet/lib-msg.c",
        "What happened at that time: peers that vanish, routes that are down, routing switched off.",
    ),
    "odd_one_out": Kind(
        "One host is unlike its peers on the same networks, or one of a host's gateways, interfaces or CPTs unlike the others.",
        "warning",
        (
            {
                "host": HOST,
                "role": Key("string", "router or oss"),
                "hosts": Key("integer", "how many were compared"),
                "figures": Key("object", "figure → value, median of the hosts, distance in robust sigmas (null: the others are all alike)"),
            },
            {
                "host": HOST,
                "resource": Key("string", "peer_credits, ni_credits or router_buffers: what the path holds"),
                "shared": Key("string", "the network or the pool that the paths compared share"),
                "path": Key("string", "NID, NID and CPT, or pool and CPT"),
                "paths": Key("integer", "how many were compared"),
                "figures": Key("object", "figure → value, median of the paths, distance in robust sigmas (null: the others are all alike)"),
            },
        ),
        "median and MAD across hosts, Bonferroni over all comparisons; Laifer, LAD 2016: the slowest link sets the pace",
        "Its links, tunables and routes, side by side with a peer's.",
    ),
    "data_gap": Kind(
        "Samples are missing, LNet's files were absent, or low-water marks were reset: about that time less or nothing can be said.",
        "samples: warning where more than 10 % are missing, else info; files: critical where they stay away, else warning; marks: info",
        (
            {"host": HOST, "gaps": Key("integer", "how many"), "missing_s": Key("number", "time without samples")},
            {"host": HOST, "intervals": Key("array", "stretches of samples that are not as far apart as others: [begin_s, interval_s]")},
            {
                "host": HOST,
                "files": Key("array", "names of the files that were absent"),
                "came_back": Key("boolean", "whether they were there again later"),
            },
            {
                "host": HOST,
                "rises": Key("integer", "marks that rose"),
                "resets": Key("integer", "how often"),
                "times_ns": Key("array", "when, the first 50"),
            },
        ),
        "steps over more than 5 typical intervals; ENOENT of the whole directory and marks that rise (measured on 2.17)",
        "The collector's log, the kernel log, who wrote to the file peers.",
    ),
    "traffic_stopped": Kind(
        "A steady flow stopped for long.",
        "info at the end of the record, else warning",
        (
            {
                "host": HOST,
                "signal": SIGNAL,
                "stop_s": Key("number", "how long"),
                "at_end": Key("boolean", "it did not come back within the record"),
            },
        ),
        "less than a small share of the usual rate for longer than a job's pause and a tenth of the record",
        "The end of a job looks like this too; else routes, interfaces, peers and the kernel log of that time.",
    ),
    "cannot_tell": Kind(
        "Whether there is periodic dead time cannot be told from this record.",
        "info",
        ({"signals": Key("array", "host, signal and reason, the first 50")},),
        "six cycles are the least that can be told from chance",
        "Record longer (better 20 ping intervals), sample faster than a fifth of a dip, while there is load.",
    ),
}
