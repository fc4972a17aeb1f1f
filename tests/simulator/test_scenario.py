"""Scenarios: what administrators write, what becomes of it, and the one line they get where it cannot be."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from lnetstat.errors import SimulatorError
from lnetstat.simulator.plan import PING, READ, SMALL, WRITE
from lnetstat.simulator.scenario import load_scenario, preset_text, presets
from lnetstat.simulator.scenario.keys import KEYS, keys_markdown
from lnetstat.simulator.scenario.units import rate_bytes_per_s, shown_size, shown_time, size_bytes, time_ns
from lnetstat.tables._rows import is_nid

S = 10**9
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


# --- units


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("75 s", 75 * S),
        ("2.3 ms", 2_300_000),
        ("0.2s", S // 5),
        ("16 min", 960 * S),
        ("3 us", 3000),
        ("4 µs", 4000),
        ("0 s", 0),
        ("1.5 h", 5400 * S),
    ],
)
def test_times_are_exact(text: str, ns: int) -> None:
    assert time_ns(text) == ns


@pytest.mark.parametrize("text", ["75", "", "s", "0.5 ns", "75 sec", "1_000 s", "1e3 s", "٣ s", "nan s", "75 s 3 ms", "1 MiB"])
def test_no_times(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        time_ns(text)


def test_sizes_and_rates_tell_decimal_from_binary() -> None:
    assert (size_bytes("1 MiB"), size_bytes("1 MB"), size_bytes("1 kB"), size_bytes("200 B")) == (2**20, 10**6, 1000, 200)
    assert (rate_bytes_per_s("3.2 GB/s"), rate_bytes_per_s("10 Gbit/s")) == (3_200_000_000, 1_250_000_000)


@pytest.mark.parametrize("ns", [0, 1, 999, 1000, 2_300_000, 75 * S, 3600 * S, 86400 * S, 5400 * S, 90 * S, S + 1, 12_900_000_000])
def test_shown_times_read_back(ns: int) -> None:
    assert time_ns(shown_time(ns)) == ns


@pytest.mark.parametrize("size", [0, 1, 1024, 2**20, 3 * 2**30, 1000, 2**20 + 1, 3 * 2**19])
def test_shown_sizes_read_back(size: int) -> None:
    assert size_bytes(shown_size(size)) == size


# --- a scenario becomes a plan


def test_a_small_scenario_has_the_defaults(tmp_path: Path) -> None:
    plan = scenario_of(tmp_path).plan(0)
    assert (plan.clients, plan.routers, plan.servers, plan.targets) == (10, 0, 2, 8)
    assert [(process.client, process.first_target, process.window, process.total) for process in plan.processes] == [
        (0, 0, 8, 0),
        (1, 1, 8, 0),
        (2, 2, 8, 0),
        (3, 3, 8, 0),
    ]
    assert plan.end_ns == 900 * S


def test_costs_are_times_or_rates(tmp_path: Path) -> None:
    text = SMALL_SYSTEM + '[costs]\ndisk_write = "1 GB/s"\ndisk_read = "2 ms"\n[costs.clients]\nbulk = "4.6 GB/s"\n'
    plan = scenario_of(tmp_path, text).plan(0)
    assert (plan.disk_write_ns, plan.disk_read_ns, plan.client_ni.bulk_ns) == (1_048_576, 2_000_000, 227_951)


def test_blocks_follow_one_another_on_clients_and_stripes_on_targets(tmp_path: Path) -> None:
    text = (
        SMALL_SYSTEM
        + '[[io]]\nkind = "read"\nprocesses = 4\nper_client = 2\nstripes = 3\nsize = "10 MiB"\n[[io]]\nkind = "small"\nrpcs = 7\n'
    )
    processes = scenario_of(tmp_path, text).plan(0).processes
    assert [process.kind for process in processes] == [WRITE] * 4 + [READ] * 4 + [SMALL]
    assert [process.client for process in processes] == [0, 1, 2, 3, 4, 4, 5, 5, 6]
    assert [process.first_target for process in processes[4:8]] == [0, 3, 6, 1]
    assert [process.total for process in processes[4:]] == [10, 10, 10, 10, 7]


def test_processes_begin_together_or_evenly_one_after_another(tmp_path: Path) -> None:
    text = SMALL_SYSTEM + 'start = "1 s"\n'
    assert [each.start_ns for each in scenario_of(tmp_path, text).plan(0).processes] == [S] * 4
    processes = scenario_of(tmp_path, text + 'start_spread = "2 s"\n').plan(0).processes
    assert [each.start_ns for each in processes] == [S, S + S // 2, 2 * S, 2 * S + S // 2]


def test_groups_load_different_clients(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, "groups = 3\n" + SMALL_SYSTEM)
    clients = [[process.client for process in scenario.plan(group).processes] for group in range(3)]
    assert clients == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1]]


def test_sizes_are_whole_rpcs_and_say_so(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, SMALL_SYSTEM + 'size = "1.5 MiB"\n')
    assert scenario.plan(0).processes[0].total == 2
    assert scenario.notes == ("io.0.size=1.5 MiB is 2 RPCs of 1 MiB: 2 MiB for each process",)


def test_what_would_come_after_the_end_is_told() -> None:
    notes = load_scenario("paper-untuned", {"run.duration": "3 s"}).notes
    assert notes == (
        "no pings: the first would come 10 s after the start, and the run ends before",
        "io.0.start_spread: processes begin until 5 s after the start, and the run ends before",
    )


def test_jitter_is_even_around_one_and_differs_between_groups(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, "groups = 2\n" + SMALL_SYSTEM, {"costs.disk_jitter": "0.25"})
    first, second = scenario.plan(0).disk_jitter, scenario.plan(1).disk_jitter
    assert sorted(first) == sorted(second)
    assert first != second
    assert (min(first), max(first), sum(first)) == (768, 1280, 1024 * len(first))
    assert scenario_of(tmp_path, settings={"costs.disk_jitter": "0"}).plan(0).disk_jitter == (1024,)


def test_scenarios_travel_to_other_processes() -> None:
    scenario = load_scenario("kit-links")
    again = pickle.loads(pickle.dumps(scenario))
    assert again.plan(4) == scenario.plan(4)


# --- pings


def first_pings(scenario, group: int = 0):
    plan = scenario.plan(group)
    return np.frombuffer(plan.pings.first_ns, dtype=np.int64).reshape(plan.clients, plan.pings.mounts, plan.targets)


def test_jiffies_give_each_node_one_phase() -> None:
    first = first_pings(load_scenario("paper-fake-scaled"))
    assert first.shape == (25000, 5, 12)
    assert (first == first[:, :1, :1]).all()
    assert first.min() >= 10 * S
    assert first.max() < 10 * S + S // 5
    assert len(np.unique(first)) > 24_000


def test_phases_depend_on_the_seed_and_never_on_the_group() -> None:
    scenario = load_scenario("kit-links")
    assert (first_pings(scenario, 0) == first_pings(scenario, 4)).all()
    assert (first_pings(scenario) != first_pings(load_scenario("kit-links", {"run.seed": "2"}))).any()


def test_the_wall_clock_says_when() -> None:
    scenario = load_scenario(
        "paper-untuned", {"pings.policy": "aligned-wallclock", "pings.spread": "0 s", "run.start": "2012-05-01T00:00:50Z"}
    )
    assert set(first_pings(scenario).flat) == {25 * S}
    assert (scenario.start_ns + 25 * S) % (75 * S) == 0


def test_idle_offset_gives_each_mount_a_phase(tmp_path: Path) -> None:
    first = first_pings(scenario_of(tmp_path, settings={"pings.mounts": "3"}))
    assert (first == first[:, :, :1]).all()
    assert len(np.unique(first)) == 30
    assert 0 <= first.min() < first.max() < 25 * S


def test_suppressed_pings_never_come() -> None:
    assert set(first_pings(load_scenario("control-suppressed")).flat) == {-1}


def test_only_old_releases_align_and_only_new_ones_disconnect(tmp_path: Path) -> None:
    held = {}
    for release in ("1.8", "2.5", "2.12", "2.16"):
        pings = scenario_of(tmp_path, settings={"release": release}).plan(0).pings
        held[release] = (pings.aligned, pings.idle_ns // S)
    assert held == {"1.8": (True, 0), "2.5": (False, 0), "2.12": (False, 20), "2.16": (False, 20)}


# --- names


def test_names_are_valid_and_unique_at_petascale() -> None:
    scenario = load_scenario("petascale")
    clients, client_nids = scenario.hosts(0)[:25_000], scenario.nids(0)[:25_000]
    hosts = set(clients)
    nids = {nid for (nid,) in client_nids}
    for group in range(scenario.groups):
        names, addresses = scenario.hosts(group), scenario.nids(group)
        assert len(names) == len(addresses) == 25_007
        assert (names[:25_000], addresses[:25_000]) == (clients, client_nids)  # clients are the same in every group
        hosts.update(names[25_000:])
        nids.update(nid for node in addresses[25_000:] for nid in node)
        assert [len(node) for node in addresses[24_999:]] == [1, 2, 2, 2, 2, 1, 1, 1]
    assert len(hosts) == 25_000 + 150 * 7
    assert len(nids) == 25_000 + 150 * (4 * 2 + 3)
    assert all(is_nid(nid) for nid in nids)
    assert scenario.observe == ("rtr-g001-01", "oss-g001-01")
    assert (scenario.observed(0), scenario.observed(1)) == ((25_000, 25_004), ())


def test_numbered_nids_are_unique_on_both_networks(tmp_path: Path) -> None:
    text = "groups = 2\n" + SMALL_SYSTEM + '[routers]\ncount = 3\n[network.client]\nlnd = "gni"\n[network.server]\nlnd = "gni"\n'
    scenario = scenario_of(tmp_path, text)
    nids = {nid for group in (0, 1) for node in scenario.nids(group) for nid in node}
    assert len(nids) == 10 + 2 * (3 * 2 + 2)
    assert {nid.partition("@")[2] for nid in nids} == {"gni", "gni1"}


def test_rails_and_ipv6(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, 'release = "2.16"\nrails = 2\n[network.client]\nlnd = "tcp"\n' + SMALL_SYSTEM)
    nids = [nid for node in scenario.nids(0) for nid in node]
    assert nids[:3] == ["fd00::1:0:1@tcp", "fd00::1:0:2@tcp", "fd00::1:0:3@tcp"]
    assert len(set(nids)) == 24
    assert all(is_nid(nid) for nid in nids)
    assert scenario.hosts(0)[-1] == "oss02"
    assert scenario_of(tmp_path, settings={"network.client.lnd": "tcp"}).nids(0)[0] == ("10.64.0.1@tcp",)


def test_two_networks_of_one_driver_have_two_names() -> None:
    router = load_scenario("kit-links").nids(0)[64]
    assert [nid.partition("@")[2] for nid in router] == ["o2ib", "o2ib1"]


def test_observed_hosts(tmp_path: Path) -> None:
    assert scenario_of(tmp_path, settings={"observe.hosts": "oss02, c00003"}).observed(0) == (2, 11)
    said = refusal(tmp_path, settings={"observe.hosts": "oss03"})
    assert (
        said == "--set: key 'observe.hosts': ['oss03']: no node is called 'oss03'; did you mean 'oss02'?; there are c00001, c00010, oss02"
    )
    assert "takes part in all 3 groups" in refusal(tmp_path, "groups = 3\n" + SMALL_SYSTEM, {"observe.hosts": "c00001"})


def test_faults_become_interfaces() -> None:
    plan = load_scenario("mr-failure").plan(0)
    assert [(fault.time_ns, fault.ni, fault.up) for fault in plan.faults] == [(60 * S, 4 * 2 + 1, False), (240 * S, 9, True)]
    assert plan.health.detect_ns == S


# --- presets and the reference page


@pytest.mark.parametrize("name", presets())
def test_presets_load_and_explain_themselves(name: str) -> None:
    scenario = load_scenario(name)
    assert len(scenario.about) > 40
    assert scenario.notes == ()
    assert scenario.observed(0)
    assert scenario.plan(scenario.groups - 1).end_ns == scenario.duration_ns
    assert preset_text(name).startswith("about = ")


def test_paper_presets_have_the_papers_numbers() -> None:
    """P01 to P04 of Spitz et al.: 100,000 pings a server and 75,000 a router, 45 million in all, every 75 s."""
    plan, whole = load_scenario("paper-untuned").plan(0), load_scenario("petascale")
    assert plan.clients * plan.targets // plan.servers == 100_000
    assert plan.clients * plan.targets // plan.routers == 75_000
    assert plan.clients * plan.targets * whole.groups == 45_000_000
    assert plan.pings.interval_ns == 75 * S
    assert (plan.server_net.wire_credits, plan.server_net.credits_highwater) == (8, 4)
    assert plan.router_buffers == (1024, 8192, 512)
    tuned = load_scenario("paper-tuned").plan(0)
    assert (tuned.server_net.wire_credits, tuned.server_net.concurrent_sends, tuned.router_server_ni.peer_buffer_credits) == (126, 63, 126)
    assert tuned.router_buffers[1] == 16384
    assert len(load_scenario("paper-fake-scaled").plan(0).pings.first_ns) == 5 * 300_000


def test_calibrated_costs_are_the_same_in_all_paper_presets() -> None:
    names = [name for name in presets() if name.startswith(("paper", "control", "petascale", "oversub"))]
    costs = {(plan.repost_server_ns, plan.server_ni.rx_ns, plan.disk_write_ns) for plan in (load_scenario(name).plan(0) for name in names)}
    assert costs == {(2_300_000, 8_000, 700_000)}


def test_paper_presets_last_twelve_periods_at_one_hertz() -> None:
    for name in (
        "paper-untuned",
        "paper-tuned",
        "paper-fake-scaled",
        "control-spread",
        "control-suppressed",
        "control-interval-25",
        "real-pings",
    ):
        scenario = load_scenario(name)
        assert scenario.duration_ns >= 12 * scenario.plan(0).pings.interval_ns
        assert scenario.sample_ns <= S


def test_ornl_rate_law_stands_in_the_costs() -> None:
    """Caldwell, LUG 2013: one RPC alone takes 1/698.37 s a MiB, the client's interface 1/1181.56 s."""
    plan = load_scenario("ornl-tcp").plan(0)
    busy_ns = plan.client_ni.post_ns + plan.client_ni.bulk_ns
    alone_ns = busy_ns + 2 * plan.server_ni.post_ns + 4 * plan.client_net.wire_ns + plan.disk_write_ns
    assert 1e9 / busy_ns == pytest.approx(1181.56, rel=1e-5)
    assert 1e9 / alone_ns == pytest.approx(698.37, rel=1e-5)


def test_every_key_is_on_the_reference_page() -> None:
    page = keys_markdown()
    for key in KEYS.values():
        assert (f"| `{key.name}` |" in page) == key.documented
        assert key.help
        assert not key.documented or key.default is not None or key.otherwise
    assert "| `pings.interval` | 25 s | 100 ms to 1 d | PING_INTERVAL" in page
    assert PING == 0


def test_addresses_can_be_chosen(tmp_path: Path) -> None:
    text = 'release = "2.16"\n[network]\nipv6 = false\n[network.client]\nlnd = "tcp"\n' + SMALL_SYSTEM
    assert scenario_of(tmp_path, text).nids(0)[0] == ("10.64.0.1@tcp",)
