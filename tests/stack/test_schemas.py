"""The generated rules: what carbon and whisper make of them, not how they are spelled."""

import configparser
import re

import pytest
import whisper
from click.testing import CliRunner

from lnetstat.cli.stack import command
from lnetstat.model import Reduce
from lnetstat.reduce.metrics import METRICS, WILDCARDS
from lnetstat.stack import schemas

EXAMPLES = {
    "NET": "o2ib1",
    "NID": "10_10_1_2_at_o2ib1",
    "POOL": "small",
    "CPT": "cpt12",
    "INSTANCE": "obdfilter_FS-OST0000",
    "COUNTER": "ost_read",
    "BUCKET": "lt0",
}


def sections(text):
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return [(name, parser[name]) for name in parser.sections()]


def rule_for(path, text):
    return next(section for _, section in sections(text) if re.search(section["pattern"], path))


def path_of(metric):
    return "lnet.rtr1." + ".".join(EXAMPLES.get(node, node) for node in metric.pattern.split("."))


@pytest.mark.parametrize("metric", METRICS, ids=[metric.pattern for metric in METRICS])
def test_each_metric_is_thinned_out_as_it_was_reduced(metric):
    rule = rule_for(path_of(metric), schemas.storage_aggregation())
    expected = {Reduce.MIN: "min", Reduce.MAX: "max", Reduce.MEAN_MAX: "average", Reduce.LAST: "last"}[metric.reduce]
    assert (rule["aggregationMethod"], float(rule["xFilesFactor"])) == (expected, 0)


def test_every_wildcard_has_an_example_here():
    assert set(WILDCARDS) == set(EXAMPLES)


@pytest.mark.parametrize(
    ("path", "retentions"),
    [
        ("lnet.rtr1.peers.tcp.tx_credits_low", "1s:6h,10s:2d,60s:30d"),
        ("lnet.rtr1.peers.tcp.top.10_0_0_1_at_tcp.tx_credits", schemas.RETENTIONS_TOP),
        ("lnet.rtr1.self.late", schemas.RETENTIONS_SELF),
        ("carbon.agents.here-a.metricsReceived", schemas.RETENTIONS_CARBON),
    ],
)
def test_retentions(path, retentions):
    assert rule_for(path, schemas.storage_schemas())["retentions"] == retentions


@pytest.mark.parametrize("retentions", [schemas.RETENTIONS, schemas.RETENTIONS_TOP, schemas.RETENTIONS_SELF, schemas.RETENTIONS_CARBON])
def test_whisper_takes_the_retentions_and_the_size_is_as_told(retentions, tmp_path):
    file = tmp_path / "series.wsp"
    whisper.create(str(file), [whisper.parseRetentionDef(archive) for archive in retentions.split(",")])
    assert file.stat().st_size == schemas.file_bytes(retentions)


def test_low_water_marks_survive_every_archive(tmp_path):
    """The lowest of each 10 s and of each minute is what is left of a low-water mark when its seconds are gone."""
    rule = rule_for("lnet.rtr1.peers.tcp.tx_credits_low", schemas.storage_aggregation())
    file = str(tmp_path / "series.wsp")
    archives = [whisper.parseRetentionDef(archive) for archive in schemas.RETENTIONS.split(",")]
    whisper.create(file, archives, xFilesFactor=float(rule["xFilesFactor"]), aggregationMethod=rule["aggregationMethod"])
    now_s = 1_800_000_000
    for second, value in ((1, 8.0), (2, -7.0), (3, 8.0), (65, 5.0)):
        whisper.update(file, value, now_s - 600 + second, now=now_s)
    for step_s, expected in ((10, [-7.0, 5.0]), (60, [-7.0, 5.0])):
        values = whisper.fetch(file, now_s - 601, now_s - 500, now=now_s, archiveToSelect=step_s)[1]
        assert [value for value in values if value is not None] == expected


def test_for_a_site_only_our_own_metrics_are_ruled():
    for text in (schemas.storage_schemas(site=True), schemas.storage_aggregation(site=True)):
        assert sections(text)
        for _, section in sections(text):
            assert not re.search(section["pattern"], "servers.db1.cpu.user")
            assert not re.search(section["pattern"], "carbon.agents.here-a.metricsReceived")


def test_sizes_of_a_node_and_of_many():
    each = {kind.name: kind for kind in schemas.kinds(500)}
    assert sum(kind.series for kind in each.values()) == 500
    assert each["worst peers"].series == 16 * 5
    assert each["all others"].bytes_per_node == each["all others"].series * 985_012
    total = sum(kind.bytes_per_node for kind in each.values())
    last = schemas.sizing_table(500, nodes=(1, 600)).splitlines()[-2].split()
    assert last == ["500", "together", f"{total / 1e6:.0f}", "MB", f"{total * 600 / 1e9:.0f}", "GB"]


def test_command_prints_two_files_and_the_sizes():
    done = CliRunner().invoke(command, ["schemas", "--site"], catch_exceptions=False)
    assert done.exit_code == 0
    first, second = done.stdout.split("# ---- storage-aggregation.conf")
    assert sections(first.partition("\n")[2])[-1][0] == "lnetstat"
    assert len(sections(second.partition("\n")[2])) == len(METRICS)
    assert "600 nodes" in second
