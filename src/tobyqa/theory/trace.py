"""Runs of method `paper` with everything beside them that only we know.

=============  ==========================================================
symbol         meaning
=============  ==========================================================
g, sigma, s    gradient, cubic weight and step of iteration k
Pred, Ared     reduction promised and reduction seen (pred-def, ared-def)
Delta f        f(x_k) - f(x_k + s_k), the true one
E_drift        what is left of the drift in Ared (ared-three-terms)
E_noise        eps_old - eps_new, the two readings' noise in it
delta          sample radius, max |x_i - x_k|
=============  ==========================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..methods.paper import Paper, Search
from ..model import Model
from ..result import Status
from ..scaling import norm
from ..state import Observation, State, Task
from .landscapes import Landscape

Array = NDArray[np.float64]
Drift = Callable[[float], float]
Noise = Callable[[np.random.Generator], float]  # one error of standard deviation 1


def gaussian(rng: np.random.Generator) -> float:
    """Normally distributed noise."""
    return float(rng.normal())


def two_valued(rng: np.random.Generator) -> float:
    """Plus or minus one: no noise of this variance has a heavier part there."""
    return float(rng.choice((-1.0, 1.0)))


def no_drift(t: float) -> float:
    """The channel Static."""
    return 0.0


@dataclass(frozen=True)
class Step:
    """One iteration of Algorithm 1 and the truth about it."""

    readings: int  # including the one at the end of the step
    sigma: float
    gradient: float  # |g_k|
    true_gradient: float  # |grad f(x_k)|
    gradient_error: float  # |g_k - grad f(x_k)|
    length: float  # |s_k|
    predicted: float  # Pred_k
    achieved: float  # Ared_k
    fall: float  # Delta f
    drift_error: float  # E_drift
    old_noise: float  # eps(x_k, t_old), known before the step is taken
    new_noise: float  # eps(x_k + s_k, t_new)
    elapsed: float  # t_new - t_old
    gamma_stat: float  # time coefficient of the same readings without the drift
    radius: float  # delta_k
    score: float  # squared error of g_k by its stated covariance; NaN without noise
    trace: float  # of that covariance
    determined: bool  # the readings had full column rank
    accepted: bool
    good: bool  # accepted with Ared_k > eta Pred_k

    @property
    def bias(self) -> float:
        """b_k of (ared-expectation): what is known, before it is taken, to be wrong.

        The centre's noise belongs to it: its reading is part of the history.
        """
        return self.drift_error + self.old_noise


@dataclass(frozen=True)
class Trace:
    """A run: the cubic weight before its first step, then its steps."""

    sigma_0: float
    steps: tuple[Step, ...]
    last_sigma: float  # after the last of them

    def column(self, name: str) -> Array:
        """One quantity over all steps."""
        return np.array([getattr(step, name) for step in self.steps], dtype=float)

    def until(self, accuracy: float) -> Trace:
        """The part before the first centre with |grad f| <= `accuracy`."""
        reached = np.flatnonzero(self.column("true_gradient") <= accuracy)
        if reached.size == 0:
            return self
        k = int(reached[0])
        return Trace(self.sigma_0, self.steps[:k], self.steps[k].sigma)


def run(
    landscape: Landscape,
    *,
    noise: float,
    drift: Drift = no_drift,
    readings: int,
    seed: int = 0,
    method: Paper | None = None,
    errors: Noise = gaussian,
) -> Trace:
    """Minimise through F(x, t) = f(x) + drift(t) + eps, one reading per unit of time.

    It ends by the number of readings or by steps that are rounded away; the statistical
    stopping rule is not obeyed, so that there is something to see of it.
    """
    method = method or Paper()
    rng = np.random.default_rng(seed)
    state = method.start(Task(landscape.x0, noise=noise))
    steps, sigma_0, clean = [], 0.0, np.zeros((readings, 2))  # f(x) and noise
    for k in range(readings):
        t, x = float(k), method.propose(state).x
        clean[k] = landscape(x), noise * errors(rng)
        value = float(clean[k].sum()) + drift(t)
        following = method.absorb(
            state, Observation(x, t, value, trial=k, answers=True)
        )
        if state.memory is not None:
            steps.append(_step(landscape, drift, method, clean, state, following))
        elif following.memory is not None:
            sigma_0 = following.memory.sigma
        state = following
        if state.status is Status.STAGNATED:
            break
    assert state.memory is not None
    return Trace(sigma_0, tuple(steps), state.memory.sigma)


def _step(
    landscape: Landscape,
    drift: Drift,
    method: Paper,
    clean: Array,
    state: State[Search],
    following: State[Search],
) -> Step:
    """What happened between two states; `clean` by the number of the reading."""
    search, centre, samples = state.memory, state.centre, state.samples
    assert search is not None
    assert centre is not None
    model, s = search.model, search.step
    k = state.readings
    t_old, t_new = float(samples.times[centre]), float(k)
    old = int(t_old)
    rows = samples.times.astype(int)
    seen = float(samples.values[centre]) - (float(clean[k].sum()) + drift(t_new))
    achieved = seen + model.drift_change(t_old, t_new)
    predicted = -float(model.g @ s)
    true_gradient = landscape.gradient(model.x)
    return Step(
        readings=k + 1,
        sigma=search.sigma,
        gradient=norm(model.g),
        true_gradient=norm(true_gradient),
        gradient_error=norm(model.g - true_gradient),
        length=norm(s),
        predicted=predicted,
        achieved=achieved,
        fall=float(clean[old, 0] - clean[k, 0]),
        drift_error=model.drift_change(t_old, t_new) - (drift(t_new) - drift(t_old)),
        old_noise=float(clean[old, 1]),
        new_noise=float(clean[k, 1]),
        elapsed=t_new - t_old,
        gamma_stat=float(model.recovery[model.n + 1] @ clean[rows].sum(axis=1)),
        radius=model.reach,
        score=_score(model, model.g - true_gradient, state.task.noise or 0.0),
        trace=model.gradient_std(state.task.noise or 0.0) ** 2,
        determined="rank" not in model.fallback,
        accepted=following.accepted,
        good=following.accepted and achieved > method.eta * predicted,
    )


def _score(model: Model, error: Array, noise: float) -> float:
    """e' (R_obs [P_norm]_gg)^-1 e, chi-squared with n degrees if noise is all."""
    if noise == 0.0:
        return math.nan
    rows = model.recovery[1 : model.n + 1]
    # By the singular values of Pi's rows: their squares may be out of range.
    return norm(np.linalg.pinv(rows) @ error / noise) ** 2
