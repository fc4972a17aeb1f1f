"""Formats that lnetstat knows by their words and does not read: so that it can say what a text is, and not only that it is unknown."""

import functools
import re

_HEAD = 4096
_KNOWN = (
    ("brw_stats", r"^(?:pages per bulk r/w|discontiguous pages|disk I/Os in flight|disk I/O size)\s"),
    ("rpc_stats", r"^(?:modify_RPCs_in_flight|read RPCs in flight|rpcs in flight|pages per rpc)\b"),
    ("extents_stats_per_process", r"^extents\s+calls(?s:.*)^PID: [0-9]"),
    ("extents_stats", r"^extents\s+calls"),
    ("offset_stats", r"^R/W\s+PID\s+(?:RANGE )?START"),
    ("a statistics file that is switched off", r"\Adisabled\s*\n\s*write anything to this file to activate"),
    ("job_stats", r"^(?:job_stats:|- job_id:)"),
    ("rename_stats", r"^rename_stats:"),
    ("io_latency_stats", r"^(?:rd|wr)_[0-9]+[KMG]?: \{"),
    ("req_history", r"^[0-9]{5,20}:\S{1,100}:x[0-9]{1,20}:-?[0-9]{1,12}:(?:New|Rpc|Bulk|Interpret|Complete)"),
    ("the lctl conn_list", r"^(?:[0-9]{1,10}-)?\S{1,80}@\S{1,20}\s+[AIOC?]\[-?[0-9]{1,6}\]|\A<no connections>"),
    ("the lctl peer_list", r"^[0-9]{1,10}-\S{1,80}@\S{1,20}\s+\[[0-9]{1,6}\]\S{1,100} #[0-9]|\A<no peers>"),
    ("the lctl interface_list", r"^\S{1,80}: \(\S{1,80}\) npeer [0-9]"),
    ("timeouts", r"^\s*(?:service|network|portal [0-9]{1,3})\s*: cur|^last reply : |^adaptive timeouts off"),
    ("import", r"^import:\s*$"),
    ("the state of an import", r"^current_state: "),
    ("the lst stat output", r"^\[LNet (?:Rates|Bandwidth) of "),
    ("the lnetctl debug recovery output", r"^(?:Local|Peer) NI recovery:"),
    ("llobdstat", r"\A\S{0,80}llobdstat on "),
    ("routerstat", r"^M\s+[0-9]{1,20}\(\s*[0-9]{1,20}\) E "),
    ("the lctl device list", r"^\s*[0-9]{1,6} (?:UP|AT|IN|ST) \w{1,20} \S"),
    ("quota accounting", r"^(?:usr|grp|prj)_accounting:"),
    ("a list of client UUIDs", r"\A(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\S{1,80}_UUID)\s*$"),
    ("changelog_users", r"\Acurrent_index: [0-9]"),
    ("quota limits", r"\Aglobal_(?:pool[0-9]|index_copy)"),
    ("modinfo output", r"^filename:\s{2,}/(?s:.*)^vermagic:"),
    ("an error message of a tool", r"\A(?:error: |cat: |lctl: |lnetctl: |bash: |sh: )"),
)


@functools.cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Compile them when the first unknown text comes: an agent may never need them."""
    return tuple((name, re.compile(pattern, re.MULTILINE)) for name, pattern in _KNOWN)


def unread_format(text: str) -> str | None:
    """Return the name of a format that is known by its words and not read, or None."""
    head = text[:_HEAD].removeprefix("\ufeff").replace("\r\n", "\n")
    return next((name for name, pattern in _patterns() if pattern.search(head)), None)


def expected_instead(name: str, text: str) -> str:
    """Return what to say was expected where no table fits: it names the format when it is a known one."""
    last = name.rsplit(".", 1)[-1]
    format_name = unread_format(text) or (last if last in (known for known, _ in _KNOWN) else None)
    if format_name:
        return f"a table: this is {format_name}, which lnetstat does not read yet"
    if not text.strip():
        return "a table: the text is empty"
    return "a known table (see `lnetstat tables`); name it with --table"
