"""A solver for OptiProfiler's ``benchmark``.

OptiProfiler calls ``solver(fun, x0)``, with bounds ``solver(fun, x0, xl, xu)``, with
linear constraints ``solver(fun, x0, xl, xu, aub, bub, aeq, beq)``; nonlinear ones are
not for this package. It runs solvers in other processes, so they are functions of a
module; settings are given by ``functools.partial``::

    from functools import partial
    from optiprofiler import benchmark
    from tobyqa.integrations.optiprofiler import tobyqa_solver

    benchmark(
        [tobyqa_solver, partial(tobyqa_solver, method="paper", noise=1e-3)],
        solver_names=["adaptive", "paper"],
        feature_name="noisy",
    )
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint

from .. import minimize


def tobyqa_solver(
    fun: Callable[[NDArray[np.float64]], float],
    x0: ArrayLike,
    xl: ArrayLike | None = None,
    xu: ArrayLike | None = None,
    aub: ArrayLike | None = None,
    bub: ArrayLike | None = None,
    aeq: ArrayLike | None = None,
    beq: ArrayLike | None = None,
    **options: Any,
) -> NDArray[np.float64]:
    """Minimise `fun` and return the point.

    Parameters
    ----------
    fun, x0
        The function and where to start, shape (n,).
    xl, xu
        Bounds; a start outside of them is moved onto them.
    aub, bub, aeq, beq
        Linear constraints ``aub x <= bub`` and ``aeq x = beq``.
    **options
        Arguments of `tobyqa.minimize`, such as `method`, `noise` and `maxfev`; 500 n
        evaluations by default, as in OptiProfiler.
    """
    start = np.array(x0, dtype=float)
    if xl is not None and xu is not None:
        options["bounds"] = Bounds(np.asarray(xl), np.asarray(xu))
        start = np.clip(start, xl, xu)
    rows = [_rows(aub, -np.inf, bub), _rows(aeq, beq, beq)]
    options["constraints"] = [row for row in rows if row is not None]
    return np.asarray(minimize(fun, start, **options).x)


def _rows(matrix: Any, lower: Any, upper: Any) -> LinearConstraint | None:
    """Constraints of one kind; None where there are none."""
    is_empty = matrix is None or np.size(matrix) == 0
    return None if is_empty else LinearConstraint(matrix, lower, upper)
