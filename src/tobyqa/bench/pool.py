"""Running many tasks on any `concurrent.futures.Executor`, some of whose workers die.

A worker process that dies takes a process pool with it and says nothing about the
culprit. So the tasks that were in flight are run again, one at a time: the one that
kills its worker when it is alone is the one to blame.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_PER_WORKER = 3  # tasks in flight, so that no worker waits for the next one
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True)
class Place:
    """Where tasks run: `open(size)` gives an executor, `width()` how many to submit."""

    open: Callable[[int], AbstractContextManager[Executor]]
    size: int
    width: Callable[[], int]


def process_pool(workers: int | None = None) -> Place:
    """Processes of our own, one for each core by default."""
    size = workers or os.cpu_count() or 1
    return Place(_own_pool, size, lambda: _PER_WORKER * size)


def given_executor(executor: Executor, workers: int | None = None) -> Place:
    """An executor of the caller's, which we neither rebuild nor shut down."""
    # 64 in flight keep most executors busy when nobody says how many workers it has.
    width = _PER_WORKER * workers if workers else 64
    return Place(lambda _: nullcontext(executor), 1, lambda: width)


@contextmanager
def dask_cluster(address: str) -> Iterator[Place]:
    """A Dask cluster, however many workers it has at the moment."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "a Dask cluster needs the package distributed (pip install distributed)"
        ) from error
    with Client(address) as client:

        def width() -> int:
            threads = int(sum(client.nthreads().values()))
            return max(1, _PER_WORKER * threads)

        yield Place(lambda _: nullcontext(client.get_executor()), 1, width)


def run_tasks(
    function: Callable[[T], R],
    tasks: Iterable[T],
    place: Place,
    lost: Callable[[T, BaseException, float], R],
) -> Generator[R, None, None]:
    """Results of `function` on each task, as they come.

    `lost(task, error, seconds)` stands in for the result of a task that kills its
    worker, `seconds` being how long the worker lived with it.
    """
    queue = deque(tasks)
    while queue:
        with place.open(min(place.size, len(queue))) as executor:
            suspects = yield from _side_by_side(function, queue, executor, place.width)
        yield from _one_by_one(function, suspects, place, lost)


def _side_by_side(
    function: Callable[[T], R],
    queue: deque[T],
    executor: Executor,
    width: Callable[[], int],
) -> Generator[R, None, list[T]]:
    """Work through `queue` until it is empty or the executor breaks.

    Returns the tasks whose worker died.
    """
    running: dict[Future[R], T] = {}
    suspects: list[T] = []
    broken = False
    while running or (queue and not broken):
        room = 0 if broken or not queue else width() - len(running)
        for _ in range(min(room, len(queue))):
            try:
                future = executor.submit(function, queue[0])
            except BrokenExecutor:
                if not running and not suspects:
                    raise  # it came broken; another attempt would find it the same
                broken = True
                break
            running[future] = queue.popleft()
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            task = running.pop(future)
            if isinstance(future.exception(), _worker_deaths()):
                suspects.append(task)
            else:
                yield future.result()
    return suspects


def _one_by_one(
    function: Callable[[T], R],
    suspects: Iterable[T],
    place: Place,
    lost: Callable[[T, BaseException, float], R],
) -> Iterator[R]:
    """Each task alone; one that kills its worker now has no one else to blame."""
    waiting = deque(suspects)
    while waiting:
        with place.open(1) as executor:
            dead = False
            while waiting and not dead:
                start = time.perf_counter()
                future = executor.submit(function, waiting[0])
                task, error = waiting.popleft(), future.exception()
                dead = isinstance(error, _worker_deaths())
                if error is not None and dead:
                    yield lost(task, error, time.perf_counter() - start)
                else:
                    yield future.result()


def _worker_deaths() -> tuple[type[BaseException], ...]:
    """What executors raise when the worker of a task died."""
    distributed: Any = sys.modules.get("distributed")
    return (BrokenExecutor,) + ((distributed.KilledWorker,) if distributed else ())


@contextmanager
def this_process() -> Iterator[Place]:
    """A thread of this process, for what no other process can import."""
    with ThreadPoolExecutor(1) as executor:
        yield given_executor(executor, 1)


def is_importable(thing: Any) -> bool:
    """Whether another process can find it by its name."""
    try:
        # What lives in a notebook or a script belongs to __main__, here and only here.
        return b"__main__" not in pickle.dumps(thing)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False


# Our own processes -------------------------------------------------------------------


@contextmanager
def _own_pool(size: int) -> Iterator[Executor]:
    """Fresh processes (spawned, so that no state leaks in), each with one BLAS thread.

    Left by an exception, Ctrl-C among them, it ends its processes at once.
    """
    pool = ProcessPoolExecutor(
        size,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
    )
    with _one_thread_each():
        try:
            _start(pool, size)
            yield pool
        except BaseException:
            # Python 3.14 has `kill_workers` for this.
            for process in list((pool._processes or {}).values()):
                process.kill()
            # Waits for the pool's own thread: at exit, Python 3.11 would write to a
            # pipe that this thread is just closing.
            pool.shutdown(cancel_futures=True)
            raise
        pool.shutdown()


def _start(pool: Executor, size: int) -> None:
    """Start all processes, and fail with advice where none can."""
    with _interrupts_held():
        first, *_ = [pool.submit(os.getpid) for _ in range(size)]
    try:
        first.result()
    except BrokenExecutor as error:
        raise RuntimeError(
            "worker processes cannot start. In a script, the call must stand under "
            'if __name__ == "__main__":, because workers import the script.'
        ) from error


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C waiting. Processes started meanwhile never hear of it.

    It reaches the whole process group, workers that are still importing included; what
    to do about it is for the parent to decide.
    """
    if os.name == "nt":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Children inherit these; numpy reads them only while it loads."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start_worker() -> None:
    # Also for a worker that was started later, to replace another.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Workers of a killed parent would otherwise wait for ever for their next task.
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
