"""What holds for every test."""

import signal

# pytest-xdist's workers ignore Ctrl-C, and so would every process that they start: tests of how our verbs end would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
