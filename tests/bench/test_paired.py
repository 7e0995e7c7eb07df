"""Paired comparisons: symmetry, and values known from elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import run, small_studies

from tobyqa.bench.paired import compare, even_odds, paired_difference
from tobyqa.bench.score import TOLERANCES, score


@given(small_studies(), st.sampled_from(TOLERANCES))
def test_comparison_is_antisymmetric(records, tau):
    scores = score(records)
    one, two = compare(scores, "a", "b", tau), compare(scores, "b", "a", tau)
    assert one.p_solved == pytest.approx(two.p_solved)
    assert one.p_wins == pytest.approx(two.p_wins)
    assert (one.wins, one.losses, one.ties) == (two.losses, two.wins, two.ties)
    assert one.difference.value == pytest.approx(-two.difference.value)
    assert one.difference.low == pytest.approx(-two.difference.high)
    total = one.both + one.only_solver + one.only_other + one.neither
    assert total == one.wins + one.losses + one.ties == len(scores.instances)


@given(small_studies(), st.sampled_from(TOLERANCES))
def test_a_solver_ties_with_itself(records, tau):
    same = compare(score(records), "a", "a", tau)
    assert (same.p_solved, same.p_wins, same.difference.value) == (1, 1, 0)


def test_mcnemar_by_hand():
    # 8 discordant pairs, all one way: p = 2 / 2^8.
    assert even_odds(8, 0) == pytest.approx(2 / 2**8)
    assert even_odds(0, 0) == 1


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((27, 3, 0, 0), -0.0310, 0.2562),
        ((27, 0, 0, 3), -0.1097, 0.1097),
        ((15, 0, 15, 0), -0.6685, -0.2969),
        ((0, 0, 1, 29), -0.1667, 0.0834),
    ],
)
def test_interval_of_a_paired_difference(counts, low, high):
    """Against values printed by an independent implementation of method 10."""
    estimate = paired_difference(*counts)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=6e-5)


@given(st.tuples(*[st.integers(0, 60)] * 4).filter(any))
def test_paired_interval_contains_the_difference(counts):
    estimate = paired_difference(*counts)
    assert -1 - 1e-9 <= estimate.low <= estimate.value <= estimate.high <= 1 + 1e-9


def test_unknown_solvers_are_named():
    with pytest.raises(ValueError, match="'z'"):
        compare(score([run("a", {1: 0.0})]), "a", "z", 0.1)
