"""A real carbon-cache as the embedded stack configures it, which can be ended, killed, stopped for a while and read back."""

import os
import signal
import socket
import sys
import time
from pathlib import Path

import whisper

from lnetstat.stack import config, schemas
from lnetstat.stack.config import LOOPBACK, Ports
from lnetstat.stack.process import Process

START_S = 60.0
STOP_S = 300.0  # it writes what it still holds


class Carbon:
    """carbon-cache alone, in a folder, at an address and on a port that stay the same."""

    def __init__(self, folder: Path, address: str = LOOPBACK) -> None:
        self.folder = folder
        self.address = address
        with socket.socket() as one, socket.socket() as two:
            one.bind((LOOPBACK, 0))
            two.bind((LOOPBACK, 0))
            self.port, query = one.getsockname()[1], two.getsockname()[1]
        for name in ("conf", "run", "storage/whisper", "storage/log"):
            (folder / name).mkdir(parents=True)
        self._ports = Ports(0, self.port, query)
        conf = config.carbon_conf(folder, self._ports)
        (folder / "conf" / "carbon.conf").write_text(
            conf.replace(f"LINE_RECEIVER_INTERFACE = {LOOPBACK}", f"LINE_RECEIVER_INTERFACE = {address}")
        )
        (folder / "conf" / "storage-schemas.conf").write_text(schemas.storage_schemas())
        (folder / "conf" / "storage-aggregation.conf").write_text(schemas.storage_aggregation())
        self._process = Process("carbon-cache", folder / "run")

    def start(self) -> None:
        """Return when it takes connections."""
        (self.folder / "run" / "own.pid").unlink(missing_ok=True)
        files = ["--config", str(self.folder / "conf" / "carbon.conf"), "--pidfile", str(self.folder / "run" / "own.pid")]
        script = str(config.INSIDE / "lnetstat_carbon_cache.py")
        self._process.start([sys.executable, script, *files, "--nodaemon", "start"], config.environment(self.folder, self._ports))
        deadline_s = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection((self.address, self.port), timeout=5).close()
                return
            except OSError as error:
                if self._process.pid is None:
                    raise RuntimeError(f"carbon-cache ended: {self._process.last_words()}") from error
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.05)

    def stop(self) -> None:
        """SIGTERM: it writes what it holds. Does nothing where it does not run."""
        self._process.stop(STOP_S, kill=False, tell=lambda line: None)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self.stop()

    def hang(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def has_files(self, paths: list[str]) -> bool:
        """Tell whether whisper's files of these metrics are there and whole."""
        whole = schemas.file_bytes(schemas.RETENTIONS)
        return all((file := self._file(path)).exists() and file.stat().st_size == whole for path in paths)

    def stored(self, path: str, begin_s: int | None = None, end_s: int | None = None) -> dict[int, float]:
        """Return {second: value} of what is on disk of a metric, `begin_s` (an hour ago) to `end_s` (now). Raises CorruptWhisperFile."""
        file = self._file(path)
        if not file.exists():
            return {}
        (from_s, until_s, step_s), values = whisper.fetch(str(file), int(time.time()) - 3600 if begin_s is None else begin_s - 1, end_s)
        return {second: value for second, value in zip(range(from_s, until_s, step_s), values, strict=True) if value is not None}

    def _file(self, path: str) -> Path:
        return self.folder / "storage" / "whisper" / f"{path.replace('.', '/')}.wsp"

    def _signal(self, number: signal.Signals) -> None:
        pid = self._process.pid
        if pid is None:
            raise RuntimeError(f"carbon-cache ended by itself: {self._process.last_words()}")
        os.kill(pid, number)
