"""What can go wrong with the embedded stack, in one line each."""

from lnetstat.errors import LnetstatError


class StackError(LnetstatError):
    """The stack could not be started, stopped or asked."""
