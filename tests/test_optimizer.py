"""Ask/tell: identities between ways to run a search, files, failures, bad input."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest

import tobyqa
from tobyqa import Adaptive, Optimizer, Paper, Status

METHODS = [
    Adaptive(),
    Paper(),
    Paper(hessian="interpolated"),
    Paper(curvature_prior="carried"),
]


def reading(x, k):
    """A noisy, drifting bowl; depends on the point and the number of the reading."""
    error = 0.01 * np.random.default_rng(k).normal()
    return float(np.sum((x - 1) ** 2) + 0.1 * k + error)


def answer(opt):
    """Ask and tell once; every seventh measurement fails."""
    trial = opt.ask()
    if trial.id % 7 == 6:
        opt.tell_failed(trial, "door open")
    else:
        opt.tell(trial, reading(trial.x, trial.id))


def assert_same(a, b):
    """Two results are equal, bit by bit."""
    assert a.keys() == b.keys()
    for key in a.keys() - {"history", "drift", "surface"}:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)
    elsewhere = a.x + 0.5 * (a.x_std != 0.0)  # what is fixed is known only there
    assert a.surface.space == b.surface.space
    np.testing.assert_array_equal(a.predict(elsewhere), b.predict(elsewhere))
    for part in ("history", "drift"):
        for name, seen in vars(a[part]).items():
            other = getattr(b[part], name)
            np.testing.assert_array_equal(seen, other, err_msg=f"{part}.{name}")


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_ask_tell_equals_minimize(method):
    calls = iter(range(1000))

    def fun(x):
        k = next(calls)
        if k % 7 == 6:
            raise RuntimeError("door open")
        return reading(x, k)

    kwargs = {"method": method, "noise": 0.01, "maxfev": 60, "rng": 0}
    res = tobyqa.minimize(fun, np.zeros(3), **kwargs)
    opt = Optimizer(np.zeros(3), **kwargs)
    while not opt.done:
        answer(opt)
    assert_same(res, opt.result())
    assert res.nfail == 8


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_save_and_load_at_every_step_equals_the_uninterrupted_run(method, tmp_path):
    kwargs = {"method": method, "noise": 0.01, "maxfev": 40, "rng": 0}
    straight, hopping = Optimizer(np.zeros(3), **kwargs), Optimizer([0, 0, 0], **kwargs)
    path = tmp_path / "run.json"
    while not straight.done:
        answer(straight)
        trial = hopping.ask()
        hopping.save(path)
        hopping = Optimizer.load(path)
        np.testing.assert_array_equal(hopping.ask().x, trial.x)  # still pending
        answer(hopping)
        hopping.save(path)
        hopping = Optimizer.load(path)
        if straight.nfev == 20:
            for opt in (straight, hopping):
                opt.tell([0.5, 0.5, 0.5], 1.0, sigma=0.3)
    assert hopping.done
    assert_same(straight.result(), hopping.result())


def test_unknown_noise_and_stop_survive_a_file(tmp_path):
    opt = Optimizer([0.0, 1.0], initial_radius=0.5, max_failures=3)
    for _ in range(12):
        answer(opt)
    opt.stop()
    opt.save(tmp_path / "run.json")
    again = Optimizer.load(tmp_path / "run.json")
    assert again.status is Status.STOPPED
    assert_same(opt.result(), again.result())


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "not a tobyqa run"),
        ("[1, 2]", "line 1 is corrupt"),
        ({"format": "other"}, "not a tobyqa run"),
        ({"format": "tobyqa-run", "format_version": 99}, "version 99"),
        ({"format": "tobyqa-run"}, "line 1: the field 'format_version' is missing"),
        ({"format": "tobyqa-run", "format_version": 1}, "line 1: the field 'x0' is"),
    ],
)
def test_load_refuses_what_it_cannot_read(tmp_path, header, message):
    path = tmp_path / "run.json"
    is_text = isinstance(header, str)
    path.write_text(header if is_text else json.dumps({"event": "begin", **header}))
    with pytest.raises(ValueError, match=message):
        Optimizer.load(path)


def test_asking_twice_returns_the_same_trial():
    opt = Optimizer([1.0, 2.0])
    first, second = opt.ask(), opt.ask()
    assert first.id == second.id
    with pytest.raises(ValueError, match="read-only"):
        first.x[:] = np.nan
    np.testing.assert_array_equal(opt.ask().x, second.x)


def test_unasked_points_are_taken_in_and_do_not_count():
    opt = Optimizer([3.0, 3.0], noise=0.01, maxfev=30)
    opt.tell([0.9, 1.1], reading(np.array([0.9, 1.1]), 0))
    while not opt.done:
        trial = opt.ask()
        opt.tell([2.0, 2.0], reading(np.array([2.0, 2.0]), 2 * trial.id))
        np.testing.assert_array_equal(opt.ask().x, trial.x)  # still the pending one
        opt.tell(trial, reading(trial.x, 2 * trial.id + 1))
    res = opt.result()
    assert res.nfev == 30
    assert len(res.history) == 61
    assert res.history.asked.sum() == 30


def test_a_good_unasked_point_becomes_the_centre():
    opt = Optimizer([5.0, 5.0], noise=1e-3)
    for _ in range(3):
        trial = opt.ask()
        opt.tell(trial, float(np.sum(trial.x**2)))
    opt.tell([0.1, 0.1], 0.02)
    assert opt.result().x == pytest.approx([0.1, 0.1])


def test_reference_readings_take_no_place_away():
    """A fixed point measured again and again, in the probe too: the search goes on."""

    def gap(every):
        opt = Optimizer(np.full(6, 3.0), noise=0.01, maxfev=200)
        k = iter(range(10**6))
        while not opt.done:
            trial = opt.ask()
            opt.tell(trial, reading(trial.x, next(k)))
            if every and trial.id % every == 0:
                opt.tell(np.full(6, 3.0), reading(np.full(6, 3.0), next(k)))
        return np.abs(opt.result().x - 1).max()

    without = gap(0)
    for every in (1, 2, 5):
        assert gap(every) < 3 * without + 0.1


def test_the_point_itself_answers_the_trial_too():
    opt = Optimizer([0.0, 0.0], maxfev=6)
    while not opt.done:
        x = opt.ask().x
        opt.tell(list(x), float(np.sum(x**2)))
    assert opt.nfev == 6


def test_a_trial_of_another_search_is_refused():
    a, b = Optimizer([0.0]), Optimizer([1.0])
    b.ask()
    with pytest.raises(ValueError, match=r"trial 0 at \[0.\] is not waiting"):
        b.tell(a.ask(), 1.0)


def test_stated_errors_set_the_error_bars():
    def run(sigma):
        opt = Optimizer(np.zeros(3), method="paper", noise=0.5, initial_radius=1.0)
        for k in range(7):
            trial = opt.ask()
            opt.tell(trial, float(trial.x.sum()) + 0.5 * k, sigma=sigma)
        return opt.result()

    plain, fine = run(None), run(0.05)
    assert fine.fun_std < 0.2 * plain.fun_std
    assert fine.drift_rate_std < 0.2 * plain.drift_rate_std


def test_failures_shrink_the_step_and_are_counted():
    # A known place that is measured again stays where it is.
    opt = Optimizer([1.0, 1.0], noise=0.0, options={"robust": False})
    for _ in range(5):
        trial = opt.ask()
        opt.tell(trial, float(np.sum(trial.x**2)))
    centre = opt.result().x
    lengths = []
    for _ in range(3):
        trial = opt.ask()
        lengths.append(np.linalg.norm(trial.x - centre))
        opt.tell_failed(trial, "no beam")
    np.testing.assert_allclose(lengths, lengths[0] * np.array([1, 0.5, 0.25]))
    assert opt.result().nfail == 3


def test_failing_probe_points_are_tried_nearer():
    opt = Optimizer([0.0], method="paper", initial_radius=1.0)
    opt.tell(opt.ask(), 1.0)
    assert opt.ask().x == [1.0]
    opt.tell_failed(opt.ask())
    assert opt.ask().x == [0.5]


def test_too_many_failures_in_a_row_end_the_search():
    opt = Optimizer([0.0], max_failures=3)
    for k in range(3):
        assert not opt.done
        opt.tell_failed(opt.ask(), f"reason {k}")
    assert opt.status is Status.FAILURES
    res = opt.result()
    assert (res.success, res.nfev, res.nfail) == (False, 3, 3)
    assert "reason 2" in res.message
    assert math.isnan(res.fun)


def test_asking_after_the_end_says_why():
    opt = Optimizer([0.0], maxfev=4)
    for value in (0.0, 2.0, 3.0, 0.0):
        opt.tell(opt.ask(), value)
    assert opt.status is Status.MAXFEV
    with pytest.raises(RuntimeError, match="budget"):
        opt.ask()


def test_results_before_the_model_exists():
    res = Optimizer([1.0, 2.0]).result()
    np.testing.assert_array_equal(res.x, [1.0, 2.0])
    assert math.isnan(res.fun)
    assert res.nfev == 0
    opt = Optimizer([1.0, 2.0], noise=0.5)
    opt.tell(opt.ask(), 3.0)
    res = opt.result()
    assert (res.fun, res.fun_std, res.fun_best_observed) == (3.0, 0.5, 3.0)


def test_clock_stamps_readings_and_may_do_anything():
    times = iter([1.7e9, 1.7e9, 1.7e9 + 1, 1.7e9 - 5, 1.7e9, 1.7e9 + 3600.5, 1.7e9 + 9])
    opt = Optimizer(
        [0.0, 0.0], clock=lambda: next(times), noise=0.1
    )  # one for checking
    for _ in range(6):
        trial = opt.ask()
        opt.tell(trial, float(np.sum(trial.x**2)))
    assert opt.result().history.t[2] == 1.7e9 - 5
    assert np.isfinite(opt.ask().x).all()
    opt.tell(opt.ask(), 1.0, t=5.0)
    assert opt.result().history.t[-1] == 5.0


def test_times_of_their_own_cannot_be_mixed_with_numbers(tmp_path):
    opt = Optimizer([0.0, 0.0])
    opt.tell(opt.ask(), 1.0, t=0.0)  # as good as its number
    opt.tell(opt.ask(), 1.0)
    opt.tell_failed(opt.ask())
    opt.tell(opt.ask(), 1.0, t=1.7e9)
    with pytest.raises(ValueError, match="t is needed"):
        opt.tell(opt.ask(), 1.0)
    opt.tell_failed(opt.ask())  # nothing depends on its time
    opt.save(tmp_path / "run")
    again = Optimizer.load(tmp_path / "run", clock=lambda: 1.7e9 + 60)
    again.tell(again.ask(), 1.0)
    np.testing.assert_array_equal(
        again.result().history.t, [0, 1, 2, 1.7e9, 1.7e9, 1.7e9 + 60]
    )


def test_a_clock_set_back_does_not_stop_the_renewal_of_samples():
    def gap(jump):
        opt = Optimizer(np.zeros(4), noise=0.01, maxfev=150)
        while not opt.done:
            trial = opt.ask()
            k = trial.id
            t = k - (jump if k >= 40 else 0)
            opt.tell(trial, reading(trial.x, k) - 0.1 * k, t=float(t))
        return float(np.sum((opt.result().x - 1) ** 2))

    assert gap(3600.0) < 10 * gap(0.0) + 0.02


def test_estimates_are_calibrated():
    """fun_std and drift_rate_std cover the truth, as often as they should."""
    hits_value, hits_drift, runs = 0, 0, 200
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        opt = Optimizer(np.zeros(3), method="paper", noise=0.1, initial_radius=1.0)
        for k in range(7):  # the probe of a linear function: the model is exact
            trial = opt.ask()
            opt.tell(trial, float(trial.x.sum()) + 0.5 * k + 0.1 * rng.normal())
        res = opt.result()
        hits_value += abs(res.fun - (res.x.sum() + 0.5 * res.t)) < 2 * res.fun_std
        hits_drift += abs(res.drift_rate - 0.5) < 2 * res.drift_rate_std
    assert 0.90 * runs < hits_value <= runs
    assert 0.90 * runs < hits_drift <= runs


BAD_ARGUMENTS = [
    ({"x0": []}, ValueError, "x0 is empty"),
    ({"x0": [[1.0, 2.0]]}, ValueError, "x0 must be one-dimensional"),
    ({"x0": [1.0, math.nan]}, ValueError, "x0 must be finite"),
    ({"x0": ["a"]}, TypeError, "x0 must hold real numbers"),
    ({"x0": [1j]}, TypeError, "x0 must hold real numbers"),
    ({"noise": -1.0}, ValueError, "noise must be >= 0, but is -1.0"),
    ({"noise": "loud"}, TypeError, "noise must be one real number"),
    ({"noise": math.inf}, ValueError, "noise must be finite"),
    ({"maxfev": 0}, ValueError, "maxfev must be >= 1, but is 0"),
    ({"maxfev": 1.5}, ValueError, "maxfev must be a whole number, but is 1.5"),
    ({"maxfev": "many"}, TypeError, "maxfev must be one real number"),
    ({"maxfev": math.inf}, ValueError, "maxfev must be a whole number"),
    ({"noise": 1e200}, ValueError, "noise must be <= 1e100"),
    ({"initial_radius": 0.0}, ValueError, "initial_radius must be > 0"),
    ({"initial_radius": 1e-120}, ValueError, r"initial_radius must be in \[1e-50"),
    ({"clock": 3.0}, TypeError, "clock must be callable"),
    ({"clock": lambda: "noon"}, TypeError, r"clock\(\) must be one real number"),
    ({"rng": -1}, ValueError, "rng = -1"),
    ({"max_failures": 0}, ValueError, "max_failures must be >= 1"),
    (
        {"method": "simplex"},
        ValueError,
        "'simplex' is unknown; known: 'paper', 'adaptive'",
    ),
    ({"method": 7}, TypeError, "method must be a name or a settings object"),
    ({"options": {"etta": 0.5}}, ValueError, "did you mean 'eta'"),
    ({"options": {"eta": 2.0}}, ValueError, r"Paper.eta = 2.0 .* in \[0, 1\]"),
    ({"options": {"hessian": "big"}}, ValueError, "one of 'zero', 'interpolated'"),
    ({"options": {"drift_compensation": 1}}, ValueError, "one of False, True"),
    ({"options": {"time_degree": 1.5}}, ValueError, "time_degree = 1.5"),
]


@pytest.mark.parametrize(("change", "error", "message"), BAD_ARGUMENTS)
def test_bad_arguments_are_named(change, error, message):
    with pytest.raises(error, match=message):
        Optimizer(**{"x0": [0.0, 0.0], "method": "paper", **change})


def test_bad_tells_are_named_and_change_nothing():
    opt = Optimizer([0.0, 0.0])
    trial = opt.ask()
    for args, error, message in [
        ((trial, "high"), TypeError, "value must be one real number"),
        ((trial, [1.0, 2.0]), TypeError, "value must be one real number"),
        ((trial, 1.0, math.nan), ValueError, "t must be finite"),
        ((trial, 1.0, 0.0, -1.0), ValueError, "sigma must be >= 0"),
        (([1.0], 1.0), ValueError, r"x must be of shape \(2,\)"),
        (([1.0, 2.0], math.nan), ValueError, "value must be finite"),
        ((tobyqa.Trial(5, trial.x), 1.0), ValueError, "trial 5 at .* is not waiting"),
    ]:
        with pytest.raises(error, match=message):
            opt.tell(*args)
    with pytest.raises(TypeError, match="what ask"):
        opt.tell_failed([0.0, 0.0])
    for status in (Status.RUNNING, Status.UNRESOLVED):
        with pytest.raises(ValueError, match="status must be"):
            opt.stop(status)
    assert opt.nfev == 0
    opt.tell(trial, 1.0)
    with pytest.raises(ValueError, match=r"trial 0 at .* is not waiting"):
        opt.tell(trial, 1.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e101, -1e300])
def test_non_finite_readings_are_failures(value):
    opt = Optimizer([0.0])
    opt.tell(opt.ask(), value)
    assert opt.result().nfail == 1
    assert math.isnan(opt.result().history.value[0])


def calls_of(function, *args):
    """How many calls, of whatever, it takes."""
    calls = []

    def count(frame, event, arg):
        if "call" in event:
            calls.append(event)

    sys.setprofile(count)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return len(calls)


def test_a_late_reading_takes_no_more_calls_than_an_early_one():
    """Method paper keeps as many readings late as early, and nothing else may grow."""
    rng = np.random.default_rng(0)
    opt = Optimizer(np.zeros(3), method="paper", noise=0.0, rng=0)
    calls = []
    for _ in range(240):
        trial = opt.ask()
        value = float(trial.x @ trial.x) + rng.normal()
        calls.append(calls_of(opt.tell, trial, value))
    assert max(calls[200:]) < 1.1 * max(calls[20:60])
