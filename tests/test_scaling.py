"""Sums of squares at the ends of the floating-point range; units cost no digit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tobyqa
from tobyqa import Adaptive, Optimizer, Paper
from tobyqa.scaling import exponent, norm, quadratic, unit
from tobyqa.step import arc_step, cubic_step

entries = st.lists(st.floats(-4.0, 4.0), min_size=1, max_size=6).map(np.array)


@given(v=entries, k=st.integers(-900, 900))
def test_norm_is_that_of_any_other_unit(v, k):
    v = np.where(np.abs(v) < 1e-30, 0.0, v)
    assert norm(np.ldexp(v, k)) == math.ldexp(norm(v), k)
    assert norm(v) == pytest.approx(math.hypot(*v))


@given(size=st.floats(5e-324, 1.7e308))
def test_unit_is_a_power_of_two_nearby(size):
    assert math.frexp(unit(size))[0] == 0.5
    assert 0.5 <= size / unit(size) < 2.0
    assert 2.0 ** (exponent(size) - 1) <= size
    assert unit(0.0) == 1.0


def test_quadratic_form_beyond_the_range_is_infinite():
    H, s = np.array([[2.0, 1.0], [1.0, -3.0]]), np.array([1.0, 2.0])
    assert quadratic(H, s) == -6.0
    assert quadratic(1e200 * H, 1e100 * s) == -math.inf
    assert quadratic(1e200 * H, 1e-150 * s) == pytest.approx(-6e-100)


@settings(max_examples=50)
@given(
    seed=st.integers(0, 10**6), k=st.integers(-950, 950), curved=st.sampled_from([0, 1])
)
def test_steps_do_not_depend_on_the_unit_of_the_readings(seed, k, curved):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    g, H, sigma = rng.normal(size=n), rng.normal(size=(n, n)), float(rng.uniform(1, 9))
    H = curved * (H + H.T)
    s = arc_step(np.ldexp(g, k), np.ldexp(H, k), math.ldexp(sigma, k))
    np.testing.assert_array_equal(s, arc_step(g, H, sigma))
    s = cubic_step(np.ldexp(g, k), math.ldexp(sigma, k))
    np.testing.assert_array_equal(s, cubic_step(g, sigma))


@pytest.mark.parametrize("curvature", [-1e300, -1e-300, 0.0, 1e-300, 1e300])
@pytest.mark.parametrize("sigma", [0.0, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("slope", [0.0, 1e-300, 1e150])
def test_steps_are_numbers_whatever_the_curvature(curvature, sigma, slope):
    g, H = np.array([slope, -slope]), curvature * np.array([[1.0, 0.5], [0.5, 2.0]])
    s = arc_step(g, H, sigma)
    assert np.isfinite(s).all()
    assert g @ (s / max(norm(s), 1.0)) <= 0.0


# -- whole searches ------------------------------------------------------------------

METHODS = [
    Paper(),
    Paper(hessian="interpolated"),
    Paper(curvature_prior="carried"),
    Paper(curvature_kernel=False, time_degree=2),
    Adaptive(),
]


def points(method, k, *, n, seed, noise, stated):
    """Points asked for when the readings are in units of 2^-k."""
    rng = np.random.default_rng(seed)
    weights, target = rng.uniform(1.0, 5.0, n), rng.normal(size=n)
    in_unit = None if noise is None else math.ldexp(noise, k)
    opt = Optimizer(np.zeros(n), method=method, noise=in_unit, maxfev=30, rng=seed)
    while not opt.done:
        trial = opt.ask()
        value = float(weights @ (trial.x - target) ** 2) + 0.1 * rng.normal()
        sigma = math.ldexp(0.1, k) if stated and trial.id % 3 == 0 else None
        opt.tell(trial, math.ldexp(value, k), sigma=sigma)
    return opt.result()


@settings(max_examples=40)
@given(
    method=st.sampled_from(METHODS),
    k=st.integers(-660, 300) | st.just(-660),
    n=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    noise=st.sampled_from([None, 0.0, 0.1]),
    stated=st.booleans(),
)
def test_the_unit_of_the_readings_does_not_matter(method, k, n, seed, noise, stated):
    """f -> 2^k f: the same points bit by bit, every reported error in the new unit."""
    if isinstance(method, Adaptive):
        k = max(k, -600)  # a noise of zero is a millionth of the variation, or less
    base = points(method, 0, n=n, seed=seed, noise=noise, stated=stated)
    other = points(method, k, n=n, seed=seed, noise=noise, stated=stated)
    np.testing.assert_array_equal(other.history.x, base.history.x)
    np.testing.assert_array_equal(other.x, base.x)
    np.testing.assert_array_equal(other.x_std, base.x_std)
    assert other.status == base.status
    for name in ("fun", "fun_std", "noise_std", "drift_rate", "drift_rate_std"):
        assert other[name] == math.ldexp(base[name], k), name


@pytest.mark.parametrize("method", ["paper", "adaptive"])
def test_a_function_of_size_1e_minus_200_is_minimised(method):
    """Both used to stay at x0, by floors that were above it."""
    res = tobyqa.minimize(
        lambda x: 1e-200 * float((x - [1.0, 2.0]) @ (x - [1.0, 2.0])),
        [0.0, 0.0],
        method=method,
        noise=0.0,
        maxfev=200,
    )
    assert np.abs(res.x - [1.0, 2.0]).max() < 0.01


extremes = st.floats(-1e100, 1e100) | st.sampled_from([0.0, 5e-324, 1e-308, 1e100])


@settings(max_examples=60)
@given(
    method=st.sampled_from([*METHODS, Paper(time_degree=4), Paper(sigma_min=0.0)]),
    x0=st.lists(
        st.floats(-1e50, 1e50) | st.sampled_from([1e50, 1e-300]), min_size=1, max_size=2
    ),
    radius=st.sampled_from([1e-50, 1e-3, 2.0, 1e50]),
    noise=st.none() | st.sampled_from([0.0, 5e-324, 1.0, 1e100]),
    rows=st.lists(
        st.tuples(extremes, extremes, st.none() | extremes.map(abs)),
        min_size=8,
        max_size=20,
    ),
)
def test_extreme_readings_times_and_errors(
    method, x0, radius, noise, rows, tmp_path_factory
):
    """Warnings are errors here; what was saved can be loaded and asks the same."""
    opt = Optimizer(x0, method=method, initial_radius=radius, noise=noise)
    for value, t, sigma in rows:
        if opt.done:
            opt.tell(opt.result().x, value, t=t, sigma=sigma)
        else:
            opt.tell(opt.ask(), value, t=t, sigma=sigma)
    assert np.abs(opt.result().history.x).max() <= 1e50
    assert np.isfinite(opt.result().fun)
    path = tmp_path_factory.mktemp("extreme") / "run.jsonl"
    opt.save(path)
    again = Optimizer.load(path)
    assert again.status is opt.status
    if not opt.done:
        np.testing.assert_array_equal(again.ask().x, opt.ask().x)
