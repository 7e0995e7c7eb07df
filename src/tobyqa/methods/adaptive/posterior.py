"""What a window of readings says, once the variance components are chosen.

    y_i = c + g.u_i + slope theta_i + curved(u_i) + wander(t_i) + noise_i
          + age_i local(u_i), if the drift depends on the place

=========  =============================================================  ========
symbol     meaning                                                        shape
=========  =============================================================  ========
u, theta   position and time, see `window`; t, y likewise                 (m,)
K          (Cov of curved, wander, local) / nu + noise variances = LL'    (m, m)
X_w, y_w   whitened columns L^-1 [1, u, theta] and readings L^-1 y        (m, p)
V          V V' = pseudo-inverse of S = X_w' X_w                          (p, r)
nu         variance of the noise, relative to the assumed one             scalar
lam        K^-1 (y - X beta), in estimated noise units                    (m,)
=========  =============================================================  ========

All results are in units of the *estimated* noise, sqrt(nu) times the assumed one.
`local` is zero at the centre; gradient, curvature and falls are those at age zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from ...kernels import damped_linear, wiener_between, wiener_times
from .window import Window

Array = NDArray[np.float64]

_LARGEST_EXPONENT = 700.0  # of which exp is a number
_JITTER = 1e-10  # relative, on the diagonal of the signal's covariance
_MORE_JITTER = (1e-8, 1e-5, 1e-2)  # where the factorisation fails
_RANK_TOLERANCE = 1e-11
_SURELY_DETERMINED = 1e-3  # pivots of a Cholesky factor, its columns of equal length
_MISFIT = 3.0  # mean square of the residuals from which on a fit is not believed


@dataclass(frozen=True)
class Components:
    """How curved, how far so, how restless: logarithms, relative to the noise."""

    log_a: float  # curvature per region
    log_l: float  # length of quadratic behaviour, in regions
    log_q: float  # wandering of the drift per spacing
    log_b: float = -math.inf  # how the drift differs over a region, per spacing
    log_s: float = math.log(4.0)  # length over which that difference is straight

    @property
    def interacts(self) -> bool:
        """Whether the drift depends on the place."""
        return self.log_b > -math.inf


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
    _y_w: Array
    _V: Array

    @property
    def noise_std(self) -> float:
        """Estimated standard deviation of a reading, in the user's units."""
        return self.window.frame.noise * math.sqrt(self.nu)

    @property
    def g(self) -> Array:
        """Gradient at the centre, per region."""
        return self.beta[1:-1]

    @property
    def _a2(self) -> float:
        return math.exp(2.0 * self.components.log_a)

    @property
    def _q2(self) -> float:
        return math.exp(2.0 * self.components.log_q)

    @property
    def _b2(self) -> float:
        return math.exp(2.0 * self.components.log_b)

    @property
    def is_off(self) -> bool:
        """Whether the readings are much louder than the fit takes them to be."""
        return self.misfit > _MISFIT

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """Eigenvalues, ascending, and eigenvectors of the Hessian."""
        e, Q = np.linalg.eigh(self.hessian)
        return e, Q

    @cached_property
    def _damping(self) -> Array:
        """e_i: how much a reading still knows of the curvature at the centre."""
        return _damped(self.window.squares, math.exp(self.components.log_l))

    @cached_property
    def hessian(self) -> Array:
        """Curvature at the centre, per region squared."""
        U = self.window.U
        return np.asarray((U.T * (self._a2 * self.lam * self._damping)) @ U)

    @cached_property
    def drift(self) -> Array:
        """Estimated drift at each reading, zero now."""
        wander = self._q2 * wiener_times(self.window.t, self.lam)
        return np.asarray(self.beta[-1] * self.window.theta + wander - wander[-1])

    @cached_property
    def steady(self) -> Array:
        """Readings without the drift."""
        readings = self.window.y / math.sqrt(self.nu)
        return np.asarray(readings - self.drift - self.local_drift)

    @cached_property
    def local_drift(self) -> Array:
        """Drift at each reading beyond what it would have been at the centre."""
        if not self.components.interacts:
            return np.zeros_like(self.lam)
        return self._local(self.window.U, self.window.age) @ self.lam

    @property
    def local_change(self) -> float:
        """How much the local drift has come to differ over a region by now."""
        if not self.components.interacts:
            return 0.0
        length = math.exp(self.components.log_s)
        near = np.exp(-self.window.squares / (2.0 * length**2))
        slope = self.window.U.T @ (self.window.age * near * self.lam)
        return self._b2 * float(self.window.age[-1]) * math.sqrt(slope @ slope)

    def _local(self, U: Array, age: Array) -> Array:
        """Covariance of the local drift with that at the readings."""
        length = math.exp(self.components.log_s)
        near = _damped(np.einsum("ij,ij->i", U, U), length)
        far = _damped(self.window.squares, length)
        K = np.expm1((U @ self.window.U.T) / length**2)
        K *= (self._b2 * length**2 * age * near)[:, None]
        K *= self.window.age * far
        return K

    def _local_variance(self, u: Array, age: float) -> float:
        length = math.exp(self.components.log_s)
        return self._b2 * length**2 * age**2 * -math.expm1(-(u @ u) / length**2)

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
    def drift_rate(self) -> tuple[float, float]:
        """Slope of the drift now, per unit of the user's time; its standard error.

        The slope of an integrated Wiener process is the Wiener process itself, with
        variance t.
        """
        frame, t, now = self.window.frame, self.window.t, float(self.window.t[-1])
        # d/dt m^2 (3M - m) / 6 at t = now, for readings before and after it.
        k = self._q2 * np.where(t <= now, 0.5 * t * t, now * t - 0.5 * now * now)
        w, _ = lapack.dtrtrs(self._L, k, lower=1)
        slope = float(frame.theta(np.array(frame.now + frame.spacing)))
        unsure = slope * self._V[-1] - self._V.T @ (self._X_w.T @ w)
        variance = self._q2 * now - float(w @ w) + float(unsure @ unsure)
        rate = slope * float(self.beta[-1]) + float(k @ self.lam)
        return rate / frame.spacing, math.sqrt(max(variance, 0.0)) / frame.spacing

    def drift_curve(self, time: Array) -> tuple[Array, Array]:
        """Drift between `time` and now, and its standard error.

        The posterior of a linear functional of slope and wandering: prior variance,
        less what the readings explain, plus what the unpenalised columns leave open.
        """
        window, q2 = self.window, self._q2
        t, now = window.frame.t(time), float(window.t[-1])
        theta = window.frame.theta(time) - window.theta[-1]
        k = q2 * (wiener_between(t, window.t) - wiener_between(now, window.t))
        own = q2 * (t**3 / 3.0 + now**3 / 3.0 - 2.0 * wiener_between(t, now)[:, 0])
        W, _ = lapack.dtrtrs(self._L, k.T, lower=1)
        unsure = -self._V.T @ (self._X_w.T @ W) + np.outer(self._V[-1], theta)
        variance = own - np.einsum("ij,ij->j", W, W)
        variance += np.einsum("ij,ij->j", unsure, unsure)
        return self.beta[-1] * theta + k @ self.lam, np.sqrt(np.maximum(variance, 0.0))

    def _curved(self, U: Array) -> tuple[Array, Array]:
        """Covariance of the curved part with the readings, and its variance, by row."""
        length = math.exp(self.components.log_l)
        r = np.einsum("ij,ij->i", U, U) / length**2
        near = np.exp(-0.5 * r)
        # Beyond the limit both readings are too far out for anything to be left.
        Z = np.minimum((U @ self.window.U.T) / length**2, _LARGEST_EXPONENT)
        scale = self._a2 * length**4
        k = (scale * near)[:, None] * self._damping * (np.expm1(Z) - Z)
        return k, scale * (-np.expm1(-r) - r * np.exp(-r))

    def _covariances(self, u: Array, t: float, age: float = 0.0) -> tuple[Array, float]:
        """Of the signal at `u` and `t` with that at the readings, and its variance.

        At age zero there is no local drift yet.
        """
        curved, variance = self._curved(u[None])
        k = curved[0] + self._q2 * wiener_between(t, self.window.t)[0]
        own = float(variance[0]) + self._q2 * t**3 / 3.0
        if self.components.interacts and age != 0.0:
            k += self._local(u[None], np.array([age]))[0]
            own += self._local_variance(u, age)
        return k, float(own)

    def predicted(self, u: Array, time: float) -> tuple[float, float]:
        """Expected reading at `u` and `time`, and its variance without noise."""
        frame = self.window.frame
        age = float(frame.age(np.array(time)))
        k, own = self._covariances(u, float(frame.t(np.array(time))), age)
        x = np.concatenate([[1.0], u, [float(frame.theta(np.array(time)))]])
        w, _ = lapack.dtrtrs(self._L, k, lower=1)
        unsure = self._V.T @ (x - self._X_w.T @ w)
        variance = own - float(w @ w) + float(unsure @ unsure)
        return float(x @ self.beta + k @ self.lam), max(float(variance), 0.0)

    def falls(self, U: Array) -> Array:
        """Expected fall from the centre to each row of U, at one and the same time."""
        return np.asarray(-(U @ self.g) - self._curved(U)[0] @ self.lam)

    def fall_variances(self, U: Array) -> Array:
        """Of the falls from the centre, where the curved part is zero, to rows of U."""
        k, own = self._curved(U)
        W, _ = lapack.dtrtrs(self._L, k.T, lower=1)
        unsure = self._V[1:-1].T @ U.T - self._V.T @ (self._X_w.T @ W)
        variance = own - np.einsum("ij,ij->j", W, W)
        variance += np.einsum("ij,ij->j", unsure, unsure)
        return np.asarray(np.maximum(variance, 0.0))

    def innovation(
        self, u: Array, time: float, value: float, own: float
    ) -> tuple[float, float]:
        """How far a new reading is from what this fit expects; its standard deviation.

        `own` is the variance of the reading, relative to the assumed one. Asked of the
        fit that planned the point: leaving the point out of a later fit
        is the same in theory, but loses all digits where it alone decides.
        """
        expected, variance = self.predicted(u, time)
        seen = float(self.window.frame.y(np.array(value))) / math.sqrt(self.nu)
        return seen - expected, math.sqrt(variance + own)

    def extended(self, window: Window, spread: float) -> Posterior | None:
        """The fit of this window plus one reading, by one more row of each factor.

        None where rounding leaves the new pivot without a digit.
        """
        m = self.window.y.size
        u, t = window.U[-1], float(window.t[-1])
        k, own = self._covariances(u, t, float(window.age[-1]))
        w, _ = lapack.dtrtrs(self._L, k, lower=1)
        pivot = own * (1.0 + _JITTER) + float(window.variances[-1]) - float(w @ w)
        if not pivot > 1e-3 * float(window.variances[-1]):
            return None
        root = math.sqrt(pivot)
        L = np.zeros((m + 1, m + 1), order="F")
        L[:m, :m], L[m, :m], L[m, m] = self._L, w, root
        x = np.concatenate([[1.0], u, window.theta[-1:]])
        X_w = np.empty((m + 1, x.size), order="F")
        X_w[:m], X_w[m] = self._X_w, (x - self._X_w.T @ w) / root
        y_w = np.append(self._y_w, (window.y[-1] - w @ self._y_w) / root)
        return _solved(window, self.components, spread, L, X_w, y_w)

    def resized(self, factor: float, components: Components) -> Posterior:
        """This fit seen from a region `factor` times as large: nothing to factorise.

        `components` must be those of the same function there, see `region.rescaled`.
        """
        scale = np.ones(self.beta.size)
        scale[1:-1] = factor
        return replace(
            self,
            window=self.window.resized(factor),
            components=components,
            criterion=self.criterion - 2.0 * float(np.log(scale).sum()),
            beta=self.beta * scale,
            _X_w=self._X_w / scale,
            _V=self._V * scale[:, None],
        )

    @cached_property
    def eigen_variances(self) -> Array:
        """Posterior variances of the Hessian's eigenvalues, by its eigenvectors."""
        return self.curvature_variances(self.eigen[1])

    def curvature_variances(self, Q: Array) -> Array:
        """Posterior variance of q'Hq for each column q of Q."""
        prior = self._a2 * self._damping[:, None] * (self.window.U @ Q) ** 2
        W, _ = lapack.dtrtrs(self._L, prior, lower=1)
        shared = self._V.T @ (self._X_w.T @ W)
        explained = np.einsum("ij,ij->j", W, W) - np.einsum("ij,ij->j", shared, shared)
        return np.asarray(np.maximum(2.0 * self._a2 - explained, 0.0))


def _damped(squares: Array, length: float) -> Array:
    """exp(-|u|^2 / 2 length^2)."""
    return np.asarray(np.exp(-squares / (2.0 * length**2)))


def posterior(
    window: Window, components: Components, spread: float
) -> Posterior | None:
    """Fit the window; None if no jitter makes the covariance definite.

    `spread` is the prior standard deviation of log nu: how much the assumed noise
    level is trusted.
    """
    K = math.exp(2.0 * components.log_a) * window.curved(math.exp(components.log_l))
    # In place: K += q^2 W without a matrix for the product.
    blas.daxpy(window.wiener.ravel(), K.ravel(), a=math.exp(2.0 * components.log_q))
    if components.interacts:
        G = damped_linear(window.gram, math.exp(components.log_s))
        grown = math.exp(components.log_b) * window.age
        K += G * grown * grown[:, None]
    L = _cholesky(K, window.variances)
    if L is None:
        return None
    m, n = window.U.shape
    X = np.empty((m, n + 2), order="F")
    X[:, 0], X[:, 1:-1], X[:, -1] = 1.0, window.U, window.theta
    X_w, _ = lapack.dtrtrs(L, X, lower=1, overwrite_b=1)
    y_w, _ = lapack.dtrtrs(L, window.y, lower=1)
    return _solved(window, components, spread, L, X_w, y_w)


def _solved(
    window: Window,
    components: Components,
    spread: float,
    L: Array,
    X_w: Array,
    y_w: Array,
) -> Posterior:
    """The fit, once its columns and readings are white."""
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
        _y_w=y_w,
        _V=V,
    )


def _cholesky(signal: Array, noise: Array) -> Array | None:
    """Factor of the signal's covariance plus the noise's variances, in its place.

    Above the diagonal it holds what the covariance was.
    """
    m = signal.shape[0]
    diagonal = signal.diagonal().copy()
    for jitter in (_JITTER, *_MORE_JITTER):
        signal.flat[:: m + 1] = diagonal * (1.0 + jitter) + noise
        L, info = lapack.dpotrf(signal.T, lower=1, clean=0, overwrite_a=1)
        if info == 0 and math.isfinite(L[-1, -1]):
            return np.asarray(L)
        upper = np.triu_indices(m, 1)
        signal[upper] = signal.T[upper]
    return None


def _pseudo_inverse(S: Array) -> tuple[Array, float]:
    """V with VV' a generalized inverse of S, and log det S.

    Both over the directions that are determined once the columns have equal length.
    """
    d = np.sqrt(np.maximum(S.diagonal(), 1e-300))
    scaled = S / np.outer(d, d)
    C, info = lapack.dpotrf(scaled, lower=0, clean=1)
    pivots = C.diagonal().copy()
    if info == 0 and pivots.min() > _SURELY_DETERMINED:
        inverse, _ = lapack.dtrtri(C, lower=0, overwrite_c=1)
        return inverse / d[:, None], 2.0 * float(np.log(pivots * d).sum())
    e, Q = np.linalg.eigh(scaled)
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
