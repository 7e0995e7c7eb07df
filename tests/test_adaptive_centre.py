"""The centre, the answer, and what is believed of the noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefs import THERE, belief
from tobyqa.methods.adaptive.answer import answer, recommended, safer
from tobyqa.methods.adaptive.belief import Place
from tobyqa.methods.adaptive.centre import best_row
from tobyqa.methods.adaptive.noise import BELIEVED, GUESSED, Noise
from tobyqa.samples import SampleSet
from tobyqa.spacetime.components import Components
from tobyqa.spacetime.face import lowest
from tobyqa.spacetime.fit import fit
from tobyqa.spacetime.precision import expected_excess
from windows import Readings, one_each, window_of

NOISE = 0.1
CURVED, LOCAL = Components(2.0, 1.5, -1.0), Components(2.0, 1.5, -1.0, -2.0)
seeds = st.integers(0, 2**32 - 1)

# -- the centre -----------------------------------------------------------------------


@pytest.mark.parametrize("components", [CURVED, LOCAL], ids=["common", "local"])
@given(seed=seeds, stated=st.booleans())
def test_a_centre_is_in_the_region_and_lower_than_the_one_before(
    components, seed, stated
):
    readings = Readings(seed, m=40, stated=stated)
    fitted = fit(window_of(readings.samples()), components, 1.0)
    row = best_row(fitted, Noise(NOISE, NOISE, BELIEVED), area=None)
    window, centre = fitted.window, fitted.window.centre
    if row != centre:
        assert window.inside[row]
        assert fitted.smooth[row] < fitted.smooth[centre]


@pytest.mark.parametrize("beta", [-3.0, 0.0, 3.0])
@given(seed=seeds)
def test_the_centre_is_blind_to_affine_drift(beta, seed):
    readings = Readings(seed, m=40)
    values = readings.values + beta * readings.times
    fitted = fit(window_of(readings.samples(values=values)), CURVED, 1.0)
    still = fit(window_of(readings.samples()), CURVED, 1.0)
    noise = Noise(NOISE, NOISE, BELIEVED)
    assert best_row(fitted, noise, area=None) == best_row(still, noise, area=None)


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
    fitted = fit(one_each(points, readings), Components(3.0, 1.5, 3.0), spread=1e-3)
    row = best_row(fitted, Noise(NOISE, NOISE, 1e-3), area=None)
    assert (points[row, 0] == 0.9) == is_taken


@pytest.mark.parametrize(("louder", "is_taken"), [(1.0, True), (1e-3, False)])
def test_a_fit_that_explains_nothing_gives_local_drift_no_credit(louder, is_taken):
    """With it, a search that had been down at 1e12 ended at 1e17."""
    rng = np.random.default_rng(0)
    points = rng.choice([-0.9, -0.5, 0.0, 0.5, 0.9], size=(60, 1))
    points[0] = 0.0
    # Lower on the right at the start, higher there by now.
    drift = 0.2 * points[:, 0] * (np.arange(60) - 30)
    readings = drift + NOISE * rng.standard_normal(60)
    samples = SampleSet.of(points, np.arange(60.0), readings)
    # A unit too small: in the other fit the noise is a thousand times as loud.
    window = window_of(samples, noise=louder * NOISE)
    components = Components(1.0, 1.4, -2.0, 1.0).rescaled(1.0, louder)
    fitted = fit(window, components, spread=100.0)
    noise = Noise(louder * NOISE, louder * NOISE, BELIEVED)
    row = best_row(fitted, noise, area=None)
    assert (points[row, 0] > 0.0) == is_taken


# -- the answer -----------------------------------------------------------------------


def fit_of_quadratic(minimum, curvatures):
    points = np.vstack([np.zeros(2), np.random.default_rng(0).normal(size=(40, 2))])
    values = (points - minimum) ** 2 @ curvatures
    return fit(one_each(points, values), Components(5.0, 3.0, -6.0), 1.0)


@pytest.mark.parametrize(
    ("minimum", "curvatures", "is_believed"),
    [
        ([0.3, 0.2], [20.0, 10.0], True),
        ([0.7, 0.2], [20.0, 10.0], False),  # it is too far out
        ([0.3, 0.2], [20.0, -10.0], False),  # it is none
    ],
)
def test_a_minimum_is_recommended_if_it_is_well_inside(
    minimum, curvatures, is_believed
):
    fitted = fit_of_quadratic(minimum, curvatures)
    expected = minimum if is_believed else np.zeros(2)
    noise = Noise(NOISE, NOISE, BELIEVED)
    np.testing.assert_allclose(recommended(fitted, noise, None), expected, atol=0.01)
    # What is left to gain: half the curvature times the squared distance.
    excess = expected_excess(lowest(fitted, None))
    gain = float(np.array(minimum) ** 2 @ curvatures)
    assert excess == pytest.approx(gain, rel=0.2) if is_believed else excess == math.inf


def test_the_safer_answer_is_the_lower_one_if_both_are_known_alike():
    fitted = fit_of_quadratic([0.5, 0.0], [20.0, 20.0])
    low, high = np.array([0.5, 0.0]), np.array([-0.5, 0.0])
    for answers in ([(fitted, low), (fitted, high)], [(fitted, high), (fitted, low)]):
        assert safer(fitted, answers)[1] is low


def test_the_safer_answer_is_the_known_one_if_both_are_as_low():
    fitted = fit_of_quadratic([0.0, 0.0], [0.0, 0.0])
    near, far = np.array([0.1, 0.0]), np.array([9.0, 9.0])
    for answers in ([(fitted, near), (fitted, far)], [(fitted, far), (fitted, near)]):
        assert safer(fitted, answers)[1] is near


# -- the noise ------------------------------------------------------------------------


@given(
    nu=st.floats(1e-6, 1e6),
    stated=st.floats(0.01, 1.0),
    spread=st.sampled_from([BELIEVED, GUESSED]),
    doubts=st.booleans(),
)
def test_a_stated_noise_is_a_guess_once_a_fit_denies_it(nu, stated, spread, doubts):
    noise = Noise(stated, stated, spread)
    after = noise.after(nu, doubts=doubts)
    is_denied = abs(math.log(nu)) > 3.0
    assert after.spread == (GUESSED if doubts and is_denied else spread)
    assert after.nu == nu
    assert (after.unit, after.stated) == (stated, stated)
    # Not where the unit is what readings have digits for, and no noise at all.
    finer = Noise(2.0 * stated, stated, spread).after(nu, doubts=doubts)
    assert finer.spread == spread
    assert after.most >= noise.most > 1.0


@pytest.mark.parametrize("local", [False, True])
def test_of_two_places_far_apart_the_lower_one_is_the_answer(local):
    """The best place was confirmed long ago, in a region that was small."""
    rng = np.random.default_rng(0)
    points = np.vstack([THERE, 0.2 * rng.normal(size=(20, 2)) + THERE])
    points = np.vstack([points, 0.4 * rng.normal(size=(40, 2)), np.zeros(2)])
    values = np.sum(points**2, axis=1) + NOISE * rng.normal(size=len(points))
    samples = SampleSet.of(points, np.arange(float(len(points))), values)
    best = Place(THERE, 0.3 * np.eye(2))
    b = belief(samples, noise=NOISE, local=local, best=best, iterations=50)
    fitted, u = answer(b)
    assert np.linalg.norm(fitted.window.frame.point(u)) < 0.5
