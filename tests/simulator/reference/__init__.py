"""The simulator's model once more, as plain as it can be said: objects, deques, one heap. The engine must agree with it at every event."""

from .checks import check_idle, check_now
from .clock import Kind
from .run import Run, simulate

__all__ = ["Kind", "Run", "check_idle", "check_now", "simulate"]
