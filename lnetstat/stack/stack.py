"""Start, stop and ask the embedded stack: carbon-cache and graphite-web in one folder."""

import contextlib
import errno
import fcntl
import hashlib
import http.client
import json
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from lnetstat.stack import config, dashboards, page, schemas
from lnetstat.stack.config import CARBON_PORT, LOOPBACK, WEB_PORT, Ports
from lnetstat.stack.errors import StackError
from lnetstat.stack.interpreter import Interpreter, interpreter_for
from lnetstat.stack.process import POLL_S, Process

READY_TIMEOUT_S = 60.0
ANSWER_TIMEOUT_S = 5.0
WEB_STOP_TIMEOUT_S = 10.0
CARBON_STOP_TIMEOUT_S = 600.0  # long: it writes its cache, and what it does not write is lost
WEB_THREADS = 4
PORT_OPTIONS = {"web": "--port", "carbon": "--carbon-port"}


class Status(NamedTuple):
    """What runs: the pids (None: not running), whether each answers on its port, and where."""

    carbon_pid: int | None
    web_pid: int | None
    carbon_answers: bool
    web_answers: bool
    carbon_address: tuple[str, int]
    web_url: str

    @property
    def state(self) -> str:
        """`running` (both, and both answer), `not running` (neither), or `half`."""
        if self.carbon_pid is None and self.web_pid is None:
            return "not running"
        return "running" if self.carbon_answers and self.web_answers else "half"


class Stack:
    """The stack in `folder`. Ports not given are those it had before, else the defaults.

    `tell` gets a line about each slow step and about what will not work. All methods raise StackError with one clear line.
    """

    def __init__(
        self,
        folder: Path | None = None,
        web_port: int | None = None,
        carbon_port: int | None = None,
        *,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.folder = (folder or config.default_folder()).expanduser().absolute()
        self._tell = tell
        self._run = self.folder / "run"
        self._conf = self.folder / "conf"
        self._carbon = Process("carbon-cache", self._run)
        self._web = Process("graphite-web", self._run)
        before = self._ports_before()
        self._ports = Ports(web_port or before.web, carbon_port or before.carbon, before.query)
        for name, port in (("web", self._ports.web), ("carbon", self._ports.carbon)):
            if not 1 <= port <= 65_535:
                raise StackError(f"{PORT_OPTIONS[name]} {port}: a port is a number from 1 to 65535")
        if self._ports.web == self._ports.carbon:
            raise StackError(f"--port and --carbon-port are both {self._ports.web}: they must differ")

    @property
    def web_url(self) -> str:
        return f"http://{LOOPBACK}:{self._ports.web}"

    @property
    def page_url(self) -> str:
        return self.web_url + page.PATH

    @property
    def carbon_address(self) -> tuple[str, int]:
        return LOOPBACK, self._ports.carbon

    def status(self) -> Status:
        """Ask the processes and their ports."""
        carbon_pid, web_pid = self._carbon.pid, self._web.pid
        carbon_answers = carbon_pid is not None and _accepts(self._ports.carbon)
        web_answers = web_pid is not None and _serves(self._ports.web)
        return Status(carbon_pid, web_pid, carbon_answers, web_answers, self.carbon_address, self.web_url)

    def up(self) -> Status:
        """Start what does not run and wait until both answer. Harmless when all runs; on failure what was started is stopped."""
        self._make_folders()
        with self._locked():
            before = self._ports_before()
            if self._carbon.pid is not None or self._web.pid is not None:
                self._check_same_ports(before)
            if self._carbon.pid is not None and self._web.pid is not None:
                return self._wait_until_ready()
            # What is ending must end first. A web server whose carbon died asks at the wrong port: it starts anew, it holds nothing.
            self._web.stop(WEB_STOP_TIMEOUT_S, kill=True, tell=self._tell)
            if self._carbon.pid is None:
                self._carbon.stop(CARBON_STOP_TIMEOUT_S, kill=False, tell=self._tell)
                self._ports = self._ports._replace(query=_free_port())
                self._check_free("carbon", self._ports.carbon)
            else:
                self._ports = self._ports._replace(query=before.query)
            self._check_free("web", self._ports.web)
            interpreter = interpreter_for(self.folder, self._tell)
            if not interpreter.draws:
                self._tell("no libcairo.so.2 here: graphs as PNG are off, data (JSON, CSV) work; install libcairo2 (Red Hat: cairo)")
            self._write_configuration()
            self._prepare(interpreter)
            return self._start(interpreter)

    def down(self) -> bool:
        """Stop the web server, then carbon, which writes its cache first: no point it has taken is lost. Tell whether anything ran."""
        if not self._run.is_dir():
            return False
        with self._locked():
            ran = self._carbon.pid is not None or self._web.pid is not None
            self._web.stop(WEB_STOP_TIMEOUT_S, kill=True, tell=self._tell)
            self._carbon.stop(CARBON_STOP_TIMEOUT_S, kill=False, tell=self._tell)
            self._twistd_pid_file.unlink(missing_ok=True)
            return ran

    # ---- steps ----

    @property
    def _twistd_pid_file(self) -> Path:
        return self._run / "carbon-twistd-own.pid"  # carbon does not obey a name that ends with twistd.pid

    def _ports_before(self) -> Ports:
        """Return the ports of the last start, else the defaults."""
        try:
            return Ports(**json.loads((self._conf / "ports.json").read_text()))
        except FileNotFoundError:
            return Ports(WEB_PORT, CARBON_PORT, 0)
        except PermissionError:
            raise StackError(f"{self.folder}: belongs to another user: choose another folder with --dir") from None
        except (ValueError, TypeError) as error:
            raise StackError(f"{self._conf / 'ports.json'}: damaged ({error}): remove this file and try again") from error

    def _check_same_ports(self, running: Ports) -> None:
        for name in ("web", "carbon"):
            if getattr(self._ports, name) != getattr(running, name):
                raise StackError(
                    f"the stack in {self.folder} runs with {PORT_OPTIONS[name]} {getattr(running, name)}: "
                    f"stop it first (lnetstat stack down) to start it with {getattr(self._ports, name)}"
                )

    def _make_folders(self) -> None:
        if any(character in str(self.folder) for character in "%\n"):
            raise StackError(f"{self.folder}: carbon cannot read a configuration with % in its paths: choose another folder with --dir")
        try:
            if self.folder.exists():
                self._check_ours()
            else:
                self.folder.mkdir(mode=0o700, parents=True)
            for name in ("conf", "run", "dashboards", "storage/whisper", "storage/log/webapp"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StackError(f"{error.filename or self.folder}: {error.strerror}: choose another folder with --dir") from error

    def _check_ours(self) -> None:
        owner = self.folder.stat().st_uid
        if owner != os.geteuid():
            raise StackError(f"{self.folder}: belongs to user {owner}, this is user {os.geteuid()}: choose another folder with --dir")
        if any(self.folder.iterdir()) and not self._conf.is_dir():
            raise StackError(f"{self.folder}: holds something else than a stack: choose an empty or new folder with --dir")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Let only one of several up and down work at a time."""
        try:
            with (self._run / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            raise StackError(
                f"{error.filename or self.folder}: {error.strerror}: can this user write there? (--dir chooses another folder)"
            ) from error

    def _check_free(self, name: str, port: int) -> None:
        try:
            with socket.socket() as probe:
                # As the servers do: a connection that is closing does not count. carbon also sets SO_REUSEPORT and would share
                # the port with another carbon without a word; this probe does not.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((LOOPBACK, port))
        except OSError as error:
            taken = "is taken by another process" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise StackError(f"port {port} {taken}: choose another with {PORT_OPTIONS[name]}") from error

    def _write_configuration(self) -> None:
        self._write_secret_key()
        texts = {
            "carbon.conf": config.carbon_conf(self.folder, self._ports),
            "storage-schemas.conf": schemas.storage_schemas(),
            "storage-aggregation.conf": schemas.storage_aggregation(),
            "dashboard.conf": config.DASHBOARD_CONF,
            "graphTemplates.conf": config.GRAPH_TEMPLATES_CONF,
            "ports.json": json.dumps(self._ports._asdict()),
        }
        for name, text in texts.items():
            _write(self._conf / name, text)
        for old in (self.folder / "dashboards").glob("*.json"):
            old.unlink()
        for dashboard in dashboards.dashboards():
            _write(self.folder / "dashboards" / f"{dashboard.name}.json", json.dumps(dashboards.state(dashboard)))
        page.write(self.folder, self._tell)

    def _write_secret_key(self) -> None:
        key = self._conf / "secret_key"
        if not key.exists() or not key.stat().st_size:
            _write(key, secrets.token_urlsafe(50), mode=0o600)
        key.chmod(0o600)

    def _prepare(self, interpreter: Interpreter) -> None:
        """Make database, static files and dashboards, unless that was done with the very same ones before."""
        digest = hashlib.sha256(interpreter.path.encode())
        for file in (*sorted(config.INSIDE.glob("*.py")), *sorted((self.folder / "dashboards").glob("*.json"))):
            digest.update(file.read_bytes())
        stamp = self._conf / "prepared"
        if stamp.exists() and stamp.read_text() == digest.hexdigest() and (self.folder / "storage" / "graphite.db").exists():
            return
        self._tell("preparing graphite-web's database, pages and dashboards")
        command = [interpreter.path, str(config.INSIDE / "lnetstat_prepare.py")]
        environment = config.environment(self.folder, self._ports)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            log = self._run / "prepare.log"
            log.write_text(done.stdout + done.stderr)
            raise StackError(
                f"graphite-web could not be prepared: {(done.stderr.strip().splitlines() or ['no message'])[-1]} (all of it: {log})"
            )
        _write(stamp, digest.hexdigest())

    def _start(self, interpreter: Interpreter) -> Status:
        environment = config.environment(self.folder, self._ports)
        begun = []
        try:
            if self._carbon.pid is None:
                self._twistd_pid_file.unlink(missing_ok=True)  # left by a crash; carbon would believe whoever has that pid now
                begun.append(self._carbon)
                self._carbon.start(self._carbon_command(interpreter), environment)
            begun.append(self._web)
            self._web.start(self._web_command(interpreter), environment)
            return self._wait_until_ready()
        except BaseException:
            for process in reversed(begun):
                process.stop(WEB_STOP_TIMEOUT_S, kill=True, tell=self._tell)
            raise

    def _carbon_command(self, interpreter: Interpreter) -> list[str]:
        script = str(config.INSIDE / "lnetstat_carbon_cache.py")
        configuration = ["--config", str(self._conf / "carbon.conf"), "--pidfile", str(self._twistd_pid_file)]
        return [interpreter.path, script, *configuration, "--nodaemon", "start"]

    def _web_command(self, interpreter: Interpreter) -> list[str]:
        listen = f"--listen={LOOPBACK}:{self._ports.web}"
        return [interpreter.path, "-m", "waitress", listen, f"--threads={WEB_THREADS}", "lnetstat_web:application"]

    def _wait_until_ready(self) -> Status:
        deadline_s = time.monotonic() + READY_TIMEOUT_S
        while True:
            status = self.status()
            if status.state == "running":
                return status
            for process in (self._carbon, self._web):
                if process.pid is None:
                    raise StackError(f"{process.name} ended while it started: {process.last_words()} (all of it: {process.log})")
            if time.monotonic() > deadline_s:
                mute = self._web if status.carbon_answers else self._carbon
                raise StackError(
                    f"{mute.name} does not answer {READY_TIMEOUT_S:g} s after its start: {mute.last_words()} (log: {mute.log})"
                )
            time.sleep(POLL_S)


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file so that it is there whole or not at all, with this mode from its first byte."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=ANSWER_TIMEOUT_S):
            return True
    except OSError:
        return False


def _serves(port: int) -> bool:
    """Tell whether graphite-web answers there. Not urllib: a proxy of the environment has no business on loopback."""
    asked = http.client.HTTPConnection(LOOPBACK, port, timeout=ANSWER_TIMEOUT_S)
    try:
        asked.request("GET", "/version/")
        return asked.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()
