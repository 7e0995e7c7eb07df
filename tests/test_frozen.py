"""Frozen values: as the standard library's, only quicker."""

from __future__ import annotations

import dataclasses

import pytest

from tobyqa.frozen import cached_property, replace


@dataclasses.dataclass(frozen=True)
class Square:
    side: float
    name: str = "square"

    @cached_property
    def sides(self) -> list[float]:
        """All of them."""
        return [self.side] * 4


@pytest.mark.parametrize("changes", [{}, {"side": 3.0}, {"name": "a", "side": 1.0}])
def test_replace_does_what_dataclasses_do(changes):
    square = Square(2.0, "other")
    assert square.sides == [2.0] * 4
    changed = replace(square, **changes)
    assert changed == dataclasses.replace(square, **changes)
    assert vars(changed) == vars(dataclasses.replace(square, **changes))
    assert changed.sides == [changed.side] * 4
    assert square == Square(2.0, "other")


def test_replace_knows_the_fields():
    with pytest.raises(AssertionError, match="sides"):
        replace(Square(2.0), sides=[])


def test_what_was_computed_is_kept():
    square = Square(2.0)
    assert square.sides is square.sides
    assert Square.__dict__["sides"].__doc__ == "All of them."
