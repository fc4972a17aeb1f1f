"""The tutorial and the page on credits, typed by a test: each command does what the page says, and prints what the page shows."""

import re
import shlex

import pytest
from click.testing import CliRunner

from lnetstat.cli import lnetstat
from tests.docs.pages import DOCS, ROOT, name_of, tokens

TUTORIAL = DOCS / "tutorial.md"
VERBS = {
    TUTORIAL: ["dump", "simulate", "analyze", "dump", "report", "simulate", "compare"],
    DOCS / "how-to" / "read-credits.md": ["dump"] * 4,
}


def steps(page):
    """Yield (commands, excerpt) of each block of commands that is run; the excerpt of its output, where one follows, else nothing."""
    commands, not_run = None, False
    for token in tokens(page):
        if token.type == "html_block":
            not_run = bool(re.match(r"<!-- not run: \w.{10,} -->", token.content))
        elif token.type == "fence" and token.info == "sh":
            if commands:
                yield commands, ""
            commands = None if not_run else token.content.splitlines()
            not_run = False
        elif token.type == "fence" and token.info == "text":
            assert commands, "what is shown is the output of a command that is run"
            yield commands, token.content
            commands = None
    if commands:
        yield commands, ""


def assert_shows(output, excerpt):
    """Each part of the excerpt (a … stands for what is left out) is in the output, in this order; white space does not count."""
    text, at = " ".join(output.split()), 0
    for part in excerpt.split("…"):
        wanted = " ".join(part.split())
        found = text.find(wanted, at)
        assert found >= 0, f"not printed any more, or at another place: {wanted}"
        at = found + len(wanted)


@pytest.mark.parametrize("page", VERBS, ids=name_of)
def test_the_page_does_what_it_says(page, tmp_path, monkeypatch):
    for name in ("docs", "sample-data"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path)
    verbs = []
    for commands, excerpt in steps(page):
        output = ""
        for command in commands:
            program, *words = shlex.split(command)
            assert program == "lnetstat", command
            done = CliRunner().invoke(lnetstat, words)
            assert done.exit_code == 0, f"{command}: {done.output}"
            output += done.stdout
            verbs.append(words[0])
        assert_shows(output, excerpt)
    assert verbs == VERBS[page]


def test_the_page_is_where_the_demo_says():
    address = re.search(r"<http://127.0.0.1:28080(/\S+)>", TUTORIAL.read_text())[1]
    assert address in (ROOT / "lnetstat" / "demo.py").read_text()


@pytest.mark.parametrize("excerpt", ["two … one", "three", "two one"])
def test_an_excerpt_that_is_not_printed_is_found_out(excerpt):
    assert_shows("one\n two", "one two")
    with pytest.raises(AssertionError):
        assert_shows("one\n two", excerpt)
