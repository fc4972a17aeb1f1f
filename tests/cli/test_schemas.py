"""What each verb prints as JSON is what its --schema says, also in what its rows are called."""

import json
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from lnetstat.cli import _schemas, lnetstat
from lnetstat.cli.stack import document_of
from lnetstat.stack.stack import Status
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
    schema = printed(*verb.split(), "--schema")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == json.loads(json.dumps(_schemas.MAKERS[verb]()))


@pytest.mark.parametrize("verb", lnetstat.list_commands(None))
def test_every_command_with_json_has_a_schema(verb):
    command = lnetstat.get_command(None, verb)
    for words, each in [(verb, command), *((f"{verb} {name}", inner) for name, inner in getattr(command, "commands", {}).items())]:
        options = {option for parameter in each.params for option in parameter.opts}
        assert ("--json" in options) == ("--schema" in options) == (words in _schemas.MAKERS), words


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


def test_tables_dashboards_and_a_stack_that_does_not_run_are_as_said(tmp_path):
    every = valid(printed("tables", "--json"), "tables")
    assert [table["name"] for table in every["tables"]] == list(builtin_tables())
    assert every["metrics"] == []
    assert valid(printed("tables", "peers", "--json"), "tables")["tables"] == [
        table for table in every["tables"] if table["name"] == "peers"
    ]
    metrics = valid(printed("tables", "--metrics", "--json"), "tables")
    assert metrics["tables"] == []
    assert "peers.NET.oversubscribed" in {metric["pattern"] for metric in metrics["metrics"]}
    listed = valid(printed("dashboards", "list", "--json"), "dashboards list")["dashboards"]
    assert {each["name"] for each in listed} > {"lnet-router", "lnet-credits"}
    assert all(each["panels"] for each in listed)
    assert valid(printed("stack", "status", "--dir", tmp_path, "--json"), "stack status")["state"] == "not running"
    half = valid(document_of(Status(17, None, True, False, ("127.0.0.1", 2003), "http://127.0.0.1:8080")), "stack status")
    assert (half["state"], half["carbon"]["pid"], half["graphite_web"]["pid"], half["page"]) == ("half", 17, None, None)
    runs = valid(document_of(Status(17, 18, True, True, ("127.0.0.1", 2003), "http://127.0.0.1:8080")), "stack status")
    assert (runs["state"], runs["carbon"]["address"]) == ("running", "127.0.0.1:2003")
    assert runs["page"].startswith("http://127.0.0.1:8080/")


def test_what_bundle_wrote_is_as_said(tmp_path):
    make_tree(tmp_path / "tree")
    path, names = tmp_path / "b.tar.gz", tmp_path / "names.tsv"
    words = ["bundle", "--root", tmp_path / "tree", "--samples", 1, "--json"]
    document = valid(printed(*words, "-o", path, "--map", names), "bundle")
    with tarfile.open(path) as archive:
        sizes = {member.name: member.size for member in archive}
    assert {f"lnetstat-bundle/{file['path']}": file["bytes"] for file in document["files"]} == sizes
    assert (document["archive"], document["bytes"], document["map"]) == (str(path), path.stat().st_size, str(names))
    refused = CliRunner().invoke(lnetstat, [str(word) for word in [*words, "-o", "-"]])
    assert (refused.exit_code, refused.stdout) == (2, "")


def test_simulate_and_sweep_are_as_said(tmp_path):
    tutorial = Path(__file__).parents[2] / "docs" / "tutorial.toml"
    valid(printed("simulate", tutorial, "-o", tmp_path / "rec", "--duration", "2s", "--json"), "simulate")
    document = printed("sweep", tutorial, "--over", "o2ib.peer_credits=8,16", "--set", "run.duration=2s", "--json")
    assert len(valid(document, "sweep")["points"]) == 2
