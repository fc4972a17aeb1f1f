"""Captured files that hold no text of a kernel but what the tool said that could not read it: an absent file, or a forbidden one."""

import errno
import re

COMPLAINT_CHARS_MAX = 4096  # a tool says one line for each file; longer texts are tables
_SAID = {
    "No such file or directory": errno.ENOENT,
    "Not a directory": errno.ENOTDIR,
    "Permission denied": errno.EACCES,
    "Operation not permitted": errno.EPERM,
}
_COMPLAINT = re.compile(rf"(?:[\w./-]{{1,40}}: .{{1,4000}}|error: \w{{1,20}}: .{{1,4000}}): ({'|'.join(_SAID)})\r?", re.ASCII)


def complaint_of(text: str) -> int:
    """Return the error number that a text tells where it is nothing but complaints of cat, head, lctl and the like; 0 for any other text.

    Of several complaints a forbidden file counts before one that is not there: somebody can mend it.
    """
    if not 0 < len(text) <= COMPLAINT_CHARS_MAX:
        return 0
    found = [_COMPLAINT.fullmatch(line) for line in text.split("\n") if line.strip()]
    if not found or not all(found):
        return 0
    numbers = [_SAID[each[1]] for each in found if each]
    return next((number for number in numbers if number in (errno.EACCES, errno.EPERM)), numbers[0])
