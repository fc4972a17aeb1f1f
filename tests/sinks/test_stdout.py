import contextlib
import io
import os

import pytest

from lnetstat.errors import SinkError
from lnetstat.model import Point
from lnetstat.sinks.stdout import StdoutSink


def test_lines_as_carbon_takes_them():
    out = io.StringIO()
    sink = StdoutSink(out)
    sink.offer([Point("lnet.r1.peers.tcp.tx_credits_low", -3.0, 1700000000), Point("lnet.r1.self.late", 0.25, 1700000001)])
    sink.offer([Point("lnet.r1.self.late", float("nan"), 1700000002), Point("lnet.r1.self.sent", 2.0**52 + 1, 1700000003)])
    sink.close()
    assert out.getvalue() == (
        "lnet.r1.peers.tcp.tx_credits_low -3 1700000000\nlnet.r1.self.late 0.25 1700000001\nlnet.r1.self.sent 4503599627370497 1700000003\n"
    )
    assert (sink.sent, sink.refused) == (3, 1)


def test_nobody_reads():
    read, write = os.pipe()
    os.close(read)
    out = os.fdopen(write, "w")
    with pytest.raises(SinkError, match="cannot write: Broken pipe"):
        StdoutSink(out).offer([Point("a.b", 1.0, 1)])
    with contextlib.suppress(BrokenPipeError):
        out.close()
