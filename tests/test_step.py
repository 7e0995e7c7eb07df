"""The subproblems: first-order conditions and global minimality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tobyqa.step import arc_step, ball_step, cubic_step


def cubic_model(s, g, H, sigma):
    size = np.linalg.norm(s, axis=-1)
    quadratic = 0.5 * np.einsum("...i,ij,...j->...", s, H, s)
    return s @ g + quadratic + sigma / 3 * size**3


def random_problem(n, seed):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-3, 3)
    return rng.normal(size=n) * 10.0 ** rng.uniform(-6, 3), H + H.T


@given(n=st.integers(1, 10), seed=st.integers(0, 10**6), k=st.floats(-6, 6))
def test_arc_step_satisfies_the_optimality_conditions(n, seed, k):
    (g, H), sigma = random_problem(n, seed), 10.0**k
    s = arc_step(g, H, sigma)
    shift = sigma * np.linalg.norm(s)
    scale = np.linalg.norm(g) + np.abs(H).max() * np.linalg.norm(s)
    residual = H @ s + shift * s + g
    assert np.linalg.norm(residual) <= 1e-9 * scale
    assert np.linalg.eigvalsh(H).min() + shift >= -1e-9 * (np.abs(H).max() + shift)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), k=st.floats(-1, 1), hard=st.booleans())
def test_arc_step_is_the_global_minimum_in_the_plane(seed, k, hard):
    """Against brute force over a polar grid, hard case included."""
    rng = np.random.default_rng(seed)
    sigma = 10.0**k
    e = np.sort(rng.normal(size=2))
    angle = rng.uniform(0, np.pi)
    Q = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    H = Q @ np.diag(e) @ Q.T
    g = Q @ [0.0 if hard else rng.normal(), 0.1 * rng.normal()]
    s = arc_step(g, 0.5 * (H + H.T), sigma)
    reach = 1.1 * max(np.linalg.norm(s), abs(e).max() / sigma + 1e-3)
    phi = np.linspace(0, 2 * np.pi, 721)
    r = np.linspace(0, reach, 400)[:, None, None]
    grid = r * np.stack([np.cos(phi), np.sin(phi)], axis=-1)
    best = cubic_model(grid, g, H, sigma).min()
    assert cubic_model(s, g, H, sigma) <= best + 1e-12 * (1 + abs(best))


def test_arc_step_hard_case_uses_the_lowest_eigenvector():
    g, H, sigma = np.array([0.0, 1.0]), np.diag([-2.0, 1.0]), 1.0
    s = arc_step(g, H, sigma)
    assert np.linalg.norm(s) == pytest.approx(2.0)  # |s| = -e_1 / sigma
    assert s[1] == pytest.approx(-1 / 3)


@pytest.mark.parametrize("angle", [1e-15, 1e-12, 1e-8, 1e-4])
def test_arc_step_near_the_hard_case_is_continuous(angle):
    H, sigma = np.diag([-2.0, 1.0]), 1.0
    hard = arc_step(np.array([0.0, 1.0]), H, sigma)
    near = arc_step(np.array([angle, 1.0]), H, sigma)
    np.testing.assert_allclose(np.abs(near), np.abs(hard), atol=3 * angle + 1e-12)


@given(n=st.integers(1, 8), seed=st.integers(0, 10**6), k=st.floats(-10, 10))
def test_cubic_step_is_arc_step_without_curvature(n, seed, k):
    g, sigma = np.random.default_rng(seed).normal(size=n), 10.0**k
    s = cubic_step(g, sigma)
    np.testing.assert_allclose(s, arc_step(g, np.zeros((n, n)), sigma), rtol=1e-9)
    assert np.linalg.norm(s) == pytest.approx(np.sqrt(np.linalg.norm(g) / sigma))


def test_zero_gradient():
    assert not cubic_step(np.zeros(3), 1.0).any()
    assert not arc_step(np.zeros(3), np.eye(3), 1.0).any()
    escape = arc_step(np.zeros(2), np.diag([1.0, -3.0]), 1.0)
    np.testing.assert_allclose(np.abs(escape), [0.0, 3.0], atol=1e-12)


@given(
    n=st.integers(2, 10),
    seed=st.integers(0, 10**6),
    radius=st.floats(0.01, 100.0),
    lowest=st.sampled_from([1.0, 1e-4, 1e-9, 1e-14, 0.0]),
)
def test_ball_step_satisfies_the_optimality_conditions(n, seed, radius, lowest):
    """(H + mu) s = -g with mu >= 0, zero inside, and H + mu semidefinite.

    The part of g along the lowest eigenvector is made small, down to the hard case.
    """
    g, H = random_problem(n, seed)
    e, Q = np.linalg.eigh(H)
    g = g - (1.0 - lowest) * (Q[:, 0] @ g) * Q[:, 0]
    s = ball_step(g, e, Q, radius)
    size = np.linalg.norm(s)
    assert size <= radius * (1 + 1e-12)
    scale = np.linalg.norm(g) + np.abs(e).max() * size
    mu = -(s @ (H @ s + g)) / size**2
    assert np.linalg.norm(H @ s + mu * s + g) <= 1e-9 * scale
    assert e[0] + mu >= -1e-9 * (np.abs(e).max() + abs(mu))
    assert mu >= -1e-9 * scale / size
    assert abs(mu) * (radius - size) <= 1e-9 * (scale + np.abs(e).max() * radius)
