"""How a site's Carbon would keep our points: its storage-schemas.conf and storage-aggregation.conf against ours, and what it all takes."""

import configparser
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lnetstat.agent.settings import SPOOL_AGE_S_MAX
from lnetstat.doctor.checks import Check, Level
from lnetstat.reduce.metrics import METRICS, PREFIX, Metric
from lnetstat.stack import schemas

OURS = "lnetstat stack schemas --site"
POINTS_PER_S_MANY = 100_000  # a rule of thumb: what one carbon-cache takes depends on its disk
_EXAMPLES = {
    "NET": "o2ib1",
    "NID": "10_10_1_2_at_o2ib1",
    "POOL": "small",
    "CPT": "cpt0",
    "INSTANCE": "ost_io",
    "COUNTER": "ost_read",
    "BUCKET": "lt0",
}
_UNITS_S = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400, "weeks": 604_800, "years": 31_536_000}


class Archive(NamedTuple):
    """One retention: a value every `step_s` for `span_s`."""

    step_s: int
    span_s: int


def retentions_of(text: str) -> list[Archive]:
    """Return the archives of '1s:6h,10s:2d' or '60:1440' (seconds, points), as whisper understands it. Raises ValueError."""
    archives = []
    for part in text.split(","):
        step, colon, span = part.strip().partition(":")
        if not colon:
            raise ValueError(f"retention '{part.strip()}': expected STEP:SPAN, such as 1s:6h")
        step_s = _seconds(step)
        archives.append(Archive(step_s, int(span) * step_s if span.isdecimal() else _seconds(span)))
        if step_s <= 0 or archives[-1].span_s < step_s:
            raise ValueError(f"retention '{part.strip()}': the step is zero, or longer than the span")
    return sorted(archives)


def _seconds(text: str) -> int:
    found = re.fullmatch(r"([0-9]+)([a-z]*)", text.strip())
    unit = next((size for word, size in _UNITS_S.items() if found and word.startswith(found[2] or "s")), None)
    if found is None or unit is None:
        raise ValueError(f"'{text}' is no time: expected a number and s, m, h, d, w or y")
    return int(found[1]) * unit


class Rule(NamedTuple):
    """One section of carbon's files: its name, its pattern, its settings."""

    name: str
    pattern: re.Pattern[str]
    settings: dict[str, str]


def read_rules(path: str) -> list[Rule]:
    """Return the sections in their order. Raises OSError, or ValueError that says which section is wrong."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file)
    except configparser.Error as error:
        raise ValueError(str(error).splitlines()[0]) from error
    rules = []
    for name in parser.sections():
        try:
            rules.append(Rule(name, re.compile(parser[name]["pattern"]), dict(parser[name])))
        except (KeyError, re.error) as error:
            raise ValueError(f"section [{name}]: no pattern that can be used: {error}") from error
    return rules


def path_of(metric: Metric, prefix: str = PREFIX) -> str:
    """Return the path of one series of a metric."""
    return f"{prefix}.node1." + ".".join(_EXAMPLES.get(node, node) for node in metric.pattern.split("."))


def rule_for(path: str, rules: Sequence[Rule]) -> Rule | None:
    """Return the section that carbon takes for a path: the first whose pattern fits."""
    return next((rule for rule in rules if rule.pattern.search(path)), None)


def schemas_checks(path: str, prefix: str = PREFIX, spool_age_s: float = SPOOL_AGE_S_MAX, interval_s: float = 1.0) -> Iterator[Check]:
    """Yield what a storage-schemas.conf makes of our metrics: one line for each of its sections that any of them meets.

    `spool_age_s`: how old a point may be when it is sent at last; `interval_s`: how far apart they are.
    """
    try:
        rules = read_rules(path)
    except (OSError, ValueError) as error:
        yield _unreadable("storage-schemas", path, error)
        return
    met: dict[str, tuple[Rule | None, list[Metric]]] = {}
    for metric in METRICS:
        rule = rule_for(path_of(metric, prefix), rules)
        met.setdefault(rule.name if rule else "", (rule, []))[1].append(metric)
    for rule, metrics in met.values():
        yield _schema_check(rule, metrics, prefix, spool_age_s, max(1.0, interval_s))


def _unreadable(name: str, path: str, error: Exception) -> Check:
    if isinstance(error, OSError):
        return Check(Level.UNKNOWN, name, f"{path}: cannot be read: {error.strerror}", "copy it here, and name the copy")
    return Check(Level.CRITICAL, name, f"{path}: {error}", "carbon does not take it so either: correct it")


def _schema_check(rule: Rule | None, metrics: Sequence[Metric], prefix: str, spool_age_s: float, interval_s: float) -> Check:
    which = _which(metrics)
    if rule is None:
        what = f"no section fits {which}: carbon keeps them 60s:1d, so 59 of 60 points are overwritten"
        return Check(Level.CRITICAL, "storage-schemas", what, f"put what `{OURS}` prints first in the file")
    name = f"storage-schemas [{rule.name}]"
    text = rule.settings.get("retentions", "")
    try:
        finest = retentions_of(text)[0]
    except ValueError as error:
        return Check(Level.CRITICAL, name, str(error), "carbon does not take it so either: correct it")
    kept = f"{which}: {text}"
    if finest.step_s > interval_s:
        points = finest.step_s / interval_s
        lost = f"{points - 1:g} of {points:g} points overwrite one another"
        remedy = f"put what `{OURS}` prints first in the file, or run the agent with -i {finest.step_s}s; whisper files that exist stay"
        return Check(Level.WARNING, name, f"{kept}: at {interval_s:g} s {lost}", remedy)
    if all(metric.pattern.startswith("self.") or ".top." in metric.pattern for metric in metrics):
        return Check(Level.OK, name, kept)
    if finest.span_s < spool_age_s:
        what = f"{kept}: a point of the spool that is older than {_span(finest.span_s)} does not land in a slot of its own"
        return Check(Level.WARNING, name, what, f"spool.max_age = {_span(finest.span_s)} for the agent, or {schemas.RETENTIONS}")
    return Check(Level.OK, name, kept)


def aggregation_checks(path: str, prefix: str = PREFIX) -> Iterator[Check]:
    """Yield what a storage-aggregation.conf destroys of our metrics when they are thinned out."""
    try:
        rules = read_rules(path)
    except (OSError, ValueError) as error:
        yield _unreadable("storage-aggregation", path, error)
        return
    wrong: dict[tuple[str, str], list[Metric]] = {}
    gaps: list[Metric] = []
    for metric in METRICS:
        rule = rule_for(path_of(metric, prefix), rules)
        settings = rule.settings if rule else {}
        method, wanted = settings.get("aggregationmethod", "average"), schemas.METHODS[metric.reduce]
        if method != wanted:
            wrong.setdefault((method, wanted), []).append(metric)
        if _share(settings.get("xfilesfactor", "0.5")) > 0:
            gaps.append(metric)
    remedy = f"put what `{OURS}` prints first in the file; whisper-set-aggregation-method for files that exist"
    for (method, wanted), metrics in wrong.items():
        what = f"{_which(metrics)}: older values become the {method}, not the {wanted}"
        yield Check(Level.WARNING, "storage-aggregation", what, remedy)
    if gaps:
        what = f"{_which(gaps)}: xFilesFactor above 0 throws away older values of series with gaps"
        yield Check(Level.WARNING, "storage-aggregation", what, remedy)
    if not wrong and not gaps:
        yield Check(Level.OK, "storage-aggregation", f"all {len(METRICS)} metrics as `{OURS}` has them")


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.5


def _which(metrics: Sequence[Metric]) -> str:
    if len(metrics) == len(METRICS):
        return "all metrics"
    return metrics[0].pattern if len(metrics) == 1 else f"{metrics[0].pattern} and {len(metrics) - 1} more"


def _span(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


def sizing_checks(series: int, nodes: int, schemas_path: str | None = None, prefix: str = PREFIX) -> Iterator[Check]:
    """Yield what `series` series of each of `nodes` nodes take of a Carbon: files, points a second, disk."""
    total = series * nodes
    size, kept = sum(kind.bytes_per_node for kind in schemas.kinds(series)) * nodes, "with our retentions"
    if schemas_path is not None:
        try:
            size, kept = _site_bytes(schemas_path, series, prefix) * nodes, "with the site's retentions"
        except (OSError, ValueError):
            kept += " (the site's cannot be read)"
    what = f"{series} series x {nodes} nodes = {total} whisper files, {total} points a second, {size / 1e9:.3g} GB {kept}"
    if total > POINTS_PER_S_MANY:
        remedy = "several carbon-caches behind a relay, or go-carbon; a longer interval (-i 10s); fewer series (--series-max)"
        yield Check(Level.WARNING, "sizing", f"{what}: as a rule more than one carbon-cache takes", remedy)
    else:
        yield Check(Level.OK, "sizing", what)


def _site_bytes(path: str, series: int, prefix: str) -> int:
    """Return the bytes of one node's files under a site's rules, each kind of series under the rule of its first metric."""
    rules, total = read_rules(path), 0
    firsts = (
        next(metric for metric in METRICS if ".top." in metric.pattern),
        next(metric for metric in METRICS if metric.pattern.startswith("self.")),
        METRICS[0],
    )
    for kind, metric in zip(schemas.kinds(series), firsts, strict=True):
        rule = rule_for(path_of(metric, prefix), rules)
        archives = retentions_of(rule.settings.get("retentions", "") if rule else "60s:1d")
        total += kind.series * (
            schemas.HEADER_BYTES + sum(schemas.ARCHIVE_BYTES + schemas.POINT_BYTES * (each.span_s // each.step_s) for each in archives)
        )
    return total
