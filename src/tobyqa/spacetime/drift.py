"""What the drift does beyond a straight line, as a covariance over the user's times.

    drift(t) = slope theta + wander(t) + sum_j height_j [t >= time_j]

=======  ==================================================================
symbol   meaning
=======  ==================================================================
q        restlessness of `wander`, relative to the noise, per spacing
t        times as the window's clock counts them, in spacings
S        one column per jump: 1 from its time on                   (m, k)
=======  ==================================================================

`wander` bends, an integrated Wiener process whose posterior mean is a smoothing spline,
or it walks, the Wiener process itself: then its steps cannot be foretold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from ..gls import Solution
from ..kernels import walk_between, walk_times, wiener_between, wiener_times
from .clock import Clock
from .window import Window

Array = NDArray[np.float64]

A_JUMP = 12.0  # -2 log of the odds of one; the highest of m by chance is about 2 log m
_AFTER = 2  # readings that must have been taken since: one may be wrong


class Jump(NamedTuple):
    """The baseline is another one from this time on."""

    time: float
    height: float  # prior standard deviation, relative to the noise


@dataclass(frozen=True)
class Drift:
    """Covariance of the drift, relative to the noise."""

    q2: float
    walks: bool
    jumps: tuple[Jump, ...]
    clock: Clock

    def between(self, s: Array, t: Array) -> Array:
        """Between two lists of times, (|s|, |t|)."""
        return self._between(s, self.clock.t(s), t, self.clock.t(t))

    def with_readings(self, times: Array, window: Window) -> Array:
        """Between a list of times and the readings of a window, (|times|, m)."""
        return self._between(times, self.clock.t(times), window.times, window.t)

    def _between(self, s: Array, t_s: Array, t: Array, t_t: Array) -> Array:
        K = self.q2 * (walk_between if self.walks else wiener_between)(t_s, t_t)
        return K + steps(s, self.jumps) @ steps(t, self.jumps).T if self.jumps else K

    def add_to(self, K: Array, window: Window) -> None:
        """Add the covariance of a window's readings to a matrix, in its place."""
        W = window.walk if self.walks else window.wiener
        blas.daxpy(W.ravel(), K.ravel(), a=self.q2)  # no matrix for the product
        if self.jumps:
            S = steps(window.times, self.jumps)
            K += S @ S.T

    def variance(self, times: Array) -> Array:
        """Of each time with itself."""
        t = self.clock.t(times)
        v = self.q2 * (t if self.walks else t**3 / 3.0)
        return v + np.sum(steps(times, self.jumps) ** 2, axis=1) if self.jumps else v

    def mean(self, window: Window, lam: Array) -> Array:
        """At the readings of a window whose solution is `lam`."""
        mean = self.q2 * (walk_times if self.walks else wiener_times)(window.t, lam)
        return np.asarray(mean + self.jumped(window, lam))

    def jumped(self, window: Window, lam: Array) -> Array:
        """The part of it that the jumps are."""
        if not self.jumps:
            return np.zeros_like(lam)
        S = steps(window.times, self.jumps)
        return np.asarray(S @ (S.T @ lam))

    def rate(self, window: Window) -> tuple[Array, float]:
        """Covariance of the slope now with the readings, and its variance.

        The slope of an integrated Wiener process is the Wiener process itself, with
        variance t. A walk has none: its steps are as likely up as down.
        """
        t, now = window.t, float(window.t[-1])
        if self.walks:
            return np.zeros((1, t.size)), 0.0
        # d/dt m^2 (3M - m) / 6 at t = now, for readings before and after it.
        k = self.q2 * np.where(t <= now, 0.5 * t * t, now * t - 0.5 * now * now)
        return k[None], self.q2 * now


def steps(times: Array, jumps: tuple[Jump, ...]) -> Array:
    """The columns S, each times the height of its jump."""
    at = np.array([jump.time for jump in jumps])
    return np.asarray((times[:, None] >= at) * [jump.height for jump in jumps])


def likely_jump(window: Window, solution: Solution) -> Jump | None:
    """Where one more jump explains most, if that is beyond chance.

    For a column z added to X the sum of squared residuals r falls by
    (z_w.r)^2 / z_w.z_w, with z_w whitened and made orthogonal to X_w, and the noise
    by the same share.
    """
    order = np.argsort(window.times, kind="stable")
    m = order.size
    rank = np.empty(m, dtype=np.int64)
    rank[order] = np.arange(m)
    firsts = np.arange(1, m - _AFTER + 1)  # one column for each gap between readings
    if firsts.size == 0:
        return None
    Z = np.asfortranarray(rank[:, None] >= firsts, dtype=float)
    W, _ = lapack.dtrtrs(solution.L, Z, lower=1)
    W -= solution.X_w @ (solution.V @ (solution.V.T @ (solution.X_w.T @ W)))
    scale = math.sqrt(solution.nu)
    residual = (solution.y_w - solution.X_w @ solution.beta * scale) / scale
    squares = np.einsum("ij,ij->j", W, W)
    heights = (residual @ W) / np.maximum(squares, 1e-12)
    total = float(residual @ residual)
    shares = heights**2 * squares / max(total, 1e-12)
    best = int(shares.argmax())
    # What is not explained so far has made the noise look louder than it is.
    spare = max(1, m - solution.X_w.shape[1])
    if -spare * math.log(max(1.0 - float(shares[best]), 1e-12)) < A_JUMP:
        return None
    time = float(window.times[order[firsts[best]]])
    return Jump(time, abs(float(heights[best])))


def jumps_within(window: Window, jumps: tuple[Jump, ...]) -> tuple[Jump, ...]:
    """Those that a window has readings before and after."""
    if not jumps:
        return ()
    first, last = window.frame.clock.times[[0, -1]]
    return tuple(jump for jump in jumps if first < jump.time <= last)
