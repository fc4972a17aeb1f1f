"""Thresholds as the Monitoring Plugins guidelines write them: [@][START:][END].

10       alert below 0 or above 10        10:20    alert outside 10 to 20, ends included in what is well
10:      alert below 10                   @10:20   alert inside 10 to 20, ends included
~:10     alert above 10                   (empty)  never
"""

import math
import re
from typing import NamedTuple

_NUMBER = r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_RANGE = re.compile(rf"(?P<inside>@?)(?:(?P<start>~|{_NUMBER})?(?P<colon>:))?(?P<end>{_NUMBER})?", re.ASCII)
EXPECTED = "expected a range such as 10 (outside 0 to 10), 10: (below 10), ~:10 (above 10), 10:20 (outside) or @10:20 (inside)"


class Range(NamedTuple):
    """`start` to `end`, both included; an alert is outside, or where `inside` is set inside. `text`: as it was written."""

    start: float
    end: float
    inside: bool
    text: str

    def alerts(self, value: float) -> bool:
        """Tell whether a value is to be alerted of."""
        return (self.start <= value <= self.end) is self.inside


def parse_range(text: str) -> Range | None:
    """Return the range of a text, None for the empty one, which never alerts. Raises ValueError that says what was expected."""
    text = text.strip()
    if not text:
        return None
    found = _RANGE.fullmatch(text)
    if not found or (found["end"] is None and (found["colon"] is None or found["start"] is None)):
        raise ValueError(EXPECTED)
    start = -math.inf if found["start"] == "~" else float(found["start"] or 0)
    end = math.inf if found["end"] is None else float(found["end"])
    if start > end:
        raise ValueError(f"it ends below where it starts: {EXPECTED}")
    return Range(start, end, found["inside"] == "@", text)
