"""A real carbon-cache to be started, killed and read back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.soak.carbon import Carbon


@pytest.fixture
def carbon(tmp_path: Path) -> Iterator[Carbon]:
    """Not started: the test does."""
    made = Carbon(tmp_path)
    yield made
    made.stop()
