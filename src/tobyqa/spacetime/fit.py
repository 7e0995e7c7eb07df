"""What a window of readings says, once the variance components are chosen.

    y_i = c + g.u_i + slope theta_i + curved(u_i) + wander(t_i) + noise_i         (1)
          + age_i local(u_i), if the drift depends on the place

See `window` for u, theta, t, y and age, `gls` for the solution and its functionals, and
`kernels` for the covariances, a^2 damped_powell and b^2 damped_linear of length l, and
`drift` for that of wander(t). All results are in units of the *estimated* noise.
`local` is zero at the centre; gradient, curvature and falls are those at age zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import gls
from ..frozen import cached_property
from ..kernels import (
    damped_linear,
    damped_linear_variance,
    damped_powell,
    damped_powell_curvatures,
    damped_powell_slope_covariance,
    damped_powell_slopes,
    damped_powell_variance,
    damping,
)
from .components import Components, drift_of
from .drift import Drift
from .window import Window

Array = NDArray[np.float64]
Functional = tuple[Array, Array, Array]  # k, v, x of `gls`, one per row

_MISFIT = 3.0  # mean square of the residuals from which on a fit is not believed
_LOUDEST = 1e150  # noise levels; the square of more is no number


@dataclass(frozen=True)
class Fit:
    """The fit of a window, (1)."""

    window: Window
    components: Components
    solution: gls.Solution

    @property
    def nu(self) -> float:
        return self.solution.nu

    @property
    def noise_std(self) -> float:
        """Estimated standard deviation of a reading, in the user's units."""
        return self.window.frame.noise * math.sqrt(self.solution.nu)

    def noise_error(self, spread: float) -> float:
        """Standard error of `noise_std`: of a half of log nu."""
        known = self.solution.information_of_noise(self.window.variances)
        return 0.5 * self.noise_std / math.sqrt(known + 1.0 / spread**2)

    @property
    def is_off(self) -> bool:
        """Whether the readings are much louder than the fit takes them to be."""
        return self.solution.misfit > _MISFIT

    @cached_property
    def unrest(self) -> float:
        """How much two readings in a row differ at one place, 1 by noise alone.

        A smooth drift can be foretold, a walk cannot.
        """
        return math.sqrt(1.0 + 0.5 * self._drift.q2) if self._drift.walks else 1.0

    # -- the function -----------------------------------------------------------------

    @property
    def g(self) -> Array:
        """Gradient at the centre, per region."""
        return self.solution.beta[1:-1]

    @cached_property
    def gradient_covariance(self) -> Array:
        V = self.solution.V[1:-1]
        return np.asarray(V @ V.T)

    @cached_property
    def hessian(self) -> Array:
        """Curvature at the centre, per region squared: a^2 sum_i lam_i e_i u_i u_i'."""
        U = self.window.U
        return np.asarray((U.T * (self._a2 * self.solution.lam * self._damping)) @ U)

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """Eigenvalues, ascending, and eigenvectors of the Hessian."""
        e, Q = np.linalg.eigh(self.hessian)
        return e, Q

    def curvature_variances(self, Q: Array) -> Array:
        """Posterior variance of q'Hq for each column q of Q."""
        k = self._a2 * self._damping * (Q.T @ self.window.U.T) ** 2
        x = np.zeros((Q.shape[1], self.solution.beta.size))
        return self.solution.variance(k, 2.0 * self._a2, x)

    def slope_at(self, u: Array) -> Array:
        """Slope of the function at a position, per region."""
        return self.g + self._slopes(u) @ self.solution.lam

    def slope_covariance(self, u: Array) -> Array:
        """Posterior covariance of that slope, (n, n)."""
        x = np.zeros((u.size, self.solution.beta.size))
        x[:, 1:-1] = np.eye(u.size)
        prior = self._a2 * damped_powell_slope_covariance(u, self._length)
        return self.solution.covariance(self._slopes(u), prior, x)

    def _slopes(self, u: Array) -> Array:
        U, far = self.window.U, self._damping
        return self._a2 * damped_powell_slopes(u, U, far, self._length)

    def curvature_at(self, u: Array) -> Array:
        """Second derivatives of the function at a position, per region squared."""
        weights = self._a2 * self.solution.lam * self._damping
        return damped_powell_curvatures(u, self.window.U, weights, self._length)

    def falls(self, U: Array) -> Array:
        """Expected fall from the centre to each row of U, at one and the same time."""
        k, _, x = self._curved(U)
        return -self.solution.mean(k, x)

    def fall_variances(self, U: Array) -> Array:
        """Of the falls from the centre, where the curved part is zero, to rows of U."""
        return self.solution.variance(*self._curved(U))

    def predicted(self, reading: Functional) -> tuple[float, float]:
        """What is expected of a reading, and its variance without noise."""
        k, v, x = reading
        mean, variance = self.solution.mean(k, x), self.solution.variance(k, v, x)
        return float(mean[0]), float(variance[0])

    @cached_property
    def _a2(self) -> float:
        return math.exp(2.0 * self.components.log_a)

    @cached_property
    def _drift(self) -> Drift:
        return drift_of(self.window, self.components)

    @cached_property
    def _length(self) -> float:
        return math.exp(self.components.log_l)

    @cached_property
    def _damping(self) -> Array:
        return damping(self.window.squares, self._length)

    def _curved(self, U: Array) -> Functional:
        """The curved part and the slope at rows of U, not to be written to.

        The latest single position is kept: each new reading is looked at repeatedly.
        """
        if len(U) > 1:
            return self._curved_at(U)
        place = U.tobytes()
        if place not in self._latest:
            self._latest.clear()
            self._latest[place] = self._curved_at(U)
        return self._latest[place]

    @cached_property
    def _latest(self) -> dict[bytes, Functional]:
        return {}

    def _curved_at(self, U: Array) -> Functional:
        squares = np.einsum("ij,ij->i", U, U)
        near = damping(squares, self._length)
        k = damped_powell(U @ self.window.U.T, near, self._damping, self._length)
        k *= self._a2
        x = np.zeros((len(U), self.solution.beta.size))
        x[:, 1:-1] = U
        return k, self._a2 * damped_powell_variance(squares, self._length), x

    def reading(self, u: Array, time: float) -> Functional:
        """A reading without its noise."""
        return self.readings(u[None], np.array([time]))

    def readings(self, U: Array, times: Array) -> Functional:
        """Readings without their noise, at rows of U and these times."""
        window = self.window
        k, v, x = self._curved(U)
        x = x.copy()
        x[:, 0], x[:, -1] = 1.0, window.frame.clock.theta(times)
        k = k + self._drift.with_readings(times, window)
        v = v + self._drift.variance(times)
        if self.components.interacts:
            grown = math.exp(self.components.log_b) * window.frame.age(times)
            squares = np.array([u @ u for u in U])
            k += self._local(U, grown)
            v += grown**2 * damped_linear_variance(squares, self._length)
        return k, v, x

    # -- the drift --------------------------------------------------------------------

    @cached_property
    def drift(self) -> Array:
        """Estimated drift at each reading, zero now."""
        wander = self._drift.mean(self.window, self.solution.lam)
        slope = self.solution.beta[-1]
        return np.asarray(slope * self.window.theta + wander - wander[-1])

    def drift_rate(self) -> tuple[float, float]:
        """Slope of the drift now, per unit of the user's time; its standard error."""
        clock = self.window.frame.clock
        slope = clock.theta(np.array([clock.now + clock.spacing]))
        rate, error = self._of_time(*self._drift.rate(self.window), slope)
        return float(rate[0]) / clock.spacing, float(error[0]) / clock.spacing

    def drift_since(self, time: Array, then: Array) -> tuple[Array, Array]:
        """Drift between `then`, one time, and others, and its standard error."""
        window, drift, clock = self.window, self._drift, self.window.frame.clock
        k = drift.with_readings(time, window) - drift.with_readings(then, window)
        v = drift.variance(time) + drift.variance(then)
        v -= 2.0 * drift.between(time, then)[:, 0]
        return self._of_time(k, v, clock.theta(time) - clock.theta(then))

    def _of_time(self, k: Array, v: Array | float, theta: Array) -> tuple[Array, Array]:
        """Functionals of slope and wandering: means and standard errors."""
        x = np.zeros((len(k), self.solution.beta.size))
        x[:, -1] = theta
        return self.solution.mean(k, x), np.sqrt(self.solution.variance(k, v, x))

    def _local(self, U: Array, grown: Array) -> Array:
        """Covariance of the local drift, grown so far by then, with the readings'."""
        window = self.window
        near = grown * damping(np.einsum("ij,ij->i", U, U), self._length)
        far = math.exp(self.components.log_b) * window.age * self._damping
        return damped_linear(U @ window.U.T, near, far, self._length)

    @cached_property
    def local_drift(self) -> Array:
        """Drift at each reading beyond what it would have been at the centre."""
        if not self.components.interacts:
            return np.zeros_like(self.solution.lam)
        grown = math.exp(self.components.log_b) * self.window.age
        return self._local(self.window.U, grown) @ self.solution.lam

    @cached_property
    def sudden_drift(self) -> Array:
        """Jumps of the baseline up to each reading."""
        return self._drift.jumped(self.window, self.solution.lam)

    # -- the readings -----------------------------------------------------------------

    @cached_property
    def steady(self) -> Array:
        """Readings without the drift."""
        readings = self.window.y / math.sqrt(self.solution.nu)
        return np.asarray(readings - self.drift - self.local_drift)

    @cached_property
    def smooth(self) -> Array:
        """Estimated value at each reading's point, noise removed too."""
        return np.asarray(self.steady - self.window.variances * self.solution.lam)

    def extended(
        self, window: Window, reading: Functional, spread: float
    ) -> Fit | None:
        """The fit of this window plus one reading; None where that costs all digits."""
        k, v, x = reading
        y, noise = float(window.y[-1]), float(window.variances[-1])
        longer = self.solution.extended(k[0], float(v[0]), x[0], y, noise, spread)
        return None if longer is None else Fit(window, self.components, longer)


def fit(window: Window, components: Components, spread: float) -> Fit | None:
    """Fit the window; None if no jitter makes the covariance definite.

    `spread` is the prior standard deviation of log nu: how much the assumed noise
    level is trusted. It is no less than what readings are rounded by.
    """
    length = math.exp(components.log_l)
    K = math.exp(2.0 * components.log_a) * window.curved(length)
    drift_of(window, components).add_to(K, window)
    if components.interacts:
        e = damping(window.squares, length) * math.exp(components.log_b) * window.age
        K += damped_linear(window.gram, e, e, length)
    X = window.columns.copy(order="F")
    rounding = window.frame.rounding
    louder = min(rounding / window.frame.noise, _LOUDEST)
    least = 2.0 * math.log(louder) if rounding else -math.inf
    solution = gls.solve(K, window.variances, X, window.y, spread, least)
    return None if solution is None else Fit(window, components, solution)
