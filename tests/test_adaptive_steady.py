"""Method `adaptive` under a restless drift: its components, and the centre it keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_adaptive import window_of
from tobyqa import Adaptive, Optimizer
from tobyqa.bench.problems import get_problem
from tobyqa.bench.recorder import Recorder
from tobyqa.gls import cholesky
from tobyqa.kernels import integrated_wiener, wiener_times
from tobyqa.methods.adaptive.centre import Evidence, best_row
from tobyqa.methods.adaptive.components import Components
from tobyqa.methods.adaptive.fit import fit
from tobyqa.methods.adaptive.likelihood import improve
from tobyqa.methods.adaptive.noise import Noise

NOISE = 0.1


def window_of_one_each(points, readings):
    """One reading at each point, at t = 0, 1, ..."""
    count = len(points)
    return window_of(points, np.arange(float(count)), readings, np.ones(count), NOISE)


@given(
    t=st.lists(st.floats(0.0, 1e3), min_size=1, max_size=20),
    seed=st.integers(0, 2**32 - 1),
)
def test_running_sums_are_the_product_with_the_matrix(t, seed):
    """At any times, in any order, some of them the same."""
    t = np.array(t)
    weights = np.random.default_rng(seed).normal(size=t.size)
    K = integrated_wiener(t)
    size = np.abs(K).max() * np.abs(weights).sum()
    np.testing.assert_allclose(
        wiener_times(t, weights), K @ weights, rtol=0.0, atol=1e-13 * size
    )


def test_a_covariance_that_rounding_spoiled_is_factorised_all_the_same():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    spoiled = (Q * [1.0, 1.0, 1.0, 1.0, 1.0, -1e-9]) @ Q.T
    spoiled = 0.5 * (spoiled + spoiled.T)
    L = np.tril(cholesky(spoiled.copy(), np.zeros(6)))
    np.testing.assert_allclose(L @ L.T, spoiled, atol=2e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("misjudged", [-2.8, 2.8])
def test_components_are_found_though_the_noise_was_misjudged(misjudged, seed):
    """All are relative to the noise, so that an error in it is one in all of them."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 6)) / math.sqrt(6)
    points[0] = 0.0
    drift = 10.0 * np.sin(np.arange(60) / 8)
    readings = np.sum(points**2, axis=1) + drift + NOISE * rng.standard_normal(60)
    window = window_of_one_each(points, readings)

    def found(components):
        start = fit(window, components, spread=1.0)
        return improve(start, 1.0, 3, frozenset())

    right = found(Components(2.0, 2.0, 0.5))
    wrong = found(Components(2.0 + misjudged, 2.0, 0.5 + misjudged))
    assert abs(math.log(wrong.nu / right.nu)) < math.log(2.0)
    assert wrong.solution.criterion == pytest.approx(right.solution.criterion, abs=3.0)


@pytest.mark.parametrize(("times_seen", "is_taken"), [(1, False), (8, True)])
def test_the_centre_moves_to_a_lower_place_only_if_that_is_known(times_seen, is_taken):
    """Here the drift may have changed by much since the last reading but one."""
    rng = np.random.default_rng(0)
    near = 0.2 * rng.normal(size=(40, 2))
    near[0] = 0.0
    edge = np.tile([0.9, 0.0], (times_seen, 1))
    # In turns, so that only the number of readings tells the two apart.
    points = np.vstack(
        [near[:-times_seen], *zip(edge, near[-times_seen:], strict=True)]
    )
    lower = np.where(points[:, 0] == 0.9, -8.0, 0.0)
    readings = NOISE * (lower + rng.standard_normal(len(points)))
    fitted = fit(
        window_of_one_each(points, readings), Components(3.0, 1.5, 3.0), spread=1e-3
    )
    noise = Noise(1.0, 1.0, spread=1e-3, loudest=1.0)
    row = best_row(fitted, Evidence(0.0, 0.0, 1e3), noise, cautious=True)
    assert (points[row, 0] == 0.9) == is_taken


@pytest.mark.parametrize(("loudest", "is_taken"), [(20.0, True), (0.1, False)])
def test_a_fit_that_explains_nothing_gives_local_drift_no_credit(loudest, is_taken):
    """With it, a search that had been down at 1e12 ended at 1e17."""
    rng = np.random.default_rng(0)
    points = rng.choice([-0.9, -0.5, 0.0, 0.5, 0.9], size=(60, 1))
    points[0] = 0.0
    # Lower on the right at the start, higher there by now.
    drift = 0.2 * points[:, 0] * (np.arange(60) - 30)
    readings = drift + NOISE * rng.standard_normal(60)
    window = window_of_one_each(points, readings)
    fitted = fit(window, Components(1.0, 1.4, -2.0, 1.0), spread=1.0)
    assert math.sqrt(fitted.nu) == pytest.approx(1.0, abs=0.3)
    noise = Noise(1.0, 1.0, spread=5.0, loudest=loudest)
    row = best_row(fitted, Evidence(0.0, 0.0, 1e3), noise, cautious=True)
    assert (points[row, 0] > 0.0) == is_taken


@pytest.mark.parametrize("seed", [13, 14])
def test_a_chaotic_drift_does_not_lead_the_search_astray(seed):
    """Once a low place is found, the centre stays about as low."""
    problem = get_problem("brownal", 10)
    recorder = Recorder(problem, "ChaoticDrift", seed, 700)
    opt = Optimizer(
        recorder.x0, method=Adaptive(), noise=recorder.noise, maxfev=700, rng=0
    )
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, recorder(trial.x))
    history = opt.result().history
    lowest = np.minimum.accumulate([problem.fun(x) for x in history.x])
    above = np.array([problem.fun(x) for x in history.centre]) - lowest
    assert np.mean(above[350:] > 5.0 * recorder.noise) < 0.3
