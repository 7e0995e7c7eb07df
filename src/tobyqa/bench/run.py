"""Running cells: one with `run_cell`, all of a study with `run_study`."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tobyqa.bench.only import chosen
from tobyqa.bench.own import Own
from tobyqa.bench.pool import (
    Place,
    dask_cluster,
    given_executor,
    is_importable,
    process_pool,
    run_tasks,
    this_process,
)
from tobyqa.bench.progress import FAILURES, Summary, failures, meter, throughput
from tobyqa.bench.recorder import BudgetSpent, Recorder
from tobyqa.bench.records import Array, Cell, Record
from tobyqa.bench.solvers import Solve, get_solver
from tobyqa.bench.store import Store
from tobyqa.bench.study import Study, load_study

# Peers use numpy's global stream and print, so two runs must not overlap in a process;
# a Dask worker may have several threads.
_ONE_AT_A_TIME = threading.Lock()


def run_cell(cell: Cell, solve: Solve | None = None, own: Own | None = None) -> Record:
    """Run one cell; whatever the solver does, there is a record of it.

    Parameters
    ----------
    cell : Cell
        Its problem, n and channel must exist.
    solve : callable, optional
        The solver, where the name in `cell` does not lead to it.
    own : Own, optional
        Problems and channels that are objects; the others are found by name.

    Examples
    --------
    >>> record = run_cell(Cell("power", 4, "Static", 0, 100, "nelder-mead"))
    >>> record.status, record.nfev, record.best() < record.f_start
    ('ok', 100, True)
    """
    with _ONE_AT_A_TIME, _one_blas_thread():
        recorder = _recorder(cell, own)
        start = time.perf_counter()
        x, status, error = _outcome(cell, solve, recorder)
        seconds = time.perf_counter() - start
        return recorder.record(cell, x, status, error, seconds)


def run_study(
    study: Study | str | Path,
    directory: str | Path,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    dask: str | None = None,
    only: str | Iterable[str] | None = None,
    retry_failed: bool = False,
    progress: bool = True,
) -> Summary:
    """Run the cells of a study that `directory` does not have yet.

    Every finished cell is stored at once. Calling it again with the same directory
    goes on where it was stopped, however that happened.

    Parameters
    ----------
    study : Study, str or path
        A study, the name of one that comes with the package, or a TOML file.
    directory : path
        Where the records are kept; one study per directory.
    executor : concurrent.futures.Executor, optional
        Where to run; processes on this machine by default.
    workers : int, optional
        Number of processes; one for each core by default.
    dask : str, optional
        Address of a Dask scheduler whose workers shall run the cells.
    only : str or list of str, optional
        Which cells, e.g. ``"solver=paper,n=6|10"``; see `tobyqa.bench.only.chosen`.
    retry_failed : bool
        Run those cells again whose solver raised or crashed.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Summary
    """
    if not isinstance(study, Study):
        study = load_study(study)
    cells = chosen(study.cells(), only)
    skipped = _unavailable(cells)
    with Store(directory, study) as store:
        done = store.done(leaving_out=FAILURES if retry_failed else ())
        todo = [c for c in cells if c not in done and c.solver not in skipped]
        earlier = sum(cell in done for cell in cells)
        ran: list[Record] = []
        start = time.perf_counter()
        try:
            with (
                _place(executor, workers, dask, study.own) as place,
                closing(_records(todo, place, study.own)) as records,
                meter(earlier + len(todo), earlier, progress) as advance,
            ):
                for record in records:
                    store.add(record)
                    ran.append(record)
                    advance(record)
        except KeyboardInterrupt:
            _say_how_to_resume(study, directory, len(todo) - len(ran))
            raise
        except (BrokenExecutor, CancelledError) as error:
            raise RuntimeError(
                f"the executor stopped working ({type(error).__name__}: {error}); "
                f"{len(ran)} cells are stored, run again to go on"
            ) from error
    return Summary(
        study=study.name,
        cells=len(cells),
        earlier=earlier,
        ran=len(ran),
        failures=failures(ran),
        skipped=skipped,
        seconds=time.perf_counter() - start,
        rates=throughput(ran),
    )


def _recorder(cell: Cell, own: Own | None) -> Recorder:
    own = own or Own()
    problem, phi = own.problem(cell.problem, cell.n), own.channel(cell.channel)
    return Recorder(problem, cell.channel, cell.seed, cell.budget, phi)


def _outcome(
    cell: Cell, solve: Solve | None, recorder: Recorder
) -> tuple[Array | None, str, str]:
    """Returned point, status and error of the solver's run."""
    try:
        solver = get_solver(cell.solver).solve if solve is None else solve
        x0 = recorder.x0.copy()
        task: dict[str, Any] = {"budget": cell.budget, "noise": recorder.noise}
        if recorder.bounds is not None:
            task["bounds"] = recorder.bounds
        x = np.asarray(solver(recorder, x0, **task), dtype=float)
        if x.shape != x0.shape:
            raise ValueError(f"the solver returned {x!r} instead of a point {x0.shape}")
    except BudgetSpent:
        return None, "budget", ""
    except (Exception, SystemExit) as error:
        # The benchmark goes on, whatever is wrong with a solver.
        return None, "error", f"{type(error).__name__}: {error}"
    return x, "ok", ""


def crashed(
    cell: Cell, error: BaseException, seconds: float, own: Own | None = None
) -> Record:
    """The record of a cell that killed its process: nothing is known of the run."""
    text = f"{type(error).__name__}: {error}"
    return _recorder(cell, own).record(cell, None, "crash", text, seconds)


def _unavailable(cells: Iterable[Cell]) -> Mapping[str, str]:
    """Solvers that cannot run here, with the reason, each of them warned about."""
    names = dict.fromkeys(cell.solver for cell in cells)
    reasons = {name: get_solver(name).why_not() for name in names}
    missing = {name: why for name, why in reasons.items() if why}
    for name, why in missing.items():
        warnings.warn(f"skipping {name}, also for f_L: {why}", stacklevel=3)
    return missing


def _records(
    cells: Sequence[Cell], place: Place, own: Own
) -> Generator[Record, None, None]:
    task, fate = partial(run_cell, own=own), partial(crashed, own=own)
    return run_tasks(task if own.has_objects else run_cell, cells, place, fate)


def _place(
    executor: Executor | None, workers: int | None, dask: str | None, own: Own
) -> AbstractContextManager[Place]:
    if executor is not None and dask is not None:
        raise ValueError("give an executor or the address of a Dask cluster, not both")
    if dask is not None:
        return dask_cluster(dask)
    if executor is not None:
        return nullcontext(given_executor(executor, workers))
    if own.has_objects and not is_importable(own):
        return this_process()
    return nullcontext(process_pool(workers))


def _one_blas_thread() -> AbstractContextManager[object]:
    """The matrices are tiny, and the other cores have cells of their own."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits


def _say_how_to_resume(study: Study, directory: str | Path, left: int) -> None:
    print(
        f"\nstopped with {left} cells of study {study.name} to go; what is finished is "
        f"stored. The same command, or run_study(..., {str(directory)!r}), goes on.",
        file=sys.stderr,
    )
