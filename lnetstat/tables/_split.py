"""Undo the wrappers that tools put around the kernel's text, before any table parses it."""

from collections.abc import Iterator


def split(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of each parameter in a text of `lctl get_param` or sysctl(8); a plain text comes back as it is."""
    yield name, text
