"""Other people's solvers behind one signature: `solve(fun, x0, *, budget, noise) -> x`.

Each adapter leaves its solver at the defaults unless the comment says otherwise, and
imports it only when called. Readings may be +inf; it is replaced only where a solver
cannot take it.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
import scipy
from scipy.optimize import minimize

from tobyqa.bench.records import Array

Objective = Callable[[Array], float]

SEED = 20240229  # of every solver that draws random numbers
_HUGE = 1e100  # stands in for inf; its square is still finite


class _Spent(Exception):
    """Ends a solver that has no budget of its own."""


# Availability ------------------------------------------------------------------------


def package(module: str, distribution: str) -> Callable[[], str]:
    """A check that `module` is installed."""

    def why_not() -> str:
        if importlib.util.find_spec(module) is not None:
            return ""
        return f"needs the package {distribution} (pip install {distribution})"

    return why_not


def pdfo_missing() -> str:
    """PDFO can be there and yet not load, so it is tried."""
    advice = (
        "its wheel needs numpy < 2, which the extra `paper` pins: install "
        "tobyqa[paper] in an environment of its own"
    )
    if importlib.util.find_spec("pdfo") is None:
        return f"needs the package pdfo; {advice} (here is numpy {np.__version__})"
    try:
        # `import pdfo` itself succeeds; its compiled parts come later. Where they
        # fail, numpy writes a page to stderr.
        with redirect_stderr(io.StringIO()):
            importlib.import_module("pdfo.gethuge")
    except ImportError as error:
        return f"pdfo does not load under numpy {np.__version__} ({error}); {advice}"
    return ""


def cobyqa_missing() -> str:
    """SciPy has COBYQA since 1.14."""
    version = tuple(int(part) for part in scipy.__version__.split(".")[:2])
    if version >= (1, 14):
        return ""
    return f"needs scipy >= 1.14 (here is {scipy.__version__})"


# What the adapters share -------------------------------------------------------------


@contextmanager
def contained() -> Iterator[None]:
    """Nothing gets out: no print, no warning, no trace in numpy's global stream.

    Py-BOBYQA, DFO-LS and pycma draw from that stream; seeding it makes a run
    independent of what ran before it in the same process.
    """
    state = np.random.get_state()  # noqa: NPY002 - the peers use the global stream
    np.random.seed(SEED)  # noqa: NPY002
    try:
        with (
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def _limited(fun: Objective, budget: int) -> Objective:
    """`fun`, until `budget` calls are made."""
    calls = iter(range(budget))

    def call(x: Array) -> float:
        if next(calls, None) is None:
            raise _Spent
        return fun(x)

    return call


def returned(result: Any) -> Array:
    """The point of a Py-BOBYQA or DFO-LS result; refused input leaves none."""
    if result.x is None:
        raise RuntimeError(result.msg)
    return np.asarray(result.x, dtype=np.float64)


# Adapters ----------------------------------------------------------------------------


def newuoa_pdfo(
    fun: Objective, x0: Array, *, budget: int, noise: float | None
) -> Array:
    return _pdfo("newuoa", fun, x0, budget)


def bobyqa_pdfo(
    fun: Objective, x0: Array, *, budget: int, noise: float | None
) -> Array:
    return _pdfo("bobyqa", fun, x0, budget)


def _pdfo(method: str, fun: Objective, x0: Array, budget: int) -> Array:
    with contained():
        import pdfo

        options = {"maxfev": budget, "quiet": True}
        return np.asarray(pdfo.pdfo(fun, x0, method=method, options=options).x)


def newuoa_nlopt(
    fun: Objective, x0: Array, *, budget: int, noise: float | None
) -> Array:
    # Not LN_NEWUOA_BOUND, whose inner solver can loop for ever.
    return _nlopt("LN_NEWUOA", fun, x0, budget)


def bobyqa_nlopt(
    fun: Objective, x0: Array, *, budget: int, noise: float | None
) -> Array:
    return _nlopt("LN_BOBYQA", fun, x0, budget)


def _nlopt(algorithm: str, fun: Objective, x0: Array, budget: int) -> Array:
    with contained():
        return nlopt_run(algorithm, fun, x0, budget)


def nlopt_run(
    algorithm: str, fun: Objective, x0: Array, budget: int, first: float | None = None
) -> Array:
    """A run of NLopt; with a `first` step, within the unit box."""
    import nlopt

    best = [(np.inf, x0)]

    def reading(x: Array, gradient: Array) -> float:
        value = min(fun(x.copy()), _HUGE)  # inf turns the quadratic model into NaN
        if value < best[0][0]:
            best[0] = (value, x.copy())
        return value

    optimizer = nlopt.opt(getattr(nlopt, algorithm), len(x0))
    optimizer.set_min_objective(reading)
    optimizer.set_maxeval(budget)
    if first is not None:
        optimizer.set_lower_bounds(np.zeros(len(x0)))
        optimizer.set_upper_bounds(np.ones(len(x0)))
        optimizer.set_initial_step(np.full(len(x0), first))
    try:
        return np.asarray(optimizer.optimize(x0))
    except nlopt.RoundoffLimited:
        # How Powell's codes end when noise has broken their model. NLopt's answer
        # is the point of the smallest reading, but the exception loses it.
        return best[0][1]


def dfols(fun: Objective, x0: Array, *, budget: int, noise: float | None) -> Array:
    """The reading as the only residual, so DFO-LS minimises its *square*."""
    with contained():
        import dfols as package

        result = package.solve(
            lambda x: np.array([fun(x)]),
            x0,
            maxfun=budget,
            objfun_has_noise=True,
            do_logging=False,
        )
    return returned(result)


def pybobyqa(fun: Objective, x0: Array, *, budget: int, noise: float | None) -> Array:
    with contained():
        import pybobyqa as package

        result = package.solve(
            fun, x0, maxfun=budget, objfun_has_noise=True, do_logging=False
        )
    return returned(result)


def nelder_mead(
    fun: Objective, x0: Array, *, budget: int, noise: float | None
) -> Array:
    # No tolerance and no iteration limit: only the budget ends it, as in the paper.
    options = {"maxfev": budget, "maxiter": np.inf, "xatol": 0.0, "fatol": 0.0}
    with contained():
        return np.asarray(minimize(fun, x0, method="Nelder-Mead", options=options).x)


def bfgs_fd(fun: Objective, x0: Array, *, budget: int, noise: float | None) -> Array:
    # eps is the paper's h. SciPy's BFGS has no budget: out of it, the last iterate
    # counts.
    iterates = [x0]
    with contained():
        try:
            result = minimize(
                _limited(fun, budget),
                x0,
                method="BFGS",
                options={"eps": 1e-4},
                callback=lambda x: iterates.append(x.copy()),
            )
        except _Spent:
            return iterates[-1]
    return np.asarray(result.x)


def cobyqa(fun: Objective, x0: Array, *, budget: int, noise: float | None) -> Array:
    with contained():
        return np.asarray(
            minimize(fun, x0, method="COBYQA", options={"maxfev": budget}).x
        )


def cma(fun: Objective, x0: Array, *, budget: int, noise: float | None) -> Array:
    # sigma0 has no default in pycma; 1 is the scale of the problems' starting points.
    with contained():
        return cma_run(fun, x0, budget, sigma=1.0)


def cma_run(
    fun: Objective, x0: Array, budget: int, *, sigma: float, **options: Any
) -> Array:
    """A run of pycma until it stops by itself or is stopped."""
    import cma as package

    limited = _limited(fun, budget)
    # A file named by signals_filename would steer the run, so none is read.
    options |= {"seed": SEED, "verbose": -9, "signals_filename": None}
    strategy = package.CMAEvolutionStrategy(x0, sigma, options)
    try:
        while not strategy.stop():
            points = strategy.ask()
            strategy.tell(points, [limited(x) for x in points])
    except _Spent:
        pass  # an unfinished generation is dropped
    return np.asarray(strategy.result.xfavorite)
