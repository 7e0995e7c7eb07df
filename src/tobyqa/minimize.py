"""`minimize`: a loop over `Optimizer`, shaped like SciPy's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check
from .books import Trial
from .crew import Workers, called, checked_workers
from .inflight import evaluate_side_by_side
from .journal import StrPath
from .measurement import tell_outcome
from .methods import DEFAULT
from .optimizer import Optimizer
from .progress import meter
from .result import Result, Status
from .state import Method

Array = NDArray[np.float64]

EVALUATIONS_PER_VARIABLE = 500
"""Budget of `minimize` per variable when `maxfev` is not given."""


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str | Method = DEFAULT,
    noise: float | None = None,
    maxfev: int | None = None,
    initial_radius: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    x_scale: Any = None,
    resolution: Any = None,
    fixed: Mapping[str | int, float] | None = None,
    max_move: Any = None,
    safe: Any = None,
    limit: float | None = None,
    maximize: bool = False,
    clock: Callable[[], float] | None = None,
    callback: Callable[..., Any] | None = None,
    rng: Any = None,
    options: Mapping[str, Any] | None = None,
    max_failures: int = 10,
    restarts: bool = False,
    journal: StrPath | None = None,
    progress: bool = False,
    workers: Any = None,
) -> Result:
    """Minimise a function whose values are noisy and drift while one searches.

    Solves ``min f(x)`` when a call at time t returns ``f(x) + drift(t) + noise``. If
    the drift turns out to depend on x, ``adaptive`` minimises the function as it was
    at the first reading.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns the reading as a float, or a `Measurement` that also
        says when it was taken and how uncertain it is. Raising, or returning NaN,
        infinity or anything that is not one number, counts as a failed measurement, and
        so does a bad time or error. An error of programming in the very first call
        (NameError, TypeError, AttributeError, ImportError, SyntaxError) is raised.
    x0 : array_like
        Where to start, shape (n,).
    args : tuple
        Further arguments of `fun`.
    method : str or settings object
        ``"adaptive"``, ``"paper"`` (the published algorithm), or a settings object
        such as ``tobyqa.Adaptive(window=100)``.
    noise : float, optional
        Standard deviation of a reading; None: estimated from the readings. A rough
        value will do: ``adaptive`` corrects it, though at some cost.
    maxfev : int, optional
        Budget of evaluations; 500 n by default.
    initial_radius : float or array_like, optional
        Distance of the first points from `x0`: choose it so that the objective visibly
        changes over that distance. One in units of `x_scale`, or one for each variable
        in its own; None: a tenth of the range between bounds, else 2. A quarter of that
        range at most.
    bounds : scipy.optimize.Bounds or sequence of pairs, optional
        Limits of the variables, None where there is none. Nothing outside is asked for.
        A variable whose limits are equal is not searched.
    constraints : scipy.optimize.LinearConstraint, str, or list of these
        Linear constraints, such as ``"x0 + 2*x1 <= 3"``; two-sided ones and
        equalities too. ``paper`` as published knows no limits: that its points are kept
        within them is an extension.
    x_scale : array_like, optional
        Changes of the variables that matter alike; None: `initial_radius` if it has one
        for each variable, else the ranges between bounds, else 1.
    resolution : array_like, optional
        The steps in which the variables can be set, None where at will.
    fixed : dict, optional
        Values of variables that are not searched, by index or name (x0, x1, ...).
    max_move : float or array_like, optional
        How far a variable may move from one point asked for to the next, None where
        any distance will do. A point farther away is approached in several
        evaluations, all of them within the limits. Where neither `x_scale` nor
        `initial_radius` is given, the first points are no farther apart than that.
    safe, limit : array_like and float, optional
        A place to go back to and a value that readings should not be beyond: above,
        or below with `maximize`. After a reading beyond it the next point is `safe`
        (with `max_move`, the way there), until it reads within the limit. From then on
        no point is asked for that is nearer to such a reading than to `safe`, in scaled
        variables. That is no promise: readings beyond the limit are not foreseen, noise
        and drift count as well, a minimum may be cut off, trials that wait already are
        not called back, and variables that are fixed stay fixed.
    maximize : bool
        Whether readings are to be large.
    clock : callable, optional
        Gives the time of a reading, e.g. ``time.time``; readings are numbered
        0, 1, 2, ... by default. Times may repeat, jump and even go back.
    callback : callable, optional
        Called after every evaluation, as ``callback(xk)`` or, if its only parameter has
        that name, ``callback(intermediate_result=...)``. StopIteration ends the search.
    rng : None, int or numpy Generator, optional
        Source of randomness, for the order of the first points and for restarts.
    options : dict, optional
        Fields of the method's settings to change.
    max_failures : int
        How many evaluations may fail in a row before the search ends.
    restarts : bool
        Once nothing more is gained, spend what is left of `maxfev` on searches that
        begin at random places, one or two first radii away in each variable.
    journal : path, optional
        File to which every event is written before it counts. If it holds a run of the
        same problem, that run is continued: after a crash, call again.
    progress : bool
        Show on standard error how far it is: a bar if tqdm is installed, else a line
        now and then. Every reading is in the log ``tobyqa`` at level INFO, as well.
    workers : int, concurrent.futures.Executor or pair of both, optional
        How many evaluations are in flight at a time, in threads of our own, or who
        makes them: processes (``ProcessPoolExecutor``), a Dask cluster
        (``client.get_executor()``), MPI. An executor that does not tell how many
        workers it has takes a pair, ``(executor, 8)``. A new point goes out as soon as
        one is back. What is asked with several in flight follows from the order in
        which they come back, so runs differ; with one, all is as without `workers`.
        An evaluation whose worker dies is a failed one. Not with `max_move`, which is
        about one instrument's way from setting to setting.

    Returns
    -------
    Result
        Running out of budget, Ctrl-C and `StopIteration` give a result like any other,
        with ``success=False``.

    Examples
    --------
    >>> import tobyqa
    >>> t = iter(range(10**6))
    >>> def drifting(x):
    ...     return (x[0] - 1) ** 2 + (x[1] + 2) ** 2 + 0.5 * next(t)
    >>> res = tobyqa.minimize(drifting, [0, 0], noise=0, maxfev=200)
    >>> bool(abs(res.x - [1, -2]).max() < 0.2), round(res.drift_rate, 2)
    (True, 0.5)
    """
    _check.function("fun", fun)
    _check.switch("progress", progress)
    several = checked_workers(workers)
    if several is not None:
        _check_instruments(several, max_move)
    args = args if isinstance(args, tuple) else (args,)
    notify = _notifier(callback)
    with Optimizer.open(
        journal,
        x0=x0,
        method=method,
        noise=noise,
        maxfev=EVALUATIONS_PER_VARIABLE * np.size(x0) if maxfev is None else maxfev,
        initial_radius=initial_radius,
        bounds=bounds,
        constraints=constraints,
        x_scale=x_scale,
        resolution=resolution,
        fixed=fixed,
        max_move=max_move,
        safe=safe,
        limit=limit,
        maximize=maximize,
        clock=clock,
        rng=rng,
        options=options,
        max_failures=max_failures,
        restarts=restarts,
    ) as opt:
        try:
            with meter(opt, shown=progress) as advance:

                def after() -> None:
                    advance()
                    notify(opt)

                if several is None:
                    _evaluate_all(opt, fun, args, after)
                else:

                    def call(trial: Trial) -> tuple[Any, ...]:
                        return called, fun, trial.x.copy(), args, trial.id

                    evaluate_side_by_side(opt, call, several, after)
        except KeyboardInterrupt:
            opt.stop(Status.STOPPED)
        except StopIteration:
            opt.stop(Status.CALLBACK)
        return opt.result()


def _check_instruments(workers: Workers, max_move: Any) -> None:
    """One instrument's way from setting to setting needs one worker."""
    if max_move is not None and workers.size > 1:
        raise ValueError(
            f"workers must be 1 with max_move, but is {workers.size}: moves are those "
            "of one instrument, and nobody says which worker makes which. If one "
            "instrument makes the settings and readings come later, use ask(k)"
        )


def _evaluate_all(
    opt: Optimizer,
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    after: Callable[[], None],
) -> None:
    """One measurement after the other: asked for, taken, told."""
    before = opt.nfev
    while not opt.done:
        trial = opt.ask()

        def outcome(trial: Trial = trial) -> Any:
            return fun(trial.x.copy(), *args)

        tell_outcome(opt, trial, outcome, is_first=opt.nfev == before)
        after()


def _notifier(callback: Callable[..., Any] | None) -> Callable[[Optimizer], None]:
    """Calls `callback` in the way that its signature asks for, as SciPy does."""
    if callback is None:
        return lambda opt: None
    _check.function("callback", callback)
    try:
        parameters = set(inspect.signature(callback).parameters)
    except ValueError:  # some callables of compiled code have no signature
        parameters = set()
    if parameters == {"intermediate_result"}:
        return lambda opt: callback(intermediate_result=opt.progress())
    return lambda opt: callback(opt.progress().x)
