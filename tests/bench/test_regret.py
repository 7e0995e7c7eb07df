"""Regrets of returned points, and the tables of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import run

from tobyqa.bench.instruments import INSTRUMENTS, QUIET
from tobyqa.bench.regret import budget_name, difference, logs, regret, summary
from tobyqa.bench.regret_tables import regret_tables
from tobyqa.bench.report import build_tables
from tobyqa.bench.score import score

regrets = st.lists(st.floats(0.0, 10.0), min_size=1, max_size=40)


def mirror(solver, left, *, seed=0, budget=20, problem="mirror", channel="Static"):
    """A run that leaves that share of what there was to gain; the least value is -1."""
    return run(
        solver,
        {1: -0.5, 2: -0.9},
        problem=problem,
        seed=seed,
        budget=budget,
        channel=channel,
        f_start=0.0,
        f_returned=left - 1.0,
    )


def named(records):
    return {table.name: table for table in regret_tables(records)}


def test_regret_is_the_share_that_is_left():
    assert regret(mirror("a", 0.25)) == 0.25
    assert regret(mirror("a", math.inf)) == math.inf
    with pytest.raises(ValueError, match="'sphere': its least value is not known"):
        regret(run("a", {1: 0.5}))


@given(regrets)
def test_nine_of_ten_are_no_worse_than_the_worst_tenth(values):
    found = summary(values)
    assert found.worst_tenth in values
    assert np.mean(np.array(values) <= found.worst_tenth) >= 0.9
    assert np.mean(np.array(values) < found.worst_tenth) < 0.9
    assert found.median <= found.worst_tenth
    assert found.no_better == np.mean(np.array(values) >= 1.0)


def test_no_single_run_decides_the_mean_of_logarithms():
    assert logs([0.0, 1.0, math.inf, math.nan]).tolist() == [-6.0, 0.0, 2.0, 2.0]


@given(regrets, st.floats(0.1, 10.0))
def test_the_difference_of_paired_runs(values, factor):
    first = {k: 0.1 + v for k, v in enumerate(values)}
    other = {k: factor * v for k, v in first.items()}
    gap = difference(first, {**other, "another": 5.0})
    assert gap.low <= gap.value + 1e-12
    assert gap.value <= gap.high + 1e-12
    assert gap.value == pytest.approx(-math.log10(factor), abs=1e-9)


def test_a_difference_needs_common_instances():
    with pytest.raises(ValueError, match="no instance in common"):
        difference({1: 0.1}, {2: 0.1})


@given(st.sampled_from([made.n for made in INSTRUMENTS.values()]))
def test_budgets_are_told_apart(n):
    budgets = [3 * n + 5, 5 * n, 10 * n, 20 * n, 40 * n]
    names = ["3n+5", "5n", "10n", "20n", "40n"]
    assert [budget_name(n, budget) for budget in budgets] == names
    assert budget_name(n, 7) == "7"


def test_tables_by_channel_noise_and_budget():
    records = [
        mirror(solver, left * (seed + 1), seed=seed, problem=problem, budget=budget)
        for solver, left in (("adaptive", 0.008), ("cobyqa", 0.02))
        for seed in range(3)
        for problem in ("mirror", "mirror" + QUIET)
        for budget in (10, 20)
    ]
    tables = named(records)
    assert "regret-Static-1" in tables
    rows = tables["regret-Static-0.1"].rows
    # Solver, then median and worst tenth at 5n and 10n, in percent.
    assert [row[0] for row in rows] == ["adaptive", "cobyqa"]
    assert rows[0][1:] == pytest.approx((1.6, 1.6, 2.4, 2.4))
    assert rows[1][1:] == pytest.approx((4.0, 4.0, 6.0, 6.0))
    assert tables["regret-missed"].rows == ()
    profile = tables["regret-profile-1"].rows[0]
    assert profile[1:] == pytest.approx((100.0, 100.0, 100 / 3, 100 / 3))


def test_what_is_missed_is_named():
    ours = mirror("adaptive", 0.05, budget=20)
    small = mirror("adaptive", 0.105, budget=11)
    peers = [mirror("cobyqa", 0.04, budget=20), mirror("cobyqa", 0.1, budget=11)]
    rows = named([ours, small, *peers])["regret-missed"].rows
    # At 3n+5 readings a tenth more than the peer's is near enough.
    assert {(row[2], row[4]) for row in rows} == {
        ("10n", "median"),
        ("10n", "worst tenth"),
    }
    assert all(row[6] == "cobyqa" for row in rows)


def test_only_instances_that_all_have_run_count():
    records = [mirror("adaptive", 0.1), mirror("cobyqa", 0.2)]
    alone = mirror("adaptive", 0.9, seed=5)
    assert named([*records, alone]) == named(records)


def test_other_problems_have_no_such_tables():
    assert regret_tables([run("a", {1: 0.5})]) == []


def test_the_target_is_the_known_least_value():
    records = [mirror("adaptive", 0.1), mirror("cobyqa", 0.2)]
    assert score(records).f_low.tolist() == [-1.0]
    names = [table.name for table in build_tables(records)]
    assert names[0] == "regret-missed"
    assert "overall" in names
