"""`lnetstat analyze`: text under 80 columns, JSON with a schema, exit status, one line for what cannot be read."""

import json
import random
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

from lnetstat import cli
from lnetstat.analysis.schema import SCHEMA
from lnetstat.cli.analyze import command
from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter

BEGIN = 1_700_000_000


@pytest.fixture(scope="module")
def dips(tmp_path_factory):
    """A CSV with dips of 2 s every 25 s, pings at them and credits that run out in them."""
    random = np.random.default_rng(3)
    time = BEGIN + np.arange(1.0, 1800)
    inside = (time - 4) % 25 < 2
    value = 1e9 * np.where(inside, 0.3, 1.0) * (1 + 0.05 * random.standard_normal(time.size))
    tx = np.where(inside, -5, 6)
    lines = ["time,value,ping_rate,tx,tx_min,queue_bytes"]
    lines += [
        f"{t:.3f},{v:.0f},{200 if i else 0},{c},{-7 if t > BEGIN + 10 else 6},0" for t, v, i, c in zip(time, value, inside, tx, strict=True)
    ]
    path = tmp_path_factory.mktemp("csv") / "dips.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def run(*arguments):
    return CliRunner().invoke(command, list(arguments), standalone_mode=False)


def test_json_has_the_answer_and_satisfies_the_schema(dips):
    result = run(dips, "--kind", "rate", "--interval", "1", "--credits-max", "8", "--json")
    document = json.loads(result.stdout)
    jsonschema.validate(document, SCHEMA)
    assert result.return_value == 0
    assert document["dead_time"]["detected"] is True
    assert document["dead_time"]["period_s"] == pytest.approx(25, abs=0.01)
    assert document["dead_time"]["cause"] == "ping"
    assert document["credits"]["required_peak"] == 15
    assert document["credits"]["fraction_time_oversubscribed"] == pytest.approx(0.08, abs=0.01)


def test_help_says_what_a_path_may_be():
    words = " ".join(run("--help").stdout.split())
    assert "graphite://HOST/TARGET?from=-2h" in words
    assert "time,value[,ping_rate][,tx,tx_min,queue_bytes]" in words


def test_the_schema_is_printed_without_an_input(capsys):
    assert cli.run(["analyze", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA


def test_text_says_the_verdict_first_and_stays_below_80_columns(dips):
    text = run(dips, "--interval", "1", "--credits-max", "8", "--incidents").stdout
    assert text.startswith("Periodic dead time: value dips every 25 s")
    assert "cause: ping" in text
    assert max(map(len, text.splitlines())) < 80
    assert text.count("\n  2023-11-14T22:") > 60


@pytest.mark.parametrize(("level", "status"), [("critical", 1), ("info", 1)])
def test_findings_decide_the_exit_status_only_when_asked(dips, level, status):
    assert run(dips, "--interval", "1", "--fail-on", level).return_value == status
    assert run(dips, "--interval", "1").return_value == 0


def test_a_window_cuts_the_series(dips):
    document = json.loads(run(dips, "--end", str(BEGIN + 100), "--json").stdout)
    assert document["dead_time"]["verdict"] == "cannot_tell"
    assert run(dips, "--begin", "-5m", "--json").return_value == 0


def test_several_files_are_sources_of_one_system(dips, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(Path(dips).read_text())
    document = json.loads(run(dips, str(other), "--json").stdout)
    assert document["series"][0]["instance"] == "2 sources"
    assert document["dead_time"]["detected"] is True


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("time,value\n2,abc\n", "line 2: value is 'abc': expected a number"),
        ("hello\n", "expected column names with time and value"),
    ],
)
def test_bad_files_are_one_line_and_status_3(tmp_path, capsys, text, told):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert cli.run(["analyze", str(path)]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert told in captured.err
    assert str(path) in captured.err


def test_what_can_be_read_is_analyzed_and_the_rest_told(dips, tmp_path, capsys):
    assert cli.run(["analyze", dips, str(tmp_path / "none.csv"), "--json"]) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out)["dead_time"]["detected"] is True
    assert "none.csv" in captured.err


@pytest.mark.parametrize("what", ["absent", "empty folder", "binary"])
def test_what_is_no_data_at_all_is_told(tmp_path, capsys, what):
    path = tmp_path / "x"
    if what == "empty folder":
        path.mkdir()
    if what == "binary":
        path.write_bytes(bytes(range(256)) * 20)
    assert cli.run(["analyze", str(path)]) == 3
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert 1 <= len(captured.err.splitlines()) <= 2


def test_two_samples_and_constant_values_are_no_crash(tmp_path):
    for body in ("1,2\n", "1,2\n2,2\n", "".join(f"{t},0\n" for t in range(500)), "".join(f"{t},5\n" for t in range(2000))):
        path = tmp_path / "a.csv"
        path.write_text("time,value\n" + body)
        for kind in ("rate", "counter"):
            result = run(str(path), "--kind", kind, "--json")
            assert result.exception is None
            jsonschema.validate(json.loads(result.stdout), SCHEMA)
            assert json.loads(result.stdout)["dead_time"]["detected"] is False


def test_a_recording_is_analyzed(tmp_path):
    """A router whose peer runs out of credits from the 100th second on."""
    folder = tmp_path / "rec"
    writer = RecordingWriter(str(folder))
    header = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
    noise = random.Random(1)
    for second in range(200):
        low = 8 if second < 100 else -12
        texts = {
            "peers": header + f"10.2.0.1@tcp1 1 up -1 8 8 8 {8 if second < 100 else -3} {low} 0\n",
            "stats": f"0 1 0 0 0 {second * 100} 0 0 0 {second * 10**8 + noise.randrange(10**7)} 0\n",
            "buffers": "pages count credits min\n0 512 512 512\n1 4096 4096 4000\n256 256 256 250\n",
        }
        stamp = (BEGIN + second) * 10**9
        writer.write([Snapshot(name, "rtr1", stamp, None, 0, State.OK, 0, frozenset(), text) for name, text in texts.items()])
    writer.close()
    document = json.loads(run(str(folder), "--json").stdout)
    jsonschema.validate(document, SCHEMA)
    starved = next(each for each in document["findings"] if each["kind"] == "oversubscribed_peers")
    assert starved["subject"] == "peer 10.2.0.1@tcp1 on rtr1"
    assert starved["begin_ns"] == (BEGIN + 100) * 10**9
    assert starved["severity"] == "critical"
    assert document["dead_time"]["verdict"] == "none"
    text = run(str(folder)).stdout
    assert "12 messages waited beyond its 8 peer credits" in " ".join(text.split())


def test_a_captured_complaint_of_cat_is_no_failure(tmp_path, capsys):
    stats = (Path(__file__).parents[2] / "sample-data" / "2.17.0" / "stats--router.txt").read_text()
    (tmp_path / "stats").write_text(stats)
    (tmp_path / "sysfs_lustre_version").write_text("cat: /sys/fs/lustre/version: No such file or directory\n")
    assert cli.run(["analyze", str(tmp_path)]) == 0
    assert "could not be read" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("below", "said"),
    [
        (lambda tick: 20 <= tick < 30, "below 0 in 10 of 60 samples, too few spells to tell the share of the time"),
        (lambda tick: True, "below 0 in all 60 samples"),
        (lambda tick: tick % 5 == 0, "sampled below 0 20 % of the time (± "),
    ],
    ids=["one spell", "always", "again and again"],
)
def test_a_share_of_the_time_is_said_only_where_it_is_known(tmp_path, capsys, below, said):
    header = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
    with RecordingWriter(str(tmp_path)) as writer:
        for tick in range(60):
            text = f"{header}10.2.0.1@tcp1 1 up -1 8 8 8 {-3 if below(tick) else 6} -3 0\n"
            writer.write([Snapshot("peers", "rtr1", (BEGIN + tick) * 10**9, None, 0, State.OK, 0, frozenset(), text)])
    words = " ".join(run(str(tmp_path)).stdout.split())
    assert said in words
    assert ("±" in words) == ("±" in said)
    assert cli.run(["report", str(tmp_path), "--format", "md"]) == 0
    table = capsys.readouterr().out
    assert (" of 60 samples" in table) == ("±" not in said), "the report's table says no share either"
