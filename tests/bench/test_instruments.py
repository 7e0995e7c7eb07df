"""Instruments in boxes: their least values, ranges, starts and readings."""

import pickle

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from tobyqa.bench.catalogue import find_problem, has_dimension, known_minimum
from tobyqa.bench.instruments import (
    INSTRUMENTS,
    QUIET,
    get_instrument,
    instrument_names,
)
from tobyqa.bench.recorder import Recorder
from tobyqa.bench.records import Cell
from tobyqa.bench.run import run_cell
from tobyqa.bench.solvers import get_solver

IN_BOXES = (
    *("adaptive", "paper", "cobyqa", "bobyqa-nlopt", "pybobyqa", "cma"),
    *("nelder-mead", "spsa"),
)


def spread_points(n: int, count: int) -> np.ndarray:
    """Points spread over the unit box, (count, n): multiples of irrational steps."""
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (n + 1))
    return (np.arange(1, count + 1)[:, None] * root ** -np.arange(1.0, n + 1)) % 1.0


def in_units(problem, u):
    return problem.box.lower + u * (problem.box.upper - problem.box.lower)


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_least_value_and_range(name):
    problem, unit = get_instrument(name), Bounds(0.0, 1.0)
    points = spread_points(problem.n, 2000)
    values = np.array([problem.fun(in_units(problem, u)) for u in points])

    def of_fractions(u):
        return problem.fun(in_units(problem, np.clip(u, 0.0, 1.0)))

    tight = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 3000, "maxfun": 50_000}
    ends = [
        minimize(
            of_fractions,
            u,
            jac="3-point",
            method="L-BFGS-B",
            bounds=unit,
            options=tight,
        )
        for u in points[np.argsort(values)[:6]]
    ]
    least = min(end.fun for end in ends)
    assert least == pytest.approx(problem.box.minimum, abs=1e-8 * problem.box.scale)
    assert values.min() >= problem.box.minimum
    assert values.max() - least == pytest.approx(problem.box.scale, rel=0.25)


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_knobs_have_units_and_the_start_is_inside(name):
    made, problem = INSTRUMENTS[name], get_instrument(name)
    assert all(knob.unit and knob.lower < knob.upper for knob in made.knobs)
    assert len({knob.name for knob in made.knobs}) == made.n == problem.n
    assert problem.box.holds(problem.x0)
    assert problem.fun(problem.x0) > problem.box.minimum + 0.2 * problem.box.scale


def test_dimensions_and_number():
    assert {made.n for made in INSTRUMENTS.values()} == {2, 3, 4, 6, 8}
    assert 20 <= len(INSTRUMENTS) == len(instrument_names()) / 2
    assert has_dimension("wood", 4)
    assert not has_dimension("wood", 6)
    with pytest.raises(ValueError, match="n = 6, it has 4 variables"):
        find_problem("wood", 6)
    with pytest.raises(ValueError, match="unknown problem 'mirrror'; close to it: mir"):
        find_problem("mirrror", 2)
    assert known_minimum("spot4", 4) == 1.0
    assert known_minimum("woods", 4) is None


@pytest.mark.parametrize("name", ["mirror", "valley8-quiet"])
def test_pickles_by_name(name):
    problem = get_instrument(name)
    twin = pickle.loads(pickle.dumps(problem))
    assert twin == problem
    assert twin.box.minimum == problem.box.minimum


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_starts_differ_by_seed_and_by_nothing_else(name):
    problem = get_instrument(name)
    starts = [Recorder(problem, "Static", seed, 1).x0 for seed in range(4)]
    assert len({tuple(x0) for x0 in starts}) == 4
    quiet = get_instrument(name + QUIET)
    for seed, x0 in enumerate(starts):
        other = Recorder(quiet, "RandomWalk", seed, 50).x0
        assert np.array_equal(x0, other)
        loss = (problem.fun(x0) - problem.box.minimum) / problem.box.scale
        assert 0.2 <= loss <= 0.95
        assert problem.box.holds(x0)


@pytest.mark.parametrize(("name", "share"), [("branin", 0.01), ("branin-quiet", 0.001)])
def test_noise_is_a_share_of_the_range(name, share):
    recorder = Recorder(get_instrument(name), "Static", 3, 400)
    readings = [recorder(recorder.x0) for _ in range(400)]
    assert recorder.noise == pytest.approx(share * 305.0)
    assert np.std(readings) == pytest.approx(recorder.noise, rel=0.15)


def test_outside_of_the_box_nothing_is_read():
    recorder = Recorder(get_instrument("mirror"), "Static", 0, 10)
    assert recorder.bounds.lb.tolist() == [-2.0, -2.0]
    assert recorder([2.0 + 1e-6, 0.0]) == np.inf
    assert np.isfinite(recorder([2.0 + 1e-10, 0.0]))


class Watched:
    """A bowl in a box, lowest in a corner; every point must be inside."""

    bounds = Bounds([280.0, -0.002, 10.0], [320.0, 0.001, 1e4])

    def __init__(self):
        self.asked = 0

    def __call__(self, x):
        assert np.all((x >= self.bounds.lb) & (x <= self.bounds.ub))
        self.asked += 1
        u = (x - self.bounds.lb) / (self.bounds.ub - self.bounds.lb)
        noise = np.random.default_rng(self.asked).normal()
        return float(np.sum((u - [1.2, -0.1, 0.5]) ** 2) + 1e-3 * noise)


@pytest.mark.parametrize("start", [(0.3, 0.6, 0.9), (0.0, 1.0, 0.5)])
@pytest.mark.parametrize("name", IN_BOXES)
def test_solvers_stay_inside_and_improve(name, start):
    solver = get_solver(name)
    if why_not := solver.why_not():
        pytest.skip(why_not)
    fun, bounds = Watched(), Watched.bounds
    x0 = bounds.lb + np.array(start) * (bounds.ub - bounds.lb)
    first = Watched()(x0)
    x = solver.solve(fun, x0, budget=40, noise=1e-3, bounds=bounds)
    assert fun.asked <= 40
    assert Watched()(x) < 0.7 * first


@pytest.mark.parametrize("told", ["adaptive", "adaptive:noise=unknown"])
def test_a_cell_in_a_box(told):
    record = run_cell(Cell("oven-quiet", 3, "WarmUp", 0, 60, told))
    assert record.status == "ok"
    assert record.nfev == 60
    assert record.f_returned < record.f_start
