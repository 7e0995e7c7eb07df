"""What a search hands back: why it stopped, the answer, and everything it saw."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult

Array = NDArray[np.float64]

CURVE_POINTS = 200  # times at which a method states its drift curve


class Status(Enum):
    """Why a search stopped: SciPy's integer, the sentence, and whether it converged.

    0 and 5 mean what they mean in SciPy's COBYQA, 99 what SciPy says of StopIteration.
    """

    CONVERGED = (
        0,
        "The gradient is smaller than its own uncertainty: "
        "at this noise level nothing more can be resolved.",
    )
    SETTLED = (
        1,
        "What is left to gain is expected to be less than `ftol` "
        "(by default a twentieth of the noise).",
    )
    RUNNING = (3, "The search has not ended.")
    MAXFEV = (5, "The evaluation budget `maxfev` is spent.")
    STAGNATED = (7, "The next step is below floating-point resolution.")
    UNBOUNDED = (8, "The search left every reasonable range: is `fun` bounded below?")
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
        """True only when a convergence test says so."""
        return self in (Status.CONVERGED, Status.SETTLED)


@dataclass(frozen=True)
class History:
    """Every event of a search, in order; rows of a failed reading hold NaN values."""

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

    def __len__(self) -> int:
        return int(self.t.shape[0])

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which events were failed measurements, (N,)."""
        return np.isnan(self.value)

    def lowest(self) -> int | None:
        """Row of the lowest reading; None if there is none."""
        if self.failed.all():
            return None
        return int(np.nanargmin(self.value))


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
    """The outcome of a search, a SciPy ``OptimizeResult``.

    Attributes
    ----------
    x, x_std : ndarray
        The recommended point, and the standard error, by noise alone, of the model's
        own minimum, which need not be `x`; NaN where the model's Hessian is not
        positive definite, which is common with few readings.
    fun : float
        The model's estimate of the objective at `x` and time `t`, drift included; not
        the luckiest reading.
    fun_std, noise_std : float
        Standard errors of `fun` and of a single reading.
    t : float
        The time to which `fun` refers: that of the latest reading in the last fit.
    success, status, message : bool, int, str
        `success` is true only when a convergence test says so.
    nfev, nit, nfail : int
        Evaluations asked for and answered (failed ones included), iterations, failures.
    jac, hess : ndarray
        The model's gradient at `x`, and its Hessian.
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
        The lowest reading, as it was read: biased by noise and drift.
    history : History
        Every event.
    method : str
        The method and its non-default settings.
    """
