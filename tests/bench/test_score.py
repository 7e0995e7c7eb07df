"""Scores of records whose answers are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from synthetic import run, small_studies, study

from tobyqa.bench.score import (
    TOLERANCES,
    block,
    channel,
    dimension,
    failures,
    one_budget,
    score,
    solve_intervals,
    solve_rates,
    split,
    wilson,
)


def changed(record, scale=1.0, shift=0.0):
    """The same run on the function ``scale * f + shift``."""
    return replace(
        record,
        f_start=scale * record.f_start + shift,
        f_returned=scale * record.f_returned + shift,
        improved_to=scale * record.improved_to + shift,
    )


def solved_everywhere(scores):
    return np.array([scores.solved(tau) for tau in TOLERANCES])


def test_targets_follow_the_definition():
    scores = score([run("a", {1: 0.5, 10: 0.0}), run("b", {1: 0.9, 20: 0.1})])
    assert scores.solvers == ("a", "b")
    assert scores.f_low.tolist() == [0.0]
    assert scores.evaluations(0.1).tolist() == [[10, 20]]
    assert scores.evaluations(0.5).tolist() == [[1, 20]]
    assert scores.evaluations(1e-3).tolist() == [[10, np.inf]]
    assert solve_rates(scores, 1e-3).tolist() == [1.0, 0.0]


def test_only_reference_solvers_define_the_lowest_value():
    records = [run("a", {5: 0.2}), run("b", {5: 0.0})]
    scores = score(records, reference_solvers=["a"])
    assert scores.f_low.tolist() == [0.2]
    assert scores.solved(1e-7).tolist() == [[True, True]]


def test_instances_without_progress_are_left_out_and_counted():
    records = [
        run("a", {}, problem="flat"),
        run("b", {3: 1.0}, problem="flat"),
        run("a", {3: 0.5}, problem="unbounded"),
        run("b", {3: -np.inf}, problem="unbounded"),
        run("a", {2: 0.0}, problem="good"),
        run("b", {2: 0.0}, problem="good"),
    ]
    scores = score(records)
    assert [instance[0] for instance in scores.instances] == ["good"]
    assert (scores.unimproved, scores.incomplete) == (2, 0)


def test_only_complete_instances_count():
    records = [run("a", {1: 0.0}, seed=s) for s in range(3)]
    records += [run("b", {1: 0.0}, seed=s) for s in range(2)]
    scores = score(records)
    assert len(scores.instances) == 2
    assert scores.incomplete == 1
    # b is a reference at this dimension and budget, so seed 2 has no f_L yet...
    assert len(score(records, solvers=["a"]).instances) == 2
    # ...unless b is none.
    assert len(score(records, ["a"], solvers=["a"]).instances) == 3


def test_cells_of_few_solvers_are_a_comparison_of_their_own():
    records = study(["a", "b", "c"], problems=2)
    records += study(["a", "b"], problems=2, blocks=[(6, 450)])
    everyone, few = score(records), score(records, solvers=["a", "b"])
    assert {block(i) for i in everyone.instances} == {(6, 1500), (10, 1500), (20, 1500)}
    assert (6, 450) in {block(i) for i in few.instances}
    assert one_budget(few).instances == everyone.instances
    assert one_budget(few).set_aside == 2 * 7 * 2


def test_one_budget_keeps_budgets_that_grow_with_the_dimension():
    records = study(["a"], problems=1, blocks=[(6, 600), (10, 1000), (20, 2000)])
    scores = score(records)
    assert one_budget(scores).instances == scores.instances


def test_mistakes_are_named():
    records = [run("a", {1: 0.0})]
    with pytest.raises(ValueError, match="more than one"):
        score(records * 2)
    with pytest.raises(ValueError, match="reference_solvers"):
        score(records, reference_solvers=["z"])
    with pytest.raises(ValueError, match="solvers"):
        score(records, solvers=["a", "z"])


def test_no_records_give_empty_scores():
    scores = score([])
    assert scores.instances == ()
    assert solve_rates(scores, 0.1).shape == (0,)


def test_returned_point_has_the_same_target_and_costs_the_whole_run():
    records = [
        run("a", {5: 0.0}, f_returned=0.0, nfev=40),
        run("b", {5: 0.0}, f_returned=0.7),
        run("c", {5: 0.0}, f_returned=np.nan),
    ]
    returned = score(records, point="returned")
    assert returned.solved(1e-3).tolist() == [[True, False, False]]
    assert returned.evaluations(1e-3).tolist() == [[40, np.inf, np.inf]]
    assert returned.judged_by("queried").solved(1e-3).all()


def test_split_by_label():
    scores = score(study(["a"], problems=1, seeds=1))
    assert list(split(scores, dimension)) == [6, 10, 20]
    assert sum(len(part.instances) for part in split(scores, channel).values()) == 21


@given(small_studies())
def test_rates_grow_with_the_tolerance(records):
    rates = np.array([solve_rates(score(records), tau) for tau in TOLERANCES])
    assert np.all(np.diff(rates, axis=0) <= 0)


@given(small_studies(), st.sampled_from(TOLERANCES))
def test_somebody_solves_every_instance(records, tau):
    assert score(records).solved(tau).any(axis=1).all()


@given(small_studies(), st.sampled_from(TOLERANCES))
def test_a_run_solves_what_it_needs_finitely_many_evaluations_for(records, tau):
    scores = score(records)
    assert np.array_equal(np.isfinite(scores.evaluations(tau)), scores.solved(tau))


@given(small_studies(), st.integers(-(10**6), 10**6), st.integers(-20, 20))
def test_shift_and_scale_change_no_score(records, shift, exponent):
    moved = [changed(r, scale=2.0**exponent) for r in records]
    raised = [changed(r, shift=float(shift)) for r in records]
    expected = solved_everywhere(score(records))
    assert np.array_equal(solved_everywhere(score(moved)), expected)
    assert np.array_equal(solved_everywhere(score(raised)), expected)


@given(small_studies(), st.data())
def test_order_of_records_changes_nothing(records, data):
    scores, other = score(records), score(data.draw(st.permutations(records)))
    assert other.instances == scores.instances
    assert np.array_equal(other.evaluations(1e-3), scores.evaluations(1e-3))


@given(small_studies(solvers=("a", "b", "outsider")))
def test_a_solver_outside_the_reference_changes_no_ones_score(records):
    inside = [r for r in records if r.cell.solver != "outsider"]
    with_it = score(records, reference_solvers=["a", "b"])
    assert np.array_equal(
        solved_everywhere(with_it)[:, :, :2], solved_everywhere(score(inside))
    )


def test_failures_are_counted_by_status():
    records = [run("a", {}, seed=s, status=k) for s, k in enumerate(["ok", "crash"])]
    records.append(run("b", {}, status="error"))
    assert failures(records) == {"a": {"ok": 1, "crash": 1}, "b": {"error": 1}}


@given(st.integers(1, 500), st.data())
def test_wilson_interval_contains_the_rate_and_matches_scipy(trials, data):
    successes = data.draw(st.integers(0, trials))
    estimate = wilson(successes, trials)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    expected = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert (estimate.low, estimate.high) == pytest.approx(expected, abs=1e-12)


def test_solve_intervals_hold_the_rates():
    scores = score(study(["a", "b"], problems=2))
    estimates = solve_intervals(scores, 1e-3)
    assert [e.value for e in estimates] == pytest.approx(solve_rates(scores, 1e-3))
