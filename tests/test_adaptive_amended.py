"""A belief made anew by another reading: what it comes to, and what it leaves alone."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tobyqa import Optimizer
from tobyqa.methods.adaptive.amended import amended
from tobyqa.methods.adaptive.doubts import NO_DOUBTS
from tobyqa.result import Status

BEST = np.array([1.0, 2.0])
drawn = settings(max_examples=10, deadline=None)
rows = st.integers(0, 29)


def belief(readings=30, noise=0.1, wrong=None, off=0.0):
    opt = Optimizer([0.0, 0.0], noise=noise, rng=1, maxfev=80)
    for k in range(readings):
        trial = opt.ask()
        error = 0.1 * np.sin(12.9898 * k + 78.233 * float(np.sum(trial.x)))
        value = float(np.sum((trial.x - BEST) ** 2)) + 0.01 * k + error
        opt.tell(trial, value + (off if k == wrong else 0.0))
    return opt._state


RIGHT = {noise: belief(noise=noise) for noise in (0.1, None)}
noises = pytest.mark.parametrize("noise", [0.1, None])


def assert_same_fit(a, b):
    """Up to rounding."""
    assert a.centre == b.centre
    np.testing.assert_allclose(a.fitted.g, b.fitted.g, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(a.fitted.smooth, b.fitted.smooth, rtol=1e-6, atol=1e-9)
    assert a.fitted.noise_std == pytest.approx(b.fitted.noise_std, rel=1e-6)
    assert a.noise.nu == pytest.approx(b.noise.nu, rel=1e-6)
    assert (a.noise.stated, a.noise.spread) == (b.noise.stated, b.noise.spread)


@noises
@drawn
@given(row=rows, off=st.sampled_from([-100.0, -1.0, 3.0, 1e4]))
def test_corrected_it_is_the_belief_of_the_right_reading(noise, row, off):
    b = RIGHT[noise]
    right = float(b.samples.values[row])
    wrong = amended(b, row, right + off)
    assert_same_fit(amended(wrong, row, right), amended(b, row, right))


@noises
@drawn
@given(row=rows, off=st.sampled_from([-100.0, 3.0]))
def test_what_was_withdrawn_may_have_been_anything(noise, row, off):
    b = RIGHT[noise]
    wrong = amended(b, row, float(b.samples.values[row]) + off)
    assert_same_fit(amended(wrong, row, math.nan), amended(b, row, math.nan))


@drawn
@given(row=rows)
def test_a_withdrawn_row_is_in_no_fit_and_never_acquitted(row):
    b = amended(RIGHT[0.1], row, math.nan)
    assert row in b.left_out
    assert row not in b.fitted.window.rows
    assert b.centre != row
    assert row not in b.rows_at(b.samples.points[row])
    assert b.rows_at(b.centre_point).size
    assert b.doubts.suspects == RIGHT[0.1].doubts.suspects
    again = amended(b, (row + 1) % 30, 0.5)
    assert row not in again.fitted.window.rows


def test_a_corrected_row_is_no_suspect_any_more():
    b = belief(wrong=20, off=-100.0)
    doubted = b.doubts.plus(20) if 20 not in b.doubts.rows else b.doubts
    b = amended(replace(b, doubts=doubted, recheck=20), 20, 0.3)
    assert 20 not in b.doubts.rows
    assert 20 in b.doubts.right
    assert b.recheck is None
    assert 20 not in b.left_out


def test_rows_that_are_settled_are_settled_alone():
    doubts = NO_DOUBTS.plus(3).plus(5)
    assert doubts.settled(3, is_right=True).rows == [5]
    assert doubts.settled(3, is_right=False).rows == [3, 5]
    assert doubts.settled(3, is_right=False).settled(3, is_right=True).rows == [5]
    assert doubts.settled(9, is_right=False).in_vain == doubts.in_vain


def test_the_belief_before_is_as_it_was():
    b = RIGHT[0.1]
    values, doubts = b.samples.values.copy(), b.doubts
    amended(b, 4, 77.0)
    amended(b, 5, math.nan)
    np.testing.assert_array_equal(b.samples.values, values)
    assert b.doubts == doubts


def test_a_guess_of_the_noise_that_a_slip_has_spoilt_is_made_anew():
    wrong, right = belief(6, None, wrong=2, off=1e3), belief(6, None)
    assert wrong.noise.stated > 5 * right.noise.stated
    b = amended(wrong, 2, float(right.samples.values[2]))
    assert b.noise.stated == pytest.approx(right.noise.stated)


def test_where_too_little_is_left_it_begins_anew():
    b = belief(7)
    for row in range(3):
        b = amended(b, row, math.nan)
        assert b is not None
    assert amended(b, 3, math.nan) is None
    lost = replace(RIGHT[0.1], status=Status.UNBOUNDED)
    assert amended(lost, 3, 1.0) is None
