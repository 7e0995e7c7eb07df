"""The space-time model: one generalized-least-squares system (paper, section 2.1).

The quadratic-plus-drift surrogate around the centre (x_k, t_k)

    Q(x, t) = c + g.d + d'Gd/2 + gamma theta,   d = x - x_k,  theta = t - t_k

minimises  ||G - G_prior||_F^2 / 4 + (rho/2) sum_i (Q(x_i, t_i) - F_i)^2, whose
solution is the GLS estimate of (c, g, gamma) under the residual covariance K.

=========  ==========================================================  ===========
symbol     meaning                                                     shape
=========  ==========================================================  ===========
U          displacements d_i / r, r a power of two near max |d_i|      (m, n)
X          constraint block [1, U, theta/T, (theta/T)^2, ...]          (m, p)
K          A(U) + diag(delta): curvature kernel plus ridge             (m, m)
delta      1 / (rho r^4), the ridge in the units of U                  (m,)
L          Cholesky factor, K = LL'                                    (m, m)
S          Schur complement X'K^-1 X = R'R, with L^-1 X = QR           (p, p)
Pi         recovery operator S^-1 X'K^-1; Pi X = I                     (p, m)
lam        multipliers K^-1 (F - X beta); X'lam = 0                    (m,)
=========  ==========================================================  ===========

Points and times are centred and scaled inside, by powers of two, so that scaling
costs no rounding. R comes from a QR factorisation of L^-1 X, never from X'K^-1 X
itself: that product squares the condition number (1e14 already when rho = 1e14).

Two fallbacks, both named in ``Model.fallback``:

* the ridge is never below ``RIDGE_FLOOR m`` (recovery.py) times the kernel's largest
  value, so that K is positive definite in floating point too;
* when the set does not determine all coefficients (rank of X below p), the
  minimum-norm solution in scaled units is taken: what the readings do not show is
  zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ._check import LARGEST_NOISE, LARGEST_READING
from .frozen import cached_property
from .kernels import powell
from .recovery import factor, recovery
from .samples import SampleSet
from .scaling import exponent, longest, norm, unit

Array = NDArray[np.float64]

# Powers of two that keep r^4 and squares of T^-degree inside the floating-point range;
# times that lie closer together than this count as one.
_SPACE_LIMIT = 200
_TIME_LIMIT = 400


@dataclass(frozen=True)
class Model:
    """A fitted surrogate; `c`, `g`, `drift` and `recovery` are in the user's units."""

    x: Array  # centre x_k, (n,)
    t: float  # centre time t_k
    beta: Array  # c, then g and drift per unit of U and of theta/T, (p,)
    reach: float  # distance of the farthest reading from the centre
    fallback: str  # empty, or what had to be done to keep the system solvable
    hessian_prior: Array | None
    radius: float  # r
    period: float  # T
    _Pi: Array
    _U: Array | None  # None without a kernel
    _delta: Array | float
    _L: Array
    _residual: Array  # F - X beta

    @cached_property
    def n(self) -> int:
        return len(self.x)

    @property
    def c(self) -> float:
        """Value at the centre and its time."""
        return float(self.beta[0])

    @cached_property
    def g(self) -> Array:
        """Gradient at the centre."""
        return np.asarray(self.beta[1 : self.n + 1] / self.radius)

    @property
    def drift(self) -> Array:
        """Coefficients of theta, theta^2, ..."""
        return self.coefficients[self.n + 1 :]

    @property
    def gamma(self) -> float:
        """Drift rate at the centre's time; zero if the model has no time column."""
        drift = self.beta[self.n + 1 :]
        return float(drift[0]) / self.period if drift.size else 0.0

    def drift_change(self, t_old: float, t_new: float) -> float:
        """Modelled change of the channel between two times."""
        return self._drift_at(t_new) - self._drift_at(t_old)

    def _drift_at(self, t: float) -> float:
        """By Horner's rule in Python's floats: far out it is infinite, not an error."""
        theta, value = (t - self.t) / self.period, 0.0
        for a in reversed(self.beta[self.n + 1 :].tolist()):
            value = (value + a) * theta
        return value

    @cached_property
    def _scale(self) -> Array:
        """From `beta` to the user's units, (p,)."""
        scale = np.empty(self.beta.size)  # np.full would cost three times as much
        scale[0], scale[1 : self.n + 1] = 1.0, 1.0 / self.radius
        for j in range(self.n + 1, scale.size):
            scale[j] = (scale[j - 1] if j > self.n + 1 else 1.0) / self.period
        return scale

    @property
    def coefficients(self) -> Array:
        """c, g and drift, (p,)."""
        return self.beta * self._scale

    @property
    def recovery(self) -> Array:
        """Pi, from readings to `coefficients`, (p, m)."""
        return self._Pi * self._scale[:, None]

    @cached_property
    def _multipliers(self) -> Array:
        lam, _ = lapack.dpotrs(self._L, self._residual, lower=1)
        return np.asarray(lam)

    @property
    def multipliers(self) -> Array:
        """lam = K^-1 (F - X beta); they vanish against every column of X."""
        return self._multipliers / (1.0 if self._U is None else self.radius**4)

    @cached_property
    def hessian(self) -> Array:
        """G = G_prior + sum_i lam_i d_i d_i' (stat-G); G_prior without a kernel."""
        G = np.zeros((self.n, self.n))
        if self._U is not None:
            G = (self._U.T * (self._multipliers / self.radius**2)) @ self._U
        G = 0.5 * (G + G.T)
        return G if self.hessian_prior is None else G + self.hessian_prior

    @property
    def trace(self) -> float:
        """tr(P_norm), P_norm = S^-1 (X'K^-2 X) S^-1 = Pi Pi' (pnorm-def)."""
        recovery = self.recovery
        return float(np.vdot(recovery, recovery))

    def rows_at(self, times: Array) -> Array:
        """Of the drift at these times, as weights of `beta`, (K, p)."""
        rows = np.zeros((times.size, self.beta.size))
        theta = (times - self.t) / self.period
        for j in range(self.n + 1, rows.shape[1]):
            rows[:, j] = theta ** (j - self.n)
        return rows

    def rows(self, points: Array, times: Array) -> Array:
        """Of c + g.d + drift at points and times, as weights of `beta`, (K, p)."""
        rows = self.rows_at(times)
        rows[:, 0], rows[:, 1 : self.n + 1] = 1.0, (points - self.x) / self.radius
        return rows

    def weights(self, rows: Array, X: Array) -> Array:
        """How the readings, at rows X, enter into Q at `rows`, (K, m)."""
        if self._U is None:
            return np.asarray(rows @ self._Pi)
        k = 0.5 * (rows[:, 1 : self.n + 1] @ self._U.T) ** 2
        lam, _ = lapack.dpotrs(self._L, k.T, lower=1)
        return np.asarray(lam.T + (rows - lam.T @ X) @ self._Pi)

    def stds_of(self, rows: Array, stds: float | Array) -> Array:
        """Standard errors of W beta, one per row of W, for readings with these;
        the roots of diag(R_obs W P_norm W') if all are sqrt(R_obs).

        As sums of squares, so that rounding cannot make them negative.
        """
        size = unit(stds)
        errors = rows @ self._Pi * (stds / size)
        return np.asarray(size * np.sqrt(np.sum(errors**2, axis=-1)))

    def correlations_of(self, rows: Array, stds: float | Array) -> Array:
        """How the errors of W beta go together; zero for a row without any."""
        errors = rows @ self._Pi * (stds / unit(stds))
        size = np.sqrt(np.sum(errors**2, axis=-1, keepdims=True))
        errors = errors / np.where(size > 0.0, size, 1.0)
        return np.asarray(errors @ errors.T)

    def gradient_std(self, stds: float | Array) -> float:
        """Root of the trace of the gradient's covariance, tr(R_obs [P_norm]_gg)."""
        return norm(self._Pi[1 : self.n + 1] * stds) / self.radius

    @property
    def noise_std(self) -> float:
        """Noise implied by the residuals; zero without a spare reading.

        lam'K lam / (m - p) estimates tau^2, the scale of K (K = Cov/tau^2); the noise's
        variance is its ridge part, tau^2 / rho, for a reading of average ridge.
        """
        spare = self._residual.size - self.beta.size
        if spare <= 0:
            return 0.0
        size = unit(self._residual)
        r, lam = self._residual / size, self._multipliers / size
        variance = max(float(r @ lam) / spare, 0.0) * float(np.mean(self._delta))
        return min(size * math.sqrt(variance), LARGEST_NOISE)


def fit(
    samples: SampleSet,
    x: Array,
    t: float,
    *,
    ridge: float | Array,
    degree: int = 1,
    kernel: Callable[[Array], Array] | None = powell,
    hessian_prior: Array | None = None,
) -> Model:
    """Fit the space-time model around the centre `x` at time `t`.

    Parameters
    ----------
    samples
        The readings; any number >= 1.
    x, t
        Centre x_k, shape (n,), and its time t_k.
    ridge
        1/rho, or one value per reading (noise variance over tau^2), shape (m,).
    degree
        Number of time columns: 0 none, 1 as in the paper, 2 adds theta^2, ...
    kernel
        Curvature kernel, at most 1/2 for |u| <= 1 as Powell's is; None leaves
        K = diag(ridge), i.e. weighted least squares.
    hessian_prior
        G_prior, the curvature from which the model departs as little as possible.
    """
    D = samples.points - x
    theta = samples.times - t
    m, n = D.shape
    reach = longest(D)
    radius = math.ldexp(1.0, max(-_SPACE_LIMIT, min(_SPACE_LIMIT, exponent(reach))))
    period = math.ldexp(1.0, max(-_TIME_LIMIT // max(degree, 1), exponent(theta)))
    U = D / radius

    F = samples.values
    if hessian_prior is not None and unit(hessian_prior) * radius**2 > LARGEST_READING:
        hessian_prior = None  # it would outweigh every reading
    if hessian_prior is not None:
        F = F - 0.5 * np.einsum("ij,jk,ik->i", D, hessian_prior, D)

    X = np.empty((m, n + 1 + degree), order="F")
    X[:, 0] = 1.0
    X[:, 1 : n + 1] = U
    scaled_time = theta / period
    for j in range(degree):
        X[:, n + 1 + j] = scaled_time if j == 0 else scaled_time ** (j + 1)

    if kernel is None:
        L, delta, fallback = factor(np.zeros((m, m)), ridge, largest=0.0)
    else:
        L, delta, fallback = factor(kernel(U), ridge / radius**4, largest=0.5)
    Pi, rank = recovery(L, X)
    if rank < X.shape[1]:
        fallback += f"rank {rank} of {X.shape[1]}; "

    # Readings are taken relative to one of them, and the solution is refined once:
    # without it the rounding of Pi would be multiplied by the size of the drift.
    reference = np.minimum.reduce(F)
    y = F - reference
    beta = Pi @ y
    beta += Pi @ (y - X @ beta)
    residual = y - X @ beta

    beta[0] += reference
    return Model(
        x=x,
        t=t,
        beta=beta,
        reach=reach,
        fallback=fallback.removesuffix("; "),
        hessian_prior=hessian_prior,
        radius=radius,
        period=period,
        _Pi=Pi,
        _U=None if kernel is None else U,
        _delta=delta,
        _L=L,
        _residual=residual,
    )
