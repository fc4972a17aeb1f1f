"""What each verb prints as JSON is what its --schema says, also in what its rows are called."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from lnetstat.cli import _schemas, lnetstat
from lnetstat.tables import builtin_tables
from tests.agent_process import make_tree

SAMPLES = Path(__file__).parents[2] / "sample-data"
RELEASE = SAMPLES / "2.17.0"
PINGS = SAMPLES / "recordings" / "s7-lustre-pings"


def printed(*words):
    return json.loads(CliRunner().invoke(lnetstat, [str(word) for word in words]).stdout)


def closed(schema):
    """Return the schema with every object closed: a key that is printed and not documented is then an error."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    if "required" in inner and "additionalProperties" not in inner:
        inner["additionalProperties"] = False
    return inner


def valid(document, verb):
    jsonschema.Draft202012Validator(closed(_schemas.MAKERS[verb]())).validate(document)
    return document


@pytest.mark.parametrize("verb", sorted(_schemas.MAKERS))
def test_schema_prints_a_right_schema_and_needs_nothing_else(verb):
    schema = printed(verb, "--schema")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == json.loads(json.dumps(_schemas.MAKERS[verb]()))


@pytest.mark.parametrize("verb", [verb for verb in lnetstat.list_commands(None) if verb not in ("watch", "report")])
def test_every_verb_with_json_has_a_schema(verb):
    options = {option for parameter in lnetstat.get_command(None, verb).params for option in parameter.opts}
    assert ("--json" in options) == ("--schema" in options)


def test_dump_of_a_whole_release_and_of_bad_text_is_as_said(tmp_path):
    (tmp_path / "peers").write_text("garbage\n")
    (tmp_path / "nis").write_text((RELEASE / "nis--router.txt").read_text() + "not a row\n")
    (tmp_path / "weird").mkdir()
    document = valid(printed("dump", *sorted(RELEASE.glob("*.txt")), tmp_path, "--json"), "dump")
    assert {file["table"] for file in document["files"]} > {"peers", "nis", "buffers", "counters", "routes"}
    assert {file["state"] for file in document["files"]} >= {"ok", "failed"}
    for file in document["files"]:
        if file["table"]:
            known = {column.name for column in builtin_tables()[file["table"]].columns} | {"extra"}
            assert {key for row in file["rows"] for key in row} <= known


def test_a_schema_of_dump_notices_a_value_of_another_kind():
    document = printed("dump", RELEASE / "peers--router.txt", "--json")
    document["files"][0]["rows"][0]["tx_credits"] = [1]
    with pytest.raises(jsonschema.ValidationError):
        valid(document, "dump")


def test_top_of_a_recording_and_of_nothing_is_as_said(tmp_path):
    document = valid(printed("top", PINGS, "--json"), "top")
    assert document["peers"]
    assert document["services"]
    empty = valid(printed("top", "--root", tmp_path, "--json"), "top")
    assert empty["problems"]


def test_doctor_is_as_said_also_of_what_is_no_node(tmp_path):
    assert valid(printed("doctor", "--root", RELEASE, "--json"), "doctor")["checks"]
    assert valid(printed("doctor", "--root", tmp_path / "none", "--json"), "doctor")["status"] == "UNKNOWN"


def test_the_status_of_an_agent_is_as_said(tmp_path):
    make_tree(tmp_path / "tree")
    (tmp_path / "tree" / "peers").write_text("garbage\n")
    path = tmp_path / "status"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        options = ["--root", tmp_path / "tree", "--carbon", f"127.0.0.1:{listener.getsockname()[1]}", "--status-file", path]
        command = [sys.executable, "-m", "lnetstat", "agent", *map(str, options), "-i", "0.1", "-n", "3"]
        subprocess.run(command, stderr=subprocess.DEVNULL, timeout=60)
    document = printed("agent", "--status", "--status-file", path, "--json")
    jsonschema.validate(document, _schemas.agent())
    assert document["status"]["destinations"]
    assert document["status"]["sources"]
    assert document["status"]["troubles"]
    assert valid(printed("agent", "--status", "--status-file", tmp_path / "none", "--json"), "agent")["status"] is None


def test_simulate_and_sweep_are_as_said(tmp_path):
    tutorial = Path(__file__).parents[2] / "docs" / "tutorial.toml"
    valid(printed("simulate", tutorial, "-o", tmp_path / "rec", "--duration", "2s", "--json"), "simulate")
    document = printed("sweep", tutorial, "--over", "o2ib.peer_credits=8,16", "--set", "run.duration=2s", "--json")
    assert len(valid(document, "sweep")["points"]) == 2
