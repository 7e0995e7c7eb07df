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

* the ridge is never below ``RIDGE_FLOOR m`` times the kernel's largest value, so that
  K is positive definite in floating point too;
* when the set does not determine all coefficients (rank of X below p), the
  minimum-norm solution in scaled units is taken: what the readings do not show is
  zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from ._check import LARGEST_NOISE
from .kernels import powell
from .samples import SampleSet

Array = NDArray[np.float64]

RIDGE_FLOOR = 8.0 * float(np.finfo(float).eps)
"""Smallest ridge relative to the kernel, per sample (rounding of the factorisation)."""

RANK_TOLERANCE = 1e-13
"""Reciprocal condition number of R below which the set counts as rank-deficient."""

_EXPONENT_LIMIT = 200  # keeps r^4 and 1/r^4 inside the floating-point range


@dataclass(frozen=True)
class Model:
    """A fitted surrogate; `c`, `g`, `drift` and covariances are in the user's units."""

    x: Array  # centre x_k, (n,)
    t: float  # centre time t_k
    coefficients: Array  # c, g, drift coefficients, (p,)
    recovery: Array  # Pi in user units, (p, m)
    reach: float  # distance of the farthest reading from the centre
    fallback: str  # empty, or what had to be done to keep the system solvable
    hessian_prior: Array | None
    _U: Array
    _radius: float
    _delta: Array | float
    _L: Array
    _residual: Array  # F - X beta

    @property
    def n(self) -> int:
        return len(self.x)

    @property
    def c(self) -> float:
        """Value at the centre and its time."""
        return float(self.coefficients[0])

    @property
    def g(self) -> Array:
        """Gradient at the centre."""
        return self.coefficients[1 : self.n + 1]

    @property
    def drift(self) -> Array:
        """Coefficients of theta, theta^2, ..."""
        return self.coefficients[self.n + 1 :]

    @property
    def gamma(self) -> float:
        """Drift rate at the centre's time; zero if the model has no time column."""
        return float(self.drift[0]) if self.drift.size else 0.0

    def drift_change(self, t_old: float, t_new: float) -> float:
        """Modelled change of the channel between two times."""
        drift = self.drift
        if drift.size == 1:
            return float(drift[0]) * (t_new - t_old)
        old, new = t_old - self.t, t_new - self.t
        return float(sum(a * (new**j - old**j) for j, a in enumerate(drift, start=1)))

    @cached_property
    def _scaled_multipliers(self) -> Array:
        lam, _ = lapack.dpotrs(self._L, self._residual, lower=1)
        return np.asarray(lam)

    @property
    def multipliers(self) -> Array:
        """lam = K^-1 (F - X beta); they vanish against every column of X."""
        return self._scaled_multipliers / self._radius**4

    @cached_property
    def hessian(self) -> Array:
        """G = G_prior + sum_i lam_i d_i d_i' (stat-G); G_prior without a kernel."""
        lam = self._scaled_multipliers
        G = (self._U.T * (lam / self._radius**2)) @ self._U
        G = 0.5 * (G + G.T)
        return G if self.hessian_prior is None else G + self.hessian_prior

    @property
    def trace(self) -> float:
        """tr(P_norm), P_norm = S^-1 (X'K^-2 X) S^-1 = Pi Pi' (pnorm-def)."""
        return float(np.vdot(self.recovery, self.recovery))

    def variances_of(self, weights: Array, variances: float | Array) -> Array:
        """Variances of W (c, g, drift), one per row of W, for readings of these
        variances; diag(R_obs W P_norm W') if all are R_obs.

        As a sum of squares, so that rounding cannot make it negative.
        """
        return np.asarray(
            np.sum((weights @ self.recovery * np.sqrt(variances)) ** 2, axis=-1)
        )

    def gradient_variance(self, variances: float | Array) -> float:
        """Trace of the gradient's covariance, tr(R_obs [P_norm]_gg)."""
        Pi_g = self.recovery[1 : self.n + 1]
        if isinstance(variances, float):
            return variances * float(np.vdot(Pi_g, Pi_g))
        scaled = Pi_g * np.sqrt(variances)
        return float(np.vdot(scaled, scaled))

    @property
    def noise_variance(self) -> float:
        """Noise variance implied by the residuals; zero without a spare reading.

        lam'K lam / (m - p) estimates tau^2, the scale of K (K = Cov/tau^2); the noise
        is its ridge part, tau^2 / rho, for a reading of average ridge.
        """
        spare = self._residual.size - self.coefficients.size
        if spare <= 0:
            return 0.0
        tau_squared = float(self._residual @ self._scaled_multipliers) / spare
        variance = max(tau_squared, 0.0) * float(np.mean(self._delta))
        return min(variance, LARGEST_NOISE**2)


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
    reach = math.sqrt(np.maximum.reduce(np.einsum("ij,ij->i", D, D)))
    e_space = _exponent(reach)
    e_time = _exponent(np.maximum.reduce(np.abs(theta)))
    radius = math.ldexp(1.0, e_space)
    U = D / radius

    F = samples.values
    if hessian_prior is not None:
        F = F - 0.5 * np.einsum("ij,jk,ik->i", D, hessian_prior, D)

    X = np.empty((m, n + 1 + degree), order="F")
    X[:, 0] = 1.0
    X[:, 1 : n + 1] = U
    scaled_time = theta / math.ldexp(1.0, e_time)
    for j in range(degree):
        X[:, n + 1 + j] = scaled_time if j == 0 else scaled_time ** (j + 1)

    if kernel is None:
        L, delta, fallback = _factor(np.zeros((m, m)), ridge, largest=0.0)
        kernel_radius = 1.0
    else:
        L, delta, fallback = _factor(kernel(U), ridge / radius**4, largest=0.5)
        kernel_radius = radius
    Pi, rank = _recovery(L, X)
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
    scale = np.empty(X.shape[1])  # np.full would cost three times as much
    scale[:] = 1.0 / radius
    scale[0] = 1.0
    for j in range(degree):
        scale[n + 1 + j] = math.ldexp(1.0, -e_time * (j + 1))
    return Model(
        x=x,
        t=t,
        coefficients=beta * scale,
        recovery=Pi * scale[:, None],
        reach=reach,
        fallback=fallback.removesuffix("; "),
        hessian_prior=hessian_prior,
        _U=U if kernel is not None else np.zeros_like(U),
        _radius=kernel_radius,
        _delta=delta,
        _L=L,
        _residual=residual,
    )


def _exponent(size: float) -> int:
    """e with 2^(e-1) <= size < 2^e, within limits; 0 for size 0."""
    if size == 0.0:
        return 0
    return max(-_EXPONENT_LIMIT, min(_EXPONENT_LIMIT, math.frexp(size)[1]))


def _factor(
    A: Array, ridge: float | Array, largest: float
) -> tuple[Array, float | Array, str]:
    """Cholesky factor of A + diag(ridge), with the smallest ridge that allows it.

    `largest` bounds the entries of A.
    """
    m = A.shape[0]
    floor = RIDGE_FLOOR * m * largest
    fallback = ""
    while True:
        delta: float | Array = ridge
        if (ridge if isinstance(ridge, float) else ridge.min()) < floor:
            delta = np.maximum(ridge, floor)
            fallback = f"ridge raised to {floor:.1e} of the kernel; "
        K = A.T.copy(order="F")  # symmetric, and in the order that LAPACK wants
        K.ravel(order="K")[:: m + 1] += delta
        L, info = lapack.dpotrf(K, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            return L, delta, fallback
        floor *= 100.0


def _recovery(L: Array, X: Array) -> tuple[Array, int]:
    """Pi = S^-1 X'K^-1 and the rank of X, through L^-1 X = QR."""
    m, p = X.shape
    X_white, _ = lapack.dtrtrs(L, X, lower=1)
    if m >= p:
        QR, tau, _, _ = lapack.dgeqrf(X_white)
        R = QR[:p].copy(order="F")
        diagonal = np.abs(R.diagonal())
        least, largest = np.minimum.reduce(diagonal), np.maximum.reduce(diagonal)
        if least > RANK_TOLERANCE * largest:
            Q, _, _ = lapack.dorgqr(QR, tau, overwrite_a=1)
            W = blas.dtrsm(1.0, R, Q, side=1, trans_a=1, overwrite_b=1)  # Q R^-T
            Pi_t, _ = lapack.dtrtrs(L, W, lower=1, trans=1, overwrite_b=1)
            return Pi_t.T, p
    # numpy's SVD may fail to converge only on non-finite input, which is ruled out.
    V, s, Wt = np.linalg.svd(X_white, full_matrices=False)
    rank = int(np.count_nonzero(s > RANK_TOLERANCE * s[0] * 10.0))
    W_pinv = (Wt[:rank].T / s[:rank]) @ V[:, :rank].T
    Pi_t, _ = lapack.dtrtrs(L, W_pinv.T, lower=1, trans=1)
    return Pi_t.T, rank
