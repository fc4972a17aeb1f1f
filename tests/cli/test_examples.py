"""Every verb's help shows examples, and each of them is a command line that the verb takes."""

import inspect
import re
import shlex

import click
import pytest
from click.testing import CliRunner

from lnetstat.cli import lnetstat

VERBS = lnetstat.list_commands(None)
# With those inside of a group: stack up.
COMMANDS = [*VERBS, *(f"{verb} {name}" for verb in VERBS for name in getattr(lnetstat.get_command(None, verb), "commands", {}))]
OPERATORS = {"&", "&&", "|", ">", "<", "<(", ")", ";"}


def help_of(words):
    verb, *inner = words.split()
    command = lnetstat.get_command(None, verb)
    return inspect.cleandoc((command.commands[inner[0]] if inner else command).help or "")


def commands(text):
    """Yield the words behind `lnetstat` of each example: comments stand two blanks away, pipes and the like divide."""
    for line in text.splitlines():
        found = re.match(r"\s*((?:sudo |source <\(|[a-z]+ .*\| |watch .*)?lnetstat .*)", line)
        if not found:
            continue
        lexer = shlex.shlex(re.split(r"\s{2,}", found[1])[0], posix=True, punctuation_chars="&|;<>()")
        lexer.whitespace_split = True
        part = []
        for word in [*lexer, ";"]:
            if word in OPERATORS:
                if "lnetstat" in part:
                    yield part[part.index("lnetstat") + 1 :]
                part = []
            else:
                part.append(word)


EXAMPLES = sorted({(verb, " ".join(map(shlex.quote, words))) for verb in COMMANDS for words in commands(help_of(verb))})


@pytest.mark.parametrize("verb", COMMANDS)
def test_help_shows_examples_of_the_verb(verb):
    shown = CliRunner().invoke(lnetstat, [*verb.split(), "--help"]).stdout
    assert "Examples:" in shown
    assert [words for each, words in EXAMPLES if each == verb and f"{words} ".startswith(f"{verb} ")]


@pytest.mark.parametrize("line", sorted({words for _, words in EXAMPLES}))
def test_an_example_is_a_command_line_that_is_understood(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").touch()  # dashboards install looks for its file at once
    verb, *words = shlex.split(line)
    command = lnetstat.get_command(None, verb)
    parent = click.Context(lnetstat, info_name="lnetstat")
    if isinstance(command, click.Group):
        parent = click.Context(command, info_name=verb, parent=parent)
        command = command.commands[words.pop(0)]
    command.make_context(verb, words, parent=parent)


def test_the_overview_shows_examples_too():
    for words in commands(lnetstat.help):
        verb, *rest = words
        if verb != "stack":
            lnetstat.get_command(None, verb).make_context(verb, list(rest))


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_no_colour_and_no_traceback_where_colour_is_not_wanted(verb, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    shown = CliRunner().invoke(lnetstat, [verb, "--help"]).stdout
    assert "\x1b" not in shown
    assert shown.startswith("Usage: ")
