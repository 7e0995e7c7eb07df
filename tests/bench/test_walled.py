"""Boxes that cut the minimiser off, and problems without one, which are as before."""

import math

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from tobyqa.bench.catalogue import find_problem, known_minimum
from tobyqa.bench.channels import channel_names
from tobyqa.bench.problems import get_problem, min_dimension, problem_names
from tobyqa.bench.recorder import Recorder
from tobyqa.bench.records import Cell
from tobyqa.bench.run import run_cell
from tobyqa.bench.walled import _boxes, get_walled, walled_dimensions, walled_names

SIZES = [(name, n) for name in walled_names() for n in walled_dimensions(name)]


def test_every_problem_has_its_boxes():
    wanted = [
        (f"walled-{name}", n)
        for name in problem_names()
        for n in (2, 3, 6, 10)
        if n >= min_dimension(name)
    ]
    assert wanted == SIZES
    with pytest.raises(ValueError, match="n = 4, there is a box for n = 2, 3, 6, 10"):
        find_problem("walled-power", 4)


@pytest.mark.parametrize("name", problem_names())
def test_half_of_the_variables_are_cut_off(name):
    for n in walled_dimensions(f"walled-{name}"):
        problem, stored = get_walled(f"walled-{name}", n), _boxes()[name][str(n)]
        box, free = problem.box, np.array(stored["free"])
        outside = (free < box.lower) | (free > box.upper)
        assert outside.sum() == (n + 1) // 2
        assert np.all((problem.x0 > box.lower) & (problem.x0 < box.upper))
        assert box.holds(np.array(stored["best"]))
        assert problem.fun(stored["best"]) == pytest.approx(box.minimum, rel=1e-12)
        assert problem.fun(problem.x0) > box.minimum
        assert known_minimum(problem.name, n) == box.minimum


@pytest.mark.parametrize(("name", "n"), SIZES[::3])
def test_nothing_in_the_box_is_lower(name, n):
    problem = get_walled(name, n)
    box, rng = problem.box, np.random.default_rng(7)
    room = 1e-8 * (problem.fun(problem.x0) - box.minimum)
    for start in (problem.x0, *rng.uniform(box.lower, box.upper, (2, n))):
        found = minimize(
            lambda x: min(problem.fun(x), 1e200),
            start,
            method="L-BFGS-B",
            bounds=Bounds(box.lower, box.upper),
        )
        assert problem.fun(np.clip(found.x, box.lower, box.upper)) >= box.minimum - room


# Readings at x0, and 0.1 away from it, before there were boxes.
BEFORE = {
    ("Static", "power"): [90.97946077710282, 110.18873474589735],
    ("Static", "srosenbr"): [72.49848740079865, 16.73192001582116],
    ("LinearDrift", "power"): [91.88850799458206, 111.73476983828866],
    ("LinearDrift", "srosenbr"): [73.42704606808789, 18.29474298521242],
    ("PeriodicAdd", "power"): [91.59010475119709, 111.2607773471032],
    ("PeriodicAdd", "srosenbr"): [73.06471439670213, 17.83921692724739],
    ("ChaoticDrift", "power"): [93.73976265865662, 112.96816796274817],
    ("ChaoticDrift", "srosenbr"): [74.76239513402422, 19.102236482894416],
    ("Hetero", "power"): [91.87433091976804, 112.4877290611837],
    ("Hetero", "srosenbr"): [73.38517626894412, 18.463124575057318],
    ("MultCoupling", "power"): [90.98996714734089, 110.1206215095347],
    ("MultCoupling", "srosenbr"): [72.5145698764195, 16.89874659851758],
    ("PeriodicMult", "power"): [91.43218743795487, 111.49915904139856],
    ("PeriodicMult", "srosenbr"): [73.0434712427121, 17.127281100597614],
}


@pytest.mark.parametrize("channel", channel_names())
def test_readings_without_a_box_are_as_before(channel):
    for name in ("power", "srosenbr"):  # no more than sums and products of numbers
        recorder = Recorder(get_problem(name, 6), channel, 3, 10)
        assert recorder.bounds is None
        got = [recorder(recorder.x0), recorder(recorder.x0 + 0.1)]
        exact = channel in ("Static", "LinearDrift", "MultCoupling")
        rel = 0.0 if exact else 1e-14
        assert got == pytest.approx(BEFORE[channel, name], rel=rel, abs=0.0)


def test_without_a_box_a_solver_is_given_what_it_was():
    given = {}

    def solve(fun, x0, **task):
        given.update(task)
        return x0

    assert run_cell(Cell("power", 4, "Static", 0, 9, "own"), solve).status == "ok"
    assert sorted(given) == ["budget", "noise"]
    run_cell(Cell("walled-power", 6, "Static", 0, 9, "own"), solve)
    assert sorted(given) == ["bounds", "budget", "noise"]


def test_a_solver_that_knows_no_box_has_failed():
    record = run_cell(Cell("walled-power", 6, "Static", 0, 9, "bfgs-fd"))
    assert record.status == "error"
    assert "bounds" in record.error
    assert math.isfinite(record.f_returned)
