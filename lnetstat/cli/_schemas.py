"""The JSON Schemas (draft 2020-12) of what `--json` prints, made of the columns where these are known; each verb's --schema shows its own.

Keys may be added within a schema number, so no document is closed; `null` is "not known" or "does not apply", never zero.
"""

from collections.abc import Callable, Iterable
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
LEVELS: Schema = {"enum": ["OK", "WARNING", "CRITICAL", "UNKNOWN"]}
SECOND: Schema = {**WHOLE, "description": "seconds since 1970"}
PATH: Schema = {"type": ["string", "null"]}
VALUE: Schema = {"type": ["integer", "number", "string", "null"]}


def all_schemas() -> dict[str, Schema]:
    """Return every schema by the name of its file in docs/schemas, without .json: the command's words with dashes."""
    return {words.replace(" ", "-"): make() for words, make in MAKERS.items()}


def analyze() -> Schema:
    from lnetstat.analysis.schema import SCHEMA

    return SCHEMA


def compare() -> Schema:
    from lnetstat.analysis.compare_schema import COMPARE_SCHEMA

    return COMPARE_SCHEMA


def check() -> Schema:
    from lnetstat.check.verdict import SCHEMA_OF_JSON

    return SCHEMA_OF_JSON


def dump() -> Schema:
    from lnetstat.model import State
    from lnetstat.tables import builtin_tables

    tables = builtin_tables().values()
    rows = {table.name: _table_row(table.columns) for table in tables}
    file = _object(
        name=_said(TEXT, "the file or parameter, as its source knows it"),
        host=TEXT,
        time=_said(TEXT, "when it was read: ISO 8601, UTC, nanoseconds"),
        table=_said({"type": ["string", "null"]}, "which table it is; null: none that is known"),
        instance=_said(TEXT, "of which service or target, as ost_io; empty: there is only one"),
        layout=_said(TEXT, "which layout of the table; empty: not read"),
        state={"enum": [state.value for state in State]},
        errno=_said(WHOLE, "the kernel's error number, 0 for none"),
        flags=_list(TEXT),
        rows=_said(_list({"type": "object"}), "one object a row, with the columns of its table; extra: columns that no table knows"),
        facts=_said({"type": "object", "additionalProperties": VALUE}, "what stands outside the rows"),
        problems=_list(_object(line=WHOLE, text=TEXT, expected=TEXT)),
    )
    file["allOf"] = [
        {"if": {"properties": {"table": {"const": name}}}, "then": {"properties": {"rows": {"items": {"$ref": f"#/$defs/{name}"}}}}}
        for name in rows
    ]
    return _document("dump --json", files=_list(file)) | {"$defs": rows}


def top() -> Schema:
    from lnetstat.top.model import Summary
    from lnetstat.top.panes import PANES, Kind, Mark

    marks = {"enum": [mark.name.lower() for mark in Mark], "description": "short: run out now; was_short: since the mark was reset"}
    types = {Kind.TEXT: {"type": ["string", "integer", "null"]}}
    panes = {
        pane.name: _list(
            _object(
                **{column.name: _said(types.get(column.kind, {"type": ["number", "null"]}), column.help) for column in pane.columns},
                mark=marks,
            )
        )
        for pane in PANES
    }
    return _document(
        "top --json",
        time=_said(TEXT, "of the first file that was read: ISO 8601, UTC, nanoseconds"),
        hosts=_list(TEXT),
        summary=_object(**{name: {"type": ["integer", "null"]} for name in Summary._fields}),
        **panes,
        problems=_said({"type": "object", "additionalProperties": _list(TEXT)}, "what could not be read, for each table of rows"),
    )


def doctor() -> Schema:
    row = _object(level=LEVELS, check=TEXT, what=TEXT, remedy=_said(TEXT, "what to do; empty: nothing"))
    return _document("doctor --json", status=_said(LEVELS, "CRITICAL before UNKNOWN before WARNING before OK"), checks=_list(row))


def agent() -> Schema:
    destination = _object(
        name=TEXT,
        connected={"type": ["boolean", "null"]},
        since_s=SECOND,
        queued=_said(WHOLE, "points that wait"),
        spool_bytes={"type": ["integer", "null"]},
        sent=WHOLE,
        resent=WHOLE,
        lost=WHOLE,
        error=TEXT,
    )
    source = _object(name=TEXT, state=TEXT, why=TEXT, since_s=SECOND, ok_s={"type": ["integer", "null"]})
    status = _object(
        schema={"const": 1},
        version=TEXT,
        pid=WHOLE,
        host=TEXT,
        roles=_list(TEXT),
        config=PATH,
        interval_s=NUMBER,
        started_s=SECOND,
        updated_s=SECOND,
        last_sample_s={"type": ["integer", "null"]},
        state=TEXT,
        late=_said(WHOLE, "samples missed"),
        late_ms_worst=NUMBER,
        series=WHOLE,
        errors=WHOLE,
        destinations=_list(destination),
        last_lost_s={"type": ["integer", "null"]},
        recording=PATH,
        spool=PATH,
        prometheus=PATH,
        textfile=PATH,
        sources=_list(source),
        troubles=_list(_object(about=TEXT, what=TEXT, since_s=SECOND)),
    )
    status["type"] = ["object", "null"]
    return _document(
        "agent --status --json",
        verdict=LEVELS,
        lines=_said(_list(TEXT), "why, the worst first"),
        status=_said(status, "the status file; null: it could not be read"),
    )


def simulate() -> Schema:
    from lnetstat.simulator.truth import KEYS

    written = _object(
        folder=TEXT,
        truth=TEXT,
        progress=TEXT,
        samples=WHOLE,
        simulated_s=NUMBER,
        bytes=_said(WHOLE, "size of the recording"),
        interrupted=FLAG,
    )
    truth = {name: {"description": _with_unit(words, unit)} for name, unit, words in KEYS}
    return _document(
        "simulate --json",
        scenario=TEXT,
        written=written,
        truth=_said({"type": ["object", "null"], "properties": truth}, "the truth of all groups together; null: nothing was simulated"),
    )


def sweep() -> Schema:
    from lnetstat.simulator.sweep import Figures

    figures = {name: {"type": ["number", "null"]} for name in Figures._fields}
    return _document(
        "sweep --json",
        scenario=TEXT,
        settings={"type": "object", "additionalProperties": TEXT},
        axes=_list(_object(key=TEXT, values=_list(TEXT))),
        points=_said(
            _list({"type": "object", "properties": figures, "required": list(figures), "additionalProperties": TEXT}),
            "one for each combination: the values of the axes as texts, and the figures",
        ),
        notes=_list(TEXT),
    )


def tables() -> Schema:
    from lnetstat.model import Reduce, Semantics

    column = _object(name=TEXT, kind={"enum": [each.value for each in Semantics]}, unit=_said(TEXT, "empty: it has none"), help=TEXT)
    table = _object(
        name=TEXT,
        help=TEXT,
        key=_said(_list(TEXT), "the columns that identify a row; empty: there is one row"),
        paths=_said(_list(TEXT), "where a node has the file, in the order to try"),
        layouts=_said(_list(TEXT), "what lnetstat can write itself"),
        columns=_list(column),
    )
    metric = _object(
        pattern=_said(TEXT, "below PREFIX.HOST.; words in capitals stand for one path node"),
        unit=TEXT,
        second=_said({"enum": [each.value for each in Reduce]}, "what a second of faster samples becomes"),
        help=TEXT,
    )
    return _document(
        "tables --json",
        tables=_said(_list(table), "those asked for; none with --metrics"),
        metrics=_said(_list(metric), "with --metrics, else none"),
    )


def dashboards_list() -> Schema:
    panel = _object(title=TEXT, unit=_said(TEXT, "empty: none"), description=TEXT)
    dashboard = _object(name=TEXT, title=TEXT, description=TEXT, panels=_list(panel))
    return _document("dashboards list --json", dashboards=_list(dashboard))


def stack_status() -> Schema:
    pid: Schema = {"type": ["integer", "null"], "description": "of its process; null: not running"}
    answers = _said(FLAG, "whether it answers on its port")
    return _document(
        "stack status --json",
        state={"enum": ["running", "half", "not running"]},
        graphite_web=_object(url=TEXT, pid=pid, answers=answers),
        carbon=_object(address=_said(TEXT, "HOST:PORT"), pid=pid, answers=answers),
        page=_said(PATH, "address of the dashboard page; null: graphite-web does not answer"),
    )


def bundle() -> Schema:
    file = _object(path=_said(TEXT, "below the archive's top folder"), bytes=_said(WHOLE, "before packing"))
    return _document(
        "bundle --json",
        archive=_said(TEXT, "where it was written"),
        bytes=_said(WHOLE, "size of the archive"),
        files=_list(file),
        names_kept=_said(FLAG, "with --keep-names: there are no stand-ins"),
        map=_said(PATH, "where the table of stand-ins was written; null: nowhere"),
    )


def watch() -> Schema:
    from lnetstat.analysis.finding_kinds import KINDS
    from lnetstat.model import Severity

    of_watching = ("verdict", "host_silent", "host_back", "clock_step", "no_samples", "no_answer")
    time_ns = _said(WHOLE, "nanoseconds since 1970")
    return _document(
        "watch --json: one line",
        time_ns=_said(time_ns, "when it is told, on the clock of the samples: nanoseconds since 1970"),
        time=_said(TEXT, "the same as ISO 8601, UTC"),
        change=_said({"enum": ["begin", "worse", "end", "note"]}, "worse: of higher severity now"),
        kind=_said(TEXT, f"of findings: {', '.join(KINDS)}; of watching: {', '.join(of_watching)}"),
        severity={"enum": [each.name.lower() for each in Severity]},
        subject=TEXT,
        state=_said(TEXT, "the same from a begin to its end"),
        host=_said(TEXT, "empty: it is not one host's alone"),
        begin_ns=_said(time_ns, "since when it was seen"),
        end_ns=_said(time_ns, "until when it was seen"),
        message=TEXT,
        evidence=_said({"type": "object"}, "keys of the kind, as in findings"),
    )


MAKERS: dict[str, Callable[[], Schema]] = {
    "agent": agent,
    "analyze": analyze,
    "bundle": bundle,
    "check": check,
    "compare": compare,
    "dashboards list": dashboards_list,
    "doctor": doctor,
    "dump": dump,
    "simulate": simulate,
    "stack status": stack_status,
    "sweep": sweep,
    "tables": tables,
    "top": top,
    "watch": watch,
}


def _document(title: str, **keys: Schema) -> Schema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"lnetstat {title}",
        **_object(schema={"const": 1}, **keys),
    }


def _object(**keys: Schema) -> Schema:
    """Return an object that has at least these keys."""
    return {"type": "object", "required": list(keys), "properties": keys}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _said(schema: Schema, words: str) -> Schema:
    return {**schema, "description": words}


def _table_row(columns: Iterable[Any]) -> Schema:
    """Return what a table's rows are; a layout may lack columns, which are null then."""
    return {"type": "object", "properties": {each.name: _said(VALUE, _with_unit(each.help, each.unit)) for each in columns}}


def _with_unit(words: str, unit: str) -> str:
    return f"{words} [{unit}]" if unit else words
