"""Comparing solvers in one call, your own functions among them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tobyqa.bench.channels import Channel
from tobyqa.bench.pool import is_importable, process_pool, run_tasks
from tobyqa.bench.problems import Problem
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
    problems: Sequence[str | Problem] | None = None,
    channels: Sequence[str | Channel] | None = None,
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
    problems, channels : lists, optional
        Instead of the study's: names, and objects of your own, which are
        `tobyqa.bench.Problem` and anything that can be called as a
        `tobyqa.bench.channels.Channel`. Objects that other processes cannot import are
        run in this one.
    workers : int, optional
        Number of processes; one for each core by default.
    progress : bool
        Show a progress bar.
    directory : path, optional
        Keep the runs of the named solvers there, and do not repeat those it has. Runs
        of functions are never kept, since a function may change; those on problems of
        your own are, by the problem's name.

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
    >>> bowl = Problem("bowl", lambda x: x @ x, [1.0, 2.0])
    >>> compare([stay], tiny, problems=[bowl], progress=False).records[0].f_start
    5.0
    """
    base = study if isinstance(study, Study) else load_study(study)
    base = _instead(base, problems, channels)
    names = tuple(dict.fromkeys(s for s in solvers if isinstance(s, str)))
    functions = _named([s for s in solvers if not isinstance(s, str)], names)
    if not names and not functions:
        raise ValueError("solvers: there is none")
    records: list[Record] = []
    if names:
        named = replace(base, solvers=names, reference_solvers=names)
        records += _run_names(named, directory, workers, progress)
    records += _run_functions(functions, base, workers, progress)
    return Comparison(base.name, tuple(sorted(records, key=lambda r: r.cell)))


def _instead(
    study: Study,
    problems: Sequence[str | Problem] | None,
    channels: Sequence[str | Channel] | None,
) -> Study:
    """The study on other problems, or through other channels."""
    if problems is not None:
        own = {p.n for p in problems if isinstance(p, Problem)}
        named = [p for p in problems if isinstance(p, str)]
        sizes = tuple(sorted({*(study.dimensions if named else ()), *own}))
        study = replace(study, problems=tuple(problems), dimensions=sizes, blocks=())
    if channels is not None:
        study = replace(study, channels=tuple(channels), blocks=())
    return study


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
    study: Study,
    workers: int | None,
    progress: bool,
) -> list[Record]:
    records: list[Record] = []
    instances, own = study.instances(), study.own
    with meter(len(functions) * len(instances), 0, progress and bool(functions)) as on:
        for name, function in functions.items():
            cells = [replace(instance, solver=name) for instance in instances]
            task: Callable[[Cell], Record] = partial(run_cell, solve=function, own=own)
            results: Iterable[Record] = map(task, cells)
            if is_importable((function, own)):
                fate = partial(crashed, own=own)
                results = run_tasks(task, cells, process_pool(workers), fate)
            for record in results:
                records.append(record)
                on(record)
    return records
