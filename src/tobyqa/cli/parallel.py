"""``tobyqa run --parallel`` and ``--dask``: several programs at the same time."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..books import Trial
from ..child import Leash
from ..crew import Workers, checked_workers
from ..inflight import evaluate_side_by_side
from ..journal import JournalError
from ..measurement import Measurement
from ..optimizer import Optimizer
from ..program import Program, ProgramError
from ..runfile import RunSettings
from .show import warn

Say = Callable[[str], None]


def measure_side_by_side(
    opt: Optimizer,
    program: Program,
    settings: RunSettings,
    say: Say,
    after: Callable[[], None],
    failed_at: Callable[[Optimizer], float | None],
) -> None:
    """Run a search to its end with several programs at a time.

    Whatever interrupts it, programs of this machine are ended.
    """
    slots = _Slots()

    def call(trial: Trial) -> tuple[Any, ...]:
        return _attempts, held, trial, slots.take(trial), settings.retries

    def tell(
        opt: Optimizer, trial: Trial, outcome: Callable[[], Any], *, is_first: bool
    ) -> None:
        slots.give_back(trial)
        _tell(opt, trial, outcome, say, failed_at)

    with _workers(program, settings) as (held, workers):
        evaluate_side_by_side(opt, call, workers, after, tell)


@contextlib.contextmanager
def _workers(
    program: Program, settings: RunSettings
) -> Iterator[tuple[Program, Workers]]:
    """Who runs the programs: threads of this process, or a cluster."""
    if settings.dask is None:
        leash, size = Leash(), settings.parallel or 1
        try:
            with ThreadPoolExecutor(size, "tobyqa") as executor:
                try:
                    held = dataclasses.replace(program, leash=leash)
                    yield held, Workers(executor, size)
                except BaseException:
                    leash.cut()
                    executor.shutdown(wait=False, cancel_futures=True)
                    raise
        finally:
            leash.close()
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "a Dask cluster needs the package distributed (pip install distributed)"
        ) from error
    with Client(settings.dask) as client:
        executor = client.get_executor(pure=False)
        workers = checked_workers(
            executor if settings.parallel is None else (executor, settings.parallel)
        )
        assert workers is not None
        yield dataclasses.replace(program, notes=None), workers


class _Slots:
    """Which station each trial has; the lowest number that is free."""

    def __init__(self) -> None:
        self._of: dict[int | None, int] = {}

    def take(self, trial: Trial) -> int:
        taken = set(self._of.values())
        slot = next(k for k in range(len(taken) + 1) if k not in taken)
        self._of[trial.id] = slot
        return slot

    def give_back(self, trial: Trial) -> None:
        self._of.pop(trial.id, None)


@dataclasses.dataclass(frozen=True)
class _Outcome:
    """What came of a trial's attempts; it travels from a cluster's worker."""

    reading: Measurement | None
    failures: tuple[str, ...]  # one for each attempt that failed


def _attempts(program: Program, trial: Trial, slot: int, retries: int) -> _Outcome:
    """One trial: started and waited for; again if it fails and may be retried."""
    failures: list[str] = []
    for _ in range(retries + 1):
        try:
            return _Outcome(program.measure(trial, slot), tuple(failures))
        except ProgramError as error:
            failures.append(str(error))
            if program.leash is not None and program.leash.is_cut:
                break
    return _Outcome(None, tuple(failures))


def _tell(
    opt: Optimizer,
    trial: Trial,
    outcome: Callable[[], Any],
    say: Say,
    failed_at: Callable[[Optimizer], float | None],
) -> None:
    """Tell what has come of a trial."""
    try:
        came: _Outcome = outcome()
    except JournalError:
        raise
    except Exception as error:  # a worker that died, a cluster that is gone
        came = _Outcome(None, (f"{type(error).__name__}: {error}",))
    failures = list(came.failures)
    if came.reading is not None:
        try:
            opt.tell(trial, came.reading.value, came.reading.t, came.reading.sigma)
        except ValueError as error:  # e.g. a time for some readings, none for others
            failures.append(str(error))
            came = _Outcome(None, tuple(failures))
    for k, reason in enumerate(failures):
        count = f", attempt {k + 1}" if len(failures) > 1 else ""
        say(f"trial {trial.id} failed{count}: {reason}")
    if came.reading is None:
        opt.tell_failed(trial, failures[-1], t=failed_at(opt))


def say_left(opt: Optimizer) -> None:
    """Say which trials wait from an earlier run."""
    if opt.pending:
        numbers = ", ".join(str(trial.id) for trial in opt.pending)
        warn(f"pending from before, measured again: {numbers}")
