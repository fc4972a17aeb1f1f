"""Plain text for a terminal: columns in line, nothing that a hostile name could use to move the cursor."""

from collections.abc import Iterable, Sequence

from lnetstat.words import printable


def aligned(rows: Iterable[Sequence[object]]) -> str:
    """Return rows of cells as lines with the columns in line; columns of numbers to the right."""
    texts = [[printable("" if cell is None else str(cell)) for cell in row] for row in rows]
    if not texts:
        return ""
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    right = [len(texts) > 1 and all(_is_number(cell) for cell in column[1:]) for column in zip(*texts, strict=True)]
    lines = []
    for row in texts:
        cells = [cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in zip(row, widths, right, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _is_number(cell: str) -> bool:
    return cell == "" or cell.lstrip("-").replace(".", "", 1).isdigit()
