"""Solvers by name.

A solver is a callable ``solve(fun, x0, *, budget, noise) -> x``: it minimises readings
of `fun` from `x0` with at most `budget` of them, knowing the standard deviation
`noise` of a reading (None: unknown), and returns its point. On a problem in a box it is
also given ``bounds``, a scipy.optimize.Bounds. Three kinds of names:

- ``paper``, or ``paper:field=value,field=value`` with fields of the method's settings;
  any method of the package serves. The extra field ``noise`` changes what the method is
  told: ``noise=unknown`` nothing, ``noise=x10`` ten times the true level; the extra
  field ``restarts=True`` turns restarts on.
- the peers, such as ``nelder-mead``;
- ``module.function``, any importable function of that signature.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.optimize import Bounds

import tobyqa
from tobyqa.bench import boxed_peers, peers
from tobyqa.bench.boxed_peers import boxed
from tobyqa.bench.peers import Objective
from tobyqa.bench.records import Array
from tobyqa.methods import METHODS, resolve

ABLATIONS = (
    "paper:hessian=interpolated",
    "paper:drift_compensation=False",
    "paper:curvature_kernel=False",
    "paper:hessian=interpolated,curvature_prior=carried",
    "paper:sigma_rule=frozen",
)


class Solve(Protocol):
    """What every solver looks like to the benchmark."""

    def __call__(
        self, fun: Objective, x0: Array, /, *, budget: int, noise: float | None
    ) -> Array: ...


def _always() -> str:
    return ""


@dataclass(frozen=True)
class Solver:
    """A named solver; `why_not()` is empty when it can run here."""

    name: str
    description: str
    solve: Solve
    why_not: Callable[[], str] = _always


_PDFO, _NLOPT = peers.pdfo_missing, peers.package("nlopt", "nlopt")

_PEERS: Mapping[str, Solver] = {
    solver.name: solver
    for solver in (
        Solver("newuoa-pdfo", "NEWUOA from PDFO", peers.newuoa_pdfo, _PDFO),
        Solver("bobyqa-pdfo", "BOBYQA from PDFO", peers.bobyqa_pdfo, _PDFO),
        Solver("newuoa-nlopt", "NEWUOA from NLopt", peers.newuoa_nlopt, _NLOPT),
        Solver(
            "bobyqa-nlopt",
            "BOBYQA from NLopt",
            boxed(peers.bobyqa_nlopt, boxed_peers.bobyqa_nlopt),
            _NLOPT,
        ),
        Solver(
            "dfols",
            "DFO-LS in its mode for noise, the reading as its one residual",
            peers.dfols,
            peers.package("dfols", "DFO-LS"),
        ),
        Solver(
            "nelder-mead",
            "Nelder-Mead from SciPy",
            boxed(peers.nelder_mead, boxed_peers.nelder_mead),
        ),
        Solver("bfgs-fd", "BFGS from SciPy, differences of 1e-4", peers.bfgs_fd),
        Solver(
            "pybobyqa",
            "Py-BOBYQA in its mode for noise",
            boxed(peers.pybobyqa, boxed_peers.pybobyqa),
            peers.package("pybobyqa", "Py-BOBYQA"),
        ),
        Solver(
            "cobyqa",
            "COBYQA from SciPy",
            boxed(peers.cobyqa, boxed_peers.cobyqa),
            peers.cobyqa_missing,
        ),
        Solver(
            "cma",
            "CMA-ES from pycma",
            boxed(peers.cma, boxed_peers.cma),
            peers.package("cma", "cma"),
        ),
        Solver(
            "spsa",
            "simultaneous perturbation, with the gains of its guidelines",
            boxed(boxed_peers.spsa_nearby, boxed_peers.spsa),
        ),
    )
}


def solver_names() -> tuple[str, ...]:
    """The methods of the package, the paper's five ablations and the peers.

    >>> solver_names()[:2]
    ('paper', 'paper:hessian=interpolated')
    """
    own = [name for name in METHODS if name != "paper"]
    return ("paper", *ABLATIONS, *own, *_PEERS)


def get_solver(name: str) -> Solver:
    """The solver of that name.

    >>> get_solver("paper:sigma_rule=frozen,noise=x10").description
    'tobyqa.Paper(sigma_rule=frozen), told 10 times the noise'
    """
    if name in _PEERS:
        return _PEERS[name]
    method, _, fields = name.partition(":")
    if method in METHODS:
        return _own_solver(name, method, fields)
    if "." in method and not fields:
        return _imported_solver(name)
    known = solver_names()
    close = difflib.get_close_matches(name, known)
    hint = f"; close to it: {', '.join(close)}" if close else ""
    raise ValueError(
        f"unknown solver {name!r}{hint}; known: {', '.join(known)}, any "
        "method:field=value,... and any importable module.function"
    )


def _own_solver(name: str, method: str, fields: str) -> Solver:
    """A method of the package with some settings changed."""
    values = _parsed(name, fields)
    factor = _noise_factor(name, values.pop("noise", "x1"))
    restarts = _value(values.pop("restarts", "False"))
    if not isinstance(restarts, bool):
        raise ValueError(f"solver {name!r}: restarts must be True or False")
    try:
        settings = resolve(method, {k: _value(v) for k, v in values.items()})
    except ValueError as error:
        raise ValueError(f"solver {name!r}: {error}") from None
    changed = ",".join(f"{k}={v}" for k, v in values.items())
    if factor is None:
        told = ", not told the noise"
    else:
        told = "" if factor == 1.0 else f", told {factor:g} times the noise"
    anew = ", with restarts" if restarts else ""
    return Solver(
        name,
        f"tobyqa.{type(settings).__name__}({changed}){told}{anew}",
        partial(_minimize, settings=settings, noise_factor=factor, restarts=restarts),
    )


def _parsed(name: str, fields: str) -> dict[str, str]:
    """``"a=1,b=2"`` as a dictionary of texts."""
    values: dict[str, str] = {}
    for pair in fields.split(",") if fields else ():
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key or not value:
            raise ValueError(f"solver {name!r}: {pair!r} is not field=value")
        if key in values:
            raise ValueError(f"solver {name!r}: {key} is given twice")
        values[key] = value
    return values


def _value(text: str) -> Any:
    """A Python literal where it is one (False, 1e-3), else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _noise_factor(name: str, text: str) -> float | None:
    """``unknown`` as None, ``x10`` as 10.0."""
    if text == "unknown":
        return None
    try:
        factor = float(text.removeprefix("x"))
    except ValueError:
        factor = np.nan
    if not text.startswith("x") or not 0 <= factor < np.inf:
        raise ValueError(
            f"solver {name!r}: noise={text} is neither unknown nor a factor such as x10"
        )
    return factor


def _minimize(
    fun: Objective,
    x0: Array,
    *,
    budget: int,
    noise: float | None,
    settings: Any,
    noise_factor: float | None,
    restarts: bool,
    bounds: Bounds | None = None,
) -> Array:
    told = None if noise is None or noise_factor is None else noise_factor * noise
    # An infinite reading is a value of the problem here, not a broken instrument: no
    # number of them in a row ends the run.
    with warnings.catch_warnings():
        # Small budgets and poor scales are what a study asks for.
        warnings.simplefilter("ignore", UserWarning)
        result = tobyqa.minimize(
            fun,
            x0,
            method=settings,
            noise=told,
            maxfev=budget,
            max_failures=budget,
            restarts=restarts,
            bounds=bounds,
            rng=0,
        )
    return np.asarray(result.x)


def _imported_solver(name: str) -> Solver:
    module, _, function = name.rpartition(".")
    try:
        solve = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"solver {name!r} cannot be imported: {error}") from error
    summary = (solve.__doc__ or "").strip().partition("\n")[0]
    return Solver(name, summary or "your function", solve)
