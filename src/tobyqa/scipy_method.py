"""`scipy.optimize.minimize(fun, x0, method=tobyqa.scipy_method, options={...})`."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from scipy.optimize import OptimizeWarning

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
    the method. Derivatives and `tol` are ignored with a warning; bounds and constraints
    are errors, since a point outside of them may be dangerous.
    """
    if bounds is not None or constraints not in ((), [], None):
        raise ValueError("bounds and constraints are not supported by this method")
    for name, value in {"jac": jac, "hess": hess, "hessp": hessp, "tol": tol}.items():
        if value is not None:
            warnings.warn(f"tobyqa does not use {name}", RuntimeWarning, stacklevel=3)
    if "tobyqa_method" in options:
        options["method"] = options.pop("tobyqa_method")
    for alias in _ALIASES.keys() & options.keys():
        name, value = _ALIASES[alias], options.pop(alias)
        if options.setdefault(name, value) != value:
            raise ValueError(f"{name} = {options[name]} and {alias} = {value} disagree")

    method = resolve(options.get("method", DEFAULT))
    settings = {f.name for f in dataclasses.fields(method)}  # type: ignore[arg-type]
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
        options={k: v for k, v in options.items() if k in settings},
        **{k: v for k, v in options.items() if k in _OWN},
    )
    if disp:
        print(result.message)
    return result
