"""Worker processes that never outlive the program, whatever ends it."""

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait

from lnetstat.workers.stopping import no_ctrl_c


@contextlib.contextmanager
def pool_of(processes: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of so many processes (the first submit starts them: let it be under no_ctrl_c). At the end of the block none is left.

    What they are at then is given up.
    """
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    finally:
        _end(pool)


def _end(pool: ProcessPoolExecutor) -> None:
    with no_ctrl_c():  # a second one would hit the middle of this
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """In a worker: have a thread wait for the end of the program, which may be killed and then cannot end its workers."""
    threading.Thread(target=_wait_for_parent, name="lnetstat-parent", daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
