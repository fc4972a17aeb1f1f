"""Texts of a `peers` table as a busy router prints it: made by collect/gen.py, a part of its rows changing from tick to tick."""

import importlib.util
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from lnetstat.model import Snapshot, State

CHANGING = 0.05
START_NS = 1_786_708_800 * 10**9


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("collect_gen", Path(__file__).parent / "collect" / "gen.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts(peers: int, ticks: int, seed: int = 1) -> Iterator[str]:
    """Yield `ticks` texts of `peers` rows; CHANGING of the rows get other credits, queues and references each time."""
    generator = _generator()
    with tempfile.TemporaryDirectory() as folder:
        generator.gen(peers, folder, seed)
        lines = (Path(folder) / "peers").read_text().splitlines(keepends=True)
    chance = random.Random(seed)
    for _ in range(ticks):
        yield "".join(lines)
        for at in chance.sample(range(1, len(lines)), max(1, round(peers * CHANGING))):
            lines[at] = _changed(generator, lines[at].split(), chance)


def _changed(generator: ModuleType, words: list[str], chance: random.Random) -> str:
    nid, _, state = words[:3]
    last, limit, rtr, rtr_min, _, tx_min, _ = map(int, words[3:])
    held = chance.randrange(0, limit * 2)
    queue = sum(chance.choice((152, 224, 368, 1_048_576 + 224)) for _ in range(held))
    numbers = (last, limit, rtr, rtr_min, limit - held, min(tx_min, limit - held), queue)
    line: str = generator.PEER_ROW % (nid, 1 + held, state, *numbers)
    return line


def snapshot(text: str, tick: int) -> Snapshot:
    """Return the text as read in this tick of one second."""
    return Snapshot("peers", "rtr", START_NS + tick * 10**9, tick * 10**9, 1_000_000, State.OK, 0, frozenset(), text)
