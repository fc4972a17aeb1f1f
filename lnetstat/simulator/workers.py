"""Many independent pieces of work, here, on local processes or on a Dask cluster: results come in the order of the work."""

import contextlib
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from lnetstat.errors import SimulatorError
from lnetstat.simulator.pool import pool_of
from lnetstat.simulator.stopping import no_ctrl_c

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]  # pieces done, pieces in all

CONNECT_S = 10


def run_all(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    processes: int = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Return [function(task) for each task]. `scheduler`: the address of a Dask scheduler, used in place of local processes.

    Function, tasks and results must be picklable. The first error ends it all: one of `function` comes as it is; SimulatorError says that
    workers died, or that the scheduler does not answer.
    """
    if scheduler is not None:
        done = _on_cluster(function, tasks, scheduler)
    elif processes > 1 and len(tasks) > 1:
        done = _on_processes(function, tasks, min(processes, len(tasks)))
    else:
        done = ((place, function(task)) for place, task in enumerate(tasks))
    results: dict[int, Result] = {}
    with contextlib.closing(done):
        for place, result in done:
            results[place] = result
            if progress is not None:
                progress(len(results), len(tasks))
    return [results[place] for place in range(len(tasks))]


def _on_processes(function: Callable[[Task], Result], tasks: Sequence[Task], processes: int) -> Generator[tuple[int, Result], None, None]:
    places: dict[Future[Result], int] = {}
    with pool_of(processes) as pool:
        with no_ctrl_c():  # only this process handles it, and ends the others
            places = {pool.submit(function, task): place for place, task in enumerate(tasks)}
        try:
            for future in as_completed(places):
                yield places[future], future.result()
        except BrokenProcessPool as error:
            raise SimulatorError("a worker process was killed, perhaps for want of memory: try fewer --processes") from error


def _on_cluster(function: Callable[[Task], Result], tasks: Sequence[Task], address: str) -> Generator[tuple[int, Result], None, None]:
    import distributed

    as_completed: Any = distributed.as_completed  # it has no types
    client = _connected(distributed, address)
    try:
        # Every call is work of its own, also where another sweep asked the same: results never come from a cluster's memory.
        futures = client.map(function, list(tasks), pure=False)
        places = {future.key: place for place, future in enumerate(futures)}
        for future in as_completed(futures, loop=client.loop):
            yield places[future.key], _result_of(future, address)
    finally:
        client.close()


def _connected(distributed: Any, address: str) -> Any:
    try:
        _check_address(distributed, address)
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise SimulatorError(f"the Dask scheduler {address} does not answer: {_first_line(error)}") from error


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
        raise SimulatorError(
            f"a worker of {address} lacks the Python package {error.name}: pip install 'lnetstat[analysis]' there"
        ) from error
    except (distributed.KilledWorker, distributed.CancelledError) as error:
        raise SimulatorError(f"the Dask cluster {address} lost a worker again and again: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
