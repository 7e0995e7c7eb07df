"""The gradient of a fit: along which way it is known least."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tobyqa.spacetime.face import _slope


@given(
    n=st.integers(2, 8),
    alike=st.integers(1, 8),
    seed=st.integers(0, 10**6),
)
def test_the_least_known_way_does_not_hang_on_rounding(n, alike, seed):
    """Of ways known equally badly it is the steepest, whatever the last digit."""
    rng = np.random.default_rng(seed)
    alike = min(alike, n)
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    P = (Q * np.where(np.arange(n) < alike, 4.0, 1.0)) @ Q.T
    g = rng.standard_normal(n)
    noise = 1e-15 * rng.standard_normal((n, n))
    seen = [_slope(g, S, np.ones(n), g) for S in (P, P + noise + noise.T)]
    plane = Q[:, :alike]
    steepest = plane @ (plane.T @ g)
    if np.linalg.norm(steepest) < 1e-3:
        return
    for slope in seen:
        along = steepest / np.linalg.norm(steepest)
        way = slope.least_known * np.sign(slope.least_known @ along)
        np.testing.assert_allclose(way, along, atol=1e-9)
        assert np.isclose(slope.variance, 4.0)
