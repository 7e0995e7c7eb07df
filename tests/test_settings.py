"""Settings: declared once, checked, frozen, described, labelled."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tobyqa import Paper
from tobyqa.settings import describe, label, with_options


def test_describe_names_every_field_with_default_range_and_text():
    lines = describe(Paper).splitlines()
    assert len(lines) == len(dataclasses.fields(Paper))
    eta = next(line for line in lines if line.startswith("eta"))
    assert "0.75" in eta
    assert "in [0, 1]" in eta
    assert "ratio above which a step is good" in eta


@given(eta=st.floats(0, 1), degree=st.integers(0, 4), frozen=st.booleans())
def test_label_is_the_list_of_changes_and_changes_survive(eta, degree, frozen):
    rule = "frozen" if frozen else "adaptive"
    changes = {"eta": eta, "time_degree": degree, "sigma_rule": rule}
    settings = with_options(Paper(), changes)
    name, _, text = label(settings).partition(":")
    named = dict(pair.split("=") for pair in text.split(",") if pair)
    assert name == "paper"
    assert set(named) == {k for k, v in changes.items() if v != getattr(Paper(), k)}
    assert with_options(Paper(), changes) == settings


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Paper().eta = 0.1


@pytest.mark.parametrize(
    "change",
    [{"eta": -0.1}, {"eta": "high"}, {"eta": None}, {"eta": True}, {"radius": 0.0}],
)
def test_illegal_values_are_refused(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        Paper(**change)
