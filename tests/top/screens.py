"""What stands on the screen of the live view, as plain text, and trees and recordings to look at."""

import asyncio
import itertools
from pathlib import Path

from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter
from lnetstat.top.ticks import Parser

NS = 1_000_000_000
START_NS = 1_786_708_800 * NS
PEERS = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
NIS = "nid                      status alive refs peer  rtr   max    tx   min\n"
BUFFERS = "pages count credits     min\n"


def peer(nid, tx, tx_min, *, state="up", limit=8, rtr=8, rtr_min=8, queue=0, refs=1):
    return "%-24s %4d %5s %5d %5d %5d %5d %5d %5d %d\n" % (nid, refs, state, -1, limit, rtr, rtr_min, tx, tx_min, queue)


def ni(nid, tx, tx_min, *, limit=256, status="up"):
    return "%-24s %6s %5d %4d %4d %4d %5d %5d %5d\n" % (nid, status, 0, 1, 8, 0, limit, tx, tx_min)


def pool(pages, count, free, low):
    return "%5d %5d %7d %7d\n" % (pages, count, free, low)


def service(second, **samples):
    lines = [f"snapshot_time {1000 + second}.000000000 secs.nsecs\n"]
    return "".join([*lines, *(f"{name} {count} samples [usec] 1 9 {count * 5}\n" for name, count in samples.items())])


def snapshot(name, text, second=0, *, host="rtr1", state=State.OK, errno=0, flags=()):
    stamp = START_NS + round(second * NS)
    return Snapshot(name, host, stamp, stamp, 1000, state, errno, frozenset(flags), text)


def router(second, host="rtr1"):
    """A router's second: peer .3 runs out in every fourth second, .4 is down, .2 ran out long ago; one NID is routed."""
    short = second % 4 == 3
    peers = PEERS + "".join(
        (
            peer("10.2.0.1@tcp1", 8 - second % 4, 2, queue=72 * (second % 4)),
            peer("10.2.0.2@tcp1", 8, -7),
            peer("10.2.0.3@tcp1", -5 if short else 8, -5, queue=13 * 1_048_648 if short else 0, refs=14 if short else 1),
            peer("10.2.0.4@tcp1", 8, 6, state="down"),
            peer("10.9.0.9@o2ib", 0, 0, limit=0, rtr=0, rtr_min=0),
        )
    )
    texts = {
        "stats": f"5 99 0 {20 * second} {30 * second} {500 * second} 0 {1000 * second} 2000 {(1 << 20) * 50 * second} 0\n",
        "buffers": BUFFERS + pool(0, 512, 512, 510) + pool(1, 4096, 4000 - 500 * short, -12) + pool(256, 256, 256, 254),
        "nis": NIS + ni("10.2.0.200@tcp1", 250, 120) + ni("0@lo", 0, 0, limit=0),
        "routes": "Routing enabled\nnet      hops priority   state router\no2ib18      1        0    down 10.2.0.9@tcp1\n",
        "peers": peers,
        "ost.OSS.ost.stats": service(second, obd_ping=59 * second),
    }
    return [snapshot(name, text, second, host=host) for name, text in texts.items()]


def record(folder, seconds, hosts=("rtr1",)):
    with RecordingWriter(Path(folder)) as writer:
        for second in range(seconds):
            for host in hosts:
                writer.write(router(second, host))
    return folder


def ticks(seconds, hosts=("rtr1",)):
    parser = Parser()
    return [parser.tick(itertools.chain.from_iterable(router(second, host) for host in hosts)) for second in range(seconds)]


async def settle(app):
    """Wait until whatever was pressed has gone through every queue, from the app down to the widgets and back, and is drawn.

    Textual's own pause() looks at the processor's idle time, which on a busy machine says nothing.
    """
    for _ in range(4):
        for node in (app, app.screen, *app.screen.walk_children()):
            done = asyncio.Event()
            node.call_after_refresh(done.set)
            await done.wait()


def screen(app):
    """Return the screen's text, blanks at the end of lines cut off."""
    lines = ("".join(segment.text for segment in strip).rstrip() for strip in app.screen._compositor.render_strips())
    return "\n".join(lines) + "\n"
