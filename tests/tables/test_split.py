"""Wrappers of lctl, sysctl and lnetctl are undone, and a plain text is left as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnetstat.tables import split

PEERS = "nid                      refs state  last   max   rtr   min    tx   min queue\n0@lo  1 NA -1 0 0 0 0 0 0\n"
STATS = "snapshot_time             1702058707.803904101 secs.nsecs\nobd_ping                  8 samples [usec] 2 26 129 2763\n"


@pytest.mark.parametrize(
    "text", ["", "\n", PEERS, STATS, "100\n", "0 28 0 1 2 3 4 5 6 7 8", "Routing disabled\n", "x" * 1_000_000, "a = b = c"]
)
def test_a_plain_text_comes_back_unchanged(text: str) -> None:
    assert list(split("peers", text)) == [("peers", text)]


@given(st.text(st.characters(exclude_characters="="), max_size=200))
def test_what_holds_no_sign_of_a_wrapper_comes_back_unchanged(text: str) -> None:
    if not text.lstrip("\ufeff\r\n").startswith(("net", "peer", "rout", "buffers", "statistics", "global", "numa")):
        assert list(split("name", text)) == [("name", text)]


def test_several_parameters_in_one_text() -> None:
    text = f"timeout=100\npeers=\n{PEERS}ost.OSS.ost.stats=\n{STATS}ping_interval=25\n"
    assert list(split("dump", text)) == [("peers", PEERS), ("ost.OSS.ost.stats", STATS), ("tunables", "timeout=100\nping_interval=25\n")]


def test_a_table_of_one_line_may_stand_behind_its_name() -> None:
    assert list(split("x", "stats=0 28 0 1 2 3 4 5 6 7 8\n")) == [("stats", "0 28 0 1 2 3 4 5 6 7 8\n")]
    line = "snapshot_time             1702058707.803943735 secs.nsecs\n"
    assert list(split("x", "ost.OSS.ost_io.stats=" + line)) == [("ost.OSS.ost_io.stats", line)]
    assert list(split("x", "mds.MDS.mdt.timeouts=   service : cur   5\n")) == [("mds.MDS.mdt.timeouts", "   service : cur   5\n")]


def test_an_ipv6_nid_and_a_dash_in_a_name() -> None:
    name = "obdfilter.FS-OST0000.exports.fd00::1@tcp.stats"
    assert list(split("x", f"{name}=\n{STATS}")) == [(name, STATS)]


def test_a_file_of_values_only_keeps_its_name() -> None:
    assert list(split("params.lnet", "accept=secure\nroutes=\n")) == [("params.lnet", "accept=secure\nroutes=\n")]
    assert list(split("timeout", "timeout=100\n")) == [("timeout", "timeout=100\n")]


def test_a_long_value_on_the_next_line_is_still_one_value() -> None:
    assert list(split("x", f"jobid_var=\n{'v' * 90}\npeers=\n{PEERS}"))[1] == ("tunables", f"jobid_var={'v' * 90}\n")


def test_an_empty_table_and_an_empty_value_stay_two_things() -> None:
    assert list(split("x", "mdt.FS-MDT0000.job_stats=\nforwarding=\n")) == [("mdt.FS-MDT0000.job_stats", ""), ("tunables", "forwarding=\n")]


def test_a_missing_final_newline_stays_missing() -> None:
    assert list(split("x", "ost.OSS.ost.stats=\n" + STATS[:-1])) == [("ost.OSS.ost.stats", STATS[:-1])]
    assert list(split("x", f"peers=\n{PEERS}timeout=10"))[1] == ("tunables", "timeout=10")


def test_carriage_returns_are_left_to_the_tables() -> None:
    assert list(split("x", "peers=\r\n" + PEERS.replace("\n", "\r\n"))) == [("peers", PEERS.replace("\n", "\r\n"))]


def test_an_error_message_between_parameters_is_not_glued_to_one() -> None:
    text = f"peers=\n{PEERS}error: get_param: param_path 'nis': No such file or directory\n"
    assert list(split("x", text)) == [("peers", PEERS), ("nis", "error: get_param: param_path 'nis': No such file or directory\n")]


def test_a_prompt_before_the_first_parameter_is_kept_apart() -> None:
    text = f"[root@oss1 ~]# lctl get_param ost.*.*.stats\nost.OSS.ost.stats=\n{STATS}"
    assert list(split("x", text)) == [("x", "[root@oss1 ~]# lctl get_param ost.*.*.stats\n"), ("ost.OSS.ost.stats", STATS)]


def test_a_byte_order_mark_is_no_part_of_the_first_name() -> None:
    assert list(split("x", f"\ufeffpeers=\n{PEERS}")) == [("peers", PEERS)]
    assert list(split("x", "\ufefftimeout=100\n")) == [("x", "timeout=100\n")]


def test_prefixes_of_sysctl() -> None:
    lines = "".join(f"lnet.peers = {line}\n" for line in PEERS.splitlines())
    assert list(split("x", lines)) == [("lnet.peers", PEERS)]
    assert list(split("x", "lnet.stats = 0 28 0 1 2 3 4 5 6 7 8\nlnet.debug_mb = 5\n")) == [
        ("lnet.stats", "0 28 0 1 2 3 4 5 6 7 8\n"),
        ("tunables", "lnet.debug_mb=5\n"),
    ]


EXPORT = "net:\n-     net type: lo\npeer:\n-     primary nid: 0@lo\n"
EXPORT += "routing:\n    enable: 1\nbuffers:\n    tiny: 512\nglobal:\n    numa_range: 0\n"


def test_an_export_of_lnetctl_is_divided_into_its_sections() -> None:
    assert list(split("lnetctl_export.yaml", EXPORT)) == [
        ("lnetctl net show", "net:\n-     net type: lo\n"),
        ("lnetctl peer show", "peer:\n-     primary nid: 0@lo\n"),
        ("lnetctl routing show", "routing:\n    enable: 1\nbuffers:\n    tiny: 512\n"),
        ("lnetctl global show", "global:\n    numa_range: 0\n"),
    ]


def test_one_section_of_lnetctl_keeps_its_name() -> None:
    text = "routing:\n    - enable: 1\nbuffers:\n    tiny: 512\n"
    assert list(split("lnetctl_routing_show.yaml", text)) == [("lnetctl_routing_show.yaml", text)]


def test_an_export_that_lost_its_indentation_stays_whole() -> None:
    text = "net:\n- net type: o2ib\nlocal NI(s):\n- interfaces:\nrouting:\nenable: 1\n"
    assert list(split("x", text)) == [("x", text)]
