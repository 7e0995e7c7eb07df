"""Several evaluations in flight: a new point as soon as one is back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from .books import Trial
from .crew import Crew, Workers, called, crew_of, has_broken
from .measurement import tell_outcome
from .optimizer import Optimizer

Running = dict["Future[Any]", Trial]


def evaluate_side_by_side(
    opt: Optimizer,
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    workers: Workers,
    after: Callable[[], None],
) -> None:
    """Run a search to its end; `after` is called after every evaluation.

    Whatever ends it, readings that have come are told. Evaluations that still run when
    the search has ended by itself, or by `after`, are waited for and told as well;
    after Ctrl-C and errors they are not, and stay pending.
    """
    before = opt.nfev
    running: Running = {}
    with crew_of(workers) as crew:
        try:
            while not opt.done:
                _fill(opt, fun, args, workers.size, crew, running)
                wait(running, return_when=FIRST_COMPLETED)
                for future in _ended(running):
                    if (again := crew.again(future)) is not None:
                        running[again] = running.pop(future)
                        continue
                    is_first = opt.nfev == before
                    tell_outcome(opt, running[future], future.result, is_first=is_first)
                    del running[future]
                    after()
        except StopIteration:
            _finish(opt, running)
            raise
        except BaseException:
            for future in running:
                future.cancel()
            _take(opt, running)
            raise
        _finish(opt, running)


def _fill(
    opt: Optimizer,
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    size: int,
    crew: Crew,
    running: Running,
) -> None:
    """Let as many trials run as there are workers."""
    out = {trial.id for trial in running.values()}
    for trial in opt.ask(size):
        if trial.id not in out:
            running[crew.submit(called, fun, trial.x.copy(), args)] = trial


def _ended(running: Running) -> list[Future[Any]]:
    """What has come back, in the order in which it was asked for."""
    ended = [future for future in running if future.done()]
    return sorted(ended, key=lambda future: running[future].id or 0)


def _finish(opt: Optimizer, running: Running) -> None:
    """Wait for what still runs once the search has ended, and take it in."""
    for future in running:
        future.cancel()  # what has not begun
    wait(running)
    _take(opt, running)


def _take(opt: Optimizer, running: Running) -> None:
    """Tell what has come; what was cut short or has not begun stays pending."""
    waiting = {trial.id for trial in opt.pending}
    for future in _ended(running):
        trial = running[future]
        if trial.id in waiting and _has_come(future):
            tell_outcome(opt, trial, future.result, is_first=False)


def _has_come(future: Future[Any]) -> bool:
    """Whether a call has ended by itself, with a reading or an error."""
    if future.cancelled() or has_broken(future):
        return False
    error = future.exception()
    return error is None or isinstance(error, Exception)
