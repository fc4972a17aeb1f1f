"""Which lnetstat this process runs: what pickled work means is known only to the very same sources."""

import functools
import hashlib
from pathlib import Path

import lnetstat


def version_here() -> str:
    """Return version and state of the sources, as "0.1.0 (sources 5c3e19aa)": between two releases the version alone tells nothing."""
    return f"{lnetstat.__version__} (sources {_sources()})"


@functools.cache
def _sources() -> str:
    folder = Path(lnetstat.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:8]
