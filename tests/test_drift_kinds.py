"""A drift that bends, walks or jumps: which it is, the likelihood says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tobyqa import Adaptive, Optimizer
from tobyqa.kernels import walk_between, walk_times
from tobyqa.spacetime.components import Components
from tobyqa.spacetime.drift import Jump, jumps_within
from tobyqa.spacetime.fit import fit
from tobyqa.spacetime.likelihood import improve, limits
from windows import Readings, one_each, window_of

NOISE = 0.1
ALL = limits("smooth", "fitted")


def chosen(drift, seed, m=80):
    """The components for readings of a bowl under a drift, in noise units."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1.0, 1.0, size=(m, 2))
    points[0] = 0.0
    readings = 3.0 * np.sum(points**2, axis=1) + NOISE * (drift + rng.normal(size=m))
    window = one_each(points, readings)
    return improve(
        fit(window, Components(2.0, 1.4, -2.0), 1.0), 1.0, 8, ALL, local=False
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_smooth_drift_neither_walks_nor_jumps(seed):
    fitted = chosen(20.0 * np.sin(np.arange(80) / 12.0), seed)
    assert not fitted.components.walks
    assert fitted.components.jumps == ()


def test_most_random_walks_walk():
    walks = 0
    for seed in range(8):
        steps = 5.0 * np.random.default_rng(100 + seed).normal(size=80)
        walks += chosen(np.cumsum(steps), seed).components.walks
    assert walks >= 6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("height", [-300.0, 50.0, 1000.0])
def test_a_step_of_the_baseline_is_a_jump_where_it_happened(seed, height):
    fitted = chosen(height * (np.arange(80) >= 37), seed)
    (jump,) = jumps_within(fitted.window, fitted.components.jumps)
    assert jump.time == 37.0
    change = fitted.noise_std * (fitted.drift[37] - fitted.drift[36])
    assert change == pytest.approx(NOISE * height, abs=5.0 * NOISE)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("at", [1, 12, 28])
def test_a_jump_is_found_by_the_readings_of_a_short_search(seed, at):
    """Be it after the first of 30 readings or before the last two."""
    fitted = chosen(100.0 * (np.arange(30) >= at), seed, m=30)
    (jump,) = jumps_within(fitted.window, fitted.components.jumps)
    assert jump.time == at


def test_a_window_holds_as_many_jumps_as_there_were():
    """One may be there twice: it was larger than it seemed beside the others."""
    at = [20, 45, 70, 95, 120]
    fitted = chosen(60.0 * np.searchsorted(at, np.arange(150), "right") ** 2, 0, m=150)
    for _ in at:
        fitted = improve(fitted, 1.0, 8, ALL, local=False)
    found = jumps_within(fitted.window, fitted.components.jumps)
    assert sorted({jump.time for jump in found}) == at


@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 30))
def test_running_sums_are_the_walk_times_a_vector(seed, m):
    rng = np.random.default_rng(seed)
    t, w = rng.uniform(0.0, 50.0, size=m), rng.normal(size=m)
    np.testing.assert_allclose(walk_times(t, w), walk_between(t, t) @ w, atol=1e-9)


@pytest.mark.parametrize("walks", [False, True])
def test_an_affine_drift_touches_no_fit_of_any_kind(walks):
    readings = Readings(3)
    components = Components(2.0, 1.0, -1.0, walks=walks, jumps=(Jump(8.0, 30.0),))
    drifted = readings.values + 5.0 - 40.0 * readings.times
    fits = [
        fit(window_of(readings.samples(values=values)), components, 1.0)
        for values in (readings.values, drifted)
    ]
    np.testing.assert_allclose(fits[1].g, fits[0].g, rtol=1e-6)
    np.testing.assert_allclose(fits[1].hessian, fits[0].hessian, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("noise", [NOISE, None])
def test_an_affine_drift_does_not_change_the_path(noise):
    """Also if nobody stated the noise: its guess knows nothing of the drift."""
    paths = []
    for slope in (0.0, 1.0):
        rng = np.random.default_rng(0)
        opt = Optimizer([2.0, 1.0], noise=noise, maxfev=20, rng=0, method=Adaptive())
        while not opt.done:
            trial = opt.ask()
            value = float(np.sum((trial.x - 0.3) ** 2)) + NOISE * rng.normal()
            opt.tell(trial, value + slope * opt.nfev, t=float(opt.nfev))
        paths.append(opt.result().history.x)
    np.testing.assert_allclose(paths[1], paths[0], atol=1e-5)


def test_on_a_plateau_the_search_stays_within_some_first_radii():
    """Where nothing stands out of the noise no region is large enough."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        opt = Optimizer(
            [0.0, 0.0], initial_radius=0.5, maxfev=100, rng=seed, noise=0.01
        )
        while not opt.done:
            opt.tell(opt.ask(), 0.01 * rng.normal())
        x = opt.result().history.x
        for k in range(1, len(x)):
            nearest = np.linalg.norm(x[:k] - x[k], axis=1).min()
            assert nearest <= 10.0 * 0.5 * 1.5**2  # two steps seemed to gain by chance
