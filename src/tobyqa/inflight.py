"""Several evaluations in flight: a new point as soon as one is back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol

from .books import Trial
from .crew import Crew, Workers, crew_of, has_broken
from .measurement import tell_outcome
from .optimizer import Optimizer

Running = dict["Future[Any]", Trial]


class Telling(Protocol):
    """How what came of an evaluation is told."""

    def __call__(
        self,
        opt: Optimizer,
        trial: Trial,
        outcome: Callable[[], Any],
        *,
        is_first: bool,
    ) -> None: ...


def evaluate_side_by_side(
    opt: Optimizer,
    call: Callable[[Trial], tuple[Any, ...]],
    workers: Workers,
    after: Callable[[], None],
    tell: Telling = tell_outcome,
) -> None:
    """Run a search to its end.

    `call` gives a function and its arguments for a trial, `tell` tells what that gives,
    and `after` is called after every evaluation.

    Whatever ends it, readings that have come are told. Evaluations that still run when
    the search has ended by itself, or by `after`, are waited for and told as well;
    after Ctrl-C and errors they are not, and stay pending.
    """
    before = opt.nfev
    running: Running = {}
    with crew_of(workers) as crew:
        try:
            while not opt.done:
                _fill(opt, call, workers.size, crew, running)
                wait(running, return_when=FIRST_COMPLETED)
                for future in _ended(running):
                    if (again := crew.again(future)) is not None:
                        running[again] = running.pop(future)
                        continue
                    trial, is_first = running[future], opt.nfev == before
                    tell(opt, trial, future.result, is_first=is_first)
                    del running[future]
                    after()
        except StopIteration:
            _finish(opt, running, tell)
            raise
        except BaseException:
            for future in running:
                future.cancel()
            _take(opt, running, tell)
            raise
        _finish(opt, running, tell)


def _fill(
    opt: Optimizer,
    call: Callable[[Trial], tuple[Any, ...]],
    size: int,
    crew: Crew,
    running: Running,
) -> None:
    """Let as many trials run as there are workers."""
    out = {trial.id for trial in running.values()}
    for trial in opt.ask(size):
        if trial.id not in out:
            running[crew.submit(*call(trial))] = trial


def _ended(running: Running) -> list[Future[Any]]:
    """What has come back, in the order in which it was asked for."""
    ended = [future for future in running if future.done()]
    return sorted(ended, key=lambda future: running[future].id or 0)


def _finish(opt: Optimizer, running: Running, tell: Telling) -> None:
    """Wait for what still runs once the search has ended, and take it in."""
    for future in running:
        future.cancel()  # what has not begun
    wait(running)
    _take(opt, running, tell)


def _take(opt: Optimizer, running: Running, tell: Telling) -> None:
    """Tell what has come; what was cut short or has not begun stays pending."""
    waiting = {trial.id for trial in opt.pending}
    for future in _ended(running):
        trial = running[future]
        if trial.id in waiting and _has_come(future):
            tell(opt, trial, future.result, is_first=False)


def _has_come(future: Future[Any]) -> bool:
    """Whether a call has ended by itself, with a reading or an error."""
    if future.cancelled() or has_broken(future):
        return False
    error = future.exception()
    return error is None or isinstance(error, Exception)
