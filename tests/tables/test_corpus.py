"""Every file of the corpus and of the captures beside the project: what it gives, or the one diagnostic that is right for it.

The lists below were looked through file by file. Rows of `stats` files are counted a second time by their word `samples`.
"""

import fnmatch
import os
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lnetstat.model import Sample, Snapshot, State
from lnetstat.tables import samples

SHARED = Path(__file__).resolve().parents[3] / "shared"
CORPUS, CAPTURES = SHARED / "corpus", SHARED / "captures"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="no ../shared/corpus: it mixes licences and is not part of the project")
needs_captures = pytest.mark.skipif(not CAPTURES.is_dir(), reason="no ../shared/captures beside the project")

# file: table, rows, problems. A problem is a last line without its line end, in files that were stored so.
PARSED = {
    "buffers/SYNTH_notrouter_2.5.txt": ("buffers", 0, 0),
    "buffers/SYNTH_router_1.8.txt": ("buffers", 3, 0),
    "buffers/SYNTH_router_4cpt_2.5.txt": ("buffers", 12, 0),
    "kgnilnd_stats/ldms_2019.txt": ("kgnilnd", 1, 0),
    "llite_stats/manual.txt": ("counters", 13, 0),
    "llite_stats/pcp_qa_2015.txt": ("counters", 15, 0),
    "llstat/llstat-1.8_ost_obdping.txt": ("llstat", 56, 0),
    "llstat/llstat-master_graph_ost.txt": ("llstat", 48, 1),
    "llstat/llstat-master_notty.txt": ("llstat", 32, 0),
    "llstat/llstat-master_w120_ost.txt": ("llstat", 48, 0),
    "llstat/manual_ost_io_1.6.txt": ("llstat", 15, 0),
    "lnet_stats/hpe_2.10.txt": ("lnet_stats", 1, 0),
    "lnet_stats/lmt_1.8.3.txt": ("lnet_stats", 1, 0),
    "lnet_stats/lmt_2.0.50zfs.txt": ("lnet_stats", 1, 0),
    "lnet_stats/lmt_2.10.8.txt": ("lnet_stats", 1, 0),
    "lnet_stats/lmt_2.15.4.txt": ("lnet_stats", 1, 0),
    "lnet_stats/pcp_qa.txt": ("lnet_stats", 1, 0),
    "lnetctl_global/lx_literal.txt": ("lnetctl_global", 13, 0),
    "lnetctl_net_show/iml_2.12.txt": ("lnetctl_net", 4, 1),
    "lnetctl_net_show/lx_literal1.txt": ("lnetctl_net", 3, 1),
    "lnetctl_net_show/lx_literal3.txt": ("lnetctl_net", 2, 0),
    "lnetctl_net_show/lx_v4_2.14.txt": ("lnetctl_net", 3, 0),
    "lnetctl_net_show/manual_v_2.10.txt": ("lnetctl_net", 3, 0),
    "lnetctl_peer_show/man8_short.txt": ("lnetctl_peer", 3, 0),
    "lnetctl_peer_show/manual_v_2.10.txt": ("lnetctl_peer", 2, 0),
    "lnetctl_stats/lx_2.14.txt": ("lnetctl_stats", 1, 0),
    "md_stats/ddn_2.5.txt": ("counters", 16, 0),
    "md_stats/hpe_mdt.txt": ("counters", 7, 0),
    "md_stats/lmt_1.8.3_lc1-MDT0000.txt": ("counters", 21, 0),
    "md_stats/lmt_2.10.8_lquake-MDT0000.txt": ("counters", 16, 0),
    "md_stats/lmt_2.15.4_lflood-MDT0001.txt": ("counters", 10, 0),
    "nis/SYNTH_router_4cpt_2.5.txt": ("nis", 9, 0),
    "nis/cortex_2.x.txt": ("nis", 2, 0),
    "nis/iml_multicpt_2.x.txt": ("nis", 10, 0),
    "nis/manual_1.6.txt": ("nis", 2, 0),
    "obdfilter_stats/lmt_1.8.3_lc1-OST0000.txt": ("counters", 24, 0),
    "obdfilter_stats/lmt_2.10.8_lquake-OST0000.txt": ("counters", 16, 0),
    "obdfilter_stats/lmt_2.15.4_lflood-OST0001.txt": ("counters", 8, 0),
    "obdfilter_stats/telegraf_ost.txt": ("counters", 17, 0),
    "peers/SYNTH_client_2.12.txt": ("peers", 10, 0),
    "peers/SYNTH_overflow_2.5.txt": ("peers", 2, 0),
    "peers/SYNTH_router_2.1.txt": ("peers", 29, 0),
    "peers/SYNTH_router_gni_1.8.9.txt": ("peers", 8, 0),
    "peers/cortex_2.x_handmade.txt": ("peers", 2, 0),
    "peers/manual_1.6_rtr.txt": ("peers", 4, 0),
    "peers/ornl_c1_1.8.txt": ("peers", 1, 0),
    "routers/SYNTH_1.8-2.12.txt": ("routers", 3, 0),
    "routes/SYNTH_2.1_fgr.txt": ("routes", 24, 0),
    "routes/lmt_1.8.3.txt": ("routes", 0, 0),
    "routes/lmt_2.10.8.txt": ("routes", 4, 0),
    "routes/lmt_2.15.4.txt": ("routes", 6, 0),
    "svc_stats/hpe_mds.MDS.mdt.txt": ("counters", 15, 0),
    "svc_stats/hpe_osc_client.txt": ("counters", 9, 0),
    "svc_stats/hpe_ost.OSS.ost.txt": ("counters", 10, 0),
    "svc_stats/hpe_ost.OSS.ost_io.txt": ("counters", 7, 0),
    "svc_stats/lx_6.2_ost.txt": ("counters", 10, 0),
    "svc_stats/lx_valid_ost_io.txt": ("counters", 8, 0),
}
# Several parameters or sections in one text: table (or the format that is named and not read): texts, rows, problems.
DIVIDED: dict[str, dict[str, tuple[int, int, int]]] = {
    "lctl_get_param/lx_2.14_client_llite.txt": {"counters": (2, 20, 0), "tunables": (1, 4, 0)},
    "lctl_get_param/lx_2.14_ddn145_stats.txt": {
        "counters": (26, 120, 0),
        "tunables": (1, 77, 0),
        "brw_stats": (8, 0, 0),
        "a list of client UUIDs": (2, 0, 0),
        "changelog_users": (1, 0, 0),
        "quota accounting": (9, 0, 0),
        "quota limits": (12, 0, 0),
    },
    "lctl_get_param/lx_osd_active.txt": {"counters": (2, 8, 0), "tunables": (1, 24, 0), "brw_stats": (4, 0, 0)},
    "lctl_get_param/lx_params-6.2.0-r9.txt": {
        "counters": (11, 64, 0),
        "tunables": (1, 79, 0),
        "brw_stats": (4, 0, 0),
        "a list of client UUIDs": (16, 0, 0),
    },
    "lctl_get_param/lx_valid.txt": {
        "counters": (10, 68, 0),
        "tunables": (1, 67, 0),
        "brw_stats": (3, 0, 0),
        "a list of client UUIDs": (8, 0, 0),
        "changelog_users": (2, 0, 0),
    },
    "lctl_get_param/lx_valid_mds.txt": {
        "counters": (18, 50, 0),
        "tunables": (1, 67, 0),
        "brw_stats": (3, 0, 0),
        "a list of client UUIDs": (8, 0, 0),
    },
    "lctl_get_param/lx_valid_no_newline.txt": {
        "counters": (10, 45, 0),
        "tunables": (1, 67, 0),
        "brw_stats": (3, 0, 0),
        "a list of client UUIDs": (8, 0, 0),
    },
    "lctl_get_param/manual_ost_job_stats_2.5.txt": {"job_stats": (5, 0, 0)},
    "lnetctl_export/lc_tcp_2.12.txt": {"lnetctl_net": (1, 2, 0), "lnetctl_peer": (1, 4, 0), "lnetctl_global": (1, 4, 1)},
}
# file: table, line, words of the one diagnostic.
UNREAD = {
    "brw_stats/hpe_OST0000.txt": ("", 1, "known table"),  # the file holds the target of a symbolic link
    "brw_stats/lmt_1.8.3_lc1-OST0000.txt": ("", 1, "brw_stats"),
    "brw_stats/lmt_2.10.8_lquake-OST0000.txt": ("", 1, "brw_stats"),
    "brw_stats/lmt_2.15.4_lflood-OST0001.txt": ("", 1, "brw_stats"),
    "brw_stats/lx_empty.txt": ("", 1, "brw_stats"),
    "brw_stats/lx_with_data.txt": ("", 1, "brw_stats"),
    "brw_stats/manual_2.4.txt": ("", 1, "brw_stats"),
    "brw_stats/telegraf.txt": ("", 1, "brw_stats"),
    "conn_list/ornl_client_wrapped_1.8.txt": ("", 1, "conn_list"),
    "extents_stats/hpe_disabled.txt": ("", 1, "switched off"),
    "extents_stats/manual.txt": ("", 1, "extents_stats,"),
    "extents_stats_per_process/manual.txt": ("", 1, "extents_stats_per_process"),
    "import/hpe_mdc.txt": ("", 1, "import"),
    "job_stats/ddn_ieel27_ost.txt": ("", 1, "job_stats"),
    "job_stats/hpe_ost_2.10.txt": ("", 1, "job_stats"),
    "job_stats/telegraf_mdt.txt": ("", 1, "job_stats"),
    "lnetctl_error/lx_net_down.txt": ("lnetctl_net", 3, "LNet is down"),
    "lnetctl_export/pastebin_backup_2.12_flattened.txt": ("lnetctl_net", 3, "left margin"),
    "lnetctl_route/man8_twokeys_oneline.txt": ("lnetctl_route", 2, "TAB"),
    "lnetctl_routing/man8_tabs.txt": ("lnetctl_routing", 2, "TAB"),
    "lnetctl_stats/man8_tabs_2.10.txt": ("lnetctl_stats", 2, "TAB"),
    "lst_stat/manual_clients.txt": ("", 1, "lst stat"),
    "lst_stat/ornl_c1.txt": ("", 1, "lst stat"),
    "offset_stats/manual.txt": ("", 1, "offset_stats"),
    "params/hpe_pinger.txt": ("", 1, "name it with --table"),  # one word: only its name says what it is
    "params/hpe_timeout.txt": ("", 1, "name it with --table"),
    "peers/ornl_c16_headerless_1.8.txt": ("", 1, "name it with --table"),  # a row without a header: only its name says what it is
    "rpc_stats/hpe_mdc.txt": ("", 1, "rpc_stats"),
    "rpc_stats/manual_osc_2.4.txt": ("", 1, "rpc_stats"),
    "svc_timeouts/hpe_ost_io.txt": ("", 1, "timeouts"),
}
NAMED = {  # read under the name that the file has on a node
    "params/hpe_pinger.txt": ("pinger", "tunables", 1, 0),
    "params/hpe_timeout.txt": ("timeout", "tunables", 1, 0),
    "peers/ornl_c16_headerless_1.8.txt": ("peers", "peers", 1, 0),
}


def read(path: Path, name: str = "") -> list[Sample]:
    return read_text(path.read_bytes().decode("utf-8", "surrogateescape"), name)


def read_text(text: str, name: str) -> list[Sample]:
    return list(samples(Snapshot(name, "h", 0, None, 0, State.OK, 0, frozenset(), text)))


@needs_corpus
def test_no_file_of_the_corpus_is_left_out() -> None:
    files = {str(path.relative_to(CORPUS)) for path in CORPUS.glob("*/*")}
    assert files == {*PARSED, *DIVIDED, *UNREAD}


@needs_corpus
@pytest.mark.parametrize("file", PARSED)
def test_a_file_that_is_read(file: str) -> None:
    (sample,) = read(CORPUS / file)
    assert (sample.table, len(sample.rows), len(sample.problems)) == PARSED[file], sample.problems
    assert sample.state is State.OK
    if sample.table == "counters":
        assert len(sample.rows) == (CORPUS / file).read_text().count(" samples [")
        assert sample.facts["snapshot_time"]


@needs_corpus
@pytest.mark.parametrize("file", DIVIDED)
def test_a_text_of_several_parameters(file: str) -> None:
    found: dict[str, tuple[int, int, int]] = {}
    for sample in read(CORPUS / file):
        unread = re.search(r"this is (.*), which lnetstat does not read yet", sample.problems[0].expected) if sample.problems else None
        assert (sample.state is State.FAILED) == bool(unread), sample.problems
        name = unread[1] if unread else sample.table
        texts, rows, problems = found.get(name, (0, 0, 0))
        found[name] = (texts + 1, rows + len(sample.rows), problems + (0 if unread else len(sample.problems)))
    assert found == DIVIDED[file]
    assert found.get("counters", (0, 0, 0))[1] == (CORPUS / file).read_text().count(" samples [")


@needs_corpus
@pytest.mark.parametrize("file", UNREAD)
def test_a_file_that_is_not_read_gives_one_diagnostic(file: str) -> None:
    (sample,) = read(CORPUS / file)
    (problem,) = sample.problems
    table, line, words = UNREAD[file]
    assert (sample.state, sample.table, sample.rows, problem.line) == (State.FAILED, table, (), line)
    assert words in problem.expected


@needs_corpus
@pytest.mark.parametrize("file", NAMED)
def test_a_file_that_only_its_name_explains(file: str) -> None:
    name, table, rows, problems = NAMED[file]
    (sample,) = read(CORPUS / file, name)
    assert (sample.table, len(sample.rows), len(sample.problems), sample.state) == (table, rows, problems, State.OK), sample.problems


CAPTURED = {  # file name, first match: table of all such files of the captures ("": several tables); none of them has a problem
    "debugfs.lnet.peers": "peers",
    "debugfs.lnet.nis": "nis",
    "debugfs.lnet.buffers": "buffers",
    "debugfs.lnet.stats": "lnet_stats",
    "debugfs.lnet.routes": "routes",
    "debugfs.lnet.routers": "routers",
    "debugfs.lnet.*": "tunables",
    "lnetctl_net_show_*": "lnetctl_net",
    "lnetctl_peer_show_*": "lnetctl_peer",
    "lnetctl_route_show_*": "lnetctl_route",
    "lnetctl_routing_show*": "lnetctl_routing",
    "lnetctl_stats_show*": "lnetctl_stats",
    "lnetctl_global_show*": "lnetctl_global",
    "lnetctl_export*": "",
    "stats": "lnet_stats",
    "*.stats": "counters",
    "*.md_stats": "counters",
    "params.*": "tunables",
    "timeout": "tunables",
    "ping_interval": "tunables",
    "health_check": "tunables",
    "at_m*": "tunables",
    "version": "tunables",
    "sysctl_net": "tunables",
}
HUNG = "s6b_lustre_ping_flood_15s/c1/20261120T115649.976Z_after/lnetctl_stats_show.yaml"  # the node hung: lnetctl printed nothing


def captured() -> Iterator[tuple[Path, str]]:
    for path in sorted(CAPTURES.glob("*/*/**/*")):
        pattern = next((pattern for pattern in CAPTURED if fnmatch.fnmatchcase(path.name, pattern)), None)
        if path.is_file() and pattern:
            yield path, CAPTURED[pattern]


@needs_captures
def test_every_snapshot_of_the_captures() -> None:
    seen: Counter[str] = Counter()
    for path, table in captured():
        for sample in read(path, path.name):
            where = str(path.relative_to(CAPTURES))
            if where == HUNG:
                assert "the text is empty" in sample.problems[0].expected
                continue
            assert sample.state is State.OK, (where, sample.problems)
            assert sample.problems == (), where
            assert sample.table == table or not table, where
            seen[sample.table] += 1
    assert seen["peers"] >= 100
    assert min(seen[f"lnetctl_{name}"] for name in ("net", "peer", "route", "routing", "stats", "global")) >= 50
    assert seen["counters"] > 250
    assert seen["tunables"] > 1000


@needs_captures
def test_every_credit_that_lnetctl_printed_unsigned_is_negative_again() -> None:
    negative = 0
    for path in sorted(CAPTURES.glob("*/*/*/lnetctl_peer_show_v4.yaml")):
        unsigned = sum(int(word) >= 2**31 for word in re.findall(r"(?:_credits|_buf): (\d+)", path.read_text()))
        rows = read(path, path.name)[0].rows
        values = [value for row in rows for value in (row.tx_credits, row.tx_credits_min, row.rtr_credits, row.rtr_credits_min)]
        below = sum(value < 0 for value in values)
        signed = len(re.findall(r"_credits: -\d", path.read_text()))
        assert below == unsigned + signed
        negative += below
    assert negative > 100


@needs_captures
@pytest.mark.parametrize("archive", sorted(CAPTURES.glob("*/*/fast.tar.gz")), ids=lambda path: "/".join(path.parts[-3:-1]))
def test_every_30th_snapshot_of_the_fast_series(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        for at, member in enumerate(tar):
            stream = tar.extractfile(member) if at % 30 == 0 and not member.name.endswith("INDEX.tsv") else None
            if stream is None:
                continue
            text = stream.read().decode()
            (sample,) = read_text(text, os.path.basename(member.name))
            if not text:  # while the modules were removed; INDEX.tsv says ENOENT
                assert "s9" in str(archive)
                continue
            torn = sample.table == "buffers" and bool(sample.problems)
            headers = {"counters": 3, "lnet_stats": 0, "routes": 2}.get(sample.table, 1)
            assert len(sample.rows) == text.count("\n") - headers, member.name
            assert sample.problems == () or torn, member.name


def test_the_fixtures_of_the_lists_do_not_overlap() -> None:
    assert not {*PARSED} & {*DIVIDED} | {*PARSED} & {*UNREAD} | {*DIVIDED} & {*UNREAD}
