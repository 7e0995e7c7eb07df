"""Who evaluates: any `concurrent.futures.Executor`, of one's own or of the user's.

A worker process that dies takes the whole pool of Python's own with it, says nothing
about the culprit, and such a pool takes no more work. Then what was running runs once
more, each in a process of its own: the one that dies again is the one to blame.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from typing import Any, NamedTuple

from . import _check

_NAMES = ("_max_workers", "num_workers")  # Python's pools and loky's; MPI's


class Workers(NamedTuple):
    """An executor and how many evaluations it is to have; None: threads of our own."""

    executor: Executor | None
    size: int


def checked_workers(workers: Any) -> Workers | None:
    """What a user said, or an error; None: no more than one evaluation at a time."""
    if workers is None:
        return None
    if isinstance(workers, tuple):
        if len(workers) != 2 or not _is_executor(workers[0]):
            raise TypeError(
                "workers as a pair must be an executor and how many evaluations it is "
                f"to have at a time, but is {workers!r}"
            )
        return Workers(workers[0], _check.count("workers[1]", workers[1]))
    if _is_executor(workers):
        return Workers(workers, _size(workers))
    if isinstance(workers, bool | str) or callable(workers):
        raise TypeError(f"workers must be a number or an executor, but is {workers!r}")
    count = _check.count("workers", workers)
    return None if count == 1 else Workers(None, count)


def _is_executor(thing: Any) -> bool:
    if callable(getattr(thing, "get_executor", None)):
        kind = type(thing).__name__
        raise TypeError(
            f"workers must be a number or an executor, but is a {kind}: hand over what "
            "its get_executor() gives"
        )
    return callable(getattr(thing, "submit", None))


def _size(executor: Any) -> int:
    """How many workers an executor has, if it tells."""
    for name in _NAMES:
        size = getattr(executor, name, None)
        if isinstance(size, int) and size > 0:
            return size
    client = getattr(executor, "_client", None)  # Dask's
    if client is not None:
        return max(1, int(sum(client.nthreads().values())))
    raise ValueError(
        f"workers: {type(executor).__name__} does not tell how many workers it has; "
        "say it too: workers=(executor, 8)"
    )


class Crew:
    """Takes calls; what it gives for them ends, whoever dies on the way."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._apart = False  # the executor has broken
        self._calls: dict[Future[Any], tuple[Any, ...]] = {}
        self._pools: dict[Future[Any], Executor] = {}
        self._free: list[Executor] = []

    def submit(self, *call: Any) -> Future[Any]:
        """Let a function be called.

        Raises
        ------
        RuntimeError
            If the executor was shut down.
        """
        if not self._apart:
            try:
                future = self._executor.submit(*call)
            except BrokenExecutor:
                if not isinstance(self._executor, ProcessPoolExecutor):
                    raise
                self._apart = True
            else:
                self._calls[future] = call
                return future
        return self._submit_apart(*call)

    def again(self, future: Future[Any]) -> Future[Any] | None:
        """The same call once more if another's death may have ended it; else None."""
        call = self._calls.pop(future, None)
        pool = self._pools.pop(future, None)
        if not has_broken(future):
            if pool is not None:
                self._free.append(pool)
            return None
        if pool is not None:  # it was alone
            pool.shutdown(wait=False)
            return None
        is_pool = isinstance(self._executor, ProcessPoolExecutor)
        return self.submit(*call) if call is not None and is_pool else None

    def _submit_apart(self, *call: Any) -> Future[Any]:
        """Call a function in a process of its own."""
        pool = self._free.pop() if self._free else _one_like(self._executor)
        future = pool.submit(*call)
        self._pools[future] = pool
        return future

    def close(self, *, wait: bool) -> None:
        """End the processes that were started here."""
        for pool in (*self._free, *self._pools.values()):
            pool.shutdown(wait=wait, cancel_futures=True)


def has_broken(future: Future[Any]) -> bool:
    """Whether a call has ended because a worker died."""
    return not future.cancelled() and isinstance(future.exception(), BrokenExecutor)


def _one_like(pool: Any) -> Executor:
    """A pool of one process, started as those of another are."""
    return ProcessPoolExecutor(
        1,
        mp_context=getattr(pool, "_mp_context", None),
        initializer=getattr(pool, "_initializer", None),
        initargs=getattr(pool, "_initargs", ()),
    )


@contextlib.contextmanager
def crew_of(workers: Workers) -> Iterator[Crew]:
    """A crew; what is its own ends with it, unless it is left by an error."""
    own = None if workers.executor else ThreadPoolExecutor(workers.size, "tobyqa")
    crew = Crew(own or workers.executor)  # type: ignore[arg-type]
    is_complete = False
    try:
        yield crew
        is_complete = True
    finally:
        crew.close(wait=is_complete)
        if own is not None:
            own.shutdown(wait=is_complete, cancel_futures=True)


def called(fun: Callable[..., Any], x: Any, args: tuple[Any, ...], trial: int) -> Any:
    """What a worker does.

    The trial's number makes each call another one: Dask takes equal calls for one and
    the same, and would give a place that is measured again its first reading.
    """
    return fun(x, *args)
