"""What man pages say that the commands themselves do not: exit status, files, environment, signals, see also."""

from collections.abc import Sequence

Pairs = Sequence[tuple[str, str]]

CONFIG, STATUS, SPOOL = "/etc/lnetstat/lnetstat.toml", "/run/lnetstat/status.json", "/var/lib/lnetstat/spool"
UNIT = "lnetstat-agent.service"

OVERVIEW = [
    "LNet, Lustre's network, sends a message only when it holds a credit for it. lnetstat reads the credits, queues and counters that LNet"
    " and Lustre show in debugfs and proc, records and ships them, finds periodic dead time in the traffic and names the tunable behind"
    " it.",
    "What it reads is only read. What it prints as data goes to standard output, words about it to standard error.",
]
ABSENT = "They belong on the machine where recordings are looked at: pip install 'lnetstat[all]'."

SERVICE_TITLE = "ships LNet credits and counters of this node"
SERVICE = [
    f"Runs `lnetstat agent --config {CONFIG}` and starts it again when it ends badly, or when its loop gives no sign of life for a minute."
    " It runs as root, because the kernel shows debugfs to nobody else, with everything taken from it that reading does not need.",
    "It starts once there is a destination: set carbon.to in the configuration, then",
    f"\b\nlnetstat agent --check-config {CONFIG}\nsystemctl enable --now lnetstat-agent",
    "`systemctl reload lnetstat-agent` takes a changed configuration without losing a sample. `lnetstat agent --status` says how it is,"
    " with the exit status of a Nagios check; `journalctl -u lnetstat-agent` has one line for each change of state.",
]

_STATUS_FILE = (STATUS, "State of the running agent, replaced once a second.")
_READ = ("/proc, /sys/fs/lustre, /sys/kernel/debug", "Where LNet's and Lustre's tables are; debugfs is shown to root only.")
FILES: dict[str, Pairs] = {
    "lnetstat": [(CONFIG, "Configuration of the agent."), _STATUS_FILE, (SPOOL, "What a Carbon has not got yet."), _READ],
    "agent": [(CONFIG, f"Configuration of {UNIT}."), _STATUS_FILE, (SPOOL, "What a Carbon has not got yet."), _READ],
    "record": [_READ],
    "top": [_READ],
    "check": [_READ],
    "bundle": [_READ],
    "doctor": [_READ],
    "service": [(CONFIG, "Configuration."), _STATUS_FILE, (SPOOL, "What a Carbon has not got yet.")],
    "lnetstat.toml": [(CONFIG, f"What {UNIT} reads.")],
    "stack": [("~/.local/state/lnetstat/stack", "Configuration, data and logs of both servers.")],
    "simulate": [("~/.cache/lnetstat", "What numba compiled, where it is installed.")],
    "sweep": [("~/.cache/lnetstat", "What numba compiled, where it is installed.")],
}

_GRAPHITE: Pairs = [
    ("LNETSTAT_GRAPHITE_USER, LNETSTAT_GRAPHITE_PASSWORD", "User and password for a graphite-web that asks for them."),
    ("LNETSTAT_GRAPHITE_TOKEN", "A bearer token instead."),
]
_CACHE: Pairs = [("XDG_CACHE_HOME", "Stands for ~/.cache.")]
ENVIRONMENT: dict[str, Pairs] = {
    "agent": [
        ("NOTIFY_SOCKET, WATCHDOG_USEC", "Set by systemd for a unit of Type=notify: where the agent says that it is ready and alive.")
    ],
    "analyze": _GRAPHITE,
    "compare": _GRAPHITE,
    "watch": _GRAPHITE,
    "report": _GRAPHITE,
    "doctor": _GRAPHITE,
    "check": _GRAPHITE,
    "dashboards": [("GRAFANA_TOKEN", "The service account token, where `--token-file` names none.")],
    "simulate": _CACHE,
    "sweep": _CACHE,
    "stack": [("XDG_STATE_HOME", "Stands for ~/.local/state.")],
}

SIGNALS: dict[str, Pairs] = {
    "agent": [
        ("SIGTERM, SIGINT", "End: the sample under way is finished, and what waits is sent or stays in the spool. Within two seconds."),
        ("SIGHUP", "With `--config`: read the file again. Without: end."),
    ],
}

SEE_ALSO = {
    "lnetstat": ("lnetstat-agent", "lnetstat-doctor", "lnetstat-analyze", "lnetstat.toml", UNIT),
    "agent": ("lnetstat", "lnetstat-doctor", "lnetstat-record", "lnetstat.toml", UNIT),
    "doctor": ("lnetstat", "lnetstat-agent", "lnetstat-stack", "lnetstat.toml"),
    "record": ("lnetstat", "lnetstat-replay", "lnetstat-dump", "lnetstat-analyze", "lnetstat-watch"),
    "replay": ("lnetstat", "lnetstat-record", "lnetstat-dump"),
    "dump": ("lnetstat", "lnetstat-tables", "lnetstat-record"),
    "tables": ("lnetstat", "lnetstat-dump"),
    "analyze": ("lnetstat", "lnetstat-record", "lnetstat-report", "lnetstat-compare", "lnetstat-watch"),
    "report": ("lnetstat", "lnetstat-analyze", "lnetstat-compare"),
    "compare": ("lnetstat", "lnetstat-analyze", "lnetstat-report"),
    "watch": ("lnetstat", "lnetstat-analyze", "lnetstat-record"),
    "simulate": ("lnetstat", "lnetstat-sweep", "lnetstat-analyze"),
    "sweep": ("lnetstat", "lnetstat-simulate"),
    "check": ("lnetstat", "lnetstat-doctor", "lnetstat-agent", "lnetstat-top"),
    "top": ("lnetstat", "lnetstat-record", "lnetstat-dump", "lnetstat-check"),
    "bundle": ("lnetstat", "lnetstat-doctor", "lnetstat-record"),
    "dashboards": ("lnetstat", "lnetstat-stack"),
    "stack": ("lnetstat", "lnetstat-doctor", "lnetstat-dashboards"),
    "service": ("lnetstat-agent", "lnetstat-doctor", "lnetstat.toml"),
    "lnetstat.toml": ("lnetstat-agent", "lnetstat-doctor", UNIT),
}

_NAGIOS: Pairs = [("0", "OK"), ("1", "WARNING")]
_TERMINATED_VERBS = ("simulate", "sweep", "watch")


def exit_status(verb: str, options: Sequence[str]) -> list[tuple[str, str]]:
    """Return what a verb with these options exits with, and when."""
    if verb == "doctor":
        return [*_NAGIOS, ("2", "CRITICAL"), ("3", "UNKNOWN: something could not be looked at, or the options are wrong.")]
    if verb == "check":
        return [*_NAGIOS, ("2", "CRITICAL"), ("3", "UNKNOWN: it could not be read, the data are too old, or the options are wrong.")]
    statuses = [("0", "Done, also with findings." if "--fail-on" in options else "Done.")]
    if "--fail-on" in options:
        statuses.append(("1", "There are findings at or above `--fail-on`."))
    statuses += [
        ("2", "Wrong usage or configuration; nothing was done."),
        ("3", "Some input could not be read, or output not written. What could be done was done."),
        ("4", "A bug of lnetstat."),
        ("130", "Ctrl-C"),
    ]
    if verb in _TERMINATED_VERBS:
        statuses.append(("143", "SIGTERM"))
    if verb == "agent":
        statuses[0] = ("0", "It ended as told, also by SIGTERM.")
        statuses.append(
            (
                "with --status",
                "0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN, as a Nagios check. Options that are wrong are 2 here too, as the agent is no"
                " plug-in: try the command once by hand.",
            )
        )
    return statuses
