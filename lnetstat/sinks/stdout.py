"""Print points as Carbon's plaintext lines: `path value time`."""

from collections.abc import Iterable
from typing import TextIO

from lnetstat.errors import SinkError
from lnetstat.model import Point
from lnetstat.sinks.lines import acceptable, plaintext_line


class StdoutSink:
    """Writes one line per point to `stream`; what Carbon would not keep is counted in `refused` and not printed."""

    def __init__(self, stream: TextIO) -> None:
        self.sent = 0
        self.refused = 0
        self._stream = stream

    def offer(self, points: Iterable[Point]) -> None:
        """Print the points. Raises SinkError where nobody reads them any more."""
        lines = []
        for point in points:
            if acceptable(point):
                lines.append(plaintext_line(point) + "\n")
            else:
                self.refused += 1
        try:
            self._stream.writelines(lines)
            self._stream.flush()
        except OSError as error:
            raise SinkError(f"standard output: cannot write: {error.strerror}") from error
        self.sent += len(lines)

    def close(self) -> None:
        """Nothing is held back: every line is flushed as it is offered."""
