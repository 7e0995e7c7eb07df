"""Method `adaptive`: searches elsewhere, once the first one gains nothing any more."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tobyqa
from test_optimizer import assert_same
from tobyqa import Adaptive, Optimizer
from tobyqa.methods.adaptive.champion import Champion
from tobyqa.methods.adaptive.excursion import unfinished

NOISE = 0.05
START = np.array([2.5, 1.0])


def two_wells(x):
    """Minima of about 2 near (2, 0), where it begins, and of about -2 near (-2, 0)."""
    return 0.25 * (x[0] ** 2 - 4.0) ** 2 + x[0] + x[1] ** 2


def drifting(seed, rate=0.02):
    rng = np.random.default_rng(seed)
    return lambda x, k: two_wells(x) + rate * k + NOISE * rng.normal()


def searched(reading, maxfev=400, settings=None):
    """The optimizer of a run, and whether each of its readings was of an excursion."""
    method = Adaptive(**(settings or {}))
    opt = Optimizer(START, method=method, noise=NOISE, maxfev=maxfev, rng=0)
    away = []
    while not opt.done:
        away.append(is_away(opt))
        trial = opt.ask()
        opt.tell(trial, reading(trial.x, len(away)))
    return opt, np.array(away)


def is_away(opt):
    memory = opt._state.memory
    return memory is not None and memory.excursion is not None


@pytest.mark.parametrize("seed", range(4))
def test_the_lower_minimum_is_found_from_the_higher_one(seed):
    opt, away = searched(drifting(seed))
    assert 0 < away.sum() < 300
    assert two_wells(opt.result().x) < -2.0
    alone, never = searched(drifting(seed), settings={"excursions": False})
    assert not never.any()
    assert two_wells(alone.result().x) > 1.9


def test_a_bowl_has_no_other_minimum_and_its_own_is_not_forgotten():
    def bowl(x, k):
        return float(x @ x) + 0.02 * k + NOISE * np.random.default_rng(k).normal()

    opt, away = searched(bowl, maxfev=500)
    assert away.sum() > 100
    assert float(opt.result().x @ opt.result().x) < 0.5 * NOISE


def test_readings_alternate_between_home_and_elsewhere():
    """No excursion is longer than what was measured before the first one began."""
    _, away = searched(drifting(0), maxfev=600)
    changes = np.flatnonzero(np.diff(away.astype(int))) + 1
    lengths = np.diff([0, *changes])
    assert len(changes) >= 6
    assert lengths[1::2].max() <= changes[0] + 1
    assert lengths[2::2].min() >= 2 * (START.size + 20)


def test_an_affine_drift_sends_nobody_elsewhere():
    """The same points to the last but few digits, whatever is added in time."""
    steady, _ = searched(drifting(1, rate=0.0), maxfev=200)
    rising, away = searched(drifting(1, rate=5.0), maxfev=200)
    assert away.any()
    np.testing.assert_allclose(
        rising.result().history.x, steady.result().history.x, rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("setting", [{"ftol": 1e-9}, {"home": False}])
def test_nobody_leaves_where_the_search_is_to_stop_or_cannot_compare(setting):
    _, away = searched(drifting(2), maxfev=250, settings=setting)
    assert not away.any()


def test_nobody_leaves_without_a_budget():
    opt = Optimizer(START, noise=NOISE, rng=0)
    reading = drifting(3)
    for k in range(250):
        if opt.done:
            break
        assert not is_away(opt)
        trial = opt.ask()
        opt.tell(trial, reading(trial.x, k))
    assert opt.nfev > 60


def test_nobody_leaves_where_the_drift_depends_on_the_place():
    wells = drifting(4)

    def reading(x, k):
        return wells(x, k) + 0.05 * k * np.tanh(np.linalg.norm(x - START))

    opt, away = searched(reading, maxfev=250, settings={"radius": 1.0})
    assert opt.result().drift_is_local
    assert not away.any()


def away_from_home(maxfev=300):
    """A run in the middle of its first excursion."""
    reading = drifting(5)
    opt = Optimizer(START, noise=NOISE, maxfev=maxfev, rng=0)
    k = 0
    while not is_away(opt) or len(opt._state.memory.excursion.state.samples) < 12:
        trial = opt.ask()
        opt.tell(trial, reading(trial.x, k))
        k += 1
    return opt


def test_a_failure_shortens_the_way_and_three_end_it():
    opt = away_from_home()
    before = len(opt._state.samples)
    for _ in range(2):
        opt.tell_failed(opt.ask(), "no beam")
        assert is_away(opt)
    opt.tell_failed(opt.ask(), "no beam")
    assert not is_away(opt)
    assert len(opt._state.samples) == before
    # What it has found by then is compared.
    np.testing.assert_array_equal(opt.ask().x, opt._state.memory.champion.x)
    assert opt._state.memory.champion.rival is not None


def test_what_cannot_be_compared_is_given_up():
    opt = away_from_home()
    home = opt._state.centre_point
    for _ in range(3):
        opt.tell_failed(opt.ask(), "no beam")
    opt.tell_failed(opt.ask(), "no beam")
    assert opt._state.memory.champion.rival is None
    u = np.linalg.solve(opt._state.memory.fitted.window.frame.B, opt.ask().x - home)
    assert np.linalg.norm(u) < 1.01


def test_readings_nobody_asked_for_are_kept_on_the_way():
    opt = away_from_home()
    trial = opt.ask()
    opt.tell([0.5, 0.5], 7.0)
    assert is_away(opt)
    np.testing.assert_array_equal(opt.ask().x, trial.x)
    opt.tell(trial, 3.0)
    assert opt._state.samples.values[-2:].tolist() == [7.0, 3.0]


def test_an_excursion_survives_being_stored(tmp_path):
    opt = away_from_home()
    opt.save(tmp_path / "run.json")
    copies = [Optimizer.load(tmp_path / "run.json"), pickle.loads(pickle.dumps(opt))]
    reading = drifting(6)
    values = [reading(START, k) for k in range(60)]
    points = []
    for run in (opt, *copies):
        points.append([])
        for value in values:
            trial = run.ask()
            points[-1].append(trial.x)
            run.tell(trial, value)
    np.testing.assert_array_equal(points[1], points[0])
    np.testing.assert_array_equal(points[2], points[0])
    assert_same(copies[0].result(), opt.result())


def test_rounds_count_waiting_and_comparisons_alike():
    here, region = np.zeros(2), np.eye(2)
    best = Champion(here, region)
    for _ in range(11):
        best = best.challenged(here, region, patience=5)
    assert best.rounds(5) == 2
    assert best.challenged(here + 1.0, region, patience=5).rival is not None
    assert Champion(here, region, idle=3).rounds(5) == 3


def test_the_default_returns_the_lower_minimum():
    rng = np.random.default_rng(7)
    res = tobyqa.minimize(
        lambda x: two_wells(x) + NOISE * rng.normal(), START, noise=NOISE, maxfev=800
    )
    assert two_wells(res.x) < -2.0


@pytest.mark.parametrize("maxfev", range(240, 276, 5))
def test_a_budget_that_ends_on_the_way_costs_no_find(maxfev):
    """Whenever it ends after home was measured on the way: the lower place is known."""
    opt, _ = searched(drifting(2), maxfev)
    search = opt._state.memory
    there = unfinished(search)
    found = there is not None and two_wells(there.centre_point) < -2.0
    if found or two_wells(search.champion.x) < -2.0:
        assert two_wells(opt.result().x) < -1.9
    else:
        assert two_wells(opt.result().x) > 1.9


def test_home_is_measured_on_the_way():
    opt, away = searched(drifting(0), 200)
    history = opt.result().history
    at_home = [
        np.linalg.norm(x - [1.87, 0.0]) < 0.2 or np.linalg.norm(x - [-2.11, 0.0]) < 0.2
        for x in history.x
    ]
    assert np.any(np.array(at_home) & away)


@pytest.mark.parametrize("step", [-5.0, -25.0])
def test_a_step_of_the_drift_is_no_fall_of_the_function(step):
    """It comes when the search has left; nothing but readings at home can tell."""

    def lower_at_home(x):
        near = np.sum((x - START) ** 2)
        return float(0.05 * (x @ x) - 8.0 * np.exp(-near / 2.0))

    rng = np.random.default_rng(1)
    method = Adaptive(radius=0.7, local=False)
    opt = Optimizer(START, method=method, noise=NOISE, maxfev=400, rng=0)
    has_left, answers = False, []
    while not opt.done:
        has_left |= is_away(opt)
        trial = opt.ask()
        value = lower_at_home(trial.x) + (step if has_left else 0.0)
        opt.tell(trial, value + NOISE * rng.normal())
        if has_left and opt.nfev % 7 == 0:
            answers.append(lower_at_home(opt.result().x))
    assert has_left
    assert max(answers) < -7.0


def test_an_excursion_ends_even_if_others_keep_interfering():
    opt = away_from_home(maxfev=900)
    until = opt._state.memory.excursion.until
    reading = drifting(8)
    for k in range(900):
        if not is_away(opt):
            break
        trial = opt.ask()
        logged = np.array([1.9, 1e-4 * k])
        opt.tell(logged, reading(logged, 0))
        opt.tell(trial, reading(trial.x, 0))
        assert opt._state.readings <= until
    assert not is_away(opt)


def test_a_clock_set_back_while_two_places_are_compared_costs_no_find():
    for back in range(3):
        reading, t, is_back = drifting(2, rate=0.0), 0.0, False
        opt = Optimizer(START, noise=NOISE, maxfev=320, rng=0)
        while not opt.done:
            trial = opt.ask()
            champion = opt._state.memory and opt._state.memory.champion
            is_compared = bool(champion) and champion.found is not None
            goes_back = is_compared and len(champion.rows) == back and not is_back
            is_back |= goes_back
            t += -3.0 if goes_back else 1.0
            opt.tell(trial, reading(trial.x, 0), t=t)
        assert is_back
        assert two_wells(opt.result().x) < -2.0


def test_far_places_do_not_overflow():
    opt, _ = searched(drifting(0), 60)
    fitted = opt._state.memory.fitted
    far = np.array([[1e4, 0.0], [-1e6, 1e6], [0.1, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(fitted.falls(far)).all()
        assert np.isfinite(fitted.fall_variances(far)).all()
