"""Runs agents for tests: a tree to read, a service manager that listens, a Carbon that accepts and never reads."""

import contextlib
import os
import shutil
import socket
import subprocess
from pathlib import Path

from lnetstat.agent import agent_command
from lnetstat.agent.settings import AgentSettings, settings_of

SAMPLES = Path(__file__).parents[1] / "sample-data" / "2.17.0"
FILES = {"peers": "peers--router", "nis": "nis--router", "buffers": "buffers--router", "stats": "stats--router", "routes": "routes--router"}
PATIENCE_S = 30


def make_tree(folder):
    folder.mkdir()
    for name, sample in FILES.items():
        shutil.copy(SAMPLES / f"{sample}.txt", folder / name)
    return folder


@contextlib.contextmanager
def running(settings=None, *, config=None, environment=None, **given):
    """Yield an agent as a process, with its log in `stderr`; it is killed at the end if it still runs."""
    settings = settings or (settings_of(str(config), given) if config else AgentSettings(**given))
    pipe = subprocess.PIPE
    process = subprocess.Popen(agent_command(settings), stdout=pipe, stderr=pipe, text=True, env={**os.environ, **(environment or {})})
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(process, words):
    """Read the log until a line has these words, and return it."""
    while words not in (line := process.stderr.readline()):
        assert line, f"ended without saying {words}"
    return line


class Manager:
    """What systemd does with NOTIFY_SOCKET: takes datagrams."""

    def __init__(self, path):
        self.path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(PATIENCE_S)
        self._socket.bind(self.path)

    def next(self):
        return self._socket.recv(4096).decode()

    def wait_for(self, words):
        """Return all messages up to the first with these words."""
        messages = []
        while not messages or words not in messages[-1]:
            messages.append(self.next())
        return messages

    def close(self):
        self._socket.close()
