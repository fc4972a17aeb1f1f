"""The event kernel: plain functions on one flat array of 64-bit integers, compiled by numba where it is installed.

Everything lives in one memory `m`: an "object" is the index of its first field, a field is `m[object + NAME]`, 0 is no object. So the
same source runs compiled (an int64 array) and plain (a list of ints), byte for byte the same. layout.py names the fields, build.py lays
the memory out, loop.py runs it; events.py holds the queue of events in a second array `h`. The rules are those of docs/simulator-model.md.
"""
