"""What a generator of gest-api must do, by its rules and by ours."""

from __future__ import annotations

import copy
import math
from datetime import datetime, timezone

import numpy as np
import pytest

from tobyqa import Optimizer

pytest.importorskip("gest_api", reason="needs gest-api")

from gest_api.generator import Generator
from gest_api.vocs import VOCS

from tobyqa.integrations.gest import TobyqaGenerator

START = {"x": 1.0, "y": -1.0}


def vocs(sense="MINIMIZE", **more):
    domains = {"x": [-2.0, 2.0], "y": [-2.0, 2.0]}
    return VOCS(variables=domains, objectives={"f": sense}, **more)


def value(point, t):
    """Lowest at (0.5, -0.3), with a drift and a reproducible noise."""
    noise = 0.01 * np.random.default_rng(int(t)).normal()
    return (point["x"] - 0.5) ** 2 + 2 * (point["y"] + 0.3) ** 2 + 0.05 * t + noise


def run(generator, readings, *, at_once=1, sign=1.0):
    """The points suggested, with the results they came back with."""
    results = []
    while len(results) < readings:
        points = generator.suggest(at_once)
        times = range(len(results), len(results) + len(points))
        new = [
            {**point, "f": sign * value(point, t), "time": float(t)}
            for point, t in zip(points, times, strict=True)
        ]
        generator.ingest(new)
        results += new
    return results


def generator_of(**arguments):
    return TobyqaGenerator(vocs(), START, noise=0.01, **arguments)


def places(results):
    return [(each["x"], each["y"]) for each in results]


def test_it_is_a_generator_that_returns_ids():
    assert isinstance(generator_of(), Generator)
    assert TobyqaGenerator.returns_id
    (point,) = generator_of().suggest(None)
    assert set(point) == {"x", "y", "_id"}


def test_it_suggests_what_the_optimizer_asks():
    opt = Optimizer([1.0, -1.0], bounds=[(-2, 2)] * 2, noise=0.01, rng=0, maxfev=99)
    for t, point in enumerate(places(run(generator_of(rng=0), 40))):
        trial = opt.ask()
        assert tuple(trial.x) == point
        opt.tell(trial, value({"x": trial.x[0], "y": trial.x[1]}, t), t)


@pytest.mark.parametrize("at_once", [1, 3])
def test_it_finds_the_minimum_through_a_drift(at_once):
    generator = generator_of(rng=0)
    run(generator, 60, at_once=at_once)
    res = generator.optimizer.result()
    np.testing.assert_allclose(res.x, [0.5, -0.3], atol=0.05)
    assert res.drift_rate == pytest.approx(0.05, abs=0.01)
    assert res.history.asked.all()


def test_maximizing_is_minimizing_the_negative():
    up = TobyqaGenerator(vocs("MAXIMIZE"), START, noise=0.01, rng=0)
    assert places(run(up, 20, sign=-1.0)) == places(run(generator_of(rng=0), 20))


def test_as_many_points_as_one_asks_for_come_back_in_any_order():
    generator = generator_of()
    first, second = generator.suggest(4), generator.suggest(3)
    points = [*first, *second]
    assert len({point["_id"] for point in points}) == 7
    assert len(set(places(points))) == 6  # the start comes twice, to see the drift
    for point in reversed(points):
        generator.ingest([{**point, "f": 1.0}])
    assert generator.optimizer.nfev == 7


def test_what_cannot_be_suggested_is_a_value_error():
    generator = generator_of(maxfev=6)
    with pytest.raises(ValueError, match=r"num_points = 7 .* maxfev = 6"):
        generator.suggest(7)
    assert len(generator.suggest(6)) == 6
    with pytest.raises(ValueError, match="num_points must be"):
        generator.suggest(0)
    generator = generator_of(maxfev=6)
    run(generator, 6)
    with pytest.raises(ValueError, match="the search has ended"):
        generator.suggest(1)


def test_after_a_reading_beyond_the_limit_the_safe_place_is_all_there_is():
    generator = generator_of(safe=[0.5, -0.5], limit=50.0)
    points = generator.suggest(3)
    generator.ingest([{**points[0], "f": 60.0}])
    [safe] = generator.suggest(1)
    assert (safe["x"], safe["y"]) == (0.5, -0.5)
    with pytest.raises(ValueError, match=r"0 trials that a reading beyond the limit"):
        generator.suggest(1)
    generator.ingest([{**safe, "f": 1.0}])
    assert len(generator.suggest(4)) == 4


def test_an_unknown_id_is_an_error_and_nothing_of_its_batch_counts():
    generator = generator_of()
    (point,) = generator.suggest(1)
    known, unknown = {**point, "f": 1.0}, {**point, "f": 1.0, "_id": 77}
    for batch in ([known, unknown], [known, known]):
        with pytest.raises(ValueError, match="_id = "):
            generator.ingest(batch)
    assert generator.optimizer.nfev == 0
    generator.ingest([known])
    with pytest.raises(ValueError, match="_id = 0 is of no suggestion"):
        generator.ingest([known])


@pytest.mark.parametrize("missing", [{}, {"f": None}, {"f": math.nan}])
def test_a_missing_value_is_a_failed_measurement(missing):
    generator = generator_of()
    (point,) = generator.suggest(1)
    generator.ingest([{**point, **missing}])
    assert generator.optimizer.result().nfail == 1


@pytest.mark.parametrize("key", [{}, {"_id": None}, {"_id": math.nan}])
def test_points_of_others_are_readings_too(key):
    generator = generator_of()
    generator.ingest([{"x": 0.25, "y": 0.5, "f": 2.0, **key}])
    generator.ingest([{"x": 0.25, "y": 0.5, "f": math.nan, **key}])  # says nothing
    history = generator.optimizer.result().history
    assert history.x.tolist() == [[0.25, 0.5]]
    assert not history.asked.any()


def test_a_suggestion_that_never_comes_back_holds_nothing_up():
    generator = generator_of()
    (lost,) = generator.suggest(1)
    run(generator, 40)
    assert generator.optimizer.pending == []
    np.testing.assert_allclose(generator.optimizer.result().x, [0.5, -0.3], atol=0.1)
    generator.ingest([{**lost, "f": value(lost, 0), "time": 0.0}])  # it does, after all
    assert len(generator.optimizer.result().history) == 41


# Times -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [
        ({"time": 3.0, "timestamp": 9.0}, 3.0),
        ({"time": math.nan, "timestamp": 9.0}, 9.0),
        ({"timestamp": datetime(2020, 1, 2, tzinfo=timezone.utc)}, 1577923200.0),
        ({}, 1234.5),
    ],
)
def test_a_result_is_dated_as_it_says_or_by_the_clock(stated, seconds):
    generator = generator_of(clock=lambda: 1234.5)
    (point,) = generator.suggest(1)
    generator.ingest([{**point, "f": 1.0, **stated}])
    assert generator.optimizer.result().history.t.tolist() == [seconds]


def test_time_may_be_a_contextual_variable():
    seen = VOCS(
        variables={"x": [-2.0, 2.0], "time": "CONTEXTUAL"}, objectives={"f": "MINIMIZE"}
    )
    generator = TobyqaGenerator(seen)
    (point,) = generator.suggest(1)
    assert set(point) == {"x", "_id"}


# What is wrong, and what is constant -------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ({"objectives": {}}, "objectives must be a single one"),
        ({"objectives": {"f": "EXPLORE"}}, "objectives must be a single one"),
        (
            {"objectives": {"f": "MINIMIZE", "g": "MINIMIZE"}},
            "objectives must be a single one",
        ),
        ({"constraints": {"c": ["LESS_THAN", 1.0]}}, "constraints must be none"),
        ({"variables": {"x": {1, 2, 3}}}, "variables must be continuous, but x"),
        ({"variables": {"x": [0, 1], "y": "CONTEXTUAL"}}, "continuous, but y"),
        ({"variables": {"time": "CONTEXTUAL"}}, "at least one that is continuous"),
    ],
)
def test_problems_that_are_not_ours_are_refused(problem, message):
    whole = {"variables": {"x": [0, 1]}, "objectives": {"f": "MINIMIZE"}} | problem
    with pytest.raises(ValueError, match=message):
        TobyqaGenerator(VOCS(**whole))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": -1.0}, "noise must be"),
        ({"x0": {"z": 1.0}}, r"x0 names \['z'\]"),
        ({"method": "powell"}, "method = 'powell' is unknown"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        TobyqaGenerator(vocs(), **arguments)


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"x": 1.0, "f": 1.0}, ValueError),
        ({"x": 1.0, "y": math.nan, "f": 1.0}, ValueError),
        ({"x": 1.0, "y": 1.0, "f": "low"}, TypeError),
        ({"x": 1.0, "y": 1.0, "f": 1.0, "time": "noon"}, TypeError),
    ],
)
def test_results_that_cannot_be_are_refused_before_any_counts(row, error):
    generator = generator_of()
    with pytest.raises(error):
        generator.ingest([{"x": 0.0, "y": 0.0, "f": 1.0}, row])
    assert len(generator.optimizer.result().history) == 0


def test_constants_are_part_of_a_suggestion_and_defaults_are_the_start():
    variables = {"x": {"type": "ContinuousVariable", "domain": [0, 4]}, "y": [0.0, 4.0]}
    variables["x"]["default_value"] = 1.0
    problem = VOCS(
        variables=variables, objectives={"f": "MINIMIZE"}, constants={"a": 7}
    )
    (point,) = TobyqaGenerator(problem).suggest(1)
    assert point == {"a": 7, "x": 1.0, "y": 2.0, "_id": 0}


# Files, copies -----------------------------------------------------------------------


def test_a_copy_made_before_it_is_used_has_the_journal(tmp_path):
    path = tmp_path / "run.jsonl"
    generator = copy.deepcopy(generator_of(journal=path))  # as Xopt does
    run(generator, 12)
    (waiting,) = generator.suggest(1)
    generator.finalize()
    again = generator_of(journal=path)
    assert again.suggest(1) == [waiting]
    again.ingest([{**waiting, "f": 1.0, "time": 12.0}])
    assert again.optimizer.nfev == 13
    again.finalize()


# In Xopt -----------------------------------------------------------------------------


def test_a_run_in_xopt():
    xopt = pytest.importorskip("xopt", reason="needs xopt, which needs torch")
    count = iter(range(1000))

    def measured(point):
        t = next(count)
        if t % 10 == 7:
            raise RuntimeError("the beam tripped")
        return {"f": -value(point, t), "time": float(t)}

    run = xopt.Xopt(
        generator=TobyqaGenerator(vocs("MAXIMIZE"), START, noise=0.01),
        evaluator=xopt.Evaluator(function=measured),
        strict=False,
    )
    for _ in range(60):
        run.step()
    res = run.generator.optimizer.result()
    np.testing.assert_allclose(res.x, [0.5, -0.3], atol=0.05)
    assert (res.nfev, res.nfail) == (60, 6)
    # Another one begins with what this one has measured.
    known = run.data[~run.data["xopt_error"]]
    later = xopt.Xopt(
        generator=TobyqaGenerator(vocs("MAXIMIZE"), START, noise=0.01),
        evaluator=xopt.Evaluator(function=measured),
        data=known.reset_index(drop=True),
    )
    assert len(later.generator.optimizer.result().history) == 54
