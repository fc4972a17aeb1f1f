"""What the documents say is what the program does; test_pages.py has links and commands."""

import re
from pathlib import Path

from click.testing import CliRunner

from lnetstat.cli import lnetstat

ROOT = Path(__file__).parents[2]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/install.md", "collectors/README.md", "collectors/collectl/README.md"]
VERBS = lnetstat.list_commands(None)
COMMANDS = sorted(
    {line.split("#")[0].strip() for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("    lnetstat ")}
)


def test_the_reference_of_columns_is_what_the_tables_say():
    done = CliRunner().invoke(lnetstat, ["tables", "--markdown"])
    assert done.output == (ROOT / "docs" / "columns.md").read_text(), "run `make docs`"


def test_the_readme_has_commands_and_the_two_words_of_the_makefile():
    assert len(COMMANDS) >= 6
    makefile = (ROOT / "Makefile").read_text()
    for word in re.findall(r"(?:`|    )make ([a-z]+)", "\n".join((ROOT / name).read_text() for name in DOCUMENTS)):
        assert re.search(rf"(?m)^{word}:", makefile), word


def test_every_verb_is_named_in_the_architecture_and_helps():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    listed = re.search(r"`(tables [a-z ]+)`", text)[1].split()
    assert sorted(listed) == VERBS
    for verb in VERBS:
        done = CliRunner().invoke(lnetstat, [verb, "--help"])
        assert done.exit_code == 0
        assert len(done.output) > 100


def test_the_tree_in_the_architecture_is_the_tree():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    tree = text.split("## Where to find what")[1].split("##")[0]
    for line in tree.splitlines():
        found = re.match(r"        ([a-z_]+(?:/|\.py)) ", line)
        if found:
            assert (ROOT / "lnetstat" / found[1]).exists(), found[1]
    inside = {path.name + ("/" if path.is_dir() else "") for path in (ROOT / "lnetstat").iterdir() if not path.name.startswith("_")}
    assert {name for name in inside if name not in ("py.typed",) and f" {name} " not in tree} == set()
