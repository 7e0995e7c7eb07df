"""What a window of readings says, once the variance components are chosen.

    y_i = c + g.u_i + slope theta_i + curved(u_i) + wander(t_i) + noise_i         (1)
          + age_i local(u_i), if the drift depends on the place

See `window` for u, theta, t, y and age, `gls` for the solution and its functionals, and
`kernels` for the covariances: a^2 damped_powell of length l, q^2 integrated_wiener,
b^2 damped_linear of length s. All results are in units of the *estimated* noise.
`local` is zero at the centre; gradient, curvature and falls are those at age zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from ... import gls
from ...kernels import (
    damped_linear,
    damped_linear_variance,
    damped_powell,
    damped_powell_variance,
    damping,
    wiener_between,
    wiener_times,
)
from .components import Components
from .window import Window

Array = NDArray[np.float64]

_MISFIT = 3.0  # mean square of the residuals from which on a fit is not believed


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
        return self.window.frame.noise * math.sqrt(self.nu)

    @property
    def g(self) -> Array:
        """Gradient at the centre, per region."""
        return self.solution.beta[1:-1]

    @cached_property
    def gradient_covariance(self) -> Array:
        V = self.solution.V[1:-1]
        return np.asarray(V @ V.T)

    @property
    def _a2(self) -> float:
        return math.exp(2.0 * self.components.log_a)

    @property
    def _q2(self) -> float:
        return math.exp(2.0 * self.components.log_q)

    @property
    def is_off(self) -> bool:
        """Whether the readings are much louder than the fit takes them to be."""
        return self.solution.misfit > _MISFIT

    # -- the function at the centre ---------------------------------------------------

    @cached_property
    def _damping(self) -> Array:
        return damping(self.window.squares, math.exp(self.components.log_l))

    @cached_property
    def hessian(self) -> Array:
        """Curvature at the centre, per region squared: a^2 sum_i lam_i e_i u_i u_i'."""
        U = self.window.U
        weights = self._a2 * self.solution.lam * self._damping
        return np.asarray((U.T * weights) @ U)

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """Eigenvalues, ascending, and eigenvectors of the Hessian."""
        e, Q = np.linalg.eigh(self.hessian)
        return e, Q

    @cached_property
    def eigen_variances(self) -> Array:
        """Posterior variances of the Hessian's eigenvalues, by its eigenvectors."""
        return self.curvature_variances(self.eigen[1])

    def curvature_variances(self, Q: Array) -> Array:
        """Posterior variance of q'Hq for each column q of Q."""
        k = self._a2 * self._damping * (Q.T @ self.window.U.T) ** 2
        x = np.zeros((Q.shape[1], self.solution.beta.size))
        return self.solution.variance(k, 2.0 * self._a2, x)

    # -- the function elsewhere -------------------------------------------------------

    def _curved(self, U: Array) -> tuple[Array, Array, Array]:
        """The curved part at rows of U, as a functional."""
        length = math.exp(self.components.log_l)
        squares = np.einsum("ij,ij->i", U, U)
        near = damping(squares, length)
        k = damped_powell(U @ self.window.U.T, near, self._damping, length)
        k *= self._a2
        x = np.zeros((len(U), self.solution.beta.size))
        x[:, 1:-1] = U
        return k, self._a2 * damped_powell_variance(squares, length), x

    def falls(self, U: Array) -> Array:
        """Expected fall from the centre to each row of U, at one and the same time."""
        k, _, x = self._curved(U)
        return -self.solution.mean(k, x)

    def fall_variances(self, U: Array) -> Array:
        """Of the falls from the centre, where the curved part is zero, to rows of U."""
        return self.solution.variance(*self._curved(U))

    def _reading(
        self, u: Array, t: float, theta: float, age: float
    ) -> tuple[Array, Array, Array]:
        """A reading without its noise, as a functional."""
        k, v, x = self._curved(u[None])
        x[0, 0], x[0, -1] = 1.0, theta
        k += self._q2 * wiener_between(t, self.window.t)
        v = v + self._q2 * t**3 / 3.0
        if self.components.interacts and age != 0.0:
            k += self._local(u[None], np.array([age]))
            v += (self._grown(age) ** 2) * damped_linear_variance(
                np.array([u @ u]), math.exp(self.components.log_s)
            )
        return k, v, x

    def predicted(self, u: Array, time: float) -> tuple[float, float]:
        """Expected reading at `u` and `time`, and its variance without noise."""
        frame, when = self.window.frame, np.array(time)
        k, v, x = self._reading(
            u, float(frame.t(when)), float(frame.theta(when)), float(frame.age(when))
        )
        mean, variance = self.solution.mean(k, x), self.solution.variance(k, v, x)
        return float(mean[0]), float(variance[0])

    def innovation(
        self, u: Array, time: float, value: float, own: float
    ) -> tuple[float, float]:
        """How far a new reading is from what this fit expects; its standard deviation.

        `own` is the variance of the reading, relative to the assumed one. Asked of the
        fit that planned the point: leaving the point out of a later fit is the same in
        theory, but loses all digits where it alone decides.
        """
        expected, variance = self.predicted(u, time)
        seen = float(self.window.frame.y(np.array(value))) / math.sqrt(self.nu)
        return seen - expected, math.sqrt(variance + own)

    # -- the drift --------------------------------------------------------------------

    @cached_property
    def drift(self) -> Array:
        """Estimated drift at each reading, zero now."""
        wander = self._q2 * wiener_times(self.window.t, self.solution.lam)
        slope = self.solution.beta[-1]
        return np.asarray(slope * self.window.theta + wander - wander[-1])

    def drift_rate(self) -> tuple[float, float]:
        """Slope of the drift now, per unit of the user's time; its standard error.

        The slope of an integrated Wiener process is the Wiener process itself, with
        variance t.
        """
        frame, t, now = self.window.frame, self.window.t, float(self.window.t[-1])
        # d/dt m^2 (3M - m) / 6 at t = now, for readings before and after it.
        k = self._q2 * np.where(t <= now, 0.5 * t * t, now * t - 0.5 * now * now)
        slope = frame.theta(np.array([frame.now + frame.spacing]))
        rate, error = self._of_time(k[None], self._q2 * now, slope)
        return float(rate[0]) / frame.spacing, float(error[0]) / frame.spacing

    def drift_curve(self, time: Array) -> tuple[Array, Array]:
        """Drift between `time` and now, and its standard error."""
        window, q2 = self.window, self._q2
        t, now = window.frame.t(time), float(window.t[-1])
        k = q2 * (wiener_between(t, window.t) - wiener_between(now, window.t))
        v = q2 * (t**3 / 3.0 + now**3 / 3.0 - 2.0 * wiener_between(t, now)[:, 0])
        return self._of_time(k, v, window.frame.theta(time) - window.theta[-1])

    def _of_time(self, k: Array, v: Array | float, theta: Array) -> tuple[Array, Array]:
        """Functionals of slope and wandering: means and standard errors."""
        x = np.zeros((len(k), self.solution.beta.size))
        x[:, -1] = theta
        return self.solution.mean(k, x), np.sqrt(self.solution.variance(k, v, x))

    def _grown(self, age: Array | float) -> Array | float:
        """b age: how much the drift has come to differ by then, per region."""
        return math.exp(self.components.log_b) * age

    def _local(self, U: Array, age: Array) -> Array:
        """Covariance of the local drift with that at the readings."""
        length, window = math.exp(self.components.log_s), self.window
        near = self._grown(age) * damping(np.einsum("ij,ij->i", U, U), length)
        far = self._grown(window.age) * damping(window.squares, length)
        return damped_linear(U @ window.U.T, near, far, length)

    @cached_property
    def local_drift(self) -> Array:
        """Drift at each reading beyond what it would have been at the centre."""
        if not self.components.interacts:
            return np.zeros_like(self.solution.lam)
        return self._local(self.window.U, self.window.age) @ self.solution.lam

    @property
    def local_change(self) -> float:
        """How much the local drift has come to differ over a region by now."""
        if not self.components.interacts:
            return 0.0
        window = self.window
        near = damping(window.squares, math.exp(self.components.log_s))
        grown = self._grown(window.age) * self._grown(float(window.age[-1]))
        slope = window.U.T @ (grown * near * self.solution.lam)
        return math.sqrt(slope @ slope)

    # -- the readings -----------------------------------------------------------------

    @cached_property
    def steady(self) -> Array:
        """Readings without the drift."""
        readings = self.window.y / math.sqrt(self.nu)
        return np.asarray(readings - self.drift - self.local_drift)

    @cached_property
    def smooth(self) -> Array:
        """Estimated value at each reading's point, noise removed too."""
        return np.asarray(self.steady - self.window.variances * self.solution.lam)

    # -- other fits -------------------------------------------------------------------

    def extended(self, window: Window, spread: float) -> Fit | None:
        """The fit of this window plus one reading; None where that costs all digits."""
        k, v, x = self._reading(
            window.U[-1], window.t[-1], window.theta[-1], window.age[-1]
        )
        y, noise = float(window.y[-1]), float(window.variances[-1])
        longer = self.solution.extended(k[0], float(v[0]), x[0], y, noise, spread)
        return None if longer is None else Fit(window, self.components, longer)

    def resized(self, factor: float, components: Components) -> Fit:
        """This fit seen from a region `factor` times as large: nothing to factorise.

        `components` must be those of the same function there, see `rescaled`.
        """
        scale = np.ones(self.solution.beta.size)
        scale[1:-1] = factor
        solution = self.solution.rescaled(scale)
        return Fit(self.window.resized(factor), components, solution)


def fit(window: Window, components: Components, spread: float) -> Fit | None:
    """Fit the window; None if no jitter makes the covariance definite.

    `spread` is the prior standard deviation of log nu: how much the assumed noise
    level is trusted.
    """
    K = math.exp(2.0 * components.log_a) * window.curved(math.exp(components.log_l))
    # In place: K += q^2 W without a matrix for the product.
    blas.daxpy(window.wiener.ravel(), K.ravel(), a=math.exp(2.0 * components.log_q))
    if components.interacts:
        length = math.exp(components.log_s)
        e = damping(window.squares, length) * math.exp(components.log_b) * window.age
        K += damped_linear(window.gram, e, e, length)
    m, n = window.U.shape
    X = np.empty((m, n + 2), order="F")
    X[:, 0], X[:, 1:-1], X[:, -1] = 1.0, window.U, window.theta
    solution = gls.solve(K, window.variances, X, window.y, spread)
    return None if solution is None else Fit(window, components, solution)
