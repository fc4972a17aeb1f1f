"""lustre_oss.ph reads a stats file as lnetstat/tables/counters.py does, also a damaged one: same counters, same times, as many errors."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnetstat.model import Snapshot, State
from lnetstat.reduce.paths import name_node
from lnetstat.tables import instance_of, samples

REPO = Path(__file__).parents[2]
PLUGIN = REPO / "collectors" / "collectl" / "lustre_oss.ph"
TEXTS = [file.read_text() for file in sorted(REPO.glob("sample-data/*/*.stats--*.txt"))] + [
    "snapshot_time 1420750934.57342 secs.usecs\nost_write 5 samples [bytes] 1 2 7\n",
    "snapshot_time             1234.     5678 secs.nsecs\nread_bytes 3 samples [bytes] 1 2 5 9\nelapsed_time 7\n",
    "snapshot_time 1.5 secs.nsecs\nstatfs 2 samples [reqs]\nstatfs 3 samples [reqs]\n",
    "thandle starting 12 samples [usec] 1 2 7 -9\r\n",
    "snapshot_time 5\n",
    "snapshot_time 5.1234567 secs.usecs\nread_bytes 3 samples [bytes] 1 2 5 9\n",
    "snapshot_time 5.1234567891\na b c d 3 samples [bytes] 1 2 5 9 11 x\n",
    "snapshot_time 5.1 secs\na b c d 3 samples [bytes] 1 2 5 9 11\na b c d e 3 samples [bytes]\nstart_time 5.1 secs.msecs\n",
    f"snapshot_time 5\nstatfs {' ' * 4096} 3 samples [reqs]\n",
    "",
]
SERVER = r"""
use strict; use warnings; $| = 1;
use JSON::PP ();
my ($file) = @ARGV;
require $file;
my $json = JSON::PP->new->canonical;
while (my $line = <STDIN>) {
    my ($what, $hex) = $line =~ /^(\w+) (\w*)$/ or die "bad line $line";
    my $text = pack 'H*', $hex;
    print $json->encode([$what eq 'instance' ? Lnetstat::Oss::instance_of($text) : Lnetstat::Oss::parse_stats($text)]), "\n";
}
"""


class Perl:
    """One perl process that holds the plug-in, without collectl."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(["perl", "-e", SERVER, str(PLUGIN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, what: str, text: str) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{what} {text.encode().hex()}\n".encode())
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())[0]


@pytest.fixture(scope="module")
def perl() -> Iterator[Perl]:
    made = Perl()
    yield made
    made.process.communicate()
    assert made.process.returncode == 0


def in_perl(time_ns: int | float | None) -> object:
    """Return a time as it is, one beyond 64 bits, in the year 2554, about as it is."""
    return time_ns if time_ns is None or time_ns < 2**63 else f"{time_ns:.9e}"


def by_perl(perl: Perl, text: str) -> object:
    found = perl.ask("parse", text)
    if not found["counters"]:
        assert found["names"] == []
    counters = [(name, *(found["counters"][name][key] for key in ("samples", "sum", "unit"))) for name in found["names"]]
    rows = [(name, int(count), None if total is None else int(total), unit) for name, count, total, unit in counters]
    return rows, in_perl(found.get("snapshot_ns")), in_perl(found.get("start_ns")), found["problems"]


def by_python(text: str) -> object:
    snapshot = Snapshot("ost.OSS.ost_io.stats", "oss1", 0, 0, 0, State.OK, 0, frozenset(), text)
    (sample,) = samples(snapshot)
    rows = [(row.counter, row.samples, row.sum, row.unit) for row in sample.rows]
    times = [sample.facts.get(name) for name in ("snapshot_time", "start_time")]
    return rows, *(in_perl(None if time is None else int(time)) for time in times), len(sample.problems)


@pytest.mark.parametrize("text", TEXTS)
def test_whole_texts(perl: Perl, text: str) -> None:
    assert by_perl(perl, text) == by_python(text)


PIECES = (" ", "\n", "\r\n", "-", "0", "007", "18446744073709551615", "9" * 21, "x", "samples", "[usecs]", "[", "]", ".", "é", "\t")
LONG = ("\ufeff", "a" * 81, "a" * 4097, "secs.usecs", "secs.nsecs", "snapshot_time", "start_time", "elapsed_time", "1420750934.57342")
WORDS = st.sampled_from(PIECES + LONG)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Return a text of the kernel with a few pieces cut out, doubled, or words put in."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.integers(0, 40)))
        text = text[:at] + draw(st.one_of(WORDS, st.just(""), st.just(text[at:end] * 2))) + text[end:]
    return text


@settings(max_examples=500, deadline=None)
@given(text=damaged())
def test_damaged_texts(perl: Perl, text: str) -> None:
    if "=" not in text:  # lctl's wrapper: no kernel file has one
        assert by_perl(perl, text) == by_python(text)


@pytest.mark.parametrize(
    "name",
    [
        "ost.OSS.ost_io.stats",
        "mds.MDS.mdt.stats",
        "mdt.MDS.mds.stats",
        "mgs.MGS.mgs.stats",
        "obdfilter.FS-OST0000.stats",
        "osc.FS-OST0000-osc-ffff8800.stats",
        "ldlm.services.ldlm_cbd.stats",
        "mdt.FS-MDT0000.md_stats",
    ],
)
def test_instances(perl: Perl, name: str) -> None:
    assert perl.ask("instance", name) == instance_of(name)
    assert name_node(instance_of(name))
