"""The fit of a window: against dense algebra, and what it cannot depend on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_kernels import of_all_pairs
from tobyqa.kernels import damped_linear, damped_powell, integrated_wiener
from tobyqa.samples import SampleSet
from tobyqa.spacetime.components import Components
from tobyqa.spacetime.fit import fit
from windows import Readings, window_of

CURVED = Components(2.0, 1.5, -1.0)
LOCAL = Components(2.0, 1.5, -1.0, -2.0)
either_drift = pytest.mark.parametrize(
    "components", [CURVED, LOCAL], ids=["of time alone", "of place too"]
)
seeds = st.integers(0, 2**32 - 1)
powers = st.integers(-30, 30)
slopes = st.floats(-1e3, 1e3)


class Dense:
    """The posterior of what would be read without noise, by matrices written out."""

    def __init__(self, fitted):
        self.fitted, window = fitted, fitted.window
        self.U, self.times = window.U, window.times

    def prior(self, U, times):
        """Covariance and unpenalised rows at places and times."""
        window, c = self.fitted.window, self.fitted.components
        length = math.exp(c.log_l)
        K = math.exp(2 * c.log_a) * of_all_pairs(damped_powell, U, length)
        K += math.exp(2 * c.log_q) * integrated_wiener(window.frame.clock.t(times))
        age = math.exp(c.log_b) * window.frame.age(times)
        K += np.outer(age, age) * of_all_pairs(damped_linear, U, length)
        return K, np.column_stack([np.ones(len(U)), U, window.frame.clock.theta(times)])

    def of(self, weights, U, times):
        """Mean and variance of weighted sums, one per row of weights."""
        m, weights = len(self.U), np.atleast_2d(weights)
        K, X = self.prior(np.vstack([self.U, U]), np.append(self.times, times))
        inverse = np.linalg.inv(K[:m, :m] + np.diag(self.fitted.window.variances))
        spread = np.linalg.inv(X[:m].T @ inverse @ X[:m])
        beta = spread @ X[:m].T @ inverse @ self.fitted.window.y
        left = self.fitted.window.y - X[:m] @ beta
        k, x = weights @ K[m:, :m], weights @ X[m:]
        mean = x @ beta + k @ inverse @ left
        unsure = x - k @ inverse @ X[:m]
        V = weights @ K[m:, m:] @ weights.T - k @ inverse @ k.T
        V += unsure @ spread @ unsure.T
        return mean / math.sqrt(self.fitted.nu), V


def fitted_to(readings, components, spread=1.0, **changed):
    units = {k: changed.pop(k) for k in ("B", "noise", "spacing") if k in changed}
    return fit(window_of(readings.samples(**changed), **units), components, spread)


def same(one, other, rtol=1e-6):
    np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


@either_drift
@given(seed=seeds, stated=st.booleans())
def test_falls_and_readings_have_the_posterior_of_the_textbook(
    components, seed, stated
):
    fitted = fitted_to(Readings(seed, stated=stated), components)
    dense, rng = Dense(fitted), np.random.default_rng(seed)
    U, times = rng.normal(size=(4, 2)), rng.uniform(-5.0, 40.0, size=4)
    mean, V = dense.of(np.eye(4), U, times)
    for i in range(4):
        expected = fitted.predicted(fitted.reading(U[i], times[i]))
        same(expected, (mean[i], V[i, i]))
    # Falls are those at the time of the first reading of all: a local drift is zero.
    weights = np.column_stack([np.ones(4), -np.eye(4)])
    start = np.full(5, fitted.window.frame.start)
    mean, V = dense.of(weights, np.vstack([np.zeros(2), U]), start)
    same(fitted.falls(U), mean)
    same(fitted.fall_variances(U), V.diagonal())
    assert fitted.fall_variances(np.zeros((1, 2)))[0] == 0.0


@either_drift
@given(seed=seeds)
def test_gradient_and_curvature_have_the_posterior_of_small_differences(
    components, seed
):
    fitted, h = fitted_to(Readings(seed), components), 1e-3
    dense, start = Dense(fitted), fitted.window.frame.start
    ends = h * np.vstack([np.eye(2), -np.eye(2)])
    slope = np.column_stack([np.eye(2), -np.eye(2)]) / (2 * h)
    mean, V = dense.of(slope, ends, np.full(4, start))
    same(fitted.g, mean, 1e-4)
    same(fitted.gradient_covariance, V, 1e-4)
    e, Q = fitted.eigen
    same((Q * e) @ Q.T, fitted.hessian)
    for value, variance, v in zip(e, fitted.curvature_variances(Q), Q.T, strict=True):
        ends = np.array([h * v, -h * v, 0.0 * v])
        mean, V = dense.of([1.0, 1.0, -2.0], ends, np.full(3, start))
        same(value, mean[0] / h**2, 1e-3)
        same(variance, V[0, 0] / h**4, 1e-3)


@either_drift
@given(seed=seeds)
def test_the_drift_has_the_posterior_of_readings_at_the_centre(components, seed):
    fitted, h = fitted_to(Readings(seed), components), 1e-4
    dense, now = Dense(fitted), fitted.window.frame.clock.now
    times = np.append(np.random.default_rng(seed).uniform(0.0, 24.0, 3), now)
    weights = np.eye(4) - np.eye(4)[-1]
    mean, V = dense.of(weights, np.zeros((4, 2)), times)
    std = np.sqrt(np.maximum(V.diagonal(), 0.0))
    newest = fitted.window.times[-1:]
    same(fitted.drift_since(times, newest), (mean, std))
    ends = np.array([now + h, now - h])
    mean, V = dense.of([0.5 / h, -0.5 / h], np.zeros((2, 2)), ends)
    same(fitted.drift_rate(), (mean[0], math.sqrt(V[0, 0])), 1e-3)
    assert fitted.drift[-1] == 0.0
    same(fitted.drift_since(fitted.window.times, newest)[0], fitted.drift)


@either_drift
@given(seed=seeds, stated=st.booleans())
def test_a_reading_is_value_drift_and_noise(components, seed, stated):
    fitted = fitted_to(Readings(seed, stated=stated), components)
    window = fitted.window
    fall = fitted.falls(window.U)
    same(fitted.smooth, fitted.smooth[window.centre] - fall)
    expected = [
        fitted.predicted(fitted.reading(u, t))[0]
        for u, t in zip(window.U, window.times, strict=True)
    ]
    same(fitted.smooth + fitted.drift + fitted.local_drift, expected)
    noise = fitted.steady - fitted.smooth
    same(noise, window.variances * fitted.solution.lam)
    assert fitted.local_drift[0] == 0.0
    assert fitted.local_drift.any() == components.interacts


@given(seed=seeds, n=st.integers(1, 4), level=slopes, rate=slopes)
def test_a_quadratic_under_affine_drift_is_found_exactly(seed, n, level, rate):
    """Where lengths are long and curvatures free, all but the noise is determined."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1.0, 1.0, size=((n + 1) * (n + 2), n))
    points[0], times = 0.0, np.arange(float(len(points)))
    g, A = rng.normal(size=n), rng.normal(size=(n, n))
    H = A + A.T

    def height(points):
        return points @ g + 0.5 * np.einsum("ij,jk,ik->i", points, H, points)

    samples = SampleSet.of(points, times, height(points) + level + rate * times)
    window = window_of(samples, noise=1e-4)
    fitted = fit(window, Components(12.0, math.log(1e3), -8.0), 1.0)
    scale, U = fitted.noise_std, rng.uniform(-2.0, 2.0, size=(5, n))
    same(scale * fitted.g, g, 1e-3)
    same(scale * fitted.hessian, H, 1e-2)
    same(-scale * fitted.falls(U), height(U), 1e-2)
    assert scale * fitted.drift_rate()[0] == pytest.approx(rate, abs=1e-4)
    assert scale < 1e-4


def of_space(fitted):
    """What it says of the function, in the user's units."""
    scale, U = fitted.noise_std, np.array([[0.3, -0.2], [1.0, 1.0], [-2.0, 0.5]])
    U = fitted.window.frame.u(U + fitted.window.frame.x)
    back = fitted.window.frame.back
    return {
        "noise": scale,
        "gradient": scale * back.T @ fitted.g,
        "error": scale**2 * back.T @ fitted.gradient_covariance @ back,
        "curvature": scale * back.T @ fitted.hessian @ back,
        "falls": scale * fitted.falls(U),
        "variances": scale**2 * fitted.fall_variances(U),
    }


def assert_same_space(one, other, rtol=1e-6):
    expected = of_space(one)
    for name, value in of_space(other).items():
        np.testing.assert_allclose(value, expected[name], rtol, atol=rtol, err_msg=name)


@either_drift
@given(seed=seeds, level=st.floats(-1e4, 1e4), rate=slopes, is_stated=st.booleans())
def test_affine_drift_moves_the_drift_rate_alone(
    components, seed, level, rate, is_stated
):
    readings = Readings(seed, stated=is_stated)
    still = fitted_to(readings, components)
    values = readings.values + level + rate * readings.times
    moved = fitted_to(readings, components, values=values)
    assert_same_space(still, moved, rtol=1e-5)
    rates = [fitted.noise_std * fitted.drift_rate()[0] for fitted in (still, moved)]
    assert rates[1] - rates[0] == pytest.approx(rate, abs=1e-5)


@either_drift
@given(seed=seeds, unit=powers, origin=st.integers(-(2**20), 2**20), size=powers)
def test_units_and_origin_of_time_and_the_unit_of_readings_change_no_digit(
    components, seed, unit, origin, size
):
    """Powers of two are exact, so nothing but a hidden constant could show."""
    readings = Readings(seed)
    times = np.round(readings.times * 2**20) * 2**-20
    scale = 2.0**size
    one = fitted_to(readings, components, times=times)
    other = fitted_to(
        readings,
        components,
        times=2.0**unit * (times + origin),
        values=scale * readings.values,
        noise=scale * 0.1,
        spacing=2.0**unit,
    )
    for name in ("g", "hessian", "drift", "local_drift", "steady", "smooth", "nu"):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
    np.testing.assert_array_equal(
        2.0**unit * np.array(other.drift_rate()), one.drift_rate()
    )
    assert other.noise_std == scale * one.noise_std


@either_drift
@given(seed=seeds, size=st.floats(0.5, 2.0))
def test_the_region_is_but_a_frame(components, seed, size):
    """Turned or resized, it says the same of the same places."""
    readings = Readings(seed)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(2, 2)))[0]
    one = fitted_to(readings, components)
    other = fitted_to(readings, components.rescaled(size), B=size * Q)
    assert_same_space(one, other, rtol=1e-5)


@given(seed=seeds, unit=st.floats(0.1, 10.0))
def test_the_unit_is_of_no_account_where_all_errors_are_stated(seed, unit):
    readings = Readings(seed, stated=True)
    one = fitted_to(readings, LOCAL)
    other = fitted_to(readings, LOCAL.rescaled(1.0, unit), noise=0.1 * unit)
    assert other.nu == pytest.approx(one.nu)
    same(other.noise_std * other.g, one.noise_std * one.g)
    same(other.noise_std * other.smooth, one.noise_std * one.smooth)


@either_drift
@given(seed=seeds, random=st.randoms(use_true_random=False))
def test_names_of_variables_and_order_of_rows_are_of_no_account(
    components, seed, random
):
    readings, order = Readings(seed, n=3), list(range(1, 23))
    random.shuffle(order)
    swapped, rows = [2, 0, 1], [0, *order, 23]  # the first and the newest are special
    one = fitted_to(readings, components)
    other = fitted_to(
        readings, components, rows=rows, points=readings.points[:, swapped]
    )
    same(other.nu, one.nu)
    same(other.g, one.g[swapped])
    same(other.hessian, one.hessian[np.ix_(swapped, swapped)])
    same(other.smooth, one.smooth[rows])
    same(other.drift, one.drift[rows])


@either_drift
@given(seed=seeds, stated=st.booleans())
def test_extending_a_fit_equals_fitting_anew(components, seed, stated):
    readings = Readings(seed, stated=stated)
    part = fitted_to(readings, components, rows=slice(0, -1))
    window = part.window.plus_newest(readings.samples())
    reading = part.reading(window.U[-1], float(window.times[-1]))
    longer, anew = part.extended(window, reading, 1.0), fit(window, components, 1.0)
    assert_same_space(longer, anew, rtol=1e-5)
    for name in ("drift", "local_drift", "steady", "smooth"):
        same(getattr(longer, name), getattr(anew, name))
    same(longer.solution.criterion, anew.solution.criterion)


def test_extending_an_exact_fit_keeps_its_digits():
    """As curved as can be over a long length: the variance must not cancel."""
    readings = Readings()
    points = 0.1 * readings.points
    components = Components(14.0, math.log(30.0), -6.0)
    changed = {"points": points, "values": 1e4 * points[:, 0] ** 2}
    part = fitted_to(readings, components, rows=slice(0, -1), **changed)
    window = part.window.plus_newest(readings.samples(**changed))
    reading = part.reading(window.U[-1], float(window.times[-1]))
    longer, anew = part.extended(window, reading, 1.0), fit(window, components, 1.0)
    errors = np.sqrt(anew.gradient_covariance.diagonal())
    assert (np.abs(longer.g - anew.g) < 0.01 * errors).all()
    assert longer.nu == pytest.approx(anew.nu, rel=1e-3)


@either_drift
def test_a_reading_of_enormous_error_is_as_good_as_none(components):
    readings = Readings()
    values, sigmas = readings.values.copy(), np.full(24, 0.1)
    values[7], sigmas[7] = values[7] + 50.0, 1e4
    others = np.delete(np.arange(24), 7)
    doubted = fitted_to(readings, components, 1e-6, values=values, sigmas=sigmas)
    without = fitted_to(readings, components, 1e-6, rows=others)
    assert_same_space(doubted, without, rtol=1e-5)


@either_drift
def test_far_places_do_not_overflow(components):
    fitted = fitted_to(Readings(), components)
    far = np.array([[1e4, 0.0], [-1e6, 1e6], [0.1, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(fitted.falls(far)).all()
        assert np.isfinite(fitted.fall_variances(far)).all()
