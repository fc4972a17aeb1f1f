"""Every time on a page is a button that shows that time in the pictures."""

import re

from markupsafe import Markup, escape

from lnetstat.words import printable

_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
_TIMES = re.compile(rf"({_STAMP})( to )?({_STAMP})?")


def timed(text: str) -> Markup:
    """Return text, escaped, with each ISO stamp and each range of two as a button; report.js zooms the pictures to it."""
    parts: list[Markup] = []
    at = 0
    for match in _TIMES.finditer(printable(text)):
        parts.append(escape(match.string[at : match.start()]))
        parts.append(_button(match[1], match[3] if match[2] else None))
        at = match.end() if match[3] and match[2] else match.end(1)
    return Markup("").join([*parts, escape(printable(text)[at:])])


def _button(begin: str, end: str | None) -> Markup:
    to = f" data-end={end}" if end else ""
    words = f"{begin} to {end}" if end else begin
    return Markup(f'<button type="button" class="when" data-begin={begin}{to} title="Show this time in the pictures">{words}</button>')  # noqa: S704
