"""What on a page leads to the pictures: every time, and every number that holds for a time, is a button that shows it there."""

import re

from markupsafe import Markup, escape

from lnetstat.report.words import iso
from lnetstat.words import printable

_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
_TIMES = re.compile(rf"({_STAMP})( to )?({_STAMP})?")


class Linked(str):
    """Words that hold for the time [begin_ns, end_ns], or that name a row of credits with a picture (`row`: its slug). Else plain text."""

    begin_ns: int | None = None
    end_ns: int | None = None
    row: str = ""


def of_time(words: str, begin_ns: int, end_ns: int) -> Linked:
    """Return words that lead to a time in the pictures."""
    found = Linked(words)
    found.begin_ns, found.end_ns = begin_ns, end_ns
    return found


def of_row(words: str, slug: str) -> Linked:
    """Return words that lead to the picture of one row of credits."""
    found = Linked(words)
    found.row = slug
    return found


def timed(text: str) -> Markup:
    """Return text, escaped, with what leads to the pictures as buttons; report.js does what they say.

    `Linked` words are one button; in other text each ISO stamp and each range of two is one.
    """
    if isinstance(text, Linked) and text.row:
        return Markup('<button type="button" class="row" data-row="{}" title="Show its picture">{}</button>').format(
            text.row, printable(text)
        )
    if isinstance(text, Linked) and text.begin_ns is not None and text.end_ns is not None:
        return _button(iso(text.begin_ns, 3), iso(text.end_ns, 3) if text.end_ns > text.begin_ns else None, printable(text))
    parts: list[Markup] = []
    at = 0
    for match in _TIMES.finditer(printable(text)):
        parts.append(escape(match.string[at : match.start()]))
        begin, end = match[1], match[3] if match[2] else None
        stamps = [Markup('<span class="stamp">{}</span>').format(each) for each in (begin, end) if each]
        parts.append(_button(begin, end, Markup(" to ").join(stamps)))
        at = match.end() if match[3] and match[2] else match.end(1)
    return Markup("").join([*parts, escape(printable(text)[at:])])


def _button(begin: str, end: str | None, words: str) -> Markup:
    to = Markup(" data-end={}").format(end) if end else ""
    return Markup('<button type="button" class="when" data-begin={}{} title="Show this time in the pictures">{}</button>').format(
        begin, to, words
    )
