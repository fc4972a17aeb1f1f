"""Every page hangs together with the others and with the program: links, anchors, commands, and what is generated."""

import json
import re

import click
import pytest
from click.testing import CliRunner

from lnetstat.analysis.changes import Event
from lnetstat.analysis.compare_schema import COMPARE_SCHEMA
from lnetstat.analysis.schema import SCHEMA
from lnetstat.cli import _links, _reference, lnetstat
from lnetstat.cli._links import links
from lnetstat.doctor.checks import as_json as doctor_json
from lnetstat.model import Severity
from lnetstat.report.sweep import as_json as sweep_json
from lnetstat.simulator.sweep import Axis, Sweep
from tests.docs.pages import DOCS, PAGES, ROOT, command_lines, name_of

INDEX = DOCS / "index.md"
HOW_TO_LINES_MAX = 110


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_and_anchor_leads_somewhere(page):
    assert _links.dead_links(page, ROOT) == []


def test_a_dead_link_is_named_with_its_file_and_line(tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "a.md"
    page.write_text("# One\n\nSee [this](#one),\n[that](#two)\nand [b](b.md).\n\n| x |\n|---|\n| [y](a.md#one) |\n| [z](../../c.md) |\n")
    assert _links.main(tmp_path) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(" leads")[0] for line in told] == ["docs/a.md:4: '#two'", "docs/a.md:5: 'b.md'", "docs/a.md:10: '../../c.md'"]
    page.write_text("# One\n\n[this](#one) and [that](https://example.org/)\n")
    _links.tokens.cache_clear()
    _links.anchors.cache_clear()
    assert _links.main(tmp_path) == 0


def test_every_page_is_in_the_index_and_every_schema_in_a_page():
    listed = {(DOCS / link.target.partition("#")[0]).resolve() for link in links(INDEX)}
    assert [name_of(page) for page in DOCS.rglob("*.md") if page not in listed | {INDEX}] == []
    shown = {(page.parent / link.target.partition("#")[0]).resolve() for page in PAGES for link in links(page)}
    files = [file for file in DOCS.rglob("*") if file.suffix in (".json", ".toml")]
    assert [name_of(file) for file in files if file not in shown] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_in_a_page_is_one(page):
    for verb, *words in command_lines(page):
        if verb in ("VERB", "--help", "--version"):
            continue
        assert verb in lnetstat.list_commands(None), verb
        command = lnetstat.get_command(None, verb)
        if isinstance(command, click.Group) and words and re.match(r"[a-z]", words[0]):
            assert words[0] in command.commands, f"{verb} {words[0]}"
            command = command.commands[words[0]]
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {"--help", "-h"}
        written = [word.partition("=")[0] for word in words if re.match(r"--?[A-Za-z]", word)]
        # An argument may be a time before the end: --begin -10m.
        assert [word for word in written if word not in known] == [], f"{verb} {' '.join(words)}"


def test_commands_are_found_in_blocks_and_in_text(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "Say `lnetstat top --once`.\n\n"
        "    ssh rtr1 cat peers | lnetstat dump - --csv     # rows\n"
        "    sudo .venv/bin/lnetstat check --json\n"
    )
    assert list(command_lines(page)) == [["top", "--once"], ["dump", "-", "--csv"], ["check", "--json"]]


@pytest.mark.parametrize("name", _reference.pages())
def test_a_generated_page_is_current(name):
    # By words: releases of click break lines at different places.
    assert (DOCS / name).read_text().split() == _reference.pages()[name].split(), "run `make docs`"


def test_the_command_line_has_every_verb_and_every_option():
    text = (DOCS / "cli.md").read_text()
    for verb in lnetstat.list_commands(None):
        assert f"\n## {verb}\n" in text
        command = lnetstat.get_command(None, verb)
        for each in [command, *getattr(command, "commands", {}).values()]:
            for parameter in each.params:
                if isinstance(parameter, click.Option) and not parameter.hidden:
                    assert parameter.opts[-1] in text


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("*.md")), ids=name_of)
def test_a_how_to_is_short_and_says_whom_it_is_for(page):
    text = page.read_text()
    assert text.startswith("# ")
    assert re.search(r"\bFor\b", text.split("\n## ")[0])
    assert len(text.splitlines()) <= HOW_TO_LINES_MAX


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=name_of)
def test_no_page_names_a_folder_of_whoever_wrote_it(page):
    assert not re.search(r"/(?:work|root|home/\w+)/", page.read_text())


def test_the_keys_of_json_documents_are_those_of_the_page(tmp_path):
    peers = ROOT / "sample-data" / "2.17.0" / "peers--router.txt"
    (tmp_path / "peers").write_text(peers.read_text())
    sweep = Sweep("paper-untuned", "", {}, (Axis("pings.spread", ("1s",)),), ())
    documents = {
        "analyze --json": SCHEMA["required"],
        "compare --json": COMPARE_SCHEMA["required"],
        "check --json": printed("check", "--root", tmp_path, "--json"),
        "dump --json": printed("dump", peers, "--json"),
        "top --json": printed("top", "--root", tmp_path, "--json"),
        "watch --json": Event(0, "begin", "drops", Severity.WARNING, "c1", "", {}).as_json(),
        "doctor --json": doctor_json([]),
        "sweep --json": sweep_json(sweep),
    }
    page = (DOCS / "json.md").read_text()
    for command, document in documents.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `lnetstat {command}`"))
        assert set(re.findall(r"`(\w+)`", row.split(" | ")[1])) == set(document), command
    files = printed("dump", peers, "--json")["files"]
    named = page.split("## dump")[1].split("## ")[0]
    assert set(files[0]) <= set(re.findall(r"`(\w+)`", named))


def printed(*words):
    """Return the document that a command prints; findings are no failure."""
    done = CliRunner().invoke(lnetstat, [str(word) for word in words])
    return json.loads(done.stdout)
