"""Method `adaptive`: two places compared by their readings; drift that depends on x."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tobyqa
from drawn_runs import drifting_apart
from tobyqa.methods.adaptive.answer import gauges
from tobyqa.methods.adaptive.champion import Champion
from tobyqa.methods.adaptive.comparison import Ruler, drift_is_local, noise_between
from tobyqa.methods.adaptive.search import decided
from tobyqa.samples import SampleSet

PATIENCE = 20
RULER = Ruler(noise=0.5, q=0.3, spacing=1.0)
HERE, THERE = np.zeros(2), np.array([3.0, 0.0])


def compared(readings, times=(1.0, 2.0, 3.0), rival=THERE):
    """A comparison at the origin, the rival and the origin; with its readings."""
    champion = Champion(HERE, np.eye(2))
    for _ in range(100):
        champion = champion.challenged(rival, np.eye(2), PATIENCE)
    samples = SampleSet.empty(2)
    for t, value in zip(times, readings, strict=True):
        place = champion.next_point(PATIENCE)
        samples = samples.append(place, t, value, np.nan)
        champion = champion.heard(samples, len(samples) - 1, PATIENCE)
    return champion, samples


def lead(readings, times, ruler=RULER):
    champion, samples = compared(readings, times)
    ahead, error = ruler.ahead(samples, champion.rows)
    return ahead / error


@pytest.mark.parametrize("times", [(1.0, 2.0, 3.0), (1.0, 5.0, 6.0)])
def test_a_comparison_is_blind_to_affine_drift(times):
    readings = np.array([2.0, 9.0, 2.5])
    drifting = readings + 7.0 + 40.0 * np.array(times)
    assert lead(readings, times) > 3.0
    assert lead(drifting, times) == pytest.approx(lead(readings, times))
    assert lead(-readings, times) == pytest.approx(-lead(readings, times))


def test_a_restless_drift_makes_a_comparison_less_sure():
    leads = [
        lead([2.0, 9.0, 2.5], (1.0, 2.0, 3.0), Ruler(0.5, q, 1.0)) for q in (0, 1, 10)
    ]
    assert leads == sorted(leads, reverse=True)
    assert leads[-1] < 0.5 * leads[0]


def test_a_comparison_measures_there_here_and_there_again():
    champion, samples = compared([2.0, 9.0, 2.5])
    np.testing.assert_array_equal(samples.points, [HERE, THERE, HERE])
    assert champion.is_complete
    assert champion.next_point(PATIENCE) is None


def test_a_comparison_ends_where_a_reading_was_taken_elsewhere():
    champion, samples = compared([2.0], times=(1.0,))
    samples = samples.append(np.array([1.0, 1.0]), 2.0, 5.0, np.nan)
    champion = champion.heard(samples, 1, PATIENCE)
    assert champion.next_point(PATIENCE) is None
    assert not champion.is_complete


def test_a_comparison_survives_a_failed_reading():
    """Its place is measured again; what was compared before is kept."""
    opt = drifting_apart()
    assert opt.result().nfail >= 10
    assert opt.result().drift_is_local
    champion, samples = compared([2.0, 9.0, 2.5])
    rests = replace(champion.again(), waited=PATIENCE)
    samples = samples.append(np.array([1.0, 1.0]), 9.0, 5.0, np.nan)
    assert rests.heard(samples, 3, PATIENCE) == champion.again()


@pytest.mark.parametrize(("distance", "is_rival"), [(0.1, False), (1.0, True)])
def test_only_points_apart_are_compared(distance, is_rival):
    patient = Champion(HERE, np.eye(2), waited=99)
    champion = patient.challenged(np.array([distance, 0.0]), np.eye(2), PATIENCE)
    assert (champion.next_point(PATIENCE) is not None) == is_rival


def test_a_repeated_comparison_rests_and_keeps_its_rival():
    champion, _ = compared([2.0, 9.0, 2.5])
    champion = champion.again()
    for _ in range(PATIENCE):
        assert champion.next_point(PATIENCE) is None
        champion = champion.challenged(np.array([9.0, 9.0]), np.eye(2), PATIENCE)
    np.testing.assert_array_equal(champion.next_point(PATIENCE), HERE)
    np.testing.assert_array_equal(champion.rival, THERE)
    assert champion.earlier == ((0, 1, 2),)


def readings_of(value, times):
    """Readings there, here and there again, starting at each of these times."""
    samples, comparisons = SampleSet.empty(2), []
    for t in times:
        rows = range(len(samples), len(samples) + 3)
        for k, x in enumerate((HERE, THERE, HERE)):
            samples = samples.append(x, t + k, value(x, t + k), np.nan)
        comparisons.append(tuple(rows))
    return samples, tuple(comparisons)


finite = st.floats(-1e3, 1e3)


@given(rate=finite, other_rate=finite, level=finite, other=finite)
def test_what_was_ahead_at_the_start_does_not_depend_on_the_drifts(
    rate, other_rate, level, other
):
    def value(x, t):
        start, slope = (level, rate) if x[0] == 0.0 else (other, other_rate)
        return start + slope * (t - 1.0)

    samples, _ = readings_of(value, [1.0, 20.0, 60.0])
    ahead, error = RULER.ahead_at_start(samples, HERE, THERE)
    assert ahead == pytest.approx((other - level) / RULER.noise, abs=1e-4)
    assert 0.0 < error < 3.0


def test_nothing_is_known_of_the_start_by_readings_at_one_time():
    samples, _ = readings_of(lambda x, _: float(x[0]), [1.0])
    assert RULER.ahead_at_start(samples, HERE, THERE)[1] == math.inf


def test_the_noise_between_comparisons_is_that_of_the_readings():
    """Whatever the places drift by, each at its own rate."""
    rng = np.random.default_rng(0)
    squares = []
    for _ in range(400):
        samples, comparisons = readings_of(
            lambda x, t: (3.0 + x[0]) * t + 0.5 * rng.normal(), [1, 9, 30, 70]
        )
        squares.append(noise_between(samples, comparisons) ** 2)
    assert np.mean(squares) == pytest.approx(0.25, rel=0.1)
    assert noise_between(samples, comparisons[:2]) == math.inf


@pytest.mark.parametrize("pause", [1e3, 1e6, 1e9, 1e12])
def test_a_pause_of_any_length_is_survived(pause):
    opt = tobyqa.Optimizer(np.zeros(2), noise=0.2, maxfev=160, rng=0)
    rng = np.random.default_rng(0)
    for k in range(160):
        t = k + pause * (k > 90)
        trial = opt.ask()
        opt.tell(trial, drifting_bowl(trial.x, t) + 0.2 * rng.normal(), t=t)
    res = opt.result()
    assert res.drift_is_local
    assert drifting_bowl(res.x, 0.0) < 20.0  # 200 at the origin


@pytest.mark.parametrize("rate", [0.0, 5.0])
def test_a_local_drift_without_any_noise_is_survived(rate):
    """The noise that nobody stated is then exactly zero between comparisons."""
    opt = tobyqa.Optimizer(np.zeros(2), maxfev=150, rng=0)
    for k in range(150):
        trial = opt.ask()
        opt.tell(trial, drifting_bowl(trial.x, k, rate))
    res = opt.result()
    assert drifting_bowl(res.x, 0.0) < 1.0  # 200 at the origin
    assert res.drift_is_local == (rate > 0.0)


def test_readings_that_share_their_times_are_survived():
    opt = tobyqa.Optimizer(np.zeros(2), noise=0.2, maxfev=120, rng=0)
    for k in range(120):
        trial = opt.ask()
        opt.tell(trial, drifting_bowl(trial.x, k // 40), t=float(k // 40))
    assert drifting_bowl(opt.result().x, 0.0) < 1.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("name", "drift", "is_local"),
    [
        ("none", lambda x, t: 0.0, False),
        ("affine", lambda x, t: 40.0 * t, False),
        ("restless", lambda x, t: 30.0 * np.sin(0.02 * t), False),
        ("of place", lambda x, t: (2.0 + 0.5 * x[0]) * t, True),
        ("goes up and down", lambda x, t: 20.0 * x[0] * np.sin(0.2 * t), False),
    ],
)
def test_only_a_drift_that_depends_on_the_place_is_called_local(
    name, drift, is_local, seed
):
    rng = np.random.default_rng(seed)

    def value(x, t):
        return 5.0 * x[0] + drift(x, t) + RULER.noise * rng.normal()

    samples, comparisons = readings_of(value, [1.0, 8.0, 15.0, 45.0, 75.0])
    for count in range(1, 6):
        local, known = drift_is_local(samples, comparisons[:count], RULER)
        if known:
            break
    assert known
    assert local == is_local


def drifting_bowl(x, t, rate=5.0):
    """Least at (1, 1) at the start; later ever nearer to the origin."""
    return 100.0 * float(np.sum((x - 1.0) ** 2)) + rate * t * math.tanh(math.hypot(*x))


def answer(seed, noise=0.2, **settings):
    method = tobyqa.Adaptive(**settings)
    opt = tobyqa.Optimizer(np.zeros(2), method=method, noise=noise, maxfev=250, rng=0)
    rng = np.random.default_rng(seed)
    for t in range(250):
        trial = opt.ask()
        opt.tell(trial, drifting_bowl(trial.x, t) + 0.2 * rng.normal(), t=float(t))
    return opt.result()


@pytest.mark.parametrize("noise", [0.2, 0.02, 2.0, None])
@pytest.mark.parametrize("seed", range(2))
def test_a_local_drift_does_not_bend_the_search(seed, noise):
    """Without the model of it, the answer is the origin."""
    res, bent = answer(seed, noise), answer(seed, noise, local=False)
    assert drifting_bowl(res.x, 0.0) < 0.2
    assert drifting_bowl(bent.x, 0.0) > 100.0
    assert (res.drift_is_local, bent.drift_is_local) == (True, False)


def test_gauges_are_those_of_the_latest_fit_while_places_are_compared():
    opt = tobyqa.Optimizer(np.zeros(2), noise=0.2, maxfev=80, rng=0)
    rng, compared = np.random.default_rng(0), 0
    for t in range(80):
        trial = opt.ask()
        opt.tell(trial, drifting_bowl(trial.x, t) + 0.2 * rng.normal(), t=float(t))
        search = opt._state.memory
        if search is not None:
            compared += search.plan.verifies
            assert opt._state.gauges == gauges(search.fitted)
    assert compared > 5


@pytest.mark.parametrize(
    ("local", "ahead", "winner"),
    [(False, -0.5, THERE), (False, 0.5, HERE), (True, -0.5, HERE), (True, -5.0, THERE)],
)
def test_late_readings_replace_a_place_known_from_the_start_only_if_sure(
    local, ahead, winner
):
    """A chain of decisions by sign alone led searches away from minima they had."""
    search = drifting_apart()._state.memory
    champion = Champion(HERE, np.eye(2), rival=THERE)
    search = replace(search, local=local)
    best, home = decided(search, champion, search.fitted, ahead, error=2.0)
    np.testing.assert_array_equal(best.x, winner)
    assert home is None
