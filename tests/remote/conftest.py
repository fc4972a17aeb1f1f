"""A real sshd on loopback, with keys and configuration of its own; one port for each node, and each node has its own tree."""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "sample-data" / "2.17.0"
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
NODES = ("rtr1", "rtr2", "rtr3")
MUTE = "mute"
PATIENCE_S = 30

WITHOUT_SSHD = SSHD is None or shutil.which("ssh-keygen") is None


class Nodes:
    """Aliases for `ssh` (a command for --ssh): rtr1 to rtr3, `refuses` whose port is closed, `hangs` that says nothing.

    `mute` lets one in and then says nothing, until there is a file `speaks` in its tree.
    """

    def __init__(self, folder, ports):
        self.folder, self.ports = folder, ports
        self.ssh = f"ssh -F {folder / 'ssh_config'} -o ConnectTimeout=1"  # ours is 10 s: the first value given wins

    def tree(self, name):
        return self.folder / name

    def kill_sessions(self, name):
        """End the sshd processes that serve a node, as a crash of the node does; returns how many there were."""
        mark = f"LNETSTAT_TEST_NODE={self.folder.name}-{name}".encode()
        found = []
        for process in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if process.name.isdigit() and mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        for number in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, 9)
        return len(found)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="session")
def nodes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sshd")
    folder.chmod(0o755)
    *ports, mute, closed = free_ports(len(NODES) + 2)
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    for number, name in enumerate(NODES):
        make_tree(folder / name, queue=100 * (number + 1))
    make_tree(folder / MUTE, queue=0)
    hanging = socket.create_server(("127.0.0.1", 0))
    user = pwd.getpwuid(os.getuid()).pw_name
    (folder / "sshd_config").write_text(sshd_config(folder, dict(zip((*NODES, MUTE), (*ports, mute), strict=True))))
    aliases = [*zip(NODES, ports, strict=True), (MUTE, mute), ("refuses", closed), ("hangs", hanging.getsockname()[1])]
    (folder / "ssh_config").write_text(ssh_config(folder, aliases, user))
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # what the packaged sshd wants to separate its privileges
    daemon = subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "sshd_config"], stderr=subprocess.PIPE, text=True)
    with daemon:
        listening = 0
        while listening < len(NODES) + 1:
            line = daemon.stderr.readline()
            assert line, "sshd ended"
            listening += "listening on 127.0.0.1" in line
        log = open(folder / "log", "w")  # noqa: SIM115 - sshd must not wait for a reader of its log
        copier = subprocess.Popen(["cat"], stdin=daemon.stderr, stdout=log)
        yield Nodes(folder, dict(aliases))
        (folder / MUTE / "speaks").touch()  # so that its shells end
        daemon.terminate()
        copier.wait(PATIENCE_S)
        log.close()
    hanging.close()


def make_tree(folder, queue):
    """A router's files; the number in `queue` tells the nodes apart."""
    folder.mkdir()
    for name in ("nis", "buffers", "stats", "routes"):
        shutil.copy(SAMPLES / f"{name}--router.txt", folder / name)
    lines = (SAMPLES / "peers--router.txt").read_text().splitlines()
    (folder / "peers").write_text("\n".join([lines[0], *(line.rsplit(None, 1)[0] + f" {queue}" for line in lines[1:])]) + "\n")


def sshd_config(folder, ports):
    lines = [f"ListenAddress 127.0.0.1:{port}" for port in ports.values()]
    lines += [f"HostKey {folder / 'host_key'}", f"AuthorizedKeysFile {folder / 'authorized_keys'}", "StrictModes no", "UsePAM no"]
    lines += ["PasswordAuthentication no", "PermitRootLogin yes", "PidFile none", "LogLevel INFO", "MaxStartups 100"]
    for name, port in ports.items():
        mark = f"LNETSTAT_TEST_NODE={folder.name}-{name}"
        silence = "until [ -e speaks ]; do sleep 0.2; done; " if name == MUTE else ""
        run = f"cd {folder / name} && {silence}exec env {mark} $SSH_ORIGINAL_COMMAND"
        lines += [f"Match LocalPort {port}", f"    ForceCommand echo motd; {run}"]
    return "\n".join(lines) + "\n"


def ssh_config(folder, aliases, user):
    lines = []
    for name, port in aliases:
        lines += [f"Host {name}", f"    Port {port}"]
    lines += ["Host *", "    HostName 127.0.0.1", f"    User {user}", f"    IdentityFile {folder / 'user_key'}", "    IdentitiesOnly yes"]
    lines += ["    StrictHostKeyChecking no", f"    UserKnownHostsFile {folder / 'known_hosts'}"]
    return "\n".join(lines) + "\n"
