"""What is said on the way: the log, warnings in time, progress."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tobyqa
from tobyqa import Measurement, Optimizer, minimize
from tobyqa.cli import main
from tobyqa.remarks import effects, small_budget, unequal_effects

both = pytest.mark.parametrize("method", ["adaptive", "paper"])
NEEDED = {"adaptive": lambda n: n + 2, "paper": lambda n: 2 * n + 1}


def sphere(x):
    return float(np.sum((x - 1.0) ** 2))


# -- a budget -------------------------------------------------------------------------


@both
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_method_says_how_many_readings_its_first_model_takes(method, n, restarts):
    opt = Optimizer(np.zeros(n), method=method, restarts=restarts)
    assert opt.method.needs(n) == NEEDED[method](n)
    for k in range(opt.method.needs(n)):
        assert np.isnan(opt.result().jac).all(), k
        opt.tell(opt.ask(), sphere(opt.ask().x))
    assert np.isfinite(opt.result().jac).all()


@both
@pytest.mark.parametrize("door", [minimize, lambda fun, *a, **k: Optimizer(*a, **k)])
def test_a_budget_below_a_model_is_said_at_once(method, door):
    calls = []

    def fun(x):
        calls.append(x)
        return sphere(x)

    needed = NEEDED[method](3)
    with pytest.warns(
        UserWarning, match=f"maxfev = {needed - 1} .* {needed} read"
    ) as w:
        door(fun, np.zeros(3), method=method, maxfev=needed - 1)
    assert len(w) == 1
    assert w[0].filename == __file__  # the line to be changed
    calls.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        door(fun, np.zeros(3), method=method, maxfev=needed)
        with pytest.raises(UserWarning, match="too small"):
            door(fun, np.zeros(3), method=method, maxfev=1)
    assert len(calls) in (0, needed)


def test_variables_that_are_not_searched_need_no_reading():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Optimizer(np.zeros(3), fixed={0: 1.0}, maxfev=6)
        Optimizer(np.zeros(3), constraints="x0 + x1 == 0", maxfev=6)
        Optimizer(np.zeros(3))


@given(st.integers(1, 99), st.integers(1, 99))
def test_only_a_budget_that_is_too_small_is_remarked_on(maxfev, needed):
    text = small_budget(maxfev, needed)
    assert bool(text) == (maxfev < needed)
    assert not text or (str(maxfev) in text and str(needed) in text)


def test_the_command_warns_of_a_small_budget_once(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    assert main(["init", str(path), "--x0", "0,0", "--maxfev", "3"]) == 0
    assert capsys.readouterr().err.count("maxfev = 3 is too small") == 1


# -- scales ---------------------------------------------------------------------------

sizes = st.floats(1e-3, 1e3)
signs = st.sampled_from([-1.0, 1.0])
seeds = st.integers(0, 2**32 - 1)


def drawn_moves(n, seed, spare=3):
    """As many moves away from x0 as are looked at, and when."""
    rng = np.random.default_rng(seed)
    return 2.0 * rng.uniform(-1, 1, (3 * n + 4 + spare, n)), np.sort(
        rng.uniform(0, 9, 3 * n + 4 + spare)
    )


@given(st.lists(sizes, min_size=1, max_size=5), st.floats(-1e3, 1e3), signs, seeds)
def test_effects_are_those_of_slope_and_curvature_under_any_drift(
    sizes, rate, sign, seed
):
    slopes = sign * np.array(sizes)
    moves, t = drawn_moves(slopes.size, seed)
    values = moves @ slopes + moves**2 @ slopes + rate * t + 7.0
    for found in effects(moves, values, t):
        np.testing.assert_allclose(found, 6.0 * np.abs(slopes), rtol=1e-5, atol=1e-6)


@given(st.lists(sizes, min_size=2, max_size=5), signs, seeds)
def test_effects_that_differ_a_thousandfold_are_named(slopes, sign, seed):
    slopes = sign * np.array(slopes)
    moves, t = drawn_moves(slopes.size, seed)
    names = [f"knob {i}" for i in range(slopes.size)]
    text = unequal_effects(*effects(moves, moves @ slopes, t), names)
    size = np.abs(slopes)
    ratio = size.max() / size.min()
    if ratio > 1010.0:
        strong = np.flatnonzero(size > 0.99 * size.max())
        assert any(f"along knob {i} but" in text for i in strong)
        assert "x_scale" in text
        assert "initial_radius" in text
        assert "bounds" in text
    elif ratio < 990.0:
        assert text == ""


@given(st.permutations(range(16)), seeds)
def test_effects_do_not_depend_on_the_order_of_readings(order, seed):
    moves, t = drawn_moves(3, seed)
    values = moves @ [1.0, 1e4, 7.0] + np.sum(moves**2, axis=1)
    texts = [
        unequal_effects(*effects(moves[rows], values[rows], t[rows]), "abc")
        for rows in (list(range(16)), order)
    ]
    assert texts[0] == texts[1] != ""


@given(st.integers(0, 15), st.floats(1e6, 1e12), signs, seeds)
def test_one_bad_reading_is_no_effect(row, value, sign, seed):
    moves, t = drawn_moves(3, seed)
    values = moves @ [1.0, 2.0, 7.0]
    values[row] = sign * value
    assert unequal_effects(*effects(moves, values, t), "abc") == ""


@given(st.floats(1e-3, 1e9), st.integers(2, 9), seeds)
def test_a_drift_is_no_effect(rate, n, seed):
    moves, t = drawn_moves(n, seed)
    values = rate * t + 1e-3 * rate * moves.sum(axis=1)
    assert unequal_effects(*effects(moves, values, t), "x" * n) == ""


def test_what_was_not_seen_is_no_effect():
    moves, t = drawn_moves(3, 0)
    moves[:, 2] = 0.0
    least, most = effects(moves, moves @ [1.0, 0.0, 1e6], t)
    np.testing.assert_allclose(least, [2.0, 0.0, np.nan], atol=1e-12)
    np.testing.assert_allclose(most, [2.0, 0.0, np.nan], atol=1e-12)
    # One that does nothing may be in no need of another scale.
    assert unequal_effects(least, most, "abc") == ""
    assert np.isnan(effects(moves[:6], moves[:6, 0], t[:6])).all()  # too few


@both
@pytest.mark.parametrize("noise", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("n", [2, 4])
def test_a_minimum_halfway_to_the_first_points_is_no_poor_scale(method, n, noise):
    """The default radius is 2: x0 and the first point on one side read the same."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        opt = Optimizer(np.zeros(n), method=method, rng=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(4 * n + 6):
                if not opt.done:
                    trial = opt.ask()
                    opt.tell(trial, sphere(trial.x) + noise * rng.standard_normal())


def steep(x):
    """A volt does ten thousand times as much as a kelvin."""
    return float((1e2 * (x[0] - 0.3)) ** 2 + (x[1] - 0.7) ** 2)


@both
def test_poor_scales_are_said_once_when_they_are_seen(method):
    opt = Optimizer([0.0, 0.0], method=method, names=["volt", "kelvin"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3 * 2 + 3):
            opt.tell(opt.ask(), steep(opt.ask().x))
        trial = opt.ask()
    with pytest.warns(
        UserWarning, match=r"along volt but only by \S+ along kelvin"
    ) as w:
        opt.tell(trial, steep(trial.x))
    assert len(w) == 1
    assert w[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(9):
            opt.tell(opt.ask(), steep(opt.ask().x))


@both
@pytest.mark.parametrize(
    "said",
    [
        {"initial_radius": 1.0},
        {"initial_radius": [0.01, 1.0]},
        {"x_scale": [0.01, 1.0]},
        {"bounds": [(-1, 1), (-100, 100)]},
    ],
    ids=str,
)
def test_who_has_said_something_of_scales_is_not_told(method, said):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        minimize(steep, [0.0, 0.0], method=method, maxfev=12, **said)


@both
def test_a_warning_that_is_an_error_loses_no_reading(method, tmp_path):
    path, calls = tmp_path / "run.jsonl", []

    def fun(x):
        calls.append(x)
        return steep(x)

    def run():
        return minimize(fun, [0.0, 0.0], method=method, maxfev=12, journal=path)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="x_scale"):
            run()
        res = run()
    assert (res.nfev, res.nfail, len(calls)) == (12, 0, 12)


# -- the log --------------------------------------------------------------------------


def messages(caplog):
    return [r.getMessage() for r in caplog.records if r.name.startswith("tobyqa")]


@both
def test_every_reading_is_in_the_log(method, caplog):
    caplog.set_level(logging.INFO, logger="tobyqa")
    opt = Optimizer([0.0, 0.0], method=method, names=["gap", "u"], units=["mm", "V"])
    opt.tell([3.0, 4.0], 7.5, t=1.0)
    opt.tell(opt.ask(), 2.25, t=2.0)
    assert messages(caplog) == [
        "reading 1, not asked for: 7.5 at t = 1, gap = 3 mm, u = 4 V",
        "reading 2: 2.25 at t = 2, gap = 0 mm, u = 0 V",
    ]
    caplog.clear()
    opt.tell(opt.ask(), np.nan)
    opt.undo()
    assert len(messages(caplog)) == 1  # the failure alone
    caplog.clear()
    minimize(lambda x: Measurement(sphere(x)), [0.0, 0.0], method=method, maxfev=9)
    assert [m.partition(":")[0] for m in messages(caplog)] == [
        f"reading {k}" for k in range(1, 10)
    ]


def test_nothing_is_said_by_default(capfd, caplog):
    minimize(sphere, [0.0, 0.0], maxfev=12)
    assert capfd.readouterr() == ("", "")
    assert messages(caplog) == []


# -- progress -------------------------------------------------------------------------

SCRIPT = """
import sys
if {is_missing}:
    sys.modules["tqdm"] = None  # as Python has it for a package that cannot be imported
import tobyqa
res = tobyqa.minimize(
    lambda x: float(x @ x) + 1.5, [1.0, 2.0], noise=0.0, maxfev=20, progress=True, rng=1
)
print(res.nfev)
"""


@pytest.mark.parametrize("is_missing", [False, True], ids=["tqdm", "plain"])
def test_progress_goes_to_standard_error(is_missing):
    if not is_missing:
        pytest.importorskip("tqdm")
    code = SCRIPT.format(is_missing=is_missing)
    run = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout == "20\n"
    last = done.stderr.splitlines()[-1]
    assert "20/20" in last or "20 of 20 readings" in last
    assert "value 1.5" in last or "value 1.4999" in last
    assert "x0 = " in last
    assert len(done.stderr.splitlines()) < 4  # a log needs few lines


def test_progress_changes_no_run_and_must_be_a_switch(capsys, tmp_path):
    runs = [
        minimize(sphere, [0.0, 0.0], maxfev=15, rng=1, progress=progress)
        for progress in (False, True)
    ]
    np.testing.assert_array_equal(runs[0].history.x, runs[1].history.x)
    with pytest.raises(TypeError, match="progress must be"):
        minimize(sphere, [0.0, 0.0], progress="yes")
    calls = []

    def interrupted(x):
        calls.append(x)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return sphere(x)

    path = tmp_path / "run.jsonl"
    res = minimize(interrupted, [0.0, 0.0], maxfev=15, progress=True, journal=path)
    assert (res.nfev, res.status) == (7, tobyqa.Status.STOPPED.code)
    capsys.readouterr()
    res = minimize(interrupted, [0.0, 0.0], maxfev=15, progress=True, journal=path)
    assert res.nfev == 15


# -- mistakes -------------------------------------------------------------------------


def test_a_mistake_is_raised_in_the_first_call_of_a_continued_run_too(tmp_path):
    """Whoever edits the program between two runs loses no budget to a typing error."""
    path = tmp_path / "run.jsonl"

    def run(fun, maxfev):
        return minimize(fun, [0.0, 0.0], maxfev=maxfev, journal=path)

    run(sphere, 8)
    opt = Optimizer.resume(path, maxfev=12)
    opt.close()
    with pytest.raises(NameError):
        run(lambda x: spere(x), 12)  # noqa: F821
    res = run(sphere, 12)
    assert (res.nfev, res.nfail) == (12, 0)
