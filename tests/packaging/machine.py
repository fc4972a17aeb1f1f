"""A machine to install packages on: this one's own file system under a writable layer in memory, in a mount namespace of its own.

What is installed, removed or broken there is gone with it. systemd does not run there: systemctl is one that writes down what it is
told to do, and the real one enables and answers what is enabled.
"""

import os
import shutil
import subprocess
from pathlib import Path

PATIENCE_S = 120
BEGIN = """
set -e
mount -t tmpfs tmpfs "$0"
mkdir "$0/upper" "$0/work" "$0/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
mount --rbind /proc "$0/root/proc"
mount --rbind /dev "$0/root/dev"
mount -t tmpfs tmpfs "$0/root/run"
mount -t tmpfs tmpfs "$0/root/tmp"
mkdir -p "$0/root/run/systemd/system"
mount --bind "$1" "$0/root/mnt"
rm -f "$0/root/usr/sbin/policy-rc.d"
mv "$0/root/usr/bin/systemctl" "$0/root/usr/bin/systemctl.real"
cat >"$0/root/usr/bin/systemctl" <<'END'
#!/bin/sh
case "$*" in
*--root=*) exec systemctl.real "$@" ;;
*is-enabled*) exec systemctl.real --root=/ "$@" ;;
*is-active*) exit 3 ;;
*daemon-reload*) ;;
*) echo "$*" >>/tmp/told ;;
esac
END
chmod 755 "$0/root/usr/bin/systemctl"
rm -f "$0/root/var/lib/man-db/auto-update"
echo ready
exec cat
"""


def why_not():
    """Return why there can be no such machine here; empty if there can."""
    if os.geteuid() != 0:
        return "only root has mount namespaces"
    if "ID=debian" not in Path("/etc/os-release").read_text():
        return "this is no Debian"
    if not shutil.which("systemctl"):
        return "no systemctl here (apt-get install systemd)"
    if subprocess.run(["/usr/bin/python3", "-c", "import click, yaml"], capture_output=True).returncode:
        return "Debian's Python has no click or PyYAML (apt-get install python3-click python3-yaml)"
    return ""


class Machine:
    """Runs commands on the machine; `shared` of here is /mnt there."""

    def __init__(self, folder, shared):
        folder.mkdir()
        self.root = folder / "root"
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", BEGIN, str(folder), str(shared)]
        self._holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._holder.stdout.readline() == "ready\n", "no machine: mounting failed, see stderr"

    def _enter(self):
        return ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt"]

    def command(self, *words):
        """Return the command line that runs these words on the machine."""
        environment = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive")
        return [*self._enter(), "chroot", str(self.root), "env", "-i", *environment, *words]

    def run(self, *words, status=0):
        """Run a command to its end, and return its stdout and stderr, as one text."""
        done = subprocess.run(self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}"
        return done.stdout

    def sh(self, line, status=0):
        return self.run("sh", "-c", line, status=status)

    def told(self):
        """Return what systemctl was told to do since the last time."""
        return self.sh("touch /tmp/told; cat /tmp/told; rm /tmp/told").splitlines()

    def files(self):
        """Return the files and links that came to the machine: those that are named after us, or lie in collectl's folder."""
        folder = self.root.parent
        changed = f"cd {folder}/upper && find etc usr var ! -type d ! -type c ! -path 'var/lib/dpkg/*' ! -path 'var/lib/rpm/*'"
        words = [*self._enter(), "sh", "-c", f"{changed}; cd {self.root} && find run ! -type d"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        return sorted(f"/{name}" for name in done.stdout.splitlines() if "lnetstat" in name or name.startswith("usr/share/collectl/"))

    def close(self):
        self._holder.communicate()
