"""docs/findings.md: every kind of finding. `python -m lnetstat.analysis.findings_page` prints it."""

import sys

from lnetstat.analysis.finding_kinds import KINDS, Form, Kind
from lnetstat.analysis.results import SCHEMA_VERSION

HEAD = f"""# Findings

For whoever has a finding before them: what does it mean, how bad is it, where to look next? Search this page for its kind, the word behind
WARNING or CRITICAL. And for those who write programs around `analyze --json`. Made by `make docs`; do not edit.

What `lnetstat analyze` finds, as text and in `--json` (schema {SCHEMA_VERSION}). Every finding has `kind`, `severity` (info, warning,
critical), `subject`, `begin_ns` and `end_ns` (epoch nanoseconds), `evidence`, `message` (one sentence with the numbers), `advice` and
`reference`. Kinds and evidence keys keep their names and meanings within a schema version; a later release may add kinds and keys. null:
not known, or does not apply; never zero. Units are the last word of a key: `_s` seconds, `_ns` epoch nanoseconds, `_bytes` bytes; shares
and depths are 0..1, credits are signed. How things are found is told in [analysis.md](analysis.md).
"""


def page() -> str:
    """Return the page."""
    return HEAD + "".join(f"\n## {name}\n\n{_section(kind)}" for name, kind in KINDS.items())


def _section(kind: Kind) -> str:
    ways = "\n\nor\n\n".join(_keys(form) for form in kind.forms)
    return f"{kind.meaning}\n\n{ways}\n\n- Severity: {kind.severity}.\n- Rests on: {kind.reference}.\n- Look next: {kind.next}\n"


def _keys(form: Form) -> str:
    rows = [
        f"| `{name}` | {key.type}{' or null' if key.null else ''}{'' if key.always else ', where known'} | {key.meaning} |"
        for name, key in form.items()
    ]
    return "\n".join(["| evidence | type | meaning |", "|---|---|---|", *rows])


if __name__ == "__main__":
    sys.stdout.write(page())
