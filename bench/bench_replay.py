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


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes fewer seconds: for tests, not for figures."""
    seconds = max(20, round(SECONDS * scale))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with RecordingWriter(str(folder / "recording")) as writer:
            for tick, text in enumerate(texts(PEERS, seconds)):
                writer.write([snapshot(text, tick)])
        lines, fed_s = _replayed(folder / "recording")
        carbon = Carbon(folder / "carbon")
        carbon.start()
        try:
            taken_s = _taken(carbon, lines)
        finally:
            carbon.stop()
    count = lines.count(b"\n")
    words = f"replay of {PEERS} peers x {seconds} s to a sink that takes everything ({count / fed_s:,.0f} points/s)"
    return [(f"{words} / what carbon-cache takes ({count / taken_s:,.0f} points/s)", taken_s / fed_s, 2, ">=")]


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
