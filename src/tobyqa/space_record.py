"""A `Space` as a file has it, checked when it is read: a file may hold anything."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from . import _check
from .constraint_text import Linear
from .space import Space, Variable

_FIELDS = ("name", "unit", "lower", "upper", "scale", "resolution", "fixed")


def checked_record(record: Any) -> Space:
    """The space of a record of `Space.to_record`, bit by bit.

    Raises
    ------
    ValueError, TypeError
        Naming the field that is missing or not what it has to be.
    """
    fields = _fields("space", record, ("variables", "constraints", "maximize"))
    variables = tuple(
        _variable(f"space: variables[{i}]", v)
        for i, v in enumerate(_items("variables", fields["variables"]))
    )
    names = [v.name for v in variables]
    if not variables or len(set(names)) < len(names):
        raise ValueError(f"space: variables must have names of their own: {names}")
    return Space(
        variables,
        tuple(
            _constraint(f"space: constraints[{i}]", row, len(variables))
            for i, row in enumerate(_items("constraints", fields["constraints"]))
        ),
        _check.switch("space: maximize", fields["maximize"]),
        _positive_or_none("space: radius", fields.get("radius")),
    )


def _variable(name: str, record: Any) -> Variable:
    fields = _fields(name, record, _FIELDS)
    if unknown := fields.keys() - {*_FIELDS, "max_move"}:
        raise ValueError(f"{name} has an unknown field {min(unknown)!r}")
    lower = _limit(f"{name}.lower", fields["lower"], -math.inf)
    upper = _limit(f"{name}.upper", fields["upper"], math.inf)
    if lower > upper:
        raise ValueError(f"{name}: lower must be at most {upper}, but is {lower}")
    fixed = fields["fixed"]
    if fixed is not None:
        fixed = _check.finite(f"{name}.fixed", fixed)
        if not lower <= fixed <= upper:
            raise ValueError(f"{name}.fixed must be within its bounds, but is {fixed}")
    return Variable(
        _check.text(f"{name}.name", fields["name"]),
        _check.text(f"{name}.unit", fields["unit"]),
        lower,
        upper,
        _positive(f"{name}.scale", fields["scale"]),
        _positive_or_none(f"{name}.resolution", fields["resolution"]),
        fixed,
        _positive_or_none(f"{name}.max_move", fields.get("max_move")),
    )


def _constraint(name: str, record: Any, n: int) -> Linear:
    fields = _fields(name, record, ("coefficients", "lower", "upper"))
    return Linear(
        tuple(
            _check.point(
                f"{name}.coefficients", fields["coefficients"], n, largest=math.inf
            ).tolist()
        ),
        _limit(f"{name}.lower", fields["lower"], -math.inf),
        _limit(f"{name}.upper", fields["upper"], math.inf),
    )


def _fields(name: str, record: Any, needed: Sequence[str]) -> dict[str, Any]:
    if not isinstance(record, Mapping):
        raise TypeError(f"{name} must be an object, but is {record!r}")
    if missing := [key for key in needed if key not in record]:
        raise ValueError(f"{name}: the field {missing[0]!r} is missing")
    return dict(record)


def _items(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"space: {name} must be a list, but is {value!r}")
    return value


def _limit(name: str, value: Any, absent: float) -> float:
    return absent if value is None else _check.finite(name, value)


def _positive_or_none(name: str, value: Any) -> float | None:
    return None if value is None else _positive(name, value)


def _positive(name: str, value: Any) -> float:
    clean = _check.finite(name, value)
    if not clean > 0.0:
        raise ValueError(f"{name} must be > 0, but is {clean}")
    return clean
