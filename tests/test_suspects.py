"""Readings that are wrong: found, measured again, named, and left out of the answer."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tobyqa
from beliefs import THERE, belief
from tobyqa.methods.adaptive.doubts import NO_DOUBTS
from tobyqa.methods.adaptive.recheck import agreed, doubting
from tobyqa.samples import SampleSet
from tobyqa.spacetime.strange import strangeness
from tobyqa.state import Observation, Why

NOISE = 0.1


def bowl(x):
    return float(np.sum(np.arange(1, x.size + 1) * (x - 0.5) ** 2))


def searched(n, seed, wrong, *, told=True, readings=60, **settings):
    """A search in which some readings are off, by their number; also its reasons."""
    rng = np.random.default_rng(seed)
    opt = tobyqa.Optimizer(
        np.full(n, 2.0),
        bounds=[(-4.0, 4.0)] * n,
        noise=NOISE if told else None,
        maxfev=readings,
        rng=seed,
        options=settings,
    )
    reasons = []
    while not opt.done:
        trial = opt.ask()
        reasons.append(trial.why)
        value = bowl(trial.x) + NOISE * rng.normal() + wrong.get(len(reasons) - 1, 0.0)
        opt.tell(trial, value)
    return opt.result(), reasons


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("off", [-100.0, 100.0])
@pytest.mark.parametrize("n", [2, 4])
def test_one_suspect_reading_is_named_and_costs_little(n, off, told):
    named, gaps, clean = 0, [], []
    for seed in range(6):
        row = 20 + 5 * seed
        res, reasons = searched(n, seed, {row: off * NOISE}, told=told)
        named += [s.row for s in res.suspects] == [row]
        gaps.append(bowl(res.x))
        clean.append(bowl(searched(n, seed, {}, told=told)[0].x))
        assert res.noise_std < 5.0 * NOISE
        for suspect in res.suspects:
            assert res.history.weight[suspect.row] == 0.0
            assert suspect.value == res.history.value[suspect.row]
            assert abs(suspect.expected - suspect.value) > 0.5 * abs(off * NOISE)
        if res.suspects:
            assert Why.RECHECK in reasons
    assert named >= 5
    assert np.median(gaps) < 4.0 * np.median(clean) + 0.1 * NOISE


@pytest.mark.parametrize("told", [True, False])
def test_clean_readings_are_no_suspects(told):
    for seed in range(6):
        res, _ = searched(3, seed, {}, told=told)
        assert res.suspects == []
        assert (res.history.weight == 1.0).all()


def test_a_reading_that_proves_right_is_in_the_fit_again():
    """A cliff, where no reading is wrong, though the model is often surprised."""

    def cliff(x):
        return bowl(x) + 40.0 * (x[0] > 1.0)

    rng = np.random.default_rng(0)
    opt = tobyqa.Optimizer(np.full(2, 2.0), noise=NOISE, maxfev=120, rng=0)
    rechecks = 0
    while not opt.done:
        trial = opt.ask()
        rechecks += trial.why is Why.RECHECK
        opt.tell(trial, cliff(trial.x) + NOISE * rng.normal())
    res = opt.result()
    assert len(res.suspects) <= 1
    assert rechecks <= 8  # two, a hundredth of the readings, and what they lead to


def test_a_suspect_that_is_told_from_data_does_not_become_the_centre():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1.0, 2.0, size=(40, 2))
    value = np.array([bowl(p) for p in x]) + NOISE * rng.normal(size=40)
    opt = tobyqa.Optimizer.from_data(
        x, None, value, x0=[0.0, 0.0], noise=NOISE, maxfev=20, rng=0
    )
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x) + NOISE * rng.normal())
    assert bowl(opt.result().x) < 2.0 * NOISE


def test_without_doubts_nothing_is_left_out_or_measured_again():
    res, reasons = searched(2, 0, {30: 100.0 * NOISE}, robust=False)
    assert res.suspects == []
    assert Why.RECHECK not in reasons


def test_a_maximisation_names_its_suspects_with_the_sign_that_was_measured():
    rng = np.random.default_rng(0)
    opt = tobyqa.Optimizer([2.0, 2.0], noise=NOISE, maxfev=50, maximize=True, rng=0)
    for k in range(50):
        trial = opt.ask()
        value = 7.0 - bowl(trial.x) + NOISE * rng.normal() + 10.0 * (k == 30)
        opt.tell(trial, value)
    res = opt.result()
    (suspect,) = res.suspects
    assert suspect.row == 30
    assert suspect.value > 10.0
    assert suspect.expected < 7.5
    assert "reading 30" in repr(res)


@given(
    e=st.floats(-1e6, 1e6),
    more=st.floats(1.01, 100.0),
    v=st.floats(0.1, 1e4),
    k=st.floats(1.0, 1e3),
    w=st.floats(0.0, 1e6),
)
def test_what_is_farther_off_is_stranger_whatever_its_sign(e, more, v, k, w):
    here = strangeness(e, v, k, w)
    assert here == strangeness(-e, v, k, w)
    assert strangeness(more * e, v, k, w) >= here
    # Where readings range farther, one that is wrong is the less likely here.
    assert strangeness(e, v, k, more * w + 2.0) <= here
    assert math.isfinite(here)


def test_doubts_in_vain_run_out():
    doubts = NO_DOUBTS
    for row in range(10):
        if doubts.affords(row):
            doubts = doubts.plus(row).without(row, strangeness=50.0)
    assert doubts.in_vain <= 3
    assert not doubts.suspects
    assert not doubts.affords(10)
    assert doubts.affords(1000)


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=7), st.integers(0, 99))
def test_nothing_is_strange_where_no_reading_is_to_spare(values, seed):
    """After n + 2 readings each of them is all that is known of something."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of effects that differ
        opt = tobyqa.Optimizer(np.zeros(len(values) - 2), noise=0.05, rng=seed)
        for value in values:
            opt.tell(opt.ask(), value)
        assert not opt.result().suspects
        assert opt.ask().why is not Why.RECHECK


@pytest.mark.parametrize("rate", [20.0, 40.0, -40.0])
def test_a_place_that_drifts_on_its_own_is_believed_when_it_is_measured_again(rate):
    """Each reading of it is as far off, and tells the drift that it has there."""
    rng = np.random.default_rng(0)
    x = [*rng.uniform(-1.0, 1.0, size=(12, 2)), THERE]
    values = [float(p @ p) + NOISE * rng.normal() for p in x]
    b = calm = belief(SampleSet.of(np.array(x), range(13), values), noise=NOISE)
    for t in (18.0, 19.0, 20.0):
        value = float(THERE @ THERE) + rate * NOISE * (t - 12.0)
        b = b.plus(Observation(THERE, t, value, trial=0, answers=True))
        assert b.is_doubted
    b = agreed(b)
    assert not b.doubts.suspects
    assert (b.centre, b.accepted) == (15, True)
    # One that nothing confirms is out as before.
    far = Observation(THERE, 21.0, 1e3, trial=0, answers=True)
    fine = replace(far, t=22.0, value=value)
    before = b.plus(far)
    after = agreed(before.plus(fine))
    assert after.doubts.suspects == {16}
    # Nor does a wrong one confirm what was a little off before it.
    little = replace(far, t=18.0, value=values[-1] + 100.0 * NOISE)
    before = calm.plus(little)
    assert before.is_doubted
    after = agreed(before.plus(replace(far, t=19.0)))
    assert after.doubts.suspects == {13, 14}


@pytest.mark.parametrize("off", [-100.0, 100.0])
def test_two_wrong_readings_that_agree_are_not_believed(off):
    """It takes a third one."""
    rng = np.random.default_rng(0)
    x = [*rng.uniform(-1.0, 1.0, size=(24, 2)), THERE]
    values = [float(p @ p) + NOISE * rng.normal() for p in x]
    calm = belief(SampleSet.of(np.array(x), range(25), values), noise=NOISE)
    right = Observation(THERE, 25.0, float(THERE @ THERE), trial=0, answers=True)
    wrong = replace(right, value=right.value + off * NOISE)
    two = agreed(agreed(calm.plus(wrong)).plus(replace(wrong, t=26.0)))
    assert two.doubts.suspects == {25, 26}
    denied = agreed(two.plus(replace(right, t=27.0)))
    assert denied.doubts.suspects == {25, 26}
    assert not agreed(two.plus(replace(wrong, t=27.0))).doubts.suspects


def test_a_suspect_of_which_the_fit_expects_nothing_stays_one():
    """So far away that anything may be read there: that is no word for it."""
    rng = np.random.default_rng(0)
    x = np.vstack([rng.uniform(-1.0, 1.0, size=(30, 2)), [100.0, 100.0]])
    values = np.sum(x**2, axis=1) + NOISE * rng.normal(size=31)
    values[30] = 0.0
    b = belief(SampleSet.of(x[:30], range(30), values[:30]), noise=NOISE)
    samples = SampleSet.of(x, range(31), values)
    b = replace(b, samples=samples, doubts=NO_DOUBTS.plus(30))
    after = doubting(b)
    assert after.doubts == b.doubts


def test_the_best_place_is_not_lost_by_a_doubt():
    """Whether it is the best one is for a comparison to say, by readings there."""
    rng = np.random.default_rng(0)
    x = np.vstack([np.zeros(2), rng.uniform(-1.0, 1.0, size=(30, 2))])
    values = np.sum(x**2, axis=1) + NOISE * rng.normal(size=31)
    values[0] += 100.0 * NOISE
    b = doubting(belief(SampleSet.of(x, range(31), values), noise=NOISE))
    np.testing.assert_array_equal(b.best.x, x[0])
    assert b.rows_at(b.best.x).size == 1


@given(late=st.integers(0, 25), guests=st.integers(0, 2), off=st.sampled_from([-1, 1]))
def test_a_wrong_reading_at_the_start_is_denied_whatever_came_before_it(
    late, guests, off
):
    """With several out the start may come late; from_data begins at an old reading."""
    rng = np.random.default_rng(0)
    x = np.vstack([rng.uniform(-1.0, 1.0, size=(30, 2)), np.zeros((guests, 2))])
    x = np.insert(x, [late, 26], np.zeros(2), axis=0)
    values = np.sum(x**2, axis=1) + NOISE * rng.normal(size=len(x))
    values[late] += 100.0 * off * NOISE
    samples = SampleSet.empty(2)
    for k, place in enumerate(x):
        is_guest = k >= len(x) - guests
        samples = samples.append(place, k, values[k], math.nan, asked=not is_guest)
    b = doubting(belief(samples, noise=NOISE, centre=10))
    assert b.doubts.suspects == {late}
