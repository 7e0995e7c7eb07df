"""What a search hands back: why it stopped, the answer, and everything it saw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult

from .shown import as_html, as_text, result_rows
from .surface import UserSurface

Array = NDArray[np.float64]

CURVE_POINTS = 200  # times at which a method states its drift curve


class Status(Enum):
    """Why a search stopped: SciPy's integer, the sentence, and whether it converged.

    5 means what it means in SciPy's COBYQA, 99 what SciPy says of StopIteration.
    """

    SETTLED = (
        1,
        "What is left to gain is expected to be less than `ftol` "
        "(by default a twentieth of the noise).",
    )
    UNRESOLVED = (
        2,
        "The gradient is below its standard error (times `kappa_tol`), the published "
        "stopping rule: the latest readings show no slope, which does not say that "
        "the minimum is near.",
    )
    RUNNING = (3, "The search has not ended.")
    MAXFEV = (5, "The evaluation budget `maxfev` is spent.")
    STAGNATED = (7, "The next step is below floating-point resolution.")
    UNBOUNDED = (8, "The search left every reasonable range: is `fun` bounded below?")
    EXHAUSTED = (
        9,
        "All settings near by were measured twice: the steps of the knobs "
        "(`resolution`) allow nothing finer.",
    )
    STOPPED = (98, "The search was stopped by the user.")
    CALLBACK = (99, "`callback` raised `StopIteration`.")
    FAILURES = (-4, "Too many evaluations failed in a row (`max_failures`).")

    @property
    def code(self) -> int:
        return int(self.value[0])

    @property
    def message(self) -> str:
        return str(self.value[1])

    @property
    def success(self) -> bool:
        """True only when a convergence test says so; UNRESOLVED comes from none."""
        return self is Status.SETTLED


class Suspect(NamedTuple):
    """A reading that the answer leaves out, since all others deny it."""

    row: int  # of the history
    value: float
    expected: float  # by the others, at its place and time
    sigmas: float  # how far off it is, in standard errors of that


@dataclass(frozen=True)
class History:
    """Every event of a search, in order; rows of a failed reading hold NaN values.

    Radius and gradient are per scaled variable, all else is in the user's units.
    """

    x: Array  # (N, n)
    t: Array  # (N,)
    value: Array  # (N,)
    sigma: Array  # (N,) stated standard errors, NaN where none was
    asked: NDArray[np.bool_]  # (N,) False for points told without being asked
    accepted: NDArray[np.bool_]  # (N,) the reading became the centre
    centre: Array  # (N, n) the centre after the event
    radius: Array  # (N,) size of the region, or length of the next step, after it
    gradient: Array  # (N,) norm of the gradient at the centre after it
    gradient_std: Array  # (N,) standard error of that gradient
    weight: Array  # (N,) 0 for readings that the answer leaves out, and for failed ones

    def __len__(self) -> int:
        return int(self.t.shape[0])

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which events were failed measurements, (N,)."""
        return np.isnan(self.value)

    def best(self, *, maximize: bool = False) -> int | None:
        """Row of the lowest reading, or of the highest; None if there is none."""
        if self.failed.all():
            return None
        return int(np.nanargmax(self.value) if maximize else np.nanargmin(self.value))


@dataclass(frozen=True)
class DriftCurve:
    """The drift over the time that the last fit covers, relative to its value now."""

    t: Array  # (K,) ascending
    value: Array  # (K,) what a reading at a fixed point would differ from now by
    std: Array  # (K,) standard error of `value`, zero now

    @staticmethod
    def none() -> DriftCurve:
        """The curve as long as there is no model."""
        return DriftCurve(np.empty(0), np.empty(0), np.empty(0))


class Result(OptimizeResult):  # type: ignore[misc]
    """The outcome of a search, a SciPy ``OptimizeResult``; printed, it is a summary.

    All of it is in the units and with the sign of what was measured, except `radius`
    and `gradient` of the history, which are per scaled variable.

    Attributes
    ----------
    x, x_std, x_cov : ndarray
        The recommended point, and its standard error and covariance as the place of the
        minimum. By ``adaptive`` they count what is not known of gradient and curvature
        and beyond the quadratic, and how far `x` is from the model's own minimum; they
        are NaN where the minimum is not determined (`confidence` says why), and zero
        across constraints that hold there. By ``paper`` they are those of the model's
        minimum by noise alone, NaN where its Hessian is not positive definite. Zero for
        what is fixed.
    confidence : str
        Whether the minimum is determined: "determined", "valley: ..." with the way
        along which it is not, or "not yet: ...".
    names, units : list of str
        What the variables are called and measured in.
    active : list of str
        The bounds and constraints that `x` lies on.
    fun : float
        The model's estimate of the objective at `x` and time `t`, drift included; not
        the luckiest reading.
    fun_std, noise_std, noise_std_std : float
        Standard errors of `fun`, of a single reading, and of that one itself; the last
        is NaN by ``paper``.
    suspects : list of Suspect
        Readings that the answer leaves out, since all others deny them or the sensor
        was stuck: row of the history, value, what was expected, and how many standard
        errors it is off.
    t : float
        The time to which `fun` refers: that of the latest reading in the last fit.
    success, status, message : bool, int, str
        `success` is true only when a convergence test says so, which the published
        stopping rule of ``paper`` is not.
    nfev, nit, nfail : int
        Evaluations asked for and answered (failed ones included), iterations, failures.
    jac, hess : ndarray
        The model's gradient at `x`, and its Hessian; along equalities only.
    drift_rate, drift_rate_std : float
        Change of the readings per unit of time, at a fixed point. The error counts
        noise, not what the model cannot follow.
    drift : DriftCurve
        The drift's course over the readings of the last fit, for pictures.
    drift_is_local : bool
        Whether comparisons found the drift to depend on `x`. As far as the last fit has
        such a part, `x`, `jac` and `hess` are of the function as it was at the first
        reading, `drift` and `drift_rate` those at a measured place near `x`.
    x_best_observed, fun_best_observed : ndarray, float
        The lowest reading (the highest, if one maximises), as it was read: biased by
        noise and drift.
    history : History
        Every event.
    method : str
        The method and its non-default settings.
    sensor : str
        What is to be said of a sensor that has read the same value again and again;
        empty if all is well.
    surface : UserSurface
        The model at the end of the run: what `predict` asks.
    """

    x: Array
    x_std: Array
    x_cov: Array
    names: list[str]
    units: list[str]
    active: list[str]
    fun: float
    fun_std: float
    noise_std: float
    noise_std_std: float
    confidence: str
    suspects: list[Suspect]
    t: float
    success: bool
    status: int
    message: str
    nfev: int
    nit: int
    nfail: int
    jac: Array
    hess: Array
    drift_rate: float
    drift_rate_std: float
    drift: DriftCurve
    drift_is_local: bool
    x_best_observed: Array
    fun_best_observed: float
    history: History
    method: str
    sensor: str
    surface: UserSurface

    def predict(self, x: Any, t: Any = None) -> tuple[Any, Any]:
        """What would be read at `x` and time `t` on the average; its standard error.

        By the model that the answer is from, in the units and with the sign of the
        readings; the error is that of the average: a single reading scatters by
        `noise_std` about it. Far from all readings, in space or time, ``adaptive``
        says that it knows little; the errors of ``paper`` are by noise alone. NaN as
        long as there is no model.

        Parameters
        ----------
        x : array_like
            A point, (n,), or points, (..., n).
        t : float or array_like, optional
            The time, or one for each point; that of `fun` by default.

        Returns
        -------
        value, error : float or ndarray
            One for each point and time.

        Examples
        --------
        >>> import tobyqa
        >>> res = tobyqa.minimize(lambda x: (x[0] - 1) ** 2, [0.0], noise=0, maxfev=9)
        >>> value, error = res.predict([[0.0], [1.0], [2.0]])
        >>> bool((abs(value - [1, 0, 1]) < 0.1).all()), bool((error < 0.1).all())
        (True, True)
        """
        # Without any reading there is no time, and nothing to be said of any.
        now = 0.0 if math.isnan(self.t) else self.t
        return self.surface.predict(x, now if t is None else t)

    def __dir__(self) -> list[str]:
        return [*self, "predict"]

    def __repr__(self) -> str:
        return as_text(result_rows(self))

    def _repr_html_(self) -> str:
        return as_html(result_rows(self))
