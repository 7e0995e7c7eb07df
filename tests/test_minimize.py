"""`minimize` and the SciPy door: what users of SciPy rely on."""

from __future__ import annotations

import inspect
import time
import warnings

import numpy as np
import pytest
import scipy.optimize

import tobyqa
from tobyqa import Measurement, Status, minimize, scipy_method


def sphere(x):
    return float(np.sum((x - 1) ** 2))


def test_result_has_everything():
    res = minimize(sphere, [0, 0], noise=0.0, maxfev=50)
    assert isinstance(res, scipy.optimize.OptimizeResult)
    expected = (
        "x x_std x_cov active fun fun_std success status message nfev nit nfail jac "
        "hess drift_rate drift_rate_std drift drift_is_local noise_std t "
        "x_best_observed fun_best_observed history method names units surface "
        "confidence suspects sensor noise_std_std"
    )
    assert set(expected.split()) == set(res.keys())
    assert isinstance(res.success, bool)
    assert isinstance(res.status, int)
    assert res.hess.shape == (2, 2)
    assert res.jac.shape == (2,)
    assert res.fun == pytest.approx(sphere(res.x), abs=0.05)


@pytest.mark.parametrize("x0", [[0, 0], (0.0, 0.0), np.array([0, 0], dtype=np.int32)])
def test_any_kind_of_start(x0):
    assert sphere(minimize(sphere, x0, noise=0.0, maxfev=200).x) < 1e-3


def test_scalar_and_read_only_starts_are_left_alone():
    assert minimize(lambda x: x[0] ** 2, 3.0, maxfev=5).x.shape == (1,)
    x0 = np.zeros(2)
    x0.flags.writeable = False
    minimize(sphere, x0, maxfev=20)
    np.testing.assert_array_equal(x0, 0.0)


def test_a_function_that_writes_into_its_argument_does_no_harm():
    def vandal(x):
        value = sphere(x)
        x[:] = 1e6
        return value

    a = minimize(vandal, [0.0, 0.0], noise=0.0, maxfev=60, rng=0)
    b = minimize(sphere, [0.0, 0.0], noise=0.0, maxfev=60, rng=0)
    np.testing.assert_array_equal(a.history.x, b.history.x)


def test_args_and_options_and_settings_objects():
    res = minimize(lambda x, a, b: a * sphere(x) + b, [0.0, 0.0], (2.0, 5.0), maxfev=80)
    assert res.fun == pytest.approx(5.0, abs=0.5)
    res = minimize(lambda x, a: a * sphere(x), [0.0, 0.0], 2.0, maxfev=9)
    assert res.nfail == 0
    res = minimize(sphere, [0.0, 0.0], maxfev=9, method="paper", options={"eta": 0.5})
    assert res.method == "paper:eta=0.5"
    res = minimize(sphere, [0.0, 0.0], maxfev=9, method=tobyqa.Paper(chi=10))
    assert res.method == "paper:chi=10.0"


def test_default_budget_is_stated_per_variable():
    rng = np.random.default_rng(0)
    res = minimize(lambda x: rng.normal(), [0.0], noise=1e-9)
    assert res.nfev <= 500
    assert not res.success


def test_measurements_carry_time_and_error():
    seen = []

    def fun(x):
        seen.append(100.0 + 2.0 * len(seen))
        return Measurement(sphere(x) + 0.25 * seen[-1], t=seen[-1], sigma=0.1)

    res = minimize(fun, [0.0, 0.0], noise=0.1, maxfev=40)
    np.testing.assert_array_equal(res.history.t, seen)
    np.testing.assert_array_equal(res.history.sigma, 0.1)
    assert res.drift_rate == pytest.approx(0.25, abs=0.2)


def test_real_clock():
    res = minimize(sphere, [0.0, 0.0], noise=0.0, maxfev=30, clock=time.time)
    assert np.all(np.diff(res.history.t) >= 0)
    assert res.history.t[0] > 1.6e9
    assert np.isfinite(res.x).all()


@pytest.mark.parametrize(
    "bad",
    [
        lambda: 1 / 0,
        lambda: np.nan,
        lambda: np.inf,
        lambda: "text",
        lambda: None,
        lambda: [1.0, 2.0],
        lambda: 1j,
        lambda: Measurement("text"),
    ],
)
def test_failed_evaluations_are_counted_and_survived(bad):
    calls = iter(range(1000))

    def fun(x):
        return bad() if next(calls) % 5 == 3 else sphere(x)

    res = minimize(fun, [0.0, 0.0], noise=0.0, maxfev=150)
    failed = sum(k % 5 == 3 for k in range(res.nfev))
    assert failed > 5
    assert res.nfail == failed
    assert np.isnan(res.history.value).sum() == failed
    assert sphere(res.x) < 1e-6


def test_always_failing_ends_with_the_reason():
    def fun(x):
        raise OSError("instrument is off")

    res = minimize(fun, [0.0])
    assert res.status == Status.FAILURES.code
    assert res.nfev == 10
    assert "OSError: instrument is off" in res.message


def test_bad_stamps_and_clocks_are_failed_evaluations():
    """A hundred good readings are not lost because the next one has a bad time."""
    calls = iter(range(1000))

    def fun(x):
        k = next(calls)
        bad = k % 4 == 3
        return Measurement(sphere(x), t="noon" if bad else float(k), sigma=0.1)

    res = minimize(fun, [0.0, 0.0], noise=0.1, maxfev=40)
    assert (res.nfev, res.nfail) == (40, 10)
    ticks = iter(range(1000))

    def clock():
        if next(ticks) > 20:
            raise OSError("clock lost")
        return 1.0

    res = minimize(sphere, [0.0, 0.0], noise=0.0, clock=clock)
    assert res.status == Status.FAILURES.code
    assert "OSError: clock lost" in res.message
    assert res.nfev == 30


def test_keyboard_interrupt_gives_a_result():
    calls = iter(range(1000))

    def fun(x):
        if next(calls) == 20:
            raise KeyboardInterrupt
        return sphere(x)

    res = minimize(fun, [0.0, 0.0], noise=0.0)
    assert (res.status, res.success, res.nfev) == (Status.STOPPED.code, False, 20)


def test_callback_per_evaluation_in_both_styles():
    points, results = [], []

    def old_style(xk):
        points.append(xk)

    def new_style(intermediate_result):
        results.append(intermediate_result)

    minimize(sphere, [0.0, 0.0], noise=0.0, maxfev=30, rng=0, callback=old_style)
    minimize(sphere, [0.0, 0.0], noise=0.0, maxfev=30, rng=0, callback=new_style)
    assert len(points) == len(results) == 30
    np.testing.assert_array_equal(points, [r.x for r in results])
    assert results[-1].nfev == 30
    assert len({id(r.x) for r in results}) == 30  # copies, not views of one array


def test_stop_iteration_ends_without_another_call():
    calls = []

    def stop(xk):
        raise StopIteration

    res = minimize(lambda x: calls.append(0) or 1.0, [0.0], callback=stop)
    assert (len(calls), res.status, res.success) == (1, 99, False)


def test_stop_iteration_from_the_objective_is_a_failed_evaluation():
    source = iter([1.0, 2.0, 3.0])
    res = minimize(lambda x: next(source), [0.0, 0.0], max_failures=2)
    assert res.status == Status.FAILURES.code
    assert res.nfev == 5


def test_bad_callables_are_named():
    with pytest.raises(TypeError, match="fun must be callable"):
        minimize(3.0, [0.0])
    with pytest.raises(TypeError, match="callback must be callable"):
        minimize(sphere, [0.0], callback=3.0)


def test_reentrant():
    """A search inside the objective of a search."""

    def outer(x):
        inner = minimize(lambda y: float((y[0] - x[0]) ** 2), [0.0], maxfev=10)
        return sphere(x) + 0 * inner.nfev

    assert sphere(minimize(outer, [0.0, 0.0], noise=0.0, maxfev=100).x) < 0.1


def test_global_random_state_is_untouched():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    minimize(sphere, [0.0, 0.0], maxfev=20)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


# -- SciPy ----------------------------------------------------------------------------


def test_scipy_minimize_with_our_method():
    seen = []
    res = scipy.optimize.minimize(
        sphere,
        [0.0, 0.0],
        method=scipy_method,
        callback=lambda xk: seen.append(xk),
        options={"noise": 0.0, "maxfev": 60, "rng": 0, "reach": 3.0},
    )
    direct = minimize(
        sphere, [0.0, 0.0], noise=0.0, maxfev=60, rng=0, options={"reach": 3.0}
    )
    np.testing.assert_array_equal(res.x, direct.x)
    assert len(seen) == res.nfev == 60


def test_scipy_new_style_callback_and_stop():
    def callback(intermediate_result):
        if intermediate_result.nfev == 7:
            raise StopIteration

    res = scipy.optimize.minimize(
        sphere, [0.0, 0.0], method=scipy_method, callback=callback
    )
    assert (res.nfev, res.status) == (7, 99)


def test_scipy_arguments_arrive_as_in_any_method():
    """Bounds, constraints, args, tol and a callback, by SciPy's own names."""
    seen = []

    def fun(x, a, b):
        assert (x >= 0.0).all()
        assert x[0] <= 2.0
        assert x.sum() <= 3.0
        return a * (x[0] - 3.0) ** 2 + b * (x[1] - 2.0) ** 2

    def callback(intermediate_result):
        seen.append((intermediate_result.x, intermediate_result.fun))

    res = scipy.optimize.minimize(
        fun,
        [0.5, 0.5],
        args=(1.0, 2.0),
        method=scipy_method,
        bounds=scipy.optimize.Bounds([0.0, 0.0], [2.0, 4.0]),
        constraints=[scipy.optimize.LinearConstraint([[1.0, 1.0]], ub=3.0)],
        tol=1e-4,
        callback=callback,
        options={"noise": 0.0, "rng": 0},
    )
    assert res.success
    assert res.nfev < 200
    np.testing.assert_allclose(res.x, [5 / 3, 4 / 3], atol=1e-3)
    assert res.fun == pytest.approx(8 / 3, abs=1e-4)
    assert len(seen) == res.nfev
    assert res.predict(res.x)[0] == pytest.approx(res.fun)


def test_scipy_warnings_point_at_the_line_of_the_user():
    with pytest.warns(UserWarning, match="maxfev = 3 is too small") as caught:
        scipy.optimize.minimize(
            sphere, [0.0, 0.0], method=scipy_method, options={"maxiter": 3}
        )
    assert [w.filename for w in caught] == [__file__]


def test_scipy_conventions():
    def run(**kwargs):
        return scipy.optimize.minimize(
            sphere, [0.0, 0.0], method=scipy_method, **kwargs
        )

    with pytest.warns(RuntimeWarning, match="does not use jac"):
        run(jac=lambda x: 2 * x, options={"maxfev": 6})
    with pytest.warns(RuntimeWarning, match="does not use tol"):
        run(tol=1e-3, options={"maxfev": 6, "tobyqa_method": "paper"})
    assert run(tol=1e-3, options={"maxfev": 6}).method == "adaptive:ftol=0.001"
    with pytest.warns(
        scipy.optimize.OptimizeWarning, match="Unknown solver options: speed"
    ):
        run(options={"maxfev": 6, "speed": 11})
    res = run(bounds=[(0, 1), (0, 1)], options={"maxiter": 7, "maxfev": 9})
    assert (res.nfev, res.maxcv) == (7, 0.0)
    with pytest.raises(TypeError, match="constraints must be linear"):
        run(constraints={"type": "ineq", "fun": sum})
    assert run(options={"maxfun": 6, "rhobeg": 0.5}).nfev == 6
    with pytest.raises(ValueError, match="disagree"):
        run(options={"maxfun": 6, "maxfev": 7})
    res = run(options={"maxfev": 6, "tobyqa_method": tobyqa.Paper(chi=10)})
    assert res.method == "paper:chi=10.0"


@pytest.mark.parametrize(
    "error", [NameError, TypeError, AttributeError, ImportError, SyntaxError]
)
def test_mistakes_in_the_first_call_are_raised(error):
    """Later ones are failed measurements, as a program's own data may cause them."""
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) in failing:
            raise error("no such thing")
        return sphere(x)

    failing = [1]
    with pytest.raises(error, match="no such thing"):
        minimize(fun, [0.0, 0.0], maxfev=9)
    calls, failing = [], [2, 3]
    assert minimize(fun, [0.0, 0.0], maxfev=9).nfail == 2


def test_scipy_disp_prints_the_message(capsys):
    scipy.optimize.minimize(
        sphere, [0.0], method=scipy_method, options={"maxfev": 4, "disp": True}
    )
    assert "budget" in capsys.readouterr().out


def test_scipy_basinhopping_uses_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        res = scipy.optimize.basinhopping(
            sphere,
            [0.0, 0.0],
            niter=2,
            minimizer_kwargs={
                "method": scipy_method,
                "options": {"noise": 0.0, "maxfev": 100},
            },
            rng=0,
        )
    assert sphere(res.x) < 0.1


def test_public_signature_is_the_documented_one():
    names = list(inspect.signature(minimize).parameters)
    assert names[:3] == ["fun", "x0", "args"]
    assert set(names[3:]) >= set(
        "method noise maxfev initial_radius clock callback rng options".split()
    )
