"""Quadratics within ball and polyhedron, and nearest points: against other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, linprog, minimize

from tobyqa.bounded_step import bounded_step
from tobyqa.polyhedron import NoPointError, project
from tobyqa.step import ball_step

SHAPES = ("oblique", "box", "vertex", "repeated", "slab", "parallel", "badly scaled")
cases = given(
    n=st.integers(1, 8), seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES)
)


def polyhedron(rng, n, shape):
    """Rows A s <= b that the origin satisfies, some of them without slack."""
    m = int(rng.integers(1, 4 * n + 2))
    A = rng.normal(size=(m, n))
    b = 0.5 * np.abs(rng.normal(size=m)) * (rng.random(m) < 0.7)
    if shape == "box":
        A = np.vstack([np.eye(n), -np.eye(n)])
        b = 0.5 * rng.random(2 * n) * (rng.random(2 * n) < 0.7)
    elif shape == "vertex":  # many rows through few points
        A = np.where(np.abs(A) > 0.5, np.sign(A), 0.0)
        A[~A.any(axis=1)] = 1.0
        b = np.round(b)
    elif shape == "repeated":
        A, b = np.vstack([A, 2.0 * A, A]), np.concatenate([b, 2.0 * b, b * (1 + 1e-12)])
    elif shape == "slab":
        A, b = np.vstack([A, -A[:1]]), np.append(b, 0.0)
        b[0] = 10.0 ** rng.integers(-15, -3)
    elif shape == "parallel":
        A, b = A[:1] + 1e-7 * A, 0.1 + 1e-3 * b
    elif shape == "badly scaled":
        A = A * 10.0 ** rng.uniform(-8, 8, size=(m, 1))
    return A, b


def model(rng, n, sign):
    """Gradient and Hessian: convex (1), indefinite (0), concave (-1), or flat."""
    M = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-2, 1)
    H = sign * (M @ M.T) if sign else M + M.T
    if rng.random() < 0.2:
        H[0], H[:, 0] = 0.0, 0.0
    return rng.normal(size=n) * 10.0 ** rng.uniform(-3, 2), H


def value(s, g, H):
    return float(s @ (g + 0.5 * H @ s))


def assert_first_order(step, g, H, A, b, tolerance):
    """Feasible, not uphill, g + H s + A'lam + mu s = 0, multipliers not negative."""
    s, scale = step.s, np.linalg.norm(g) + np.linalg.norm(H, 2)
    length = np.linalg.norm(A, axis=1)
    assert np.linalg.norm(s) <= 1.0 + 1e-14
    assert ((A @ s - b) / length).max() <= 1e-14
    assert value(s, g, H) <= 0.0
    assert step.mu >= 0.0
    assert (step.multipliers >= 0.0).all()
    assert ((b - A @ s) / length)[step.active].max(initial=0.0) <= 1e-10
    assert step.mu * (1.0 - np.linalg.norm(s)) <= 1e-9 * scale
    left = g + H @ s + step.mu * s + A[step.active].T @ step.multipliers
    assert np.linalg.norm(left) <= tolerance * scale


@cases
def test_bounded_step_solves_convex_cases(n, seed, shape):
    """Convex: the first-order conditions prove that it is the global minimum."""
    rng = np.random.default_rng(seed)
    A, b = polyhedron(rng, n, shape)
    g, H = model(rng, n, 1)
    step = bounded_step(g, *np.linalg.eigh(H), A, b)
    assert_first_order(step, g, H, A, b, 1e-8)


@given(n=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_bounded_step_is_no_higher_than_what_slsqp_finds(n, seed):
    rng = np.random.default_rng(seed)
    A, b = polyhedron(rng, n, "oblique")
    g, H = model(rng, n, 1)
    s = bounded_step(g, *np.linalg.eigh(H), A, b).s
    rows = [
        {"type": "ineq", "fun": lambda s: b - A @ s, "jac": lambda s: -A},
        {"type": "ineq", "fun": lambda s: 1.0 - s @ s, "jac": lambda s: -2.0 * s},
    ]
    other = minimize(
        value,
        np.zeros(n),
        args=(g, H),
        jac=lambda s, g, H: g + H @ s,
        constraints=rows,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 200},
    )
    scale = np.linalg.norm(g) + np.linalg.norm(H, 2)
    excess = max((A @ other.x - b).max(), other.x @ other.x - 1.0, 0.0)
    assert value(s, g, H) <= other.fun + (1e-9 + 10.0 * n * excess) * scale
    if other.success:
        assert value(s, g, H) == pytest.approx(other.fun, abs=1e-5 * scale)


@cases
def test_bounded_step_holds_first_order_where_the_model_is_not_convex(n, seed, shape):
    rng = np.random.default_rng(seed)
    A, b = polyhedron(rng, n, shape)
    g, H = model(rng, n, int(rng.integers(-1, 1)))
    step = bounded_step(g, *np.linalg.eigh(H), A, b)
    assert_first_order(step, g, H, A, b, 1e-6)
    # The Cauchy point: the lowest one along steepest descent, as far as it is feasible.
    ahead = -(A @ g)
    reach = min(
        1.0 / np.linalg.norm(g),
        (b[ahead > 0] / ahead[ahead > 0]).min(initial=np.inf),
    )
    ways = np.linspace(0.0, reach, 201)[:, None] * -g
    lowest = min(value(way, g, H) for way in ways)
    assert value(step.s, g, H) <= lowest * (1.0 - 1e-9) + 1e-15 * np.linalg.norm(g)


@cases
def test_bounded_step_is_the_ball_step_where_no_row_is_in_the_way(n, seed, shape):
    rng = np.random.default_rng(seed)
    A, b = polyhedron(rng, n, shape)
    g, H = model(rng, n, 0)
    e, Q = np.linalg.eigh(H)
    s = ball_step(g, e, Q)
    step = bounded_step(g, e, Q, A, np.maximum(A @ s, 0.0))
    np.testing.assert_array_equal(step.s, s)
    unbounded = bounded_step(g, e, Q, A, np.full(b.size, np.inf))
    np.testing.assert_array_equal(unbounded.s, s)
    none = bounded_step(g, e, Q, np.empty((0, n)), np.empty(0))
    np.testing.assert_array_equal(none.s, s)
    assert none.active.size == none.multipliers.size == 0


def test_bounded_step_in_a_box_within_the_ball_is_at_the_corner():
    g, H = np.array([-3.0, 2.0]), np.zeros((2, 2))
    A, b = np.vstack([np.eye(2), -np.eye(2)]), np.array([0.5, 0.5, 0.5, 0.25])
    step = bounded_step(g, *np.linalg.eigh(H), A, b)
    np.testing.assert_array_equal(step.s, [0.5, -0.25])
    assert step.active.tolist() == [0, 3]
    np.testing.assert_allclose(step.multipliers, [3.0, 2.0])
    assert step.mu == 0.0


def test_bounded_step_stays_where_every_way_down_is_closed():
    """At a vertex, and between two rows that leave a point only."""
    g, H = np.array([1.0, 1.0]), np.diag([1.0, -1.0])
    vertex = bounded_step(g, *np.linalg.eigh(H), -np.eye(2), np.zeros(2))
    assert vertex.s[0] == 0.0  # free to go along the concave way, which leads down
    assert vertex.s[1] in (0.0, 1.0)
    pinned = bounded_step(
        np.array([2.0]),
        np.array([1.0]),
        np.eye(1),
        np.array([[1.0], [-1.0]]),
        np.zeros(2),
    )
    assert pinned.s == [0.0]
    assert pinned.multipliers.sum() == pytest.approx(2.0)


def test_bounded_step_takes_a_row_violated_by_rounding_for_one_without_slack():
    e, Q = np.linalg.eigh(np.eye(2))
    step = bounded_step(np.array([-1.0, -1.0]), e, Q, np.eye(2)[:1], np.array([-1e-13]))
    assert step.s[0] == 0.0
    assert step.s[1] == pytest.approx(1.0)


@pytest.mark.parametrize("sign", [1, 0])
def test_bounded_step_with_many_variables_and_rows(sign):
    rng = np.random.default_rng(5)
    n = 60
    A = np.vstack([np.eye(n), -np.eye(n), rng.normal(size=(40, n))])
    b = np.concatenate([0.3 * rng.random(2 * n), np.abs(rng.normal(size=40))])
    g, H = model(rng, n, sign)
    step = bounded_step(g, *np.linalg.eigh(H), A, b)
    assert_first_order(step, g, H, A, b, 1e-6)
    assert step.active.size > 5


@cases
def test_project_gives_the_nearest_point(n, seed, shape):
    """x - y = A'lam, lam >= 0 and zero where slack: sufficient, as it is convex."""
    rng = np.random.default_rng(seed)
    A, b = polyhedron(rng, n, shape)
    x = rng.normal(size=n) * 10.0 ** rng.uniform(-2, 2)
    y, lam = project(x, A, b)
    length, scale = np.linalg.norm(A, axis=1), np.linalg.norm(x)
    assert ((A @ y - b) / length).max() <= 1e-13 * (scale + 1.0)
    assert (lam >= 0.0).all()
    np.testing.assert_allclose(x - A.T @ lam, y, atol=1e-7 * scale)
    slack = (b - A @ y) / length
    assert slack[lam * length > 1e-9 * scale].max(initial=0.0) <= 1e-9 * (scale + 1.0)


def test_project_leaves_a_point_inside_alone():
    x = np.array([0.1, 0.2])
    y, lam = project(x, np.array([[1.0, 1.0]]), np.array([0.1 + 0.2]))
    np.testing.assert_array_equal(y, x)
    assert y is not x
    assert not lam.any()


@given(n=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_project_says_when_there_is_no_point(n, seed):
    """It agrees with a linear programme on whether there is one."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(3 * n + 1, n)), rng.normal(size=3 * n + 1)
    feasible = linprog(np.zeros(n), A, b, bounds=(None, None)).status == 0
    if feasible:
        y = project(rng.normal(size=n), A, b).x
        assert LinearConstraint(A, -np.inf, b).residual(y)[1].min() >= -1e-9
    else:
        with pytest.raises(NoPointError):
            project(rng.normal(size=n), A, b)


def test_project_says_that_a_row_of_zeros_cannot_be_met():
    with pytest.raises(NoPointError, match="zeros"):
        project(np.ones(2), np.zeros((1, 2)), np.array([-1.0]))
