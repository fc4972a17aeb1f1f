"""Texts that a kernel may print on a bad day, or that somebody pasted: each file's, by what is odd in it."""

HEADER = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
ROW = "10.2.0.{0}@tcp1              3    up    -1     8     8    -1    {1}   {2} {3}\n"


def peers(count: int, tx: int = 0, low: int = -7, queue: int = 4096, net: str = "tcp1") -> str:
    return HEADER + "".join(f"10.2.{at // 200}.{at % 200 + 1}@{net}  3  up  -1  8  8  -1  {tx}  {low}  {queue}\n" for at in range(count))


PEERS_TEXTS = {
    "empty": "",
    "one blank line": "\n",
    "header only": HEADER,
    "torn last line": HEADER + ROW.format(1, -3, -9, 5) + ROW.format(2, -3, -9, 77)[:-9],
    "last line without its end": HEADER + ROW.format(1, -3, -9, 5) + ROW.format(2, -3, -9, 77)[:-1],
    "no header": ROW.format(1, -3, -9, 5) + ROW.format(2, 8, 8, 0),
    "no header, nine columns": "128.219.249.45@tcp      15     up     8     8     8     -6     -9 11535824\n",
    "wrapped rows": HEADER + "10.2.0.1@tcp1  3  up  -1  8\n   8  -1  -5  -9 5000\n" + ROW.format(2, 8, 8, 0),
    "carriage returns": (HEADER + ROW.format(1, -3, -9, 5)).replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + HEADER + ROW.format(1, -3, -9, 5),
    "hostile NIDs": HEADER
    + "".join(
        f"{nid}  3  up  -1  8  8  -1  {-at}  -9 5000\n"
        for at, nid in enumerate(
            [
                "12345-10.0.0.1@tcp",
                "fd00::1@tcp",
                "12@gni",
                "rtr.site.org@o2ib",
                "..@tcp",
                "a/b@tcp",
                "x{y}*@tcp",
                "10.0.0.1@TCP",
                "h\u00e9llo@tcp",
                "300.1.1.1@o2ib1",
                "-@tcp",
                "a" * 60 + "@tcp",
                "a" * 99 + "@tcp",
                "1@top",
                "10.0.0.1@o2ib@tcp",
                "@tcp",
                "10.0.0.1@",
            ]
        )
    ),
    "bytes that are no text": HEADER + ROW.format(1, -3, -9, 5) + "10.0.\udcff.1@tcp  3  up  -1  8  8  -1  -4  -9 5000\n",
    "twenty equal peers": peers(20),
    "forty other equal peers": peers(40, net="o2ib1"),
    "peers leave the top": HEADER + "".join(ROW.format(at, -at, -20, at) for at in range(1, 60)),
    "the others are worst": HEADER + "".join(ROW.format(at, at - 90, -200, at) for at in range(60, 120)),
    "routed rows only": HEADER + "10.9.0.1@tcp9  3  up  -1  0  0  0  0  0  0\n" + ROW.format(1, 8, 8, 0),
    "all states": HEADER
    + "".join(f"10.1.0.{at}@tcp  3  {state}  -1  8  8  -1  3  -2 0\n" for at, state in enumerate(("up", "down", "NA", "~rtr", "odd"))),
    "a column more": HEADER.replace("queue", "queue new") + "10.2.0.1@tcp1  3  up  -1  8  8  -1  -5  -9 5000 77\n",
    "no numbers": HEADER + "10.2.0.1@tcp1  3  up  -1  8  8  -1  x  -9 5000\n" + ROW.format(2, +3, 8, 0).replace("3", "+3"),
    "huge numbers": HEADER + "10.2.0.1@tcp1  3  up  -1  2147483647  8  -2147483648  -2147483648  -2147483648 9007199254740993\n",
    "one NID, three rows": HEADER + ROW.format(1, 5, -1, 3) + ROW.format(1, -5, -9, 3) + ROW.format(1, 8, 8, 0),
    "bucket edges": HEADER + "".join(ROW.format(tx + 3, tx, tx, 0) for tx in range(-2, 11)),
    "words before the header": "debugfs says\n" + HEADER + ROW.format(1, -3, -9, 5),
    "another table's text": "pages   count credits     min\n    0     512     512     480\n",
    "NUL bytes": HEADER + ROW.format(1, -3, -9, 5).replace(" ", "\0", 1) + ROW.format(2, -1, -9, 5),
    "backslashes": HEADER + ROW.format(1, -3, -9, 5) + "a\\nb\\\\c  3  up\n",
}
NIS_HEAD = "nid                      status alive refs peer  rtr   max    tx   min\n"
OTHER_TEXTS = {
    "nis": {
        "two CPTs, one below zero": NIS_HEAD
        + "10.1.0.1@tcp  up  1  1  8  0  128  -5  -120\n10.1.0.1@tcp  down  1  0  8  0  128  128  120\n",
        "loopback only": NIS_HEAD + "0@lo  up  0  2  0  0  0  0  0\n",
        "nothing": "",
        "header only": NIS_HEAD,
        "torn": NIS_HEAD + "10.1.0.1@tcp  up  1  1  8  0  128  1",
        "two NIDs, one of them IPv6": NIS_HEAD + "fd00::1@tcp  up  1  1  8  0  128  -5  -120\n7@gni  down  1  1  8  0  8  8  8\n",
    },
    "buffers": {
        "negative": "pages   count credits     min\n    0     512     -12     -480\n    0     512     512     480\n"
        "    1  256 256 1\n  256 32 0 -77\n",
        "nothing": "",
        "header only": "pages   count credits     min\n",
        "no header": "    0     512     512     480\n",
        "an odd pool": "pages   count credits     min\n    7     512     512     480\n",
        "torn": "pages   count credits     min\n    0     512     512     4",
    },
    "stats": {
        "zeros": "0 0 0 0 0 0 0 0 0 0 0\n",
        "nothing": "",
        "short": "1 2 3\n",
        "no end": "1 2 3 4 5 6 7 8 9 10 11",
        "large": "1 2 3 4294967295 5 6 7 18446744073709551615 9 10 11\n",
        "twelve numbers": "1 2 3 4 5 6 7 8 9 10 11 12\n",
    },
    "routes": {
        "nothing": "",
        "Routing enabled, no header": "Routing enabled\n",
        "starting": "Routing starting\nnet hops priority state router\no2ib 1 0 down 10.0.0.1@tcp\no2ib 1 0 down 10.0.0.1@tcp\n",
        "four columns": "Routing disabled\nnet      hops   state router\no2ib0  1  down 10.0.0.1@tcp\n",
        "no first line": "net hops priority state router\no2ib 4294967295 0 up 10.0.0.1@tcp\n",
        "odd state": "Routing disabled\nnet hops priority state router\no2ib 1 0 odd 10.0.0.1@tcp\ntcp 1 0 up 10.0.0.1@tcp\n",
    },
    "ost.OSS.ost_io.stats": {
        "nothing": "",
        "only the time": "snapshot_time             1704924117.040584137 secs.nsecs\n",
        "units and no sums": "snapshot_time 1704924117.40584 secs.usecs\nreq_waittime 7 samples [usec] 1 2 3\n"
        "req_qdepth 7 samples [reqs]\n",
        "names with blanks, a name twice": "snapshot_time 1.2 secs.nsecs\nthandle starting 3 samples [usecs] 1 2 3 4\n"
        "statfs 1 samples [usecs] 1 1 1\nstatfs 2 samples [usecs] 1 1 2\n",
        "hostile names": "snapshot_time 1.2 secs.nsecs\na.b 1 samples [x] 1 1 1\n../x 1 samples [reqs] 1 1 1\nA_b 1 samples [reqs] 1 1 1\n",
        "no snapshot_time": "obd_ping 7 samples [usec] 1 2 3\n",
        "torn": "snapshot_time 1.2 secs.nsecs\nobd_ping 7 samples [usec] 1 2 3\nreq_wait",
        "large, a negative sumsq": "snapshot_time 1.2 secs.nsecs\nreq 18446744073709551615 samples [usec] 0 2 18446744073709551615 -9\n",
    },
}
