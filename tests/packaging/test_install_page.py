"""docs/install.md names commands and files that there are. Its packages: test_packages.py."""

import re
import shlex
from pathlib import Path

import pytest

from lnetstat.cli import lnetstat

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text()
LINES = [line.strip() for line in PAGE.splitlines() if line.startswith("    ")]


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("lnetstat ")])
def test_every_command_is_one(line):
    _, verb, *words = shlex.split(line, comments=True)
    options = {option for parameter in lnetstat.get_command(None, verb).params for option in parameter.opts}
    assert [word for word in words if word.startswith("-") and word not in options] == []


def test_every_file_of_the_clone_is_there_and_every_link_leads_somewhere():
    for path in re.findall(r"(?<![\w/.-])(?:collectors|packaging)/[\w./-]+", PAGE):
        assert (ROOT / path).exists(), path
    for target in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    assert "## Watch" in (ROOT / "docs" / "agent.md").read_text()


def test_what_the_page_says_of_the_unit_is_so():
    unit = (ROOT / "collectors/systemd/lnetstat-agent.service").read_text()
    assert "MemoryMax=128M" in unit
    assert "ExecStart=/usr/bin/lnetstat agent --config /etc/lnetstat/lnetstat.toml\n" in unit
