"""Every error a user can meet: one clear line that says what failed, where, what was expected and what to do."""


class LnetstatError(Exception):
    """Base of all errors that are not a bug of ours; the command line turns it into one line and exit status 3."""


class SourceError(LnetstatError):
    """A file, folder, archive or node could not be read."""


class ParseError(LnetstatError):
    """Nothing of a text could be used as the table it was taken for.

    Parameters: table name, 1-based line number, the line itself (shortened for display) and what was expected there.
    """

    def __init__(self, table: str, line_number: int, line: str, expected: str) -> None:
        self.table = table
        self.line_number = line_number
        self.line = line
        self.expected = expected
        super().__init__(f"{table}: line {line_number}: {shown(line)}: expected {expected}")


class RecordingError(LnetstatError):
    """A recording could not be read or written."""


class SinkError(LnetstatError):
    """Points could not be delivered."""


class SimulatorError(LnetstatError):
    """A scenario cannot be simulated, or its results not be written."""


class WorkerError(LnetstatError):
    """Worker processes or a cluster could not do their work."""


def shown(line: str, limit: int = 60) -> str:
    """Return the line quoted, printable and cut to `limit` characters, for an error message."""
    text = line if len(line) <= limit else line[: limit - 1] + "…"
    return "(empty)" if not text else ascii(text) if not text.isprintable() else f"'{text}'"


def bug_line(error: Exception) -> str:
    """Say in one line that it is our fault and what to send; the traceback goes to a file, not over the user's screen."""
    import sys
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="lnetstat-bug-", suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write(f"Python {sys.version}\n{' '.join(sys.argv)}\n\n")
        traceback.print_exception(error, file=file)
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"a bug of ours: {what}: please send us {file.name} and the input"
