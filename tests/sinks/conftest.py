"""A real carbon-cache to be started, killed and read back."""

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import whisper

from lnetstat.stack import config, schemas
from lnetstat.stack.config import Ports
from lnetstat.stack.process import Process


class Carbon:
    """carbon-cache alone, in a folder, on a port that stays the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            two.bind(("127.0.0.1", 0))
            self.port, query = one.getsockname()[1], two.getsockname()[1]
        for name in ("conf", "run", "storage/whisper", "storage/log"):
            (folder / name).mkdir(parents=True)
        self._ports = Ports(0, self.port, query)
        (folder / "conf" / "carbon.conf").write_text(config.carbon_conf(folder, self._ports))
        (folder / "conf" / "storage-schemas.conf").write_text(schemas.storage_schemas())
        (folder / "conf" / "storage-aggregation.conf").write_text(schemas.storage_aggregation())
        self.process = Process("carbon-cache", folder / "run")

    def start(self) -> None:
        (self.folder / "run" / "own.pid").unlink(missing_ok=True)
        files = ["--config", str(self.folder / "conf" / "carbon.conf"), "--pidfile", str(self.folder / "run" / "own.pid")]
        script = str(config.INSIDE / "lnetstat_carbon_cache.py")
        self.process.start([sys.executable, script, *files, "--nodaemon", "start"], config.environment(self.folder, self._ports))
        deadline_s = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return
            except OSError:
                assert self.process.pid is not None, self.process.last_words()
                assert time.monotonic() < deadline_s
                time.sleep(0.05)

    def kill(self) -> None:
        pid = self.process.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        self.stop()

    def stop(self) -> None:
        self.process.stop(120, kill=False, tell=lambda line: None)

    def stored(self, path: str) -> dict[int, float]:
        """Return {second: value} of what is on disk for a metric."""
        file = self.folder / "storage" / "whisper" / f"{path.replace('.', '/')}.wsp"
        if not file.exists():
            return {}
        (begin_s, end_s, step_s), values = whisper.fetch(str(file), int(time.time()) - 3600)
        return {second: value for second, value in zip(range(begin_s, end_s, step_s), values, strict=True) if value is not None}


@pytest.fixture
def carbon(tmp_path: Path) -> Iterator[Carbon]:
    """Not started: the test does."""
    made = Carbon(tmp_path)
    yield made
    made.stop()
