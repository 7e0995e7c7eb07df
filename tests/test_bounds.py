"""Limits, scales, steps and sense of the variables, through every door."""

from __future__ import annotations

import copy
import pickle
import warnings
from itertools import count

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint

import tobyqa
from tobyqa import Optimizer
from tobyqa.methods.first_points import unread

# Without its stopping rule the published method goes on to ask.
METHODS = {"adaptive": tobyqa.Adaptive(), "paper": tobyqa.Paper(kappa_tol=0.0)}
both = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
BOX = Bounds([-1.0, 0.0, 280.0], [2.0, 7e-3, 320.0])
WIDTH = BOX.ub - BOX.lb
OBLIQUE = LinearConstraint([[1.0, 300.0, 0.0]], ub=2.5)
LEVEL = LinearConstraint([[1.0, 0.0, 0.1]], 30.0, 30.0)
CASES = {
    "bounds": {"bounds": BOX},
    "linear": {"bounds": BOX, "constraints": OBLIQUE},
    "equality": {"bounds": BOX, "constraints": [OBLIQUE, LEVEL]},
    "resolution": {"bounds": BOX, "resolution": [0.01, 1e-4, 0.5]},
    "fixed": {"bounds": BOX, "constraints": OBLIQUE, "fixed": {2: 299.5}},
    "half open": {"bounds": [(None, 2.0), (0.0, 7e-3), (280.0, None)]},
    "paired": {"constraints": [OBLIQUE, "x2 >= 280"], "x_scale": [1.0, 1e-3, 10.0]},
}
case = pytest.mark.parametrize("arguments", CASES.values(), ids=CASES.keys())
STARTS = {
    "inside": [0.3, 2e-3, 297.0],
    "on a bound": [0.3, 0.0, 297.0],
    "corner": [-1.0, 0.0, 320.0],
    "outside": [5.0, -1.0, 270.0],
}


def assert_allowed(x, arguments):
    """As numpy evaluates it, to the last bit."""
    bounds = arguments.get("bounds", Bounds(-np.inf, np.inf))
    if not isinstance(bounds, Bounds):
        low = [-np.inf if a is None else a for a, _ in bounds]
        bounds = Bounds(low, [np.inf if b is None else b for _, b in bounds])
    assert (bounds.lb <= x).all(), x
    assert (x <= bounds.ub).all(), x
    rows = arguments.get("constraints", [])
    for row in rows if isinstance(rows, list) else [rows]:
        if row is LEVEL:
            assert abs(row.A @ x - 30.0) <= 1e-9 * 5.0
        elif isinstance(row, LinearConstraint):
            assert (row.A @ x <= row.ub).all(), x
        else:
            assert x[2] >= 280.0
    for i, value in arguments.get("fixed", {}).items():
        assert x[i] == value
    for step, at in zip(arguments.get("resolution", []), x, strict=False):
        assert at / step == pytest.approx(round(at / step), abs=1e-9)


def bowl(x, centre):
    return float(np.sum(((x - centre) / WIDTH) ** 2) * 100.0)


def begun(x0, **arguments):
    """An optimizer, whether or not its start had to be moved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Optimizer(x0, **arguments)


def eventful(opt, centre, readings, arguments, seed=0):
    """A run with failures, guests and drift; every question must be allowed."""
    rng = np.random.default_rng(seed)
    for k in range(readings):
        if opt.done:
            break
        trial = opt.ask()
        assert_allowed(trial.x, arguments)
        if k % 9 == 4:
            opt.tell_failed(trial, "door open")
            continue
        value = bowl(trial.x, centre) + 0.3 * k + 0.1 * rng.standard_normal()
        opt.tell(trial, value, t=float(k))
        if k % 11 == 6:
            x = trial.x + 0.4 * WIDTH * rng.standard_normal(3)  # mostly outside
            opt.tell(x, bowl(x, centre) + 0.3 * k, t=k + 0.5)
    assert_allowed(opt.result().x, arguments)


@both
@case
@pytest.mark.parametrize("start", STARTS)
def test_bounds_hold_for_every_question(method, arguments, start):
    """Also with the minimum far outside, failures, guests, comparisons, restarts."""
    x0 = np.array(STARTS[start])
    for seed, restarts in ((0, False), (1, True)):
        centre = BOX.lb + WIDTH * np.array([1.4, -0.3, 0.4])
        opt = begun(x0, method=method, rng=seed, restarts=restarts, **arguments)
        eventful(opt, centre, 45, arguments, seed)


@both
def test_bounds_hold_in_restarts_and_comparisons(method):
    """Flat at last, so that searches from elsewhere begin."""
    arguments = CASES["linear"]
    x0, centre = STARTS["inside"], BOX.lb + 0.4 * WIDTH
    opt = Optimizer(
        x0, method=method, noise=0.5, maxfev=160, restarts=True, rng=2, **arguments
    )
    eventful(opt, centre, 160, arguments)
    assert len(opt.result().history) > 160


@both
def test_start_outside_the_bounds_is_moved_with_a_warning(method):
    with pytest.warns(UserWarning, match=r"x0 <= 2.*starts at.*\[2\.0, 0\.5\]"):
        opt = Optimizer([3.0, 0.5], method=method, bounds=[(0, 2), (0, 1)])
    assert opt.ask().x.tolist() == [2.0, 0.5]
    assert opt.result().x_best_observed.tolist() == [2.0, 0.5]


OPTIMA = {
    # unconstrained minimum, constraints, answer, active
    "inside": ([0.6, 1.4], (), [0.6, 1.4], []),
    "face": ([3.0, 1.0], (), [2.0, 1.0], ["x0 <= 2"]),
    "vertex": ([3.0, -2.0], (), [2.0, 0.0], ["x0 <= 2", "x1 >= 0"]),
    "oblique": ([2.0, 2.0], "x0 + x1 <= 2", [1.0, 1.0], ["x0 + x1 <= 2"]),
    "equality": ([1.0, 1.0], "x0 - x1 == 0.5", [1.25, 0.75], []),
}


@pytest.mark.parametrize("name", OPTIMA)
@pytest.mark.parametrize("maximize", [False, True], ids=["minimize", "maximize"])
def test_bounds_answer_is_the_constrained_optimum(name, maximize):
    """Under drift and noise, with the sign and the errors of what was measured."""
    free, constraints, answer, active = OPTIMA[name]
    sign, rng, clock = -1.0 if maximize else 1.0, np.random.default_rng(5), count()

    def fun(x):
        loss = 10.0 + np.sum((x - free) ** 2)
        return sign * (loss + 0.05 * next(clock)) + 0.02 * rng.standard_normal()

    res = tobyqa.minimize(
        fun,
        [0.5, 0.0],
        bounds=[(0, 2), (0, 2)],
        constraints=constraints,
        noise=0.02,
        maxfev=70,
        maximize=maximize,
        rng=1,
    )
    np.testing.assert_allclose(res.x, answer, atol=0.1)
    excess = np.sum((res.x - free) ** 2) - np.sum((np.array(answer) - free) ** 2)
    assert excess < 5 * 0.02
    assert res.drift_rate == pytest.approx(sign * 0.05, abs=0.01)
    assert sign * res.fun == pytest.approx(13.5 + np.sum((res.x - free) ** 2), abs=0.3)
    assert res.active == active
    np.testing.assert_allclose(np.sqrt(res.x_cov.diagonal()), res.x_std)
    if name == "face":
        assert res.x_std[0] == 0.0
    is_known = np.isfinite(res.x_std).all()
    assert is_known == (res.confidence == "determined")
    if is_known:
        assert (res.x_std < 0.1).all()
        assert (res.x_std[1:] > 0.0).all() == (name != "vertex")
    if name == "equality":
        assert res.x_std[0] == pytest.approx(res.x_std[1], nan_ok=True)


@pytest.mark.parametrize("name", ["face", "oblique", "equality"])
def test_bounds_leave_the_error_of_a_clear_optimum_known(name):
    """In most runs: none is given where the latest fits differ on it."""
    free, constraints, *_ = OPTIMA[name]
    known = 0
    for seed in range(8):
        rng, clock = np.random.default_rng(seed), count()

        def fun(x, rng=rng, clock=clock):
            drift = 0.05 * next(clock)
            return np.sum((x - free) ** 2) + drift + 0.02 * rng.standard_normal()

        said = {"bounds": [(0, 2), (0, 2)], "constraints": constraints}
        res = tobyqa.minimize(fun, [0.5, 0.0], **said, noise=0.02, maxfev=70, rng=1)
        known += bool(0.0 < res.x_std[1] < 0.1)
    assert known >= 6


@pytest.mark.parametrize("name", OPTIMA)
@pytest.mark.parametrize("seed", [1, 2])
def test_bounds_do_not_keep_a_search_from_its_end(name, seed):
    """On a face it used to see the slope against the wall alone, and to go on."""
    free, constraints, answer, active = OPTIMA[name]
    rng = np.random.default_rng(seed)
    opt = Optimizer(
        [0.5, 0.0], bounds=[(0, 2)] * 2, constraints=constraints, noise=0.05, rng=seed
    )
    while not opt.done and opt.nfev < 250:
        trial = opt.ask()
        loss = np.sum((trial.x - free) ** 2) + 0.02 * trial.id
        opt.tell(trial, float(loss) + 0.05 * rng.standard_normal())
    res = opt.result()
    assert res.success
    assert res.active == active
    excess = np.sum((res.x - free) ** 2) - np.sum((np.array(answer) - free) ** 2)
    assert excess < 0.05


def trajectory(opt, fun, readings=40):
    """The points asked for, with failures."""
    points = []
    for k in range(readings):
        if opt.done:
            break
        trial = opt.ask()
        points.append(trial.x)
        if k == 12:
            opt.tell_failed(trial, "door open")
        else:
            opt.tell(trial, fun(trial.x, k))
    return np.array(points)


def drifting(x, k):
    """Of order one over a range of about one; the same noise for the same k."""
    noise = 0.01 * np.random.default_rng(k).standard_normal()
    return float(np.sum((x - [0.3, 0.9]) ** 2 * [1.0, 2.0]) + 0.02 * k + noise)


@both
@pytest.mark.parametrize("factor", [1024.0, 1000.0, 2.0**-9])
@pytest.mark.parametrize("known", ["bounds", "x_scale", "initial_radius"])
def test_scale_of_a_variable_does_not_matter(method, factor, known):
    """With its scale or bounds: to rounding, and exactly for powers of two."""
    unit = np.array([1.0, factor])
    options = {
        "bounds": lambda s: {"bounds": Bounds([-1.0, 0.0] * s, [1.0, 0.75] * s)},
        "x_scale": lambda s: {"x_scale": [1.0, 0.5] * s, "initial_radius": 0.5},
        "initial_radius": lambda s: {"initial_radius": [0.5, 0.25] * s},
    }[known]

    def run(s):
        x0 = np.array([0.125, 0.25]) * s
        opt = Optimizer(x0, method=method, noise=0.01, rng=1, **options(s))
        return trajectory(opt, lambda x, k: drifting(x / s, k), 30) / s, opt.result()

    (one, first), (other, second) = run(np.ones(2)), run(unit)
    is_exact = np.log2(factor) % 1 == 0 and known != "bounds"
    # Rounding grows from step to step.
    np.testing.assert_allclose(other, one, rtol=0 if is_exact else 1e-5, atol=1e-6)
    assert second.fun == pytest.approx(first.fun, rel=1e-5)
    assert len(one) == 30 or method != tobyqa.Adaptive()
    np.testing.assert_allclose(second.x_std / unit, first.x_std, rtol=1e-3)


@both
def test_scale_by_powers_of_two_is_exact(method):
    unit = np.array([1024.0, 2.0**-7])

    def run(s):
        opt = Optimizer([0.125, 0.25] * s, method=method, noise=0.01, rng=1, x_scale=s)
        return trajectory(opt, lambda x, k: drifting(x / s, k)) / s

    np.testing.assert_array_equal(run(unit), run(np.ones(2)))


@both
def test_maximize_is_the_mirror_image(method):
    """Bit by bit, whatever else is said; every number has the sign that was read."""
    said = {"bounds": [(0, 1), (0, 0.5)], "noise": 0.01, "rng": 3, "method": method}
    low, high = (
        Optimizer([0.5, 0.25], **said),
        Optimizer([0.5, 0.25], maximize=True, **said),
    )
    np.testing.assert_array_equal(
        trajectory(low, drifting), trajectory(high, lambda x, k: -drifting(x, k))
    )
    a, b = low.result(), high.result()
    for key in ("fun", "jac", "hess", "drift_rate", "fun_best_observed"):
        np.testing.assert_array_equal(a[key], -b[key])
    for key in ("x", "x_std", "x_cov", "fun_std", "x_best_observed", "active", "nit"):
        np.testing.assert_array_equal(a[key], b[key])
    np.testing.assert_array_equal(a.drift.value, -b.drift.value)
    np.testing.assert_array_equal(a.history.value, -b.history.value)
    np.testing.assert_array_equal(a.history.centre, b.history.centre)


@both
def test_fixed_variable_is_not_searched(method):
    """The rest is the search without it, bit by bit."""
    options = {"method": method, "noise": 0.01, "rng": 3, "initial_radius": 0.5}
    full = Optimizer(
        [0.5, 7.0, 0.25], names=["a", "temp", "b"], fixed={"temp": 300.0}, **options
    )
    asked = trajectory(full, lambda x, k: drifting(x[[0, 2]], k))
    assert (asked[:, 1] == 300.0).all()
    part = Optimizer([0.5, 0.25], **options)
    np.testing.assert_array_equal(asked[:, [0, 2]], trajectory(part, drifting))
    res, other = full.result(), part.result()
    assert res.x[1] == 300.0
    assert res.x_std[1] == 0.0
    np.testing.assert_allclose(res.x_std[[0, 2]], other.x_std, rtol=1e-12)
    assert (res.history.centre[:, 1] == 300.0).all()


@both
def test_infinite_bounds_are_the_unbounded_search(method):
    options = {"method": method, "noise": 0.01, "rng": 3}
    runs = [
        Optimizer([0.5, 0.25], **options, **more)
        for more in ({}, {"bounds": Bounds(-np.inf, np.inf)}, {"bounds": [None] * 2})
    ]
    first, *others = [trajectory(opt, drifting) for opt in runs]
    for points in others:
        np.testing.assert_array_equal(points, first)
    assert runs[0].setup.keys() == runs[1].setup.keys()
    assert "space" not in runs[1].setup


@both
def test_history_of_a_bounded_run_is_in_the_terms_of_the_user(method):
    arguments = CASES["linear"]
    opt = Optimizer(STARTS["inside"], method=method, rng=1, **arguments)
    opt.tell([5.0, 5.0, 5.0], 1e4, t=-1.0)
    told = [[5.0, 5.0, 5.0]]
    for k in range(20):
        trial = opt.ask()
        told.append(trial.x)
        opt.tell(trial, bowl(trial.x, BOX.lb), t=float(k))
    history = opt.result().history
    np.testing.assert_array_equal(history.x, told)
    places = {tuple(x) for x in history.x}
    assert all(tuple(x) in places for x in history.centre[1:])


def continued(opt, arguments):
    """What it asks for from here on, and its answer."""
    points = []
    for k in range(30, 50):
        if opt.done:
            break
        trial = opt.ask()
        assert_allowed(trial.x, arguments)
        points.append(trial.x)
        opt.tell(trial, bowl(trial.x, BOX.ub) + 0.1 * np.cos(7.0 * k), t=float(k))
    res = opt.result()
    return np.array([*points, res.x, res.x_std, *res.history.centre])


@both
@case
def test_bounds_are_kept_with_the_run(method, arguments, tmp_path):
    """Saved, loaded, resumed, copied, pickled, undone: it goes on identically."""
    said = {**arguments, "method": method, "rng": 4, "maximize": False}
    path, saved = tmp_path / "run.jsonl", tmp_path / "saved.jsonl"
    opt = begun(STARTS["outside"], journal=path, **said)
    eventful(opt, BOX.ub, 12, arguments)
    opt.ask()  # one is pending
    opt.save(saved)
    copies = [copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))]
    opt.close()
    copies += [Optimizer.load(saved), Optimizer.load(path)]
    undone = Optimizer.load(path)
    undone.tell(undone.pending[0], 1e3, t=25.0)
    undone.ask()
    undone.undo()
    copies += [undone, Optimizer.resume(path)]
    first, *others = [continued(run, arguments) for run in copies]
    for points in others:
        np.testing.assert_array_equal(points, first)
    copies[-1].close()


def test_open_knows_a_bounded_run_from_another(tmp_path):
    path, said = tmp_path / "run.jsonl", {"x0": [0.5, 0.5], "maxfev": 9}
    bounded = {**said, "bounds": [(0, 1), (0, 1)]}
    with Optimizer.open(path, **bounded) as opt:
        opt.tell(opt.ask(), 1.0)
    with Optimizer.open(path, **bounded) as opt:
        assert opt.nfev == 1
    for other in (said, {**bounded, "bounds": [(0, 1), (0, 2)]}):
        with pytest.raises(ValueError, match=r"another problem.*space"):
            Optimizer.open(path, **other)


def test_from_data_starts_at_the_best_reading_within_the_bounds():
    x, value = [[0.0, 0.0], [1.0, 1.0]], [3.0, 2.0]
    low = Optimizer.from_data(x, None, value, bounds=[(0, 2), (0, 2)])
    high = Optimizer.from_data(x, None, value, bounds=[(0, 2), (0, 2)], maximize=True)
    assert low.ask().x.tolist() == [1.0, 1.0]
    assert high.ask().x.tolist() == [0.0, 0.0]
    assert high.result().fun_best_observed == 3.0


def test_a_first_point_without_room_is_not_asked_for_in_the_place_of_others():
    """Two inequalities leave x0 and x1 no way of their own; x2 has one."""
    opt = Optimizer(
        np.zeros(3),
        bounds=[(-1.0, 1.0)] * 3,
        constraints=["x0 - x1 <= 0", "x1 - x0 <= 0"],
        noise=0.1,
        maxfev=20,
        rng=0,
    )
    asked = []
    while not opt.done:
        trial = opt.ask()
        asked.append(trial.x)
        opt.tell(trial, float(np.sum((trial.x - 0.5) ** 2)))
    assert any(x[2] != 0.0 for x in asked[:4])
    assert all(x[0] == x[1] for x in asked)


def test_a_way_of_no_length_counts_as_taken():
    x0, ways = np.zeros(2), np.array([[0.0, 0.0], [0.0, 1.0]])
    assert unread(x0, ways, np.array([x0])) == [2]
    assert unread(x0, ways, np.array([x0, [0.0, 0.5]])) == []
