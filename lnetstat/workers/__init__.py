"""Many independent pieces of work, here, on local processes or on a Dask cluster, with what is in hand at any time bounded."""

import contextlib
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeVar

from lnetstat.errors import WorkerError
from lnetstat.workers.pool import pool_of
from lnetstat.workers.stopping import no_ctrl_c
from lnetstat.workers.version import version_here

KILLED = "a worker process was killed, perhaps for want of memory: try fewer --processes"

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]  # pieces done, pieces in all
Done = Generator[tuple[int, Result], None, None]  # (place of the task, its result), in the order in which they are done

CONNECT_S = 10
IN_HAND = 2  # tasks per worker that are given out: one to work on and one to begin with at once


class Crew(Protocol):
    """Those who work. Function, tasks and results must be picklable.

    The first error ends it all: one of `function` comes as it is; WorkerError says that workers died, or that the scheduler does not
    answer. Tasks are taken from `tasks` only when there is somebody to do them, so large ones need not all be there at once.
    """

    def work(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Done[Result]:
        """Yield (place, function(task)) for each task, as they are done."""
        ...


@contextlib.contextmanager
def crew_of(*, processes: int = 1, scheduler: str | None = None) -> Iterator[Crew]:
    """A crew for several rounds of work, gone at the end. `scheduler`: the address of a Dask scheduler, in place of processes."""
    if scheduler is not None:
        with _cluster(scheduler) as cluster:
            yield cluster
    elif processes > 1:
        with pool_of(processes) as pool:
            yield _Processes(pool, processes)
    else:
        yield _Here()


def run_all(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    processes: int = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Return [function(task) for each task], by a crew that is there for this only."""
    with crew_of(processes=min(processes, len(tasks)), scheduler=scheduler) as crew:
        return in_order(crew, function, tasks, progress)


def in_order(crew: Crew, function: Callable[[Task], Result], tasks: Sequence[Task], progress: Progress | None = None) -> list[Result]:
    """Return [function(task) for each task]."""
    results: dict[int, Result] = {}
    with contextlib.closing(crew.work(function, tasks)) as done:
        for place, result in done:
            results[place] = result
            if progress is not None:
                progress(len(results), len(tasks))
    return [results[place] for place in range(len(tasks))]


class _Here:
    """This process."""

    def work(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Done[Result]:
        for place, task in enumerate(tasks):
            yield place, function(task)


class _Processes:
    """Processes of this machine."""

    def __init__(self, pool: ProcessPoolExecutor, processes: int) -> None:
        self._pool, self._in_hand = pool, IN_HAND * processes

    def work(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Done[Result]:
        waiting = enumerate(tasks)
        places: dict[Future[Result], int] = {}
        try:
            while True:
                for place, task in itertools.islice(waiting, self._in_hand - len(places)):
                    with no_ctrl_c():  # it may start a process; only this one handles Ctrl-C, and ends the others
                        places[self._pool.submit(function, task)] = place
                if not places:
                    return
                for future in wait(places, return_when=FIRST_COMPLETED).done:
                    yield places.pop(future), future.result()
        except BrokenProcessPool as error:
            raise WorkerError(KILLED) from error
        except OSError as error:  # submit() finds the pipe to its workers closed while the pool learns that one is dead
            if str(error) != "handle is closed":
                raise
            raise WorkerError(KILLED) from error


class _Cluster:
    """The workers of a Dask cluster."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address

    def work(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Done[Result]:
        import distributed

        as_completed: Any = distributed.as_completed  # it has no types
        waiting = enumerate(tasks)
        places: dict[str, int] = {}
        underway = as_completed(loop=self._client.loop)

        def give_out(count: int) -> None:
            for place, task in itertools.islice(waiting, count):
                # Every call is work of its own, also where somebody else asked the same: results never come from a cluster's memory.
                future = self._client.submit(function, task, pure=False)
                places[future.key] = place
                underway.add(future)

        give_out(IN_HAND * max(1, sum(self._client.nthreads().values())))
        for future in underway:
            yield places.pop(future.key), _result_of(future, self._address)
            give_out(1)


@contextlib.contextmanager
def _cluster(address: str) -> Iterator[_Cluster]:
    import distributed

    client = _connected(distributed, address)
    try:
        _same_version(client, address)
        yield _Cluster(client, address)
    finally:
        client.close()


def _connected(distributed: Any, address: str) -> Any:
    try:
        _check_address(distributed, address)
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise WorkerError(f"the Dask scheduler {address} does not answer: {_first_line(error)}") from error


def _same_version(client: Any, address: str) -> None:
    """Raise WorkerError where a worker that is there now runs another lnetstat: what is sent would mean something else to it."""
    here = version_here()
    told = client.run(version_here, on_error="return")
    for worker, version in told.items():
        if isinstance(version, ModuleNotFoundError) and version.name == "lnetstat":
            raise _lacking(address, version)
        if version != here:
            other = "an older version of it" if isinstance(version, Exception) else version
            raise WorkerError(f"worker {worker} of {address} runs another lnetstat: {other}, here {here}: install the same on all workers")


def _lacking(address: str, error: ModuleNotFoundError) -> WorkerError:
    return WorkerError(f"a worker of {address} lacks the Python package {error.name}: pip install 'lnetstat[analysis]' there")


def _check_address(distributed: Any, address: str) -> None:
    """Raise ValueError where it can be no address: a client would try it for long, and leave a traceback."""
    scheme, place = distributed.comm.addressing.parse_address(address)
    distributed.comm.registry.get_backend(scheme)
    if scheme in ("tcp", "tls", "ws", "wss"):
        distributed.comm.addressing.parse_host_port(place)


def _result_of(future: Any, address: str) -> Any:
    import distributed

    try:
        return future.result()
    except ModuleNotFoundError as error:
        raise _lacking(address, error) from error
    except (distributed.KilledWorker, distributed.CancelledError) as error:
        raise WorkerError(f"the Dask cluster {address} lost a worker again and again: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
