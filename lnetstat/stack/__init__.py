"""The embedded Carbon and graphite-web: real ones, in processes of their own, on loopback, in one folder, without root.

Nothing here imports Django or Twisted: they belong to the processes (see lnetstat.stack.inside).
"""

from lnetstat.stack.config import default_folder
from lnetstat.stack.errors import StackError
from lnetstat.stack.stack import Stack, Status

__all__ = ["Stack", "StackError", "Status", "default_folder"]
