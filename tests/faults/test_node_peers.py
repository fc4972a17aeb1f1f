"""F15 in short: the bounds of bench/soak/node_peers.py hold for fewer peers too, and they are measured."""

from bench.soak.node_peers import run


def test_thousands_of_peers_that_change_stay_within_the_bounds():
    (row,) = run(3, 1, 5_000)
    assert row.rss_mb > 5, "it was measured"
    for words in ("MISSED: RSS", "0 series", " 0 names"):
        assert words not in row.remark
    assert "5,000 peers" in row.remark
