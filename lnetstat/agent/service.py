"""Talk to the service manager (systemd) the way sd_notify(3) does: one datagram for each thing that it should know."""

import os
import socket
from collections.abc import Callable, Mapping

Send = Callable[[str, bytes], None]


def send_datagram(address: str, message: bytes) -> None:
    """Send without ever waiting: a manager that does not listen must not stop the agent."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notify:
        notify.setblocking(False)
        notify.connect("\0" + address[1:] if address.startswith("@") else address)
        notify.send(message)


class Service:
    """The manager that NOTIFY_SOCKET names; where it names none, every call does nothing.

    `alive_every_s`: how often `alive` must be called so that the watchdog lets us live, None without one.
    """

    def __init__(self, environment: Mapping[str, str], send: Send = send_datagram) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        self._send = send
        self._status = ""
        watchdog_us = environment.get("WATCHDOG_USEC", "")
        ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        watched = bool(self._address) and ours and watchdog_us.isdecimal() and int(watchdog_us) > 0
        self.is_there = bool(self._address)
        self.alive_every_s = int(watchdog_us) / 1e6 / 3 if watched else None
        self._alive_due_s = 0.0

    def ready(self) -> None:
        self._tell("READY=1")

    def reloading(self, mono_ns: int) -> None:
        self._tell(f"RELOADING=1\nMONOTONIC_USEC={mono_ns // 1000}")

    def stopping(self) -> None:
        self._tell("STOPPING=1")

    def status(self, words: str) -> None:
        """Show these words in `systemctl status`; told when they change."""
        words = words.replace("\n", " ")
        if words != self._status:
            self._status = words
            self._tell(f"STATUS={words}")

    def alive(self, now_s: float) -> None:
        """Feed the watchdog, no more often than it needs."""
        if self.alive_every_s is not None and now_s >= self._alive_due_s:
            self._alive_due_s = now_s + self.alive_every_s
            self._tell("WATCHDOG=1")

    def _tell(self, message: str) -> None:
        if not self._address:
            return
        try:
            self._send(self._address, message.encode(errors="backslashreplace"))
        except OSError:  # nobody listens, or its queue is full: it asks again by its watchdog
            return
