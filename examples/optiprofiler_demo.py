"""tobyqa and Nelder-Mead in OptiProfiler, on two noisy classics.

Needs optiprofiler: ``pip install optiprofiler``. Its scores are between 0 and 1, the
best solver has 1.
"""

from __future__ import annotations

import tempfile
from functools import partial

from optiprofiler import benchmark
from scipy.optimize import minimize

from tobyqa.integrations.optiprofiler import tobyqa_solver

PROBLEMS = ["ROSENBR", "BEALE"]


def nelder_mead(fun, x0):
    return minimize(fun, x0, method="nelder-mead", options={"maxfev": 200}).x


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        scores, *_ = benchmark(
            [partial(tobyqa_solver, maxfev=200), nelder_mead],
            solver_names=["tobyqa", "nelder_mead"],
            feature_name="noisy",
            noise_level=1e-2,
            noise_type="absolute",
            problem_names=PROBLEMS,
            max_eval_factor=50,
            max_tol_order=2,
            n_runs=1,
            n_jobs=1,
            score_only=True,
            silent=True,
            savepath=place,
        )
    for name, score in zip(("tobyqa", "nelder_mead"), scores, strict=True):
        print(f"{name:12} {score:.2f}")


if __name__ == "__main__":
    main()
