"""The man pages say what the commands say, and man has nothing to complain about."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from lnetstat.cli import _man, _man_words, lnetstat

ROOT = Path(__file__).parents[2]
SAMPLE = (ROOT / "collectors" / "lnetstat.toml").read_text()
PAGES = {page.name: page for page in _man.pages(SAMPLE, "2026-01-02")}
VERBS = lnetstat.list_commands(None)
needs_man = pytest.mark.skipif(not shutil.which("man"), reason="no man here (Debian: apt-get install man-db)")


def read(name):
    """Return the page as a reader sees it, as one line of words."""
    page = PAGES[name]
    command = ["man", "--warnings", "-E", "utf-8", "-l", "-"]
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "400", "MAN_KEEP_FORMATTING": ""}
    done = subprocess.run(command, input=page.text, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), name
    return " ".join(done.stdout.replace("\N{HYPHEN}", "-").split())


def test_every_verb_the_configuration_and_the_service_have_a_page():
    verbs = [f"lnetstat-{verb}" for verb in VERBS]
    assert sorted(PAGES) == sorted(["lnetstat", *verbs, "lnetstat.toml", "lnetstat-agent.service"])
    assert (PAGES["lnetstat.toml"].section, PAGES["lnetstat-agent.service"].section) == (5, 8)


@needs_man
@pytest.mark.parametrize("name", sorted(PAGES))
def test_man_prints_it_without_a_warning_and_with_every_section(name):
    text = read(name)
    sections = ["NAME", "DESCRIPTION", "SEE ALSO"]
    if PAGES[name].section == 1:
        sections += ["SYNOPSIS", "OPTIONS", "EXAMPLES", "EXIT STATUS"]
    for section in sections:
        assert f" {section} " in text, section


def commands_of(verb):
    command = lnetstat.get_command(None, verb)
    yield command
    if isinstance(command, click.Group):
        yield from command.commands.values()


@needs_man
@pytest.mark.parametrize("verb", VERBS)
def test_every_option_and_its_words_are_in_the_page(verb):
    text = read(f"lnetstat-{verb}")
    for command in commands_of(verb):
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                for word in [*parameter.opts, *parameter.secondary_opts]:
                    assert re.search(rf"{re.escape(word)}(?![\w-])", text), word
                first_words = (parameter.help or "").replace("`", "").replace("…", "...").split(". ")[0]
                assert " ".join(first_words.split()) in text
    assert "-h, --help" in text


@needs_man
def test_every_key_of_the_sample_is_in_its_page_with_its_words():
    text = read("lnetstat.toml")
    keys = re.findall(r"(?m)^(?:# )?(\w+ = .+)$", SAMPLE)
    assert len(keys) > 10
    for key in keys:
        assert " ".join(key.split()) in text
    for words in ("[spool]", "Bounds of the recording in bytes and in time", "A file with an error changes nothing"):
        assert words in text


@pytest.mark.parametrize("verb", VERBS)
def test_examples_are_commands_that_there_are(verb):
    _, examples = _man._help_of(lnetstat.get_command(None, verb))
    for line in examples or _man_words.EXAMPLES.get(verb, []):
        for part in re.split(r" (?:&&|&|\|) ", line):
            command = re.split(r"\s{2,}| > ", part.strip().removeprefix("sudo "))[0]
            if not command.startswith("lnetstat "):
                continue
            words = shlex.split(command)
            known = lnetstat.get_command(None, words[1])
            if isinstance(known, click.Group):
                known = known.commands[words[2]]
            options = {option for parameter in known.params for option in (*parameter.opts, *parameter.secondary_opts)}
            assert [word for word in words if re.match(r"--?[a-z]", word) and word not in options] == [], line


def test_what_the_words_add_belongs_to_something_that_there_is():
    known = {*VERBS, "lnetstat", "service", "lnetstat.toml"}
    for table in (_man_words.FILES, _man_words.ENVIRONMENT, _man_words.SIGNALS, _man_words.SEE_ALSO):
        assert set(table) <= known
    source = "".join(path.read_text() for path in (ROOT / "lnetstat").rglob("*.py") if "_man" not in path.name)
    for pairs in _man_words.ENVIRONMENT.values():
        for names, _ in pairs:
            for name in names.split(", "):
                assert f'"{name}"' in source, name


def test_a_verb_whose_packages_are_missing_is_named_and_has_no_page(monkeypatch):
    def without_analyze(self, context, name):
        if name == "analyze":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return command_of(self, context, name)

    command_of = type(lnetstat).get_command
    monkeypatch.setattr(type(lnetstat), "get_command", without_analyze)
    written = {page.name: page.text for page in _man.pages()}
    assert "lnetstat-analyze" not in written
    assert "lnetstat.toml" not in written
    assert "Not installed here, because what they need is not: analyze." in written["lnetstat"]
    assert r"lnetstat\-analyze" not in written["lnetstat-report"]
    assert r"lnetstat\-analyze\fR(1)" in PAGES["lnetstat-report"].text


def test_troff_takes_nothing_of_a_text_for_its_own():
    assert _man._prose(".TH is `--x` of 'y' and \\z") == r"\&.TH is \fB\-\-x\fR of \(aqy\(aq and \ez"
    assert _man._prose("'so /etc/shadow") == r"\(aqso /etc/shadow"
