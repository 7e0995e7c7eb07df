"""Comparing solvers in one call, your own functions among them."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tobyqa.bench.pool import process_pool, run_tasks
from tobyqa.bench.progress import meter
from tobyqa.bench.records import Cell, Record
from tobyqa.bench.run import crashed, run_cell, run_study
from tobyqa.bench.score import TOLERANCES, one_budget, score, solve_rates
from tobyqa.bench.solvers import Solve
from tobyqa.bench.store import Store
from tobyqa.bench.study import Study, load_study


@dataclass(frozen=True)
class Comparison:
    """The runs of several solvers on the same instances.

    Printing it, or leaving it at the end of a notebook cell, shows the solve rates.
    """

    study: str
    records: tuple[Record, ...]

    @property
    def rates(self) -> dict[str, dict[float, float]]:
        """Fraction of instances solved, by solver and tolerance."""
        scores = one_budget(score(self.records))
        by_tolerance = {tau: solve_rates(scores, tau) for tau in TOLERANCES}
        return {
            solver: {tau: float(by_tolerance[tau][j]) for tau in TOLERANCES}
            for j, solver in enumerate(scores.solvers)
        }

    def __str__(self) -> str:
        from tobyqa.bench.report import summary_text  # loads scipy.stats: slow

        return summary_text(self.records)

    def _repr_markdown_(self) -> str:
        return str(self)


def compare(
    solvers: Sequence[str | Solve],
    study: str | Path | Study = "smoke",
    *,
    workers: int | None = None,
    progress: bool = True,
    directory: str | Path | None = None,
) -> Comparison:
    """Run solvers on the instances of a study and compare them.

    Parameters
    ----------
    solvers : list of str and callables
        Names (see `tobyqa.bench.solver_names`) and functions
        ``solve(fun, x0, *, budget, noise) -> x``, which appear under their own names.
        Functions that other processes cannot import, such as those defined in a
        notebook, run in this one.
    study : str, path or Study
        Whose instances to use; its own solvers are ignored.
    workers : int, optional
        Number of processes; one for each core by default.
    progress : bool
        Show a progress bar.
    directory : path, optional
        Keep the runs of the named solvers there, and do not repeat those it has. Runs
        of functions are never kept, since a function may change.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> def stay(fun, x0, *, budget, noise):
    ...     fun(x0)
    ...     return x0
    >>> from tobyqa.bench.study import Study
    >>> tiny = Study("tiny", "", ("paper",), ("power",), ("Static",), (4,), (0,), 40)
    >>> compare([stay], tiny, progress=False).records[0].nfev
    1
    """
    base = study if isinstance(study, Study) else load_study(study)
    names = tuple(dict.fromkeys(s for s in solvers if isinstance(s, str)))
    functions = _named([s for s in solvers if not isinstance(s, str)], names)
    if not names and not functions:
        raise ValueError("solvers: there is none")
    records: list[Record] = []
    if names:
        named = replace(base, solvers=names, reference_solvers=names)
        records += _run_names(named, directory, workers, progress)
    records += _run_functions(functions, base.instances(), workers, progress)
    return Comparison(base.name, tuple(sorted(records, key=lambda r: r.cell)))


def _named(functions: Sequence[Any], taken: Sequence[str]) -> dict[str, Solve]:
    """Functions by their names; a name that is taken gets a number."""
    named: dict[str, Solve] = {}
    for function in functions:
        if not callable(function):
            raise TypeError(f"solvers: {function!r} is neither a name nor a function")
        base = getattr(function, "__name__", type(function).__name__).strip("<>")
        name = base
        number = 1
        while name in named or name in taken:
            number += 1
            name = f"{base}-{number}"
        named[name] = function
    return named


def _run_names(
    study: Study, directory: str | Path | None, workers: int | None, progress: bool
) -> list[Record]:
    place: Any = tempfile.TemporaryDirectory() if directory is None else None
    with place or nullcontext(directory) as where:
        run_study(study, where, workers=workers, progress=progress)
        with Store(where) as store:
            return store.records(study.solvers)


def _run_functions(
    functions: Mapping[str, Solve],
    instances: Sequence[Cell],
    workers: int | None,
    progress: bool,
) -> list[Record]:
    records: list[Record] = []
    with meter(len(functions) * len(instances), 0, progress and bool(functions)) as on:
        for name, function in functions.items():
            cells = [replace(instance, solver=name) for instance in instances]
            task: Callable[[Cell], Record] = partial(run_cell, solve=function)
            results: Iterable[Record] = map(task, cells)
            if _is_importable(function):
                results = run_tasks(task, cells, process_pool(workers), crashed)
            for record in results:
                records.append(record)
                on(record)
    return records


def _is_importable(function: Solve) -> bool:
    """Whether another process can find the function by its name."""
    try:
        # What lives in a notebook or a script belongs to __main__, here and only here.
        return b"__main__" not in pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
