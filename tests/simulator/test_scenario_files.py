"""Scenario files and --set: what they may hold, and the one line that names file, key and allowed range where they may not."""

from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies

from lnetstat.errors import SimulatorError
from lnetstat.simulator.plan import WRITE, Plan
from lnetstat.simulator.scenario import Scenario, load_scenario
from lnetstat.simulator.scenario.keys import KEYS

SMALL_SYSTEM = """
[clients]
count = 10

[servers]
count = 2

[[io]]
processes = 4
"""


def scenario_of(tmp_path: Path, text: str = SMALL_SYSTEM, settings: dict[str, str] | None = None):
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    return load_scenario(str(path), settings)


def refusal(tmp_path: Path, text: str = SMALL_SYSTEM, settings: dict[str, str] | None = None) -> str:
    with pytest.raises(SimulatorError) as caught:
        scenario_of(tmp_path, text, settings)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(tmp_path) + "/", "")


# --- files, bases, --set


def test_a_file_builds_on_another(tmp_path: Path) -> None:
    (tmp_path / "below.toml").write_text(SMALL_SYSTEM, encoding="utf-8")
    scenario = scenario_of(tmp_path, 'base = "below.toml"\n[clients]\ncount = 5\n[[io]]\nwindow = 2\n')
    assert (scenario.plan(0).clients, len(scenario.plan(0).processes), scenario.plan(0).processes[0].window) == (5, 1, 2)
    assert scenario_of(tmp_path, 'base = "below.toml"\nio = []\n').plan(0).processes == ()
    assert "cannot be its own base" in refusal(tmp_path, 'base = "own.toml"\n')
    said = refusal(tmp_path, 'base = "paper-untund"\n')
    assert said == "own.toml: key 'base': 'paper-untund': no such preset, and no such file beside this one; did you mean 'paper-untuned'?"


def test_errors_name_the_file_that_holds_the_key(tmp_path: Path) -> None:
    (tmp_path / "below.toml").write_text(SMALL_SYSTEM + '[pings]\ninterval = "75"\n', encoding="utf-8")
    said = refusal(tmp_path, 'base = "below.toml"\n')
    assert said.startswith("below.toml: key 'pings.interval': '75': expected a time with a unit, such as \"75 s\"")


def test_settings_take_bare_words_numbers_and_lists() -> None:
    settings = {
        "release": "2.5",
        "costs.credit_return_server": "2.4 ms",
        "io.0.window": "4",
        "o2ib.peer_credits": "16",
        "observe.hosts": "rtr02",
    }
    scenario = load_scenario("paper-untuned", settings | {"pings.first": "3 s"})
    plan = scenario.plan(0)
    assert (scenario.release, plan.repost_server_ns, plan.processes[0].window, plan.router_server_ni.peer_credits) == (
        "2.5",
        2_400_000,
        4,
        16,
    )
    assert scenario.observe == ("rtr02",)
    assert load_scenario("paper-untuned", {"io": "[]"}).plan(0).processes == ()


def test_another_block_can_be_added_but_not_beyond_a_gap(tmp_path: Path) -> None:
    assert len(scenario_of(tmp_path, settings={"io.1.kind": "read"}).plan(0).processes) == 5
    assert (
        refusal(tmp_path, settings={"io.3.window": "4"})
        == "--set: key 'io.3.window': 4: the scenario has 1 [[io]] blocks: the next is io.1"
    )


def test_a_block_without_keys_has_the_defaults(tmp_path: Path) -> None:
    text = SMALL_SYSTEM.replace("processes = 4\n", "")
    (process,) = scenario_of(tmp_path, text).plan(0).processes
    assert (process.client, process.kind, process.window) == (0, WRITE, 8)
    (tmp_path / "based.toml").write_text('base = "own.toml"\n[[io]]\n[[io]]\nprocesses = 2\n', encoding="utf-8")
    based = load_scenario(str(tmp_path / "based.toml"), {"io.0.window": "3", "io.2.kind": "read"}).plan(0).processes
    assert [(process.client, process.window) for process in based] == [(0, 3), (1, 8), (2, 8), (3, 8)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[routers]\ncount = -3\n", "own.toml: key 'routers.count': -3: expected 0 to 1000"),
        ("[routers]\ncount = 1001\n", "own.toml: key 'routers.count': 1001: expected 0 to 1000"),
        ('[pings]\nfirst = "2 d"\n', "own.toml: key 'pings.first': '2 d': expected 0 s to 1 d"),
        ("[routers]\ncuont = 3\n", "own.toml: key 'routers.cuont' is unknown; did you mean 'routers.count'?"),
        ("[routers]\ncount = 2.5\n", "own.toml: key 'routers.count': 2.5: expected a whole number, 0 to 1000"),
        ("[routers]\ncount = true\n", "own.toml: key 'routers.count': true: expected a whole number, 0 to 1000"),
        ("[run]\nduration = 60\n", "own.toml: key 'run.duration': 60: expected a time with a unit, such as \"75 s\": 1 s to 30 d"),
        ('[run]\nduration = "0 s"\n', "own.toml: key 'run.duration': '0 s': expected 1 s to 30 d"),
        (
            '[run]\nstart = "today"\n',
            "own.toml: key 'run.start': 'today': expected a date such as 2012-05-01T00:00:00Z, of 1970 to 2199, with its zone",
        ),
        (
            "[run]\nstart = 2012-05-01\n",
            "own.toml: key 'run.start': 2012-05-01: expected a date such as 2012-05-01T00:00:00Z, of 1970 to 2199, with its zone",
        ),
        ("[costs]\ndisk_jitter = nan\n", "own.toml: key 'costs.disk_jitter': nan: expected a share, 0 to 1"),
        ('[costs]\ndisk_write = "0 GB/s"\n', "own.toml: key 'costs.disk_write': '0 GB/s': expected a rate of 1 kB/s to 1000 TB/s"),
        ('[costs]\ndisk_write = "-1 ms"\n', "expected 0 s to 1 min, or a rate"),
        ('[messages]\nbulk = "4 KiB"\n', "own.toml: key 'messages.bulk': '4 KiB': expected 4097 B to 1 MiB"),
        ('[pings]\npolicy = "idle"\n', "expected one of: aligned-jiffies, aligned-wallclock, idle-offset, suppressed"),
        ("[[routers]]\ncount = 3\n", "own.toml: key 'routers' is a section: write [routers] and its keys below"),
        ("[faults]\nrail = 3\n", "own.toml: key 'faults.rail' stands in a block: write [[faults]], and in --set faults.0.rail"),
        ("[[faults]]\nrails = 3\n", "own.toml: key 'faults.0.rails' is unknown; did you mean 'faults.0.rail'?"),
        ("[gni]\npeer_buffer_credits = 3\n", "key 'gni.peer_buffer_credits' is unknown"),
        ("[tcp]\ncredits = 0\n", "own.toml: key 'tcp.credits': 0: expected 1 to 100000"),
        ("[o2ib]\ncredits = 7\n", "own.toml: key 'o2ib.credits': 7: expected 8 to 100000"),
        ("[routers.o2ib]\ncredits = 1\n", "own.toml: key 'routers.o2ib.credits': 1: expected 8 to 100000"),
        ("[observe]\nhosts = []\n", "own.toml: key 'observe.hosts': []: expected at least one: a list of host names"),
        ("[run]\nstart = 9999-12-31T23:59:59Z\n", "expected a date such as 2012-05-01T00:00:00Z, of 1970 to 2199"),
        ("[run]\nstart = 1969-01-01T00:00:00Z\n", "expected a date such as 2012-05-01T00:00:00Z, of 1970 to 2199"),
        ("[[faults]]\n", "own.toml: key 'faults.0.node' is not given: the host name of the node whose interface fails"),
    ],
)
def test_one_line_for_a_key_that_cannot_be(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, SMALL_SYSTEM + text)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"routers.cuont": "3"}, "--set: key 'routers.cuont' is unknown; did you mean 'routers.count'?"),
        ({"routers.count": "three"}, "--set: key 'routers.count': 'three': expected a whole number, 0 to 1000"),
        ({"run.duration": ""}, "--set: key 'run.duration': '': expected a time with a unit"),
        ({"base": "petascale"}, "--set: key 'base': 'petascale': the base is chosen in a file"),
        ({"servers.count": "0"}, "--set: key 'servers.count': 0: expected 1 to 1000"),
        ({"network.server.lnd": "o2ib"}, "servers cannot be reached; set routers.count"),
        ({"routers.count": "1", "rails": "2"}, "--set: key 'rails': 2: expected 1: nodes behind routers have one interface here"),
        ({"rails": "2", "release": "2.5"}, "--set: key 'rails': 2: expected 1: Lustre 2.5 has no multi-rail (2.12 and 2.16 have)"),
        ({"cpts": "2", "release": "1.8"}, "--set: key 'cpts': 2: expected 1: Lustre 1.8 has no CPU partitions"),
        ({"network.ipv6": "true"}, "expected false: Lustre 2.12 has no IPv6 NIDs (2.16 has)"),
        ({"io.0.processes": "11"}, "--set: key 'io.0.processes': 11: 10 processes fit on 10 clients (1 per client, from client 0 on)"),
        ({"io.0.first_client": "9"}, "--set: key 'io.0.first_client': 9: 1 processes fit on 10 clients (1 per client, from client 9 on)"),
        ({"io.0.stripes": "9"}, "--set: key 'io.0.stripes': 9: expected at most 8, the targets of a group"),
        ({"io.0.kind": "small", "io.0.size": "1 MiB"}, "small RPCs carry no data: give io.0.rpcs"),
        ({"io.0.rpcs": "1", "io.0.size": "1 MiB"}, "give io.0.size or io.0.rpcs, not both"),
        (
            {"io.0.window": "4096", "io.0.processes": "10000", "io.0.per_client": "1000"},
            "RPCs in flight (processes x stripes x window): expected at",
        ),
        ({"run.sample": "1 ms", "run.duration": "3 h"}, "--set: key 'run.sample': '1 ms': 10800000 samples: expected at most 10000000"),
        ({"io.0.start": "1 h"}, "--set: key 'io.0.start': '1 h': expected at most the duration, 15 min"),
        ({"pings.spread": "26 s"}, "--set: key 'pings.spread': '26 s': expected at most the interval, 25 s"),
        (
            {"pings.interval": "100 ms", "pings.policy": "aligned-jiffies"},
            "--set: key 'pings.interval': '100 ms': expected at least 200 ms, pings.spread's default with policy aligned-jiffies, or a",
        ),
        ({"pings.first": "20 min"}, "expected less than the duration, 15 min"),
        ({"pings.policy": "aligned-wallclock", "pings.first": "1 s"}, "the wall clock says when"),
        ({"pings.policy": "aligned-jiffies", "pings.early": "0.1"}, "with policy aligned-jiffies rounds do not drift"),
        ({"pings.keep": "9"}, "expected at most 8, the targets of a group"),
        ({"run.sample": "20 min"}, "expected at most the duration, 15 min"),
        ({"pings.mounts": "1000", "clients.count": "200000"}, "imports in a group (clients x targets x mounts): expected at most 50000000"),
        ({"faults.0.node": "oss01", "faults.0.down": "1 s", "routers.count": "1"}, "faults are possible only without routers"),
        ({"faults.0.node": "oss01", "faults.0.down": "1 s", "release": "2.5"}, "Lustre 2.5 has no health values"),
        ({"faults.0.node": "oss09", "faults.0.down": "1 s"}, "no node is called 'oss09'"),
        ({"faults.0.node": "oss01", "faults.0.down": "2 s", "faults.0.up": "1 s"}, "expected later than faults.0.down, 2 s"),
        ({"faults.0.node": "oss01", "faults.0.down": "2 s", "faults.0.rail": "1"}, "expected 0 to 0: rails is 1"),
        ({"faults.0.node": "oss01"}, "own.toml: key 'faults.0.down' is missing: when it fails: expected 0 s to 30 d"),
        ({"faults.0.down": "1 s"}, "own.toml: key 'faults.0.node' is not given: the host name of the node whose interface fails"),
    ],
)
def test_one_line_for_settings_that_cannot_be(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    assert said in refusal(tmp_path, settings=settings)


def test_missing_counts_are_asked_for(tmp_path: Path) -> None:
    said = refusal(tmp_path, "")
    assert said.startswith("own.toml: key 'clients.count' is missing: client nodes")


def test_what_is_no_scenario(tmp_path: Path) -> None:
    assert refusal(tmp_path, "count = ").startswith("own.toml: not TOML: ")
    assert refusal(tmp_path, "count = 1\ncount = 2\n").startswith("own.toml: not TOML: ")
    (tmp_path / "latin.toml").write_bytes(b"about = '\xe9'")
    for name, said in (
        (str(tmp_path), "cannot be read: Is a directory"),
        (str(tmp_path / "none.toml"), "none.toml: cannot be read: No such file or directory; presets: control-"),
        (str(tmp_path / "latin.toml"), "latin.toml: not UTF-8 text (byte 9): expected a TOML file"),
        ("paper-untund", "paper-untund: no such preset or file; did you mean 'paper-untuned'?; presets: "),
        ("", "(empty): no such preset or file"),
        ("a\0.toml", "cannot be read: no valid file name"),
        ("/dev/zero", "more than 1000000 bytes: not a scenario"),
    ):
        with pytest.raises(SimulatorError) as caught:
            load_scenario(name)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)


# --- anything that somebody may write


VALUES = [
    "0",
    "-1",
    "1",
    "3",
    "999999999",
    "1e400",
    "nan",
    "''",
    '"75 s"',
    "2 ms",
    "0 s",
    "-1 s",
    "1 MiB",
    "3 GB/s",
    "1.8",
    "2.16",
    "true",
    "[]",
    "[1]",
]
WORDS = [
    "o2ib",
    "tcp",
    "gni",
    "read",
    "small",
    "idle-offset",
    "suppressed",
    "aligned-wallclock",
    "oss01",
    "2012-05-01T00:00:00Z",
    "[[",
    "{}",
    "\n",
    "é",
]
NAMES = [*(name.replace(".N.", ".0.") for name in KEYS), "io", "faults", "io.1.window", "routers", "nothing.at.all", ""]


def plan_or_words(preset: str, settings: dict[str, str]) -> tuple[Scenario, Plan] | str:
    try:
        scenario = load_scenario(preset, settings)
    except SimulatorError as error:
        return str(error)
    return scenario, scenario.plan(scenario.groups - 1)


@hypothesis.settings(max_examples=400, deadline=None, derandomize=True)
@hypothesis.given(
    strategies.sampled_from(["kit-links", "mr-failure", "ornl-tcp", "real-pings"]),
    strategies.dictionaries(strategies.sampled_from(NAMES), strategies.sampled_from([*VALUES, *WORDS]), max_size=4),
)
def test_settings_give_a_plan_or_one_line(preset: str, settings: dict[str, str]) -> None:
    made = plan_or_words(preset, settings)
    if isinstance(made, str):
        assert "\n" not in made
        assert len(made) < 400
        return
    scenario, plan = made
    assert len(plan.pings.first_ns) == plan.clients * plan.targets * plan.pings.mounts
    assert all(0 <= process.client < plan.clients and 0 <= process.first_target < plan.targets for process in plan.processes)
    assert plan.server_ni.peer_credits <= plan.server_ni.credits
    assert plan.server_net.concurrent_sends <= 2 * max(plan.server_net.wire_credits, 1)
    assert len(plan.service_jitter) & (len(plan.service_jitter) - 1) == 0
    assert all("\n" not in note for note in scenario.notes)
    assert len(scenario.nids(0)) == len(scenario.hosts(0)) == plan.clients + plan.routers + plan.servers


def test_an_empty_section_that_is_none_is_told(tmp_path: Path) -> None:
    assert refusal(tmp_path, SMALL_SYSTEM + "[router]\n").startswith("own.toml: key 'router' is unknown")
    assert scenario_of(tmp_path, SMALL_SYSTEM + "[routers]\n").sizes.routers == 0
