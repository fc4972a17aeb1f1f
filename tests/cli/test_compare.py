"""`lnetstat compare`: text under 80 columns, JSON with a schema, exit status; the paper's tuning, simulated, makes dead time go away."""

import json

import jsonschema
import numpy as np
import pytest

from lnetstat import cli
from lnetstat.analysis.compare_schema import COMPARE_SCHEMA

SMALL = "clients.count=2000", "pings.interval=15s", "run.sample=0.5s", "io.0.processes=40"


def csv(path, seed, depth):
    random = np.random.default_rng(seed)
    time = np.arange(1.0, 1201)
    value = 1e9 * np.where((time + 7 * seed) % 25 < 2, 1 - depth, 1) * (1 + 0.03 * random.standard_normal(time.size))
    path.write_text("time,value\n" + "".join(f"{1_700_000_000 + t:.0f},{v:.0f}\n" for t, v in zip(time, value, strict=True)))
    return str(path)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("csv")
    return csv(folder / "deep.csv", 1, 0.8), csv(folder / "flat.csv", 2, 0.0)


def test_text_says_the_verdict_first_and_stays_below_80_columns(records, capsys):
    assert cli.run(["compare", *records, "--interval", "1s"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Better: bytes lost to dead time, net 6")
    assert "would have been seen" in " ".join(text.split())
    assert max(map(len, text.splitlines())) < 80


def test_the_schema_is_printed_without_records(capsys):
    assert cli.run(["compare", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == COMPARE_SCHEMA


def test_worse_is_status_1_only_when_asked(records, capsys):
    assert cli.run(["compare", *reversed(records), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, COMPARE_SCHEMA)
    assert document["verdict"] == "worse"
    assert cli.run(["compare", *reversed(records), "--fail-on", "worse"]) == 1
    assert cli.run(["compare", *records, "--fail-on", "worse"]) == 0


def test_what_cannot_be_read_is_status_3_and_one_line(records, tmp_path, capsys):
    assert cli.run(["compare", records[0], str(tmp_path / "none.csv")]) == 3
    told = capsys.readouterr()
    assert (told.out, len(told.err.splitlines())) == ("", 1)
    assert "none.csv" in told.err


def test_the_papers_tunables_are_better_in_the_simulator(tmp_path, capsys):
    """A small one of figure 8's systems: the same pings, credits enough for them."""
    for name in ("untuned", "tuned"):
        assert (
            cli.run(
                [
                    "simulate",
                    f"paper-{name}",
                    "-o",
                    str(tmp_path / name),
                    "--duration",
                    "105s",
                    *(word for key in SMALL for word in ("--set", key)),
                ]
            )
            == 0
        )
    capsys.readouterr()
    assert cli.run(["compare", str(tmp_path / "untuned"), str(tmp_path / "tuned"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "better"
    assert found["first_exhausted"] == {"before": "peer_credits", "after": "none"}
    pings = next(each for each in found["load"] if each["name"] == "pings")
    assert pings["after"] == pytest.approx(pings["before"], rel=0.1)
    peers = next(each for each in found["load"] if each["name"] == "peers")
    assert peers["before"] == peers["after"] > 100, "the peers of the host that knows most"
