"""The path nodes of the collectl plug-ins are those of lnetstat/reduce/paths.py, byte by byte, in each file as it stands."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnetstat.reduce.paths import host_node, name_node, net_node, nid_node

REPO = Path(__file__).parents[2]
PACKAGES = {"lnet.ph": "Lnetstat::Lnet", "lustre_oss.ph": "Lnetstat::Oss", "lnetcarbon.ph": "Lnetstat::Carbon"}
NODES = {"host": host_node, "nid": nid_node, "net": net_node, "name": name_node}
CASES = [line.split("\t") for line in (REPO / "sample-data" / "paths.tsv").read_text(encoding="utf-8").splitlines()[1:]]

# Answers `KIND HEX` lines with the node; collectl's own variables are not there.
SERVER = r"""
use strict; use warnings; $| = 1;
my ($file, $package) = @ARGV;
require $file;
while (my $line = <STDIN>) {
    my ($kind, $hex) = $line =~ /^(\w+) (\w*)$/ or die "bad line $line";
    print $package->can("${kind}_node")->(pack 'H*', $hex), "\n";
}
"""

pytestmark = pytest.mark.skipif(not shutil.which("perl"), reason="perl is missing")


class Perl:
    """One perl process that holds one plug-in."""

    def __init__(self, plugin: str) -> None:
        file = REPO / "collectors" / "collectl" / plugin
        words = ["perl", "-e", SERVER, str(file), PACKAGES[plugin]]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def node(self, kind: str, name: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{kind} {name.encode('utf-8', 'surrogateescape').hex()}\n".encode())
        self.process.stdin.flush()
        return self.process.stdout.readline().decode("ascii").rstrip("\n")

    def close(self) -> int:
        self.process.communicate()
        return self.process.returncode


@pytest.fixture(scope="module", params=list(PACKAGES))
def perl(request: pytest.FixtureRequest) -> Iterator[Perl]:
    made = Perl(request.param)
    yield made
    assert made.close() == 0


def test_every_shared_case(perl: Perl) -> None:
    assert len(CASES) > 20
    found = [[kind, name, perl.node(kind, name)] for kind, name, _ in CASES]
    assert found == CASES


NETS = st.one_of(st.sampled_from(["tcp", "o2ib1", "gni", "lo"]), st.from_regex(r"[a-z0-9.]{0,6}", fullmatch=True))
ADDRESSES = st.one_of(
    st.lists(st.integers(0, 300).map(str), min_size=3, max_size=5).map(".".join),
    st.from_regex(r"[0-9]{1,12}", fullmatch=True),
    st.lists(st.from_regex(r"[0-9a-fA-F]{0,5}", fullmatch=True), min_size=1, max_size=10).map(":".join),
)
NAMES = st.one_of(
    st.text(max_size=120),
    st.binary(max_size=120).map(lambda data: data.decode("utf-8", "surrogateescape")),
    st.text("ab01AB._-@:/ \n", max_size=100),
    st.tuples(ADDRESSES, st.sampled_from(["@", "@", "@", "", "@@"]), NETS).map("".join),
    st.from_regex(r"[a-z]{1,8}[._][A-Za-z0-9_.-]{0,20}\n?", fullmatch=True),
)


@settings(max_examples=300, deadline=None)
@given(name=NAMES)
def test_any_name(perl: Perl, name: str) -> None:
    for kind, node in NODES.items():
        assert perl.node(kind, name) == node(name)


@pytest.mark.parametrize("host", ["a..b", "a.b-", "a\n", "1", "a.-b", "A" * 91, "é"])
@pytest.mark.parametrize("kind", list(NODES))
def test_odd_names(perl: Perl, kind: str, host: str) -> None:
    for name in (host, f"10.0.0.1@{host}", f"{host}@tcp", f"a:b@{host}", f"a.{host}", "a:b@tcp", "a:b:c@tcp", "01.0.0.1@tcp"):
        assert perl.node(kind, name) == NODES[kind](name)
