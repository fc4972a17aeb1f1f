"""A file system of one file, `peers`, whose reads hang until the reader is killed; it says "read" for each.

`python hanging_file.py FOLDER [deaf]`. `deaf`: they hang even then, as a read that is stuck in a driver; only the end of this process ends
them.

It speaks the kernel's FUSE protocol itself (linux/fuse.h, 7.31): mounting needs root and /dev/fuse, and no library.
"""

import ctypes
import errno
import os
import stat
import struct
import sys

ROOT, FILE = 1, 2
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, INTERRUPT = 1, 2, 3, 14, 15, 18, 25, 26, 36
DIRECT_IO = 1
NO_ANSWER = (FORGET, READ)


def attributes(node):
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o444
    return struct.pack("<6Q10I", node, 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body):
    """Return (error, payload) for a request."""
    if opcode == INIT:
        return 0, struct.pack("<4I2H2I2HI7I", 7, 31, 65536, 0, 16, 12, 65536, 1, 1, 0, 0, *[0] * 7)
    if opcode == LOOKUP:
        if body.rstrip(b"\0") != b"peers":
            return errno.ENOENT, b""
        return 0, struct.pack("<4Q2I", FILE, 0, 3600, 3600, 0, 0) + attributes(FILE)
    if opcode == GETATTR:
        return 0, struct.pack("<Q2I", 3600, 0, 0) + attributes(node)
    if opcode == OPEN:
        return 0, struct.pack("<Q2I", 1, DIRECT_IO, 0)
    return (0, b"") if opcode in (RELEASE, FLUSH) else (errno.ENOSYS, b"")


def serve(folder, is_deaf):
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"hanging", os.fsencode(folder), b"fuse", 0, options):
        sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
    print("mounted", flush=True)
    while True:
        try:
            request = os.read(device, 1 << 20)
        except OSError:  # unmounted
            return
        _, opcode, unique, node, *_ = struct.unpack_from("<2I2Q4I", request)
        body = request[40:]
        if opcode == READ:
            print("read", flush=True)
        if opcode == INTERRUPT and is_deaf:
            continue
        if opcode == INTERRUPT:  # the reader is being killed: let its read end
            unique, error, payload = struct.unpack_from("<Q", body)[0], errno.EINTR, b""
        elif opcode in NO_ANSWER:
            continue
        else:
            error, payload = answer(opcode, node, body)
        os.write(device, struct.pack("<IiQ", 16 + len(payload), -error, unique) + payload)


if __name__ == "__main__":
    serve(sys.argv[1], "deaf" in sys.argv[2:])
