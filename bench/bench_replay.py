"""How fast `replay` feeds Carbon: points a second into a sink that takes everything, against what a carbon-cache takes on this machine."""

import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1]))
from peers_texts import snapshot, texts

from bench.soak.carbon import Carbon
from lnetstat.recording import RecordingWriter

Figure = tuple[str, float, float, str]

PEERS = 100
SECONDS = 900
ROUNDS = 3  # one after the other, and the median of their ratios


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes fewer seconds: for tests, not for figures."""
    seconds = max(20, round(SECONDS * scale))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with RecordingWriter(str(folder / "recording")) as writer:
            for tick, text in enumerate(texts(PEERS, seconds)):
                writer.write([snapshot(text, tick)])
        carbon = Carbon(folder / "carbon")
        carbon.start()
        try:
            rounds = [_round(folder / "recording", carbon) for _ in range(ROUNDS)]
        finally:
            carbon.stop()
    fed, taken = sorted(rounds, key=lambda each: each[0] / each[1])[ROUNDS // 2]
    words = f"replay of {PEERS} peers x {seconds} s to a sink that takes everything ({fed:,.0f} points/s)"
    return [(f"{words} / what carbon-cache takes ({taken:,.0f} points/s)", fed / taken, 2, ">=")]


def _round(recording: Path, carbon: Carbon) -> tuple[float, float]:
    """Return points a second: fed by `replay`, taken by carbon."""
    lines, fed_s = _replayed(recording)
    count = lines.count(b"\n")
    return count / fed_s, count / _taken(carbon, lines)


def _replayed(recording: Path) -> tuple[bytes, float]:
    """Return what `replay` sent, and how many seconds passed from its first to its last byte."""
    received: list[bytes] = []
    times_s: list[float] = []

    def receive() -> None:
        with listener.accept()[0] as connection:
            while data := connection.recv(1 << 20):
                times_s.append(time.perf_counter())
                received.append(data)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        receiving = threading.Thread(target=receive)
        receiving.start()
        command = [sys.executable, "-m", "lnetstat", "replay", str(recording), "--carbon", f"127.0.0.1:{listener.getsockname()[1]}"]
        subprocess.run(command, check=True, capture_output=True)
        receiving.join()
    return b"".join(received), times_s[-1] - times_s[0]


def _taken(carbon: Carbon, lines: bytes) -> float:
    """Return how many seconds carbon needs to read the lines: until it has closed its end, as ours is closed."""
    began_s = time.perf_counter()
    with socket.create_connection((carbon.address, carbon.port)) as connection:
        connection.sendall(lines)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
    return time.perf_counter() - began_s


if __name__ == "__main__":
    for figure in run():
        print(*figure)
