"""Constraints as text: what they mean and what is refused; nothing is evaluated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tobyqa.constraint_text import Linear, expression, parse_constraint

NAMES = ["gap", "gap2", "beam current"]
numbers = st.floats(-1e6, 1e6).filter(lambda v: abs(v) > 1e-6)


@pytest.mark.parametrize(
    ("text", "coefficients", "lower", "upper"),
    [
        ("gap + 2*gap2 <= 3", (1, 2, 0), -math.inf, 3),
        ("3 >= gap+2*gap2", (1, 2, 0), -math.inf, 3),
        ("gap2 >= -.5e1", (0, 1, 0), -5, math.inf),
        ("gap == 1", (1, 0, 0), 1, 1),
        ("0 <= gap - gap2 <= 2", (1, -1, 0), 0, 2),
        ("2 >= gap - gap2 >= 0", (1, -1, 0), 0, 2),
        ("2*(gap - 1)/4 <= -3*-gap2 + 1", (0.5, -3, 0), -math.inf, 1.5),
        ("beam current <= gap", (-1, 0, 1), -math.inf, 0),
        ("1 <= 2 * gap + 1 <= 5", (2, 0, 0), 0, 4),
        ("+gap <= 1e-3", (1, 0, 0), -math.inf, 1e-3),
    ],
)
def test_space_constraint_text_means_what_it_says(text, coefficients, lower, upper):
    assert parse_constraint(text, NAMES) in (
        Linear(coefficients, lower, upper),
        Linear(tuple(-a for a in coefficients), -upper, -lower),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected instead of the end"),
        ("gap", "one relation"),
        ("gap <= 1 <= 2 <= 3", "one relation"),
        ("2 gap <= 3", "'gap' is not expected"),
        ("gap < 3", "'<' is not expected"),
        ("gap = 3", "'=' is not expected"),
        ("gap*gap2 <= 1", "two variables are multiplied"),
        ("1/gap <= 1", "divide by numbers only"),
        ("gap/0 <= 1", "divide by numbers only"),
        ("gap - gap <= 1", "no variable is left"),
        ("(gap <= 1", "parenthesis"),
        ("gap3 <= 1", "'gap3' is not one of the variables"),
        ("__import__('os') <= 1", "'__import__' is not one of the variables"),
        ("0 <= gap >= 1", "two relations"),
        ("gap <= gap2 <= 1", "two relations"),
        ("1 <= gap <= 0", "no number between"),
        ("1e99*gap <= 0", "too large"),
        ("1e40*1e40*gap <= 0", "too large"),
        ("1e40*1e40*1e40*1e40*1e40*1e40*1e40*1e40*1e40*gap <= 0", "too large"),
    ],
)
def test_space_constraint_text_that_is_refused_says_why(text, reason):
    with pytest.raises(ValueError, match="variables gap, gap2, beam current") as error:
        parse_constraint(text, NAMES)
    assert reason in str(error.value)
    assert repr(text) in str(error.value)


def test_space_constraint_must_be_text():
    with pytest.raises(TypeError, match="must be a text"):
        parse_constraint(3.0, NAMES)


@given(a=st.lists(numbers, min_size=3, max_size=3), limit=numbers)
def test_space_constraint_text_round_trips(a, limit):
    """What `expression` writes, `parse_constraint` reads, to the digits shown."""
    read = parse_constraint(f"{expression(a, NAMES)} <= {limit!r}", NAMES)
    np.testing.assert_allclose(read.coefficients, a, rtol=1e-5)
    assert read.upper == limit
    assert Linear.of_record(read.record()) == read
