"""lnetstat: see LNet's credits, find dead time in Lustre traffic, name the cause."""

__version__ = "0.1.0"
