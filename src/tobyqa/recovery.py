"""The factors of the space-time model's system, and what solves it; see model.py.

=========  ==========================================================  ===========
symbol     meaning                                                     shape
=========  ==========================================================  ===========
A, K       kernel, and A + diag(delta) = LL'                           (m, m)
X          constraint block                                            (m, p)
Pi         recovery operator (X'K^-1 X)^-1 X'K^-1; Pi X = I            (p, m)
=========  ==========================================================  ===========
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

Array = NDArray[np.float64]

RIDGE_FLOOR = 8.0 * float(np.finfo(float).eps)
"""Smallest ridge relative to the kernel, per sample (rounding of the factorisation)."""

RANK_TOLERANCE = 1e-13
"""Reciprocal condition number of R below which the set counts as rank-deficient."""


def factor(
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


def recovery(L: Array, X: Array) -> tuple[Array, int]:
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
