from __future__ import annotations

import numpy as np
import pytest

import tobyqa
from tobyqa.bench.solvers import ABLATIONS, get_solver, solver_names

AVAILABLE = [name for name in solver_names() if not get_solver(name).why_not()]
NOISE = 1e-3


class Quadratic:
    """Readings of |x - 1|^2 with noise that depends on the number of the query."""

    def __init__(self, radius: float = np.inf) -> None:
        self.points: list[np.ndarray] = []
        self.radius = radius

    def __call__(self, x):
        self.points.append(np.array(x))
        if np.linalg.norm(x) > self.radius:
            return np.inf
        noise = np.random.default_rng(len(self.points)).normal()
        return float(np.sum((np.asarray(x) - 1) ** 2) + NOISE * noise)


def solve(name: str, fun: Quadratic, budget: int = 120) -> np.ndarray:
    x0 = np.full(4, -1.0)
    x = get_solver(name).solve(fun, x0, budget=budget, noise=NOISE)
    assert np.array_equal(x0, np.full(4, -1.0))
    return x


@pytest.mark.parametrize("name", AVAILABLE)
class TestEverySolver:
    @pytest.mark.parametrize("budget", [3, 40, 120])
    def test_respects_its_budget(self, name, budget):
        fun = Quadratic()
        x = solve(name, fun, budget)
        assert x.shape == (4,)
        assert 1 <= len(fun.points) <= budget

    def test_repeats_itself_whatever_the_global_stream(self, name):
        first, second = Quadratic(), Quadratic()
        np.random.seed(1)  # noqa: NPY002 - what the solver must not depend on
        x = solve(name, first)
        np.random.seed(2)  # noqa: NPY002
        state = np.random.get_state()[1].copy()  # noqa: NPY002
        assert np.array_equal(x, solve(name, second))
        assert np.array_equal(first.points, second.points)
        assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002

    def test_is_quiet(self, name, capfd):
        solve(name, Quadratic())
        assert capfd.readouterr() == ("", "")

    def test_takes_infinite_readings(self, name):
        fun = Quadratic(radius=2.5)  # |x0| = 2, the minimum at 2
        assert solve(name, fun).shape == (4,)
        assert len(fun.points) <= 120

    def test_moves_towards_the_minimum(self, name):
        # Differences of 1e-4 in noise of 1e-3 lead BFGS nowhere, which is its point.
        error = np.sum((solve(name, Quadratic()) - 1) ** 2)
        assert error < (17 if name == "bfgs-fd" else 4)


@pytest.mark.parametrize(
    "name",
    [n for n in AVAILABLE if n in ("nelder-mead", "dfols", "pybobyqa", "cma")],
)
def test_uses_up_its_budget_in_noise(name):
    fun = Quadratic()
    solve(name, fun)
    assert len(fun.points) == 120


def test_settings_and_noise_reach_the_method():
    def by_hand(noise):
        fun = Quadratic()
        method = tobyqa.Paper(hessian="interpolated", chi=10.0)
        x0 = np.full(4, -1.0)
        return tobyqa.minimize(fun, x0, method=method, noise=noise, maxfev=120).x

    name = "paper:hessian=interpolated,chi=10"
    told = {"": NOISE, ",noise=x10": 10 * NOISE, ",noise=x0": 0, ",noise=unknown": None}
    for suffix, noise in told.items():
        assert np.array_equal(solve(name + suffix, Quadratic()), by_hand(noise))


def test_names_hold_the_paper_and_its_ablations():
    assert solver_names()[:6] == ("paper", *ABLATIONS)
    assert len(set(solver_names())) == len(solver_names())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nelder-mad", "close to it: nelder-mead"),
        ("paper:hessian", "'hessian' is not field=value"),
        ("paper:hessian=", "is not field=value"),
        ("paper:hesian=zero", "did you mean 'hessian'"),
        ("paper:hessian=round", "one of 'zero', 'interpolated'"),
        ("paper:chi=10,chi=20", "chi is given twice"),
        ("paper:noise=10", "a factor such as x10"),
        ("paper:noise=x-1", "a factor such as x10"),
        ("no_such_module.solve", "cannot be imported"),
        ("unruly.absent", "cannot be imported"),
    ],
)
def test_wrong_names_are_explained(name, text):
    with pytest.raises(ValueError, match=text):
        get_solver(name)


def test_an_importable_function_is_a_solver():
    solver = get_solver("unruly.honest")
    assert solver.description == "Reads x0 and one better point."
    assert np.array_equal(solve("unruly.honest", Quadratic()), np.full(4, -0.5))


@pytest.mark.skipif("newuoa-pdfo" in AVAILABLE, reason="PDFO is here")
def test_absent_pdfo_says_what_it_needs():
    why = get_solver("bobyqa-pdfo").why_not()
    assert "numpy < 2" in why
    assert "tobyqa[paper]" in why
