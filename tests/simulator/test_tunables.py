"""Tunables act as the drivers make them act, and the scenario says so."""

import pytest

from lnetstat.errors import SimulatorError
from lnetstat.simulator.scenario import load_scenario
from lnetstat.simulator.scenario.tunables import Asked, O2ibAsked, hold, router_buffers, window


def held(lnd: str, release: str, cpts: int = 1, *, compute_node: bool = False, **asked: int):
    return hold(lnd, release, cpts, Asked(**asked), compute_node=compute_node)


def test_the_papers_recipe_alone_becomes_64_on_1_8() -> None:
    """TUNABLES: peer_credits=126 with the default credits of 1.8 to 2.2 is clamped, and the run says so."""
    limits, notes = held("o2ib", "1.8", peer_credits=126)
    assert (limits.credits, limits.peer_credits, limits.peer_buffer_credits) == (64, 64, 64)
    assert notes == ("ko2iblnd peer_credits=126 acts as 64: credits is 64 (default of Lustre 1.8); set credits=126 or more",)
    assert held("o2ib", "2.5", peer_credits=126)[0].peer_credits == 126


@pytest.mark.parametrize(
    ("asked", "acts", "why"),
    [
        ({"peer_credits": 4}, 8, "8 is the driver's least"),
        ({"peer_credits": 300, "credits": 512}, 255, "one byte"),
        ({"peer_credits": 100, "credits": 32}, 32, "credits is 32; set credits=100 or more"),
    ],
)
def test_o2ib_clamps_in_the_drivers_order(asked: dict[str, int], acts: int, why: str) -> None:
    limits, notes = held("o2ib", "2.5", **asked)
    assert limits.peer_credits == acts
    assert len(notes) == 1
    assert why in notes[0]


def test_several_clamps_are_all_told() -> None:
    limits, notes = held("o2ib", "1.8", peer_credits=300)
    assert limits.peer_credits == 64
    assert [note.partition(":")[0] for note in notes] == ["ko2iblnd peer_credits=300 acts as 255", "ko2iblnd peer_credits=255 acts as 64"]


def test_other_drivers_know_only_the_common_rule() -> None:
    assert held("tcp", "1.8", credits=4, peer_credits=2) == ((4, 4, 2, 2), ())
    assert held("tcp", "2.12", credits=4, peer_credits=9)[0].peer_credits == 4
    assert held("gni", "2.5")[0][:3] == (256, 256, 16)


@pytest.mark.parametrize(("release", "expected"), [("1.8", 256), ("2.5", 256), ("2.12", 64), ("2.16", 64)])
def test_compute_nodes_have_fewer_gni_credits_from_2_12_on(release: str, expected: int) -> None:
    assert held("gni", release, compute_node=True)[0].credits == expected
    assert held("gni", release)[0].credits == 256


def test_router_credits_fall_back_as_lnet_peer_buffer_credits_does() -> None:
    assert held("o2ib", "2.5", peer_buffer_credits=100, lnet_peer_buffer_credits=50)[0].peer_buffer_credits == 100
    assert held("o2ib", "2.5", peer_buffer_credits=0, lnet_peer_buffer_credits=50)[0].peer_buffer_credits == 50
    assert held("o2ib", "2.5", peer_credits=32)[0].peer_buffer_credits == 32


@pytest.mark.parametrize(("cpts", "peer_credits", "each"), [(1, 8, 256), (2, 8, 128), (8, 8, 64), (8, 16, 128), (8, 126, 256)])
def test_credits_of_a_cpt(cpts: int, peer_credits: int, each: int) -> None:
    """lnet_ni_tq_credits: min(credits, max(credits / ncpts, 8 x peer_credits))."""
    assert held("o2ib", "2.5", cpts, peer_credits=peer_credits)[0].cpt_credits == each


@pytest.mark.parametrize(
    ("peer_credits", "asked", "expected"),
    [
        (8, O2ibAsked(), (8, 4, 8)),
        (126, O2ibAsked(concurrent_sends=63), (126, 63, 63)),
        (126, O2ibAsked(concurrent_sends=10), (126, 63, 63)),
        (8, O2ibAsked(concurrent_sends=63), (8, 4, 16)),
        (8, O2ibAsked(peer_credits_hiw=7), (8, 7, 8)),
        (8, O2ibAsked(peer_credits_hiw=8), (8, 7, 8)),
        (32, O2ibAsked(peer_credits_hiw=3), (32, 16, 32)),
        (32, O2ibAsked(map_on_demand=32), (32, 16, 64)),
        (126, O2ibAsked(protocol=1, concurrent_sends=63), (8, 7, 16)),
    ],
)
def test_o2ib_window(peer_credits: int, asked: O2ibAsked, expected: tuple[int, int, int]) -> None:
    assert window("1.8", peer_credits, asked)[0] == expected


def test_a_window_of_one_credit_still_has_a_high_water_mark() -> None:
    """At 0 every NOOP would be answered by another."""
    assert window("2.5", 1, O2ibAsked())[0].highwater == 1


def test_every_change_of_the_window_is_told() -> None:
    assert window("1.8", 126, O2ibAsked(concurrent_sends=63))[1] == ()
    assert "raised to half of peer_credits=126" in window("1.8", 126, O2ibAsked(concurrent_sends=10))[1][0]
    assert "peer_credits_hiw=8 acts as 7: peer_credits=8 allows 4 to 7" in window("1.8", 8, O2ibAsked(peer_credits_hiw=8))[1][0]
    assert "32382 send work requests" in window("1.8", 126, O2ibAsked())[1][0]
    assert "only a flag in Lustre 2.12" in window("2.12", 8, O2ibAsked(map_on_demand=32))[1][0]
    assert window("1.8", 63, O2ibAsked())[1] == ()


def test_router_buffers_by_release_and_cpt() -> None:
    nothing = (None, None, None)
    assert router_buffers("1.8", 1, nothing) == ((1024, 8192, 512), ())
    assert router_buffers("2.5", 1, nothing) == ((2048, 16384, 1024), ())
    assert router_buffers("2.5", 2, nothing) == ((1024, 8192, 512), ())
    buffers, notes = router_buffers("2.12", 8, (None, 16384, None))
    assert buffers == (512, 4096, 256)
    assert notes == ("lnet small_router_buffers=16384 acts as 32768: each of 8 CPTs has at least 4096 (Lustre 2.12)",)
    assert router_buffers("2.16", 8, (None, 16384, None))[0] == (256, 2048, 128)
    assert router_buffers("2.5", 1, (0, 0, 0))[0] == (2048, 16384, 1024)


def test_notes_say_whose_tunable_it_is() -> None:
    notes = load_scenario("paper-untuned", {"o2ib.peer_credits": "126", "o2ib.concurrent_sends": "63"}).notes
    assert notes == (
        "servers and routers: ko2iblnd peer_credits=126 acts as 64: credits is 64 (default of Lustre 1.8); set credits=126 or more",
    )


def test_unequal_peer_credits_are_refused_up_to_2_7_and_negotiated_later() -> None:
    with pytest.raises(SimulatorError) as caught:
        load_scenario("paper-untuned", {"routers.o2ib.peer_credits": "16"})
    assert str(caught.value) == (
        "--set: key 'routers.o2ib.peer_credits': 16: o2ib peer_credits differ: routers have 16, servers 8:"
        " Lustre 1.8 refuses the connection; set o2ib.peer_credits for all"
    )
    modern = {"routers.o2ib.peer_credits": "16", "release": "2.12", "pings.policy": "idle-offset"}
    scenario = load_scenario("paper-untuned", modern)
    plan = scenario.plan(0)
    assert (plan.server_net.wire_credits, plan.router_server_ni.peer_credits, plan.server_ni.peer_credits) == (8, 16, 8)
    assert "connections use the smaller" in scenario.notes[0]


def test_tunables_without_effect_are_told() -> None:
    notes = load_scenario("ornl-tcp", {"o2ib.peer_credits": "16", "routers.small_router_buffers": "4096"}).notes
    assert notes == (
        "o2ib.peer_credits acts on nothing: no network of the scenario has driver ko2iblnd",
        "routers.small_router_buffers acts on nothing: there are no routers",
    )


def test_1_8_routes_only_with_buffers() -> None:
    with pytest.raises(SimulatorError, match=r"--set: key 'routers.tiny_router_buffers': 0: expected 1 or more: Lustre 1\.8"):
        load_scenario("paper-untuned", {"routers.tiny_router_buffers": "0"})


def test_a_nodes_tunables_table() -> None:
    untuned = load_scenario("paper-untuned", {"o2ib.peer_credits": "126", "o2ib.concurrent_sends": "63"})
    router, client = untuned.tunables(25_000), untuned.tunables(0)
    assert router["timeout"] == client["timeout"] == "300"
    assert (router["ko2iblnd.peer_credits"], router["ko2iblnd.peer_credits.holds"]) == ("126", "64")
    assert (router["lnet.small_router_buffers"], router["lnet.small_router_buffers.holds"]) == ("8192", "8192")
    assert "ko2iblnd.peer_credits" not in client
    assert client["kgnilnd.peer_credits"] == "16"
    assert "ping_interval" not in client


def test_ping_interval_is_its_own_parameter_from_2_16_on() -> None:
    assert load_scenario("real-pings").tunables(0)["ping_interval"] == "15"
    scenario = load_scenario("paper-untuned", {"pings.interval": "12.9 s", "pings.first": "1 s"})
    assert scenario.tunables(0)["timeout"] == "52"
    assert scenario.notes == ("pings.interval=12.9 s: timeout has whole seconds and says 52",)
