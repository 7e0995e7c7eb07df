"""What a window of readings says, once the variance components are chosen.

    y_i = c + g.u_i + slope theta_i + curved(u_i) + wander(t_i) + noise_i

=========  =============================================================  ========
symbol     meaning                                                        shape
=========  =============================================================  ========
u          position in the region, B^-1 (x - centre); |u| <= 1 inside     (n,)
theta      time since now, in spans of the window: -1 ... 0               (m,)
t          time since the window's first reading, in mean spacings        (m,)
y          readings above the centre's, in units of the assumed noise     (m,)
K          (Cov curved + Cov wander) / nu + noise variances = LL'         (m, m)
X_w, y_w   whitened columns L^-1 [1, u, theta] and readings L^-1 y        (m, p)
V          V V' = pseudo-inverse of S = X_w' X_w                          (p, r)
nu         variance of the noise, relative to the assumed one             scalar
lam        K^-1 (y - X beta), in estimated noise units                    (m,)
=========  =============================================================  ========

All results are in units of the *estimated* noise, sqrt(nu) times the assumed one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ...kernels import damped_powell, integrated_wiener, wiener_between

Array = NDArray[np.float64]

_JITTER = 1e-10  # relative, on the diagonal of the signal's covariance
_MORE_JITTER = (1e-8, 1e-5, 1e-2)  # where the factorisation fails
_RANK_TOLERANCE = 1e-11


@dataclass(frozen=True)
class Window:
    """The readings under consideration, the newest one last."""

    rows: NDArray[np.int64]  # in the search's history
    U: Array  # (m, n)
    times: Array
    values: Array
    variances: Array  # of the readings, relative to the assumed noise
    centre: int  # row of the centre within the window
    noise: float  # assumed standard deviation of a reading
    spacing: float  # unit of time

    @cached_property
    def theta(self) -> Array:
        return self.theta_at(self.times)

    @cached_property
    def t(self) -> Array:
        return self.t_at(self.times)

    @cached_property
    def y(self) -> Array:
        return self.y_of(self.values)

    @property
    def level(self) -> float:
        """The centre's value: where it counts, nothing must be clipped."""
        return float(self.values[self.centre])

    def theta_at(self, time: Array) -> Array:
        span = float(np.ptp(self.times))
        return np.asarray((time - self.times[-1]) / (span if span > 0.0 else 1.0))

    def t_at(self, time: Array) -> Array:
        return np.asarray((time - self.times.min()) / self.spacing)

    def y_of(self, value: Array) -> Array:
        return np.clip((value - self.level) / self.noise, -1e9, 1e9)

    @property
    def spare(self) -> int:
        """Readings beyond the number of unpenalised coefficients, at least one."""
        m, n = self.U.shape
        return max(1, int(m - n - 2))


@dataclass(frozen=True)
class Components:
    """How curved, how far so, how restless: logarithms, relative to the noise."""

    log_a: float  # curvature per region
    log_l: float  # length of quadratic behaviour, in regions
    log_q: float  # wandering of the drift per spacing


@dataclass(frozen=True)
class Posterior:
    """The fit of a window; see the module's table for the letters."""

    window: Window
    components: Components
    nu: float
    misfit: float  # mean square of the whitened residuals; 1 if all is well
    criterion: float  # -2 log restricted likelihood, up to a constant
    beta: Array
    lam: Array
    _L: Array
    _X_w: Array
    _V: Array
    _wiener: Array

    @property
    def g(self) -> Array:
        """Gradient at the centre, per region."""
        return self.beta[1:-1]

    @property
    def _a2(self) -> float:
        return math.exp(2.0 * self.components.log_a)

    @cached_property
    def _damping(self) -> Array:
        """e_i: how much a reading still knows of the curvature at the centre."""
        U, length = self.window.U, math.exp(self.components.log_l)
        return np.asarray(np.exp(-np.einsum("ij,ij->i", U, U) / (2.0 * length**2)))

    @cached_property
    def hessian(self) -> Array:
        """Curvature at the centre, per region squared."""
        U = self.window.U
        return np.asarray((U.T * (self._a2 * self.lam * self._damping)) @ U)

    @cached_property
    def drift(self) -> Array:
        """Estimated drift at each reading, zero now."""
        q2 = math.exp(2.0 * self.components.log_q)
        wander = q2 * (self._wiener @ self.lam)
        return np.asarray(self.beta[-1] * self.window.theta + wander - wander[-1])

    @cached_property
    def steady(self) -> Array:
        """Readings without the drift."""
        return np.asarray(self.window.y / math.sqrt(self.nu) - self.drift)

    @cached_property
    def smooth(self) -> Array:
        """Estimated value at each reading's point, noise removed too."""
        return np.asarray(self.steady - self.window.variances * self.lam)

    @cached_property
    def coefficient_covariance(self) -> Array:
        """Of c, g and the slope, (p, p)."""
        return np.asarray(self._V @ self._V.T)

    @property
    def gradient_covariance(self) -> Array:
        return self.coefficient_covariance[1:-1, 1:-1]

    @property
    def wander_rate(self) -> float:
        """Slope of the drift's wandering part now, per unit of the user's time."""
        q2 = math.exp(2.0 * self.components.log_q)
        t, now = self.window.t, self.window.t[-1]
        # d/dt m^2 (3M - m) / 6 at t = now, for readings before and after it.
        slope = np.where(t <= now, 0.5 * t * t, now * t - 0.5 * now * now)
        return q2 * float(slope @ self.lam) / self.window.spacing

    def drift_curve(self, time: Array) -> tuple[Array, Array]:
        """Drift between `time` and now, and its standard error.

        The posterior of a linear functional of slope and wandering: prior variance,
        less what the readings explain, plus what the unpenalised columns leave open.
        """
        window, q2 = self.window, math.exp(2.0 * self.components.log_q)
        t, now = np.maximum(window.t_at(time), 0.0), float(window.t[-1])
        theta = window.theta_at(time)
        k = q2 * (wiener_between(t, window.t) - wiener_between(now, window.t))
        own = q2 * (t**3 / 3.0 + now**3 / 3.0 - 2.0 * wiener_between(t, now)[:, 0])
        W, _ = lapack.dtrtrs(self._L, k.T, lower=1)
        unsure = -self._V.T @ (self._X_w.T @ W) + np.outer(self._V[-1], theta)
        variance = own - np.einsum("ij,ij->j", W, W)
        variance += np.einsum("ij,ij->j", unsure, unsure)
        return self.beta[-1] * theta + k @ self.lam, np.sqrt(np.maximum(variance, 0.0))

    def predicted(self, u: Array, time: float) -> tuple[float, float]:
        """Expected reading at `u` and `time`, and its variance without noise."""
        window, t = self.window, float(self.window.t_at(np.array(time)))
        length = math.exp(self.components.log_l)
        near = math.exp(-(u @ u) / (2.0 * length**2))
        z = (window.U @ u) / length**2
        curved = self._a2 * length**4 * near * self._damping * (np.expm1(z) - z)
        q2 = math.exp(2.0 * self.components.log_q)
        # Before the window began the drift is taken to be straight.
        t = max(t, 0.0)
        k = curved + q2 * wiener_between(t, window.t)[0]
        x = np.concatenate([[1.0], u, [float(window.theta_at(np.array(time)))]])
        own = self._a2 * length**4 * (1.0 - (1.0 + u @ u / length**2) * near**2)
        w, _ = lapack.dtrtrs(self._L, k, lower=1)
        unsure = self._V.T @ (x - self._X_w.T @ w)
        variance = own + q2 * t**3 / 3.0 - float(w @ w) + float(unsure @ unsure)
        return float(x @ self.beta + k @ self.lam), max(float(variance), 0.0)

    def innovation(self, u: Array, time: float, value: float) -> tuple[float, float]:
        """How far a new reading is from what this fit expects; its standard deviation.

        Asked of the fit that planned the point: leaving the point out of a later fit
        is the same in theory, but loses all digits where it alone decides.
        """
        expected, variance = self.predicted(u, time)
        seen = float(self.window.y_of(np.array(value))) / math.sqrt(self.nu)
        return seen - expected, math.sqrt(variance + 1.0)

    def curvature_variances(self, Q: Array) -> Array:
        """Posterior variance of q'Hq for each column q of Q."""
        prior = self._a2 * self._damping[:, None] * (self.window.U @ Q) ** 2
        W, _ = lapack.dtrtrs(self._L, prior, lower=1)
        shared = self._V.T @ (self._X_w.T @ W)
        explained = np.einsum("ij,ij->j", W, W) - np.einsum("ij,ij->j", shared, shared)
        return np.asarray(np.maximum(2.0 * self._a2 - explained, 0.0))


def posterior(
    window: Window, components: Components, spread: float
) -> Posterior | None:
    """Fit the window; None if no jitter makes the covariance definite.

    `spread` is the prior standard deviation of log nu: how much the assumed noise
    level is trusted.
    """
    U, m = window.U, window.y.size
    wiener = integrated_wiener(window.t)
    a2, q2 = math.exp(2.0 * components.log_a), math.exp(2.0 * components.log_q)
    K = damped_powell(U, math.exp(components.log_l))
    K *= a2
    K += q2 * wiener
    L = _cholesky(K, window.variances)
    if L is None:
        return None
    X = np.empty((m, U.shape[1] + 2), order="F")
    X[:, 0], X[:, 1:-1], X[:, -1] = 1.0, U, window.theta
    X_w, _ = lapack.dtrtrs(L, X, lower=1)
    y_w, _ = lapack.dtrtrs(L, window.y, lower=1)
    V, log_det = _pseudo_inverse(X_w.T @ X_w)
    beta = V @ (V.T @ (X_w.T @ y_w))
    residual = y_w - X_w @ beta
    square = float(residual @ residual)
    log_nu, cost = _noise(square, window.spare, spread)
    lam, _ = lapack.dtrtrs(L, residual, lower=1, trans=1)
    scale = math.exp(-0.5 * log_nu)
    return Posterior(
        window=window,
        components=components,
        nu=math.exp(log_nu),
        misfit=square * scale**2 / window.spare,
        criterion=2.0 * float(np.log(L.diagonal()).sum()) + log_det + cost,
        beta=beta * scale,
        lam=lam * scale,
        _L=L,
        _X_w=X_w,
        _V=V,
        _wiener=wiener,
    )


def _cholesky(signal: Array, noise: Array) -> Array | None:
    """Factor of the signal's covariance plus the noise's variances."""
    m = signal.shape[0]
    diagonal = signal.diagonal().copy()
    for jitter in (_JITTER, *_MORE_JITTER):
        K = signal.copy()
        K.flat[:: m + 1] = diagonal * (1.0 + jitter) + noise
        L, info = lapack.dpotrf(K.T, lower=1, overwrite_a=1)
        if info == 0 and math.isfinite(L[-1, -1]):
            return np.asarray(L)
    return None


def _pseudo_inverse(S: Array) -> tuple[Array, float]:
    """V with VV' = S^+ and log det S, both over the directions that are determined."""
    d = np.sqrt(np.maximum(S.diagonal(), 1e-300))
    e, Q = np.linalg.eigh(S / np.outer(d, d))
    kept = e > _RANK_TOLERANCE * e[-1]
    V = (Q[:, kept] / np.sqrt(e[kept])) / d[:, None]
    return V, float(np.log(e[kept]).sum() + 2.0 * np.log(d).sum())


def _noise(square: float, spare: int, spread: float) -> tuple[float, float]:
    """x = log nu minimising  spare x + square exp(-x) + (x / spread)^2, and its value.

    The first two terms are the likelihood profiled over the noise, the last one trusts
    the assumed level.
    """
    x = 0.0
    for _ in range(30):
        weight = square * math.exp(-x)
        slope = spare - weight + 2.0 * x / spread**2
        step = slope / (weight + 2.0 / spread**2)
        x -= max(-1.0, min(1.0, step))
        if abs(step) < 1e-9:
            break
    return x, spare * x + square * math.exp(-x) + (x / spread) ** 2
