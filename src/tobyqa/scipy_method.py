"""`scipy.optimize.minimize(fun, x0, method=tobyqa.scipy_method, options={...})`."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from scipy.optimize import OptimizeWarning

from . import _check
from .methods import DEFAULT, resolve
from .minimize import minimize
from .result import Result

# What users of other solvers call our arguments.
_ALIASES = {
    "maxfun": "maxfev",
    "rhobeg": "initial_radius",
    "initial_tr_radius": "initial_radius",
    "radius_init": "initial_radius",
}
_OWN = set(inspect.signature(minimize).parameters) - {
    "fun",
    "x0",
    "args",
    "callback",
    "options",
    "bounds",
    "constraints",
}


def scipy_method(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    tol: float | None = None,
    disp: bool = False,
    **options: Any,
) -> Result:
    """Custom method for `scipy.optimize.minimize`.

    `options` may hold every keyword of `tobyqa.minimize` (``noise``, ``maxfev``,
    ``clock``, ...; for the method itself say ``tobyqa_method``) and every setting of
    the method. Bounds and linear constraints are met by every point that is evaluated,
    so ``maxcv`` is 0. `tol` is the setting ``ftol``: what is left to gain when the
    search ends. ``maxiter`` limits evaluations, as ``maxfev`` does; the lower one
    counts. `callback` is called after every evaluation, as in `tobyqa.minimize`;
    ``disp`` prints the result. Derivatives are ignored with a warning.

    It also serves as the local search of `scipy.optimize.basinhopping`, which passes
    over searches that did not end by themselves, so that `tol` should be said, and of
    `scipy.optimize.dual_annealing`, which keeps its bounds to itself::

        how = {"method": tobyqa.scipy_method, "tol": 0.02, "options": {"noise": 0.01}}
        basinhopping(fun, x0, minimizer_kwargs=how)
        dual_annealing(fun, bounds, minimizer_kwargs={**how, "bounds": bounds})

    Examples
    --------
    >>> from scipy.optimize import LinearConstraint, minimize
    >>> import tobyqa
    >>> values = []
    >>> def watch(intermediate_result):
    ...     values.append(intermediate_result.fun)
    >>> res = minimize(
    ...     lambda x, a, b: (x[0] - a) ** 2 + (x[1] - b) ** 2,
    ...     [0.5, 0.5],
    ...     args=(3, 2),
    ...     method=tobyqa.scipy_method,
    ...     bounds=[(0, 2), (0, 4)],
    ...     constraints=LinearConstraint([[1, 1]], ub=3),
    ...     tol=1e-6,
    ...     callback=watch,
    ...     options={"maxiter": 20, "noise": 0},
    ... )
    >>> res.x.round(2), res.nfev, len(values), res.maxcv
    (array([2., 1.]), 20, 20, 0.0)
    >>> res.active
    ['x0 <= 2', 'x0 + x1 <= 3']
    """
    for name, value in {"jac": jac, "hess": hess, "hessp": hessp}.items():
        if value is not None:
            warnings.warn(f"tobyqa does not use {name}", RuntimeWarning, stacklevel=3)
    if "tobyqa_method" in options:
        options["method"] = options.pop("tobyqa_method")
    for alias in _ALIASES.keys() & options.keys():
        name, value = _ALIASES[alias], options.pop(alias)
        if options.setdefault(name, value) != value:
            raise ValueError(f"{name} = {options[name]} and {alias} = {value} disagree")
    if (maxiter := options.pop("maxiter", None)) is not None:
        maxiter = _check.count("maxiter", maxiter)
        options["maxfev"] = min(options.get("maxfev") or maxiter, maxiter)

    method = resolve(options.get("method", DEFAULT))
    settings = {f.name for f in dataclasses.fields(method)}  # type: ignore[arg-type]
    settings -= _OWN
    _take_tol(options, tol, settings)
    unknown = options.keys() - _OWN - settings
    if unknown:
        warnings.warn(
            f"Unknown solver options: {', '.join(sorted(unknown))}",
            OptimizeWarning,
            stacklevel=3,
        )
    result = minimize(
        fun,
        x0,
        args,
        callback=callback,
        bounds=bounds,
        constraints=constraints,
        options={k: v for k, v in options.items() if k in settings},
        **{k: v for k, v in options.items() if k in _OWN},
    )
    result.maxcv = 0.0
    if disp:
        print(result)
    return result


def _take_tol(options: dict[str, Any], tol: float | None, settings: set[str]) -> None:
    """Put `tol` in as `ftol`, if the method has it."""
    if tol is None:
        return
    if "ftol" in settings:
        options.setdefault("ftol", tol)
    else:
        warnings.warn("this method does not use tol", RuntimeWarning, stacklevel=4)
