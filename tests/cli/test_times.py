"""Moments as users write them: with a zone, in that of --tz, and the local times that came twice or not at all."""

import re

import pytest
from click.testing import CliRunner

from lnetstat.cli import lnetstat
from lnetstat.cli._times import parse_moment
from tests.cli.test_usage import PINGS

SUMMER = 1_786_708_800 * 10**9  # 2026-08-14T12:00:00Z


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2026-08-14T12:00:00Z", ""),
        ("2026-08-14T14:00:00+02:00", "America/New_York"),
        ("2026-08-14 14:00", "Europe/Berlin"),
        ("2026-08-14T08:00", "America/New_York"),
        ("1786708800", "Europe/Berlin"),
    ],
)
def test_a_moment_may_be_local_where_the_zone_is_said(text, zone):
    assert parse_moment(text, zone).time_ns == SUMMER


@pytest.mark.parametrize(
    ("text", "zone", "why"),
    [
        ("2026-10-25 02:30", "Europe/Berlin", "came twice in Europe/Berlin: write it with its offset"),
        ("2026-03-29 02:30", "Europe/Berlin", "did not come in Europe/Berlin"),
        ("2026-08-14 14:00", "", "write 2026-08-14T14:00:00Z or 2026-08-14T14:00:00[+]02:00, or give --tz"),
        ("2026-08-14", None, "[+]02:00$"),
        ("0001-01-01", "Europe/Berlin", "is no time"),
        ("9999-12-31T23:59", "America/New_York", "is no time"),
    ],
)
def test_a_moment_that_could_be_several_is_refused(text, zone, why):
    with pytest.raises(ValueError, match=why):
        parse_moment(text, zone)


def test_the_zone_counts_wherever_it_stands_on_the_command_line():
    window = ["--begin", "2026-11-20 13:02:04", "--end", "2026-11-20T12:02:05Z"]
    words = ["dump", str(PINGS), "--table", "buffers", "--csv"]
    before = CliRunner().invoke(lnetstat, [*words, "--tz", "Europe/Berlin", *window]).stdout
    after = CliRunner().invoke(lnetstat, [*words, *window, "--tz", "Europe/Berlin"]).stdout
    assert before == after
    stamps = [int(stamp) for stamp in re.findall(r"^[^,]*,[^,]*,(\d+),", before, re.MULTILINE)]
    assert 0 <= min(stamps) - 1_795_176_124 * 10**9 < 10**9
