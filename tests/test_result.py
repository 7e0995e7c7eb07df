"""What a person sees of a result: its print, its types, its predictions, its errors."""

from __future__ import annotations

import pickle
import re
import typing
import warnings
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import drawn_runs
import tobyqa
from tobyqa import Optimizer, Paper, Result, minimize

METHODS = {
    "adaptive": tobyqa.Adaptive(),
    "paper": Paper(kappa_tol=0.0),
    "paper without curvature": Paper(kappa_tol=0.0, curvature_kernel=False),
    "paper with carried curvature": Paper(kappa_tol=0.0, curvature_prior="carried"),
    "paper, time squared": Paper(kappa_tol=0.0, time_degree=2),
}
every = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
both = pytest.mark.parametrize("method", ["adaptive", "paper"])
SPACES = {
    "plain": {"initial_radius": 2.0},
    "scaled": {"x_scale": [10.0, 1e-3, 1.0]},
    "bounds": {"bounds": [(-9.0, 9.0), (-1e-2, 1e-2), (0.0, 4.0)]},
    "fixed": {"x_scale": [10.0, 1e-3, 1.0], "fixed": {2: 1.0}},
    "equality": {"x_scale": [10.0, 1e-3, 1.0], "constraints": "x0 + 1000*x1 == 2"},
    "maximize": {"maximize": True, "initial_radius": 2.0},
}
UNIT = np.array([10.0, 1e-3, 1.0])


def bowl(x):
    u = np.asarray(x) / UNIT
    return np.sum((u - [0.1, 0.5, 0.8]) ** 2, axis=-1)


def finished(method="adaptive", readings=40, space="plain", seed=0, **arguments):
    """A drifting, noisy bowl, read at times of its own."""
    said = SPACES[space] | arguments
    sign, rng = (-1.0 if said.get("maximize") else 1.0), np.random.default_rng(seed)
    x0 = [0.0, 2e-3, 1.0] if space == "equality" else [0.0, 0.0, 1.0]
    opt = Optimizer(x0, method=method, noise=0.02, rng=1, **said)
    for k in range(readings):
        if opt.done:
            break
        trial, t = opt.ask(), 100.0 + 3.0 * k
        value = 5.0 + bowl(trial.x) + 0.01 * t + 0.02 * rng.standard_normal()
        opt.tell(trial, sign * value, t=t)
    return opt


FINISHED = finished(readings=30).result()


# -- predictions ----------------------------------------------------------------------


@every
@pytest.mark.parametrize("space", SPACES)
def test_prediction_at_the_answer_is_the_answer(method, space):
    res = finished(method, space=space).result()
    value, error = res.predict(res.x)
    assert isinstance(value, float)
    assert isinstance(error, float)
    assert (value, error) == pytest.approx((res.fun, res.fun_std), rel=1e-9)
    assert res.predict(res.x, res.t) == (value, error)


@every
def test_predictions_follow_gradient_curvature_and_drift(method):
    """The same surface that `jac`, `hess` and `drift` describe."""
    res = finished(method).result()
    h, eye = 2e-4, np.eye(3)
    up, down = (res.predict(res.x + s * h * UNIT * eye)[0] for s in (1, -1))
    jac, second = (
        (up - down) / (2 * h * UNIT),
        (up + down - 2 * res.fun) / (h * UNIT) ** 2,
    )
    size = np.abs(res.jac * UNIT).max() + np.abs(res.hess * np.outer(UNIT, UNIT)).max()
    np.testing.assert_allclose(jac * UNIT, res.jac * UNIT, atol=1e-3 * size)
    np.testing.assert_allclose(
        second * UNIT**2, res.hess.diagonal() * UNIT**2, atol=1e-2 * size
    )
    value, error = res.predict(res.x, res.drift.t)
    np.testing.assert_allclose(value - res.fun, res.drift.value, atol=1e-9)
    assert error.shape == res.drift.t.shape


@every
@pytest.mark.parametrize("space", ["plain", "bounds", "equality", "maximize"])
def test_points_together_are_points_alone(method, space):
    res = finished(method, space=space).result()
    n = len(res.x)
    along = np.array([1.0, -1e-3, 0.5]) if space == "equality" else UNIT
    X = res.x + np.linspace(-0.5, 0.5, 1201)[:, None] * along  # more than a part
    t = np.linspace(90.0, 300.0, 1201)
    value, error = res.predict(X, t)
    for i in (0, 1, 499, 500, 1000, 1200):
        assert (value[i], error[i]) == pytest.approx(res.predict(X[i], t[i]), rel=1e-9)
    grid = X[:1200].reshape(20, 60, n)
    at_once, _ = res.predict(grid, t[:1200].reshape(20, 60))
    np.testing.assert_allclose(at_once.ravel(), value[:1200], rtol=1e-9)
    assert res.predict(X[0], t)[0].shape == (1201,)  # one place through time
    assert res.predict(X[:4], t[:3, None])[1].shape == (3, 4)
    assert res.predict(np.empty((0, n)))[0].shape == (0,)


@both
def test_predictions_survive_a_pickle_and_the_search(method):
    opt = finished(method)
    res = opt.result()
    X = res.x + UNIT * np.random.default_rng(0).normal(size=(9, 3))
    before = res.predict(X, 200.0)
    opt.tell(opt.ask(), 1e3, t=250.0)
    np.testing.assert_array_equal(res.predict(X, 200.0), before)
    again = pickle.loads(pickle.dumps(res))
    np.testing.assert_array_equal(again.predict(X, 200.0), before)
    assert repr(again) == repr(res)


def test_predictions_are_right_within_their_errors():
    """Where the search has been, at any time that it covers."""
    off = []
    for seed in range(36):
        res = finished(readings=50, seed=seed).result()
        X = res.x + 0.3 * UNIT * np.random.default_rng(seed).normal(size=(20, 3))
        t = np.linspace(100.0, 247.0, 20)
        value, error = res.predict(X, t)
        assert (error > 0.0).all()
        off.append((value - (5.0 + bowl(X) + 0.01 * t)) / error)
    # One run is off as a whole: its points share the errors of one model.
    assert 0.5 < np.sqrt(np.mean(np.square(off))) < 1.5


def test_predictions_of_the_paper_scatter_as_their_errors_say():
    """By noise alone: the same points and times, read again and again."""
    opt = finished("paper", readings=30)
    seen = opt.result().history
    X, t = seen.x[-4:] + 0.2 * UNIT, 150.0
    values, errors = [], []
    for k in range(200):
        again = Optimizer(seen.x[0], method="paper", noise=0.02, initial_radius=2.0)
        noise = 0.02 * np.random.default_rng([7, k]).standard_normal(7)
        for x, when, e in zip(seen.x, seen.t, noise, strict=False):
            again.tell(again.ask(), 5.0 + bowl(x) + e, t=when)
        value, error = again.result().predict(X, t)
        values.append(value)
        errors.append(error)
    ratio = np.std(values, axis=0) / np.mean(errors, axis=0)
    assert ((0.85 < ratio) & (ratio < 1.15)).all()


def test_what_the_model_cannot_know_is_an_error():
    res = finished(space="fixed").result()
    with pytest.raises(ValueError, match=r"what is fixed.*nearest point is .*1\.0\]"):
        res.predict([0.0, 0.0, 2.0])
    assert np.isfinite(res.predict([0.0, 0.0, 1.0 + 1e-13])).all()
    res = finished(space="equality").result()
    with pytest.raises(ValueError, match="equalities"):
        res.predict([2.0, 2.0, 1.0])


@pytest.mark.parametrize(
    ("x", "t", "message"),
    [
        ([1.0, 2.0], None, r"x must be of shape \(3,\)"),
        (1.0, None, r"x must be of shape \(3,\)"),
        ([1.0, np.nan, 0.0], None, "x must be finite"),
        (np.zeros((4, 3)), [1.0, 2.0], "t must have one time for all"),
        (np.zeros(3), np.inf, "t must be finite"),
        (["a", "b", "c"], None, "x must hold real numbers"),
    ],
)
def test_bad_places_are_named(x, t, message):
    res = finished(readings=20).result()
    with pytest.raises((ValueError, TypeError), match=message):
        res.predict(x, t)


@both
@pytest.mark.parametrize("readings", [0, 1, 4])
def test_without_a_model_nothing_is_predicted(method, readings):
    res = finished(method, readings).result()
    assert np.isnan(res.predict(res.x)).all()
    assert np.isnan(res.predict(np.zeros((4, 3)), 7.0)).all()


# -- errors ---------------------------------------------------------------------------


def constrained(centre, seed, **arguments):
    rng, clock = np.random.default_rng(seed), count()

    def fun(x):
        u = (x - centre) @ [[1.0, 0.6, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]]
        return u @ u + 0.01 * next(clock) + 0.02 * rng.standard_normal()

    return minimize(fun, [0.25, 0.25, 0.5], noise=0.02, maxfev=60, rng=1, **arguments)


@every
@pytest.mark.parametrize("space", SPACES)
def test_covariance_has_the_errors_on_its_diagonal(method, space):
    res = finished(method, space=space).result()
    cov, std = res.x_cov, res.x_std
    np.testing.assert_allclose(np.sqrt(np.abs(cov.diagonal())), std, rtol=1e-9)
    np.testing.assert_array_equal(cov, cov.T)
    if np.isfinite(cov).all():
        unit = np.diag(1.0 / np.where(std > 0.0, std, 1.0))
        assert np.linalg.eigvalsh(unit @ cov @ unit).min() > -1e-9


def test_covariance_is_nothing_across_active_constraints():
    """Whole rows across a bound; across an oblique one, that combination."""
    centre = np.array([2.0, 0.2, 0.4])
    box = {"bounds": [(0.0, 1.0)] * 3}
    inside, a, known = np.array([0.8, 0.8, 0.4]), np.array([1.0, 2.0, 0.0]), 0
    for seed in range(8):
        res = constrained(centre, seed, **box)
        assert res.active == ["x0 <= 1"]
        assert not res.x_cov[0].any()
        assert not res.x_cov[:, 0].any()
        assert not (res.x_std[1:] == 0.0).any()
        known += np.isfinite(res.x_std).all()
        res = constrained(inside, seed, **box, constraints="x0 + 2*x1 <= 1.5")
        assert res.active == ["x0 + 2*x1 <= 1.5"]
        assert not (res.x_std == 0.0).any()
        if np.isfinite(res.x_cov).all():
            assert np.abs(res.x_cov @ a).max() < 1e-12 * res.x_cov.max()
            known += 1
    assert known > 8


@both
def test_covariance_and_predictions_are_in_the_units_of_the_user(method):
    """A variable counted in another unit, a power of two, changes nothing else."""
    unit = np.array([1.0, 2.0**-9, 2.0**7])

    def run(s):
        opt = Optimizer([0.0, 0.0, 0.0], method=method, noise=0.02, x_scale=s, rng=1)
        for k in range(30):
            trial = opt.ask()
            value = bowl(trial.x / s * UNIT) + 0.02 * np.cos(7.0 * k)
            opt.tell(trial, value)
        return opt.result()

    one, other = run(np.ones(3)), run(unit)
    np.testing.assert_array_equal(other.x_cov, one.x_cov * np.outer(unit, unit))
    X = one.x + np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_array_equal(other.predict(X * unit), one.predict(X))


# -- print ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*drawn_runs.HARD, "drifting apart"])
def test_every_result_and_run_can_be_printed(name):
    runs = drawn_runs.HARD | {"drifting apart": drawn_runs.drifting_apart}
    opt = runs[name]()
    before = len(opt.result().history), opt.pending
    for shown in (opt, opt.result(), opt.progress()):
        lines = repr(shown).splitlines()
        assert str(shown) == repr(shown)
        assert len(lines) < 20 + 15
        assert max(map(len, lines)) < 250
        page = shown._repr_html_()
        assert page.count("<tr>") == page.count("</tr>") == len(lines)
        assert "<script" not in page
        assert "<b>" not in page
    assert (len(opt.result().history), opt.pending) == before


def test_print_says_what_a_person_wants_to_know():
    res = drawn_runs.stamped().result()
    text = str(res)
    shown = float(re.search(r"temperature = (\S+) ±", text)[1])
    assert shown == pytest.approx(res.x[0], abs=0.1 * res.x_std[0])
    for part in (
        "°C",
        "l/min",
        " ± ",
        "per hour",
        "4 of them failed",
        "2026-05-28",
        "budget",
        "adaptive",
        "no success, status 5",
    ):
        assert part in text, text
    bounded = constrained(np.array([2.0, 0.2, 0.4]), 3, bounds=[(0.0, 1.0)] * 3)
    assert "active  " in str(bounded)
    assert "the answer is at x0 <= 1" in str(bounded)
    assert "array(" not in text + str(bounded)


@given(st.sets(st.sampled_from(sorted(typing.get_type_hints(Result)))))
def test_any_part_of_a_result_can_be_printed(missing):
    part = Result({k: v for k, v in FINISHED.items() if k not in missing})
    assert ("answer" in repr(part)) == ("x" not in missing)
    assert set(dir(part)) == {*part, "predict"}


def test_print_says_when_there_is_no_answer():
    opt = Optimizer([1.0, 2.0], names=["gap", "angle"], units=["mm", ""])
    assert "gap = 1 mm" in repr(opt)
    assert "no reading yet" in repr(opt)
    trial = opt.ask()
    assert "trial 0: gap = 1 mm, angle = 2" in repr(opt)
    opt.tell(trial, 3.0)
    assert "no model yet" in repr(opt)
    assert "no model yet" in repr(opt.result())
    assert "trial" not in repr(opt).replace("trials", "")


@given(st.text(max_size=20))
def test_reasons_reach_no_terminal_raw(reason):
    opt = Optimizer([1.0], max_failures=1)
    opt.tell_failed(opt.ask(), f"\x1b[2J{reason}\x07")
    for shown in (repr(opt), repr(opt.result()), opt.result()._repr_html_()):
        assert "\x1b" not in shown
        assert "\x07" not in shown


# -- types ----------------------------------------------------------------------------

HINTS = typing.get_type_hints(Result)


@both
@pytest.mark.parametrize("readings", [0, 3, 30])
def test_results_have_the_types_that_they_declare(method, readings):
    res = finished(method, readings).result()
    assert HINTS.keys() == res.keys()
    for name, hint in HINTS.items():
        kind = typing.get_origin(hint) or hint
        assert isinstance(res[name], kind), name
    part = finished(method, readings).progress()
    assert part.keys() <= HINTS.keys()


def test_results_document_what_they_have():
    listed = Result.__doc__.partition("Attributes")[2]
    assert [name for name in HINTS if name not in listed] == []


def test_printing_costs_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        repr(finished(readings=7).result())
