"""Text that people read: stamps, and names that cannot act. Standard library only; everything may use it."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def printable(text: str) -> str:
    """Return the text with control characters, direction marks and undecodable bytes escaped, so that a name cannot act."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def iso(time_ns: int, digits: int = 0) -> str:
    """Return epoch nanoseconds in UTC as ISO 8601 with `digits` (0 to 9) decimals; the bare number where the calendar ends."""
    seconds, rest_ns = divmod(time_ns, 1_000_000_000)
    try:
        text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    except OverflowError:
        return f"{time_ns} ns"
    return f"{text}.{rest_ns:09d}"[: len(text) + 1 + digits] + "Z" if digits else f"{text}Z"
