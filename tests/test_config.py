"""The configuration file: what it sets, and that every error names the file, the key and what was expected."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnetstat.agent.settings import AgentSettings, settings_of
from lnetstat.config import KEYS, ConfigError, contradictions, parse_seconds, parse_size, read_config

SAMPLE = Path(__file__).parents[1] / "collectors" / "lnetstat.toml"


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "lnetstat.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def problems_of(path):
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert all(problem.startswith(f"{path}: ") and "\n" not in problem for problem in caught.value.problems)
    return [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]


def test_values_are_taken_in_the_words_of_the_command_line(written):
    path = written('interval = "100ms"\nseries_max = 300\n[carbon]\nto = ["a:1", "[::1]:2"]\n[spool]\nfolder = "/s"\nmax_bytes = "2GiB"\n')
    assert read_config(path) == {
        "interval_s": 0.1,
        "series_max": 300,
        "carbon": ("a:1", "[::1]:2"),
        "spool": "/s",
        "spool_max_bytes": 2 << 30,
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("intervall = 1", "intervall: no such key: was interval meant?"),
        ("[carbon]\nto = 3", "carbon.to: '3': expected a list of HOST:PORT"),
        ("[carbon]\nto = 'graphite'", "carbon.to: 'graphite': address 'graphite': expected HOST:PORT"),
        ("carbon = 'graphite:2003'", "carbon: 'graphite:2003': expected a section: [carbon]"),
        ("[carbon]\nhost = 'a'", "carbon.host: no such key ([carbon] has: to, resend)"),
        ("interval = '1ms'", "interval: '1ms': expected an interval from 50ms"),
        ("interval = nan", "interval: 'nan': expected"),
        ("interval = true", "interval: 'True': expected"),
        ("deadline = '1h'", "deadline: '1h': expected a deadline from 50ms to 10s"),
        ("series_max = 5", "series_max: '5': expected a whole number, at least 200"),
        ("prefix = 'a b'", "prefix: 'a b': expected letters"),
        ("reset_low_water = 'yes'", "reset_low_water: 'yes': expected true or false"),
        ("host = ''", "host: (empty): expected a text that is not empty"),
        ("[spool]\nmax_bytes = 0", "spool.max_bytes: '0': a spool has a bound"),
        ("[spool]\nmax_bytes = '10k'", "spool.max_bytes: '10k': too little"),
        ("[prometheus]\ntextfile = '/x.txt'", "prometheus.textfile: '/x.txt': expected a name that ends in .prom"),
        ("interval = soon", "not TOML: Invalid value (at line 1, column 12)"),
        (b"host = 'a'\nroot = '\xff'", "line 2: not UTF-8"),
        ("a = " + "[" * 5000, "not TOML: "),
    ],
    ids=lambda value: re.sub(r"\W+", " ", str(value))[:30],
)
def test_an_error_names_the_key_and_what_was_expected(written, text, said):
    (problem,) = problems_of(written(text))
    assert problem.startswith(said)


def test_all_errors_of_a_file_are_said(written):
    path = written("host = 1\ninterval = 'soon'\nx = 1\n")
    assert [problem.partition(":")[0] for problem in problems_of(path)] == ["host", "interval", "x"]
    with pytest.raises(ConfigError, match=r"and 2 more: lnetstat agent --check-config"):
        read_config(path)


def test_a_file_that_is_not_there_or_no_file_is_said(tmp_path):
    assert problems_of(str(tmp_path / "none")) == ["cannot be read: No such file or directory"]
    assert problems_of(str(tmp_path)) == ["cannot be read: Is a directory"]


@given(st.binary(max_size=200))
def test_whatever_is_in_the_file_it_is_read_or_refused_in_words(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(data)
    try:
        read_config(str(path))
    except ConfigError as error:
        assert str(error).startswith(str(path))  # noqa: PT017


def test_the_command_line_wins_over_the_file(written):
    path = written("interval = 5\nprefix = 'file'\n[carbon]\nto = 'a:1'\n")
    settings = settings_of(path, {"prefix": "line"})
    assert settings == AgentSettings(interval_s=5.0, prefix="line", carbon=("a:1",), config=path, given=("prefix",))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "say where points go"),
        ({"stdout": True, "reset_low_water": True, "root": "/x"}, "reset_low_water writes to this node's files"),
        ({"stdout": True, "spool": "/s"}, "say which Carbon"),
        ({"carbon": ("a:1", "a:1")}, "named twice"),
        ({"carbon": ("a:1", "b:1", "A:1,c:1")}, "named twice"),
        ({"carbon": ("a:1",), "spool": "/s/", "recording": "/s"}, "are one folder"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, said):
    (problem,) = contradictions(settings)
    assert said in problem


def test_the_sample_file_is_right_and_documents_every_key_with_its_default(written):
    text = SAMPLE.read_text()
    assert contradictions(read_config(str(SAMPLE))) == []
    section, documented = "", {}
    for line in text.splitlines():
        if found := re.fullmatch(r"\[(\w+)\]", line):
            section = f"{found[1]}."
        elif found := re.fullmatch(r"(#? ?)(\w+) = (.+)", line):
            documented[section + found[2]] = found
    assert set(documented) == {key.name for key in KEYS}
    without_default = {"host", "status", "carbon.to", "spool.folder", "recording.folder", "prometheus.listen", "prometheus.textfile"}
    for key in KEYS:
        if key.name in without_default:
            continue
        section, _, name = key.name.rpartition(".")
        value = read_config(written((f"[{section}]\n" if section else "") + f"{name} = {documented[key.name][3]}\n"))[key.setting]
        assert value == getattr(AgentSettings(), key.setting), key.name


@pytest.mark.parametrize(("text", "seconds"), [("50ms", 0.05), ("2min", 120), ("7d", 604_800), (0.5, 0.5), ("3", 3)])
def test_times(text, seconds):
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize(("text", "size"), [("200M", 200_000_000), ("2GiB", 2 << 30), (500, 500), ("1.5k", 1500)])
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("word", ["-1", "1 hour", "", "1e3s", None, [], float("inf"), -1])
def test_no_times(word):
    with pytest.raises(ValueError, match="expected seconds such as"):
        parse_seconds(word)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (problem,) = problems_of(tmp_path / "pipe")
    assert "a pipe: expected a plain file" in problem
