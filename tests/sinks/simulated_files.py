"""A file system that keeps what was written apart from what has reached the disk, and fails when it is told to."""

import errno
import os


class Killed(BaseException):
    """The process died in the middle of a call."""


class File:
    def __init__(self):
        self.data = b""
        self.on_disk = b""


class SimulatedFiles:
    """`free`: bytes that still fit (None: no limit). `die_in`: so many bytes and calls from now the process dies."""

    def __init__(self, free=None, free_told=1 << 40):
        self.files = {}
        self.on_disk = {}  # name -> File, as the folder was when it was synced
        self.handles = {}
        self.free = free
        self.free_told = free_told
        self.die_in = None
        self.locked = False
        self.reads = 0
        self.bytes_read = 0

    # ---- what befalls it ----

    def kill(self):
        """The process died: the kernel has all that was written."""
        self.handles, self.locked, self.die_in = {}, False, None

    def lose_power(self, random):
        """What was not synced may be gone, in part or whole; what was never written there may be anything."""
        self.kill()
        for path, file in list(self.files.items()):
            if path not in self.on_disk and random.random() < 0.5:
                del self.files[path]
                continue
            unsynced = file.data[len(file.on_disk) :]
            kept = unsynced[: random.randint(0, len(unsynced))]
            file.data = file.on_disk + random.choice([kept, kept + bytes(len(unsynced) - len(kept)), random.randbytes(len(unsynced))])
        for path, file in self.on_disk.items():
            if path not in self.files and random.random() < 0.5:
                self.files[path] = file  # an unlink that never reached the disk

    def _step(self, size=1):
        """Return how many of `size` steps the process lives to do."""
        if self.die_in is None:
            return size
        done = min(size, self.die_in)
        self.die_in -= done
        return done

    def _call(self):
        if self._step() == 0:
            raise Killed

    # ---- Files ----

    def make_folder(self, path):
        self._call()

    def lock(self, path):
        if self.locked:
            raise BlockingIOError
        self.locked = True
        return lambda: setattr(self, "locked", False)

    def names(self, folder):
        return [os.path.basename(path) for path in self.files]

    def size(self, path):
        return len(self._file(path).data)

    def free_bytes(self, folder):
        return self.free_told if self.free is None else self.free

    def create(self, path):
        self._call()
        if path in self.files:
            raise FileExistsError(errno.EEXIST, "exists", path)
        self.files[path] = File()
        handle = max(self.handles, default=2) + 1
        self.handles[handle] = self.files[path]
        return handle

    def write(self, handle, data):
        file = self.handles[handle]
        wanted = len(data)
        if self.free is not None:
            if self.free == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            wanted = min(wanted, self.free)
            self.free -= wanted
        done = self._step(wanted)
        file.data += data[:done]
        if done < wanted:
            raise Killed
        return done

    def truncate(self, handle, size):
        self._call()
        file = self.handles[handle]
        self._give_back(len(file.data) - size)
        file.data = file.data[:size]

    def sync(self, handle):
        self._call()
        file = self.handles[handle]
        file.on_disk = file.data

    def close(self, handle):
        del self.handles[handle]

    def read(self, path, offset, size):
        self.reads += 1
        data = self._file(path).data[offset : offset + size]
        self.bytes_read += len(data)
        return data

    def replace(self, path, data):
        if self.free is not None and self.free < len(data):
            raise OSError(errno.ENOSPC, "No space left on device")
        self._call()
        file = File()
        file.data = file.on_disk = data
        self.files[path] = file

    def unlink(self, path):
        self._call()
        self._file(path)
        self._give_back(len(self.files.pop(path).data))

    def sync_folder(self, folder):
        self._call()
        self.on_disk = dict(self.files)

    def _file(self, path):
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        return self.files[path]

    def _give_back(self, size):
        if self.free is not None:
            self.free += size
