"""What real runs bring: pauses, failures, readings nobody asked for, odd clocks."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tobyqa import Adaptive, Optimizer, Status
from tobyqa.spacetime.window import FARTHEST

NOISE = 0.05


def bowl(x):
    return float(np.arange(1, x.size + 1) @ (x - 1) ** 2)


def plane(x):
    return float(x.sum())


def begun(fun, readings, n=3, start=8.0, **arguments):
    """A search on exact readings, numbered from 0."""
    opt = Optimizer(np.full(n, start), noise=NOISE, rng=0, **arguments)
    for _ in range(readings):
        trial = opt.ask()
        opt.tell(trial, fun(trial.x), t=float(opt.nfev))
    return opt


@pytest.mark.parametrize("pause", [1e5, 1e9])
def test_a_long_pause_costs_no_digits(pause):
    rng = np.random.default_rng(0)
    opt = Optimizer(np.zeros(3), noise=0.5, maxfev=100, rng=0)
    while not opt.done:
        trial = opt.ask()
        t = opt.nfev + pause * (opt.nfev >= 20)
        opt.tell(trial, bowl(trial.x) + 0.5 * rng.normal(), t=t)
    res = opt.result()
    assert bowl(res.x) < 0.1
    assert res.fun_std < 0.5


@pytest.mark.parametrize("rate", [5.0, 50.0])
@pytest.mark.parametrize("n", [2, 6])
def test_a_drift_that_sets_in_late_leads_nowhere(n, rate):
    """By then the centre was last measured when there was none."""
    rng = np.random.default_rng(1)
    opt = Optimizer(np.full(n, 3.0), noise=NOISE, maxfev=300, rng=0)
    while not opt.done:
        trial = opt.ask()
        drift = rate * NOISE * max(opt.nfev - 60, 0)
        opt.tell(trial, bowl(trial.x) + drift + NOISE * rng.normal())
    assert bowl(opt.result().x) < NOISE


@pytest.mark.parametrize("share", [0.0, 0.15, 1.0])
@pytest.mark.parametrize("value", [1e6, 1e30])
def test_a_remote_reading_changes_nothing(value, share):
    """It lies too far out to be in a fit; it must not set the fit's units either."""
    method = Adaptive(repeats=share)
    with_it, without = (begun(bowl, 0, start=0.0, method=method) for _ in range(2))
    with_it.tell(np.full(3, 1e3), value, t=0.0)
    for k in range(40):
        trial, same = with_it.ask(), without.ask()
        np.testing.assert_array_equal(trial.x, same.x)
        for opt in (with_it, without):
            opt.tell(trial.x, bowl(trial.x) + NOISE * np.sin(17 * k), t=float(k))


def test_after_failures_a_step_is_judged_by_what_it_promised_itself():
    opt = begun(plane, 8)
    before = opt.result().history.radius[-1]
    for _ in range(4):
        opt.tell_failed(opt.ask())
    trial = opt.ask()
    opt.tell(trial, plane(trial.x), t=9.0)
    assert opt.result().history.radius[-1] >= before * 0.5**4


def test_a_trial_is_judged_by_the_plan_that_it_came_from():
    """A reading nobody asked for, taken while the trial was out, makes another plan."""
    alone, helped = begun(plane, 8), begun(plane, 8)
    trial = helped.ask()
    beyond = trial.x + 0.05 * (trial.x - helped.result().history.centre[-1])
    helped.tell(beyond, plane(beyond), t=9.0)
    for opt in (alone, helped):
        opt.tell(opt.ask(), plane(trial.x), t=10.0)
    radius = [opt.result().history.radius for opt in (alone, helped)]
    assert radius[0][-1] == pytest.approx(1.5 * radius[0][7])  # it did well
    assert radius[1][-1] >= radius[1][7]


def test_readings_nobody_asked_for_are_fitted_while_a_trial_waits():
    rng = np.random.default_rng(0)

    def noisy(x):
        return bowl(x) + NOISE * rng.normal()

    opt = begun(noisy, 30, start=0.0, maxfev=40)
    for k in range(31, 131):
        x = 1 + 0.3 * rng.normal(size=3)
        opt.tell(x, noisy(x), t=float(k))
        assert opt.progress().t == k
    assert bowl(opt.progress().x) < 0.05


def test_a_region_does_not_shrink_on_readings_nobody_asked_for():
    """Or they would soon all lie outside, and it would shrink because of that."""
    for size in (2.0, 20.0, 100.0):

        def rough(x, size=size):
            return bowl(x) + size * float(np.sin(10.0 * x).sum())

        opt = begun(rough, 20, start=0.0, maxfev=40, method=Adaptive(reshape=False))
        before, rng = opt._state, np.random.default_rng(0)
        for k in range(21, 81):
            x = before.centre_point + before.B @ rng.uniform(-0.5, 0.5, size=3)
            opt.tell(x, rough(x), t=float(k))
            np.testing.assert_array_equal(opt._state.B, before.B)


@pytest.mark.parametrize("compare", [True, False])
def test_the_quick_look_is_of_now_and_its_drift_ends_there(compare):
    """Of the newest reading in the fit: a comparison may go too far, one be doubted."""
    for readings in range(20, 40):
        opt = begun(bowl, readings, start=0.0, method=Adaptive(compare=compare))
        estimate, b = opt.method.estimate(opt._state, quick=True), opt._state
        u = np.linalg.norm(b.fitted.window.frame.u(b.samples.points), axis=1)
        u[b.left_out] = np.inf
        newest = np.flatnonzero(u < FARTHEST)[-1]
        assert newest == readings - 1 or compare or readings - 1 in b.doubts.rows
        assert estimate.t == estimate.drift.t[-1] == newest
        assert estimate.drift.value[-1] == pytest.approx(0.0, abs=1e-9)
        assert estimate.drift.std[-1] == pytest.approx(0.0, abs=1e-6)


def test_components_can_be_searched_at_every_reading():
    """`refit_every=1` used to mean never."""
    every, never = (
        begun(bowl, 40, start=0.0, method=Adaptive(refit_every=interval))
        for interval in (1, 10**6)
    )
    components = [opt._state.fitted.components for opt in (every, never)]
    assert components[0] != components[1]
    assert bowl(every.result().x) <= NOISE


def test_a_flat_probe_leaves_a_sensible_unit():
    """Equal exact readings: the unit is what they are rounded to, not next to none."""
    opt = Optimizer(np.zeros(2), noise=0.0, maxfev=40, rng=0)
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, 7.0 if trial.x.max() <= 2.5 else bowl(trial.x))
        if opt.nfev == 6:
            assert opt._state.noise.unit > 1e-17


def test_small_units_are_no_stagnation():
    scale = 1e-14
    opt = Optimizer(np.zeros(2), noise=1e-3, maxfev=60, initial_radius=scale, rng=0)
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, bowl(trial.x / scale))
    assert opt.status is Status.MAXFEV
    assert bowl(opt.result().x / scale) < 1e-2


@pytest.mark.parametrize("t", [1e120, -1e308, np.inf])
def test_times_beyond_all_clocks_are_refused(t):
    opt = Optimizer([0.0])
    with pytest.raises(ValueError, match="t must be"):
        opt.tell(opt.ask(), 1.0, t=t)


def test_a_reach_beyond_what_fits_hold_is_refused():
    with pytest.raises(ValueError, match=r"reach = 200.* in \[1, 20\]"):
        Adaptive(reach=200.0)


def test_memory_grows_with_the_number_of_readings_not_its_square():
    def used(readings):
        tracemalloc.start()
        opt = Optimizer(np.zeros(1), noise=NOISE, rng=0)
        opt.ask()
        for k in range(readings):
            opt.tell([float(k % 7)], float(k % 5), t=float(k))
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return size

    few, many = used(400), used(1600)
    assert many < 6 * few
