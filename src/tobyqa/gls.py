"""Generalized least squares with a random signal: solved once, asked many times.

    y = X beta + signal + noise,   Cov(signal + noise) = nu K,   K = LL'

=========  =============================================================  ========
symbol     meaning                                                        shape
=========  =============================================================  ========
X          columns whose coefficients beta are not penalised              (m, p)
X_w, y_w   whitened columns L^-1 X and readings L^-1 y                    (m, p)
V          V V' = pseudo-inverse of S = X_w' X_w                          (p, r)
nu         variance of the noise, relative to the assumed one             scalar
lam        K^-1 (y - X beta)                                              (m,)
k, v, x    a linear functional of signal and beta: its covariance with    (m,)
           the readings, its prior variance, its unpenalised row          (p,)
=========  =============================================================  ========

beta and lam are in units of the *estimated* noise, sqrt(nu) times the assumed one.
`model.py`, the paper's fit, does without this: its ridge goes down to 1e-14, where the
product X_w' X_w would cost it every digit, and it needs the recovery operator itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]

_JITTER = 1e-10  # relative, on the diagonal of the signal's covariance
_MORE_JITTER = (1e-8, 1e-5, 1e-2)  # where the factorisation fails
_RANK_TOLERANCE = 1e-11
_NO_LENGTH = 1e-300  # square of a column that is none
_SURELY_DETERMINED = 1e-3  # pivots of a Cholesky factor, its columns of equal length
_LARGEST_SQUARE = 1e300  # of a misfit: readings of 1e100 where there was nothing
_LEAST_SAID = 1e-9  # of a reading's own precision, that others leave it
_A_DIGIT = 1e-3  # least pivot of a new row, in units of its noise


@dataclass(frozen=True)
class Solution:
    """A solved system; see the module's table for the letters."""

    beta: Array
    lam: Array
    nu: float
    misfit: float  # mean square of the whitened residuals; 1 if all is well
    criterion: float  # -2 log restricted likelihood, up to a constant
    L: Array
    X_w: Array
    y_w: Array
    V: Array
    least: float = -math.inf  # log nu at the least

    def mean(self, k: Array, x: Array) -> Array:
        """Posterior mean x.beta + k.lam of functionals, one per row."""
        return np.asarray(x @ self.beta + k @ self.lam)

    def variance(self, k: Array, v: Array | float, x: Array) -> Array:
        """Posterior variance of functionals, one per row.

        (4) in docs/method.md: v - |w|^2 + |V'(x - X_w'w)|^2, w = L^-1 k: the
        prior variance, less what the readings explain, plus what the unpenalised
        columns leave open.
        """
        W, _ = lapack.dtrtrs(self.L, k.T, lower=1)
        unsure = self.V.T @ (x.T - self.X_w.T @ W)
        variance = v - np.einsum("ij,ij->j", W, W)
        variance += np.einsum("ij,ij->j", unsure, unsure)
        return np.asarray(np.maximum(variance, 0.0))

    def covariance(self, k: Array, v: Array, x: Array) -> Array:
        """Posterior covariance of functionals with each other, one per row; (4)."""
        W, _ = lapack.dtrtrs(self.L, k.T, lower=1)
        unsure = self.V.T @ (x.T - self.X_w.T @ W)
        return np.asarray(v - W.T @ W + unsure.T @ unsure)

    def left_out(self) -> tuple[Array, Array]:
        """By how much each reading is off what all others expect; variance of that.

        P y / diag P and 1 / diag P with P = K^-1 - K^-1 X (X'K^-1 X)^-1 X'K^-1, in
        units of the assumed noise; no factor is made anew.
        """
        inverse, _ = lapack.dtrtri(np.tril(self.L), lower=1)
        unpenalised = inverse.T @ (self.X_w @ self.V)
        P = np.einsum("ij,ij->j", inverse, inverse)
        P -= np.einsum("ij,ij->i", unpenalised, unpenalised)
        P = np.maximum(P, _LEAST_SAID * inverse.diagonal() ** 2)
        return self.lam * math.sqrt(self.nu) / P, 1.0 / P

    def information_of_noise(self, noise: Array) -> float:
        """Of log nu, if the size of the signal is no better known beforehand.

        Restricted likelihood, K = S + N, S the signal and N the noise: information
        tr(P A P B) / 2 of the logarithms of the sizes of A and B, with P as above.
        P K P = P spares all products but one; what is said of S at the same time is
        taken off.
        """
        inverse, _ = lapack.dtrtri(np.tril(self.L), lower=1)
        Q = self.X_w @ self.V
        P = inverse.T @ (inverse - Q @ (Q.T @ inverse))
        m, p = self.X_w.shape
        linear = float(P.diagonal() @ noise)
        square = float(noise @ (P**2 @ noise))
        mixed = linear - square
        signal = m - p - linear - mixed
        shared = mixed**2 / signal if signal > 0.0 else 0.0
        return 0.5 * max(square - shared, 0.0)

    def noise_without(self, square: float, spread: float) -> float:
        """log nu without a reading that adds this much to the sum of squares."""
        spare = max(1, self.X_w.shape[0] - self.X_w.shape[1])
        left = max(self.misfit * self.nu * spare - square, 0.0)
        return _noise(left, max(1, spare - 1), spread, self.least)[0]

    def extended(
        self, k: Array, v: float, x: Array, y: float, noise: float, spread: float
    ) -> Solution | None:
        """The solution with one more reading `y`, of variance `noise`, at (k, v, x).

        One more row of each factor; None where rounding leaves the new pivot no digit.
        """
        m = self.lam.size
        w, _ = lapack.dtrtrs(self.L, k, lower=1)
        pivot = v * (1.0 + _JITTER) + noise - float(w @ w)
        if not pivot > _A_DIGIT * noise:
            return None
        root = math.sqrt(pivot)
        L = np.zeros((m + 1, m + 1), order="F")
        L[:m, :m], L[m, :m], L[m, m] = self.L, w, root
        X_w = np.empty((m + 1, x.size), order="F")
        X_w[:m], X_w[m] = self.X_w, (x - self.X_w.T @ w) / root
        y_w = np.append(self.y_w, (y - w @ self.y_w) / root)
        return _solved(L, X_w, y_w, spread, self.least)


def solve(
    signal: Array,
    noise: Array,
    X: Array,
    y: Array,
    spread: float,
    least: float = -math.inf,
) -> Solution | None:
    """The solution; None if no jitter makes the covariance definite.

    `signal` is the covariance of the signal, relative to the assumed noise, (m, m); it
    is overwritten. `noise` holds the variances of the readings, (m,); `spread` is the
    prior standard deviation of log nu: how much the assumed noise is trusted, and
    `least` is the least that log nu can be.
    """
    L = cholesky(signal, noise)
    if L is None:
        return None
    X_w, _ = lapack.dtrtrs(L, X, lower=1, overwrite_b=1)
    y_w, _ = lapack.dtrtrs(L, y, lower=1)
    return _solved(L, X_w, y_w, spread, least)


def _solved(L: Array, X_w: Array, y_w: Array, spread: float, least: float) -> Solution:
    """The solution, once columns and readings are white."""
    m, p = X_w.shape
    spare = max(1, m - p)  # readings beyond the number of unpenalised coefficients
    V, log_det = _pseudo_inverse(X_w.T @ X_w)
    beta = V @ (V.T @ (X_w.T @ y_w))
    residual = y_w - X_w @ beta
    square = min(float(np.vdot(residual, residual)), _LARGEST_SQUARE)
    log_nu, cost = _noise(square, spare, spread, least)
    lam, _ = lapack.dtrtrs(L, residual, lower=1, trans=1)
    scale = math.exp(-0.5 * log_nu)
    return Solution(
        beta=beta * scale,
        lam=lam * scale,
        nu=math.exp(log_nu),
        misfit=square * scale**2 / spare,
        criterion=2.0 * float(np.log(L.diagonal()).sum()) + log_det + cost,
        L=L,
        X_w=X_w,
        y_w=y_w,
        V=V,
        least=least,
    )


def cholesky(signal: Array, noise: Array) -> Array | None:
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

    Both over the directions that are determined once the columns have equal length; a
    column of zeros is in none of them.
    """
    d = np.sqrt(np.maximum(S.diagonal(), _NO_LENGTH))
    scaled = S / np.multiply.outer(d, d)
    C, info = lapack.dpotrf(scaled, lower=0, clean=1)
    pivots = C.diagonal().copy()
    if info == 0 and pivots.min() > _SURELY_DETERMINED:
        inverse, _ = lapack.dtrtri(C, lower=0, overwrite_c=1)
        return inverse / d[:, None], 2.0 * float(np.log(pivots * d).sum())
    e, Q = np.linalg.eigh(scaled)
    kept = e > _RANK_TOLERANCE * e[-1]
    # Not by d alone: what rounding leaves of a column without length is no direction.
    back = np.where(S.diagonal() > _NO_LENGTH, 1.0 / d, 0.0)
    V = (Q[:, kept] / np.sqrt(e[kept])) * back[:, None]
    return V, float(np.log(e[kept]).sum() + 2.0 * np.log(d).sum())


def _noise(
    square: float, spare: int, spread: float, least: float
) -> tuple[float, float]:
    """x = log nu minimising  spare x + square exp(-x) + (x / spread)^2, and its value.

    The first two terms are the likelihood profiled over the noise, the last one trusts
    the assumed level; x is `least` at the least.
    """
    x, square_of_spread = 0.0, spread**2
    for _ in range(30):
        weight = square * math.exp(-x)
        slope = spare - weight + 2.0 * x / square_of_spread
        step = slope / (weight + 2.0 / square_of_spread)
        x -= max(-1.0, min(1.0, step))
        if abs(step) < 1e-9:
            break
    x = max(x, least)
    return x, spare * x + square * math.exp(-x) + (x / spread) ** 2
