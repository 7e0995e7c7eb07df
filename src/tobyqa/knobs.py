"""What a run file and the flags say of the knobs, as arguments of `Optimizer`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from . import _check
from .protocol import parse_number

BY_NAME = ("bounds", "x_scale", "resolution", "fixed", "max_move")
"""Keys of a run file that hold something for some of the variables."""
_PART = 0.05  # of its range: a knob's scale, if other knobs have one; cf. Optimizer


def parse_bound(text: str) -> tuple[str, tuple[float, float]]:
    """Limits of a variable, ``name=lower:upper``; an empty side is no limit.

    >>> parse_bound("temp=280:320"), parse_bound("gap=0:")
    (('temp', (280.0, 320.0)), ('gap', (0.0, inf)))
    """
    name, sign, limits = text.rpartition("=")
    lower, colon, upper = limits.partition(":")
    if not (name and sign and colon and limits.strip() != ":"):
        raise ValueError(
            f"{text!r} is not of the form NAME=LOWER:UPPER, such as gap=0.1:2, gap=0: "
            "or gap=:2"
        )
    return name, (
        _number(text, lower) if lower.strip() else -math.inf,
        _number(text, upper) if upper.strip() else math.inf,
    )


def _number(text: str, part: str) -> float:
    try:
        return parse_number(part)
    except ValueError as error:
        raise ValueError(f"{error} (in {text!r})") from None


def parse_named(text: str) -> tuple[str, float]:
    """A number for a variable, ``name=number``.

    >>> parse_named("temp=300")
    ('temp', 300.0)
    """
    name, sign, number = text.rpartition("=")
    if not (name and sign):
        raise ValueError(f"{text!r} is not of the form NAME=NUMBER, such as temp=300")
    return name, _number(text, number)


def parse_radius(text: str) -> float | tuple[float, ...]:
    """One distance for all variables, or one for each with commas between them.

    >>> parse_radius("2"), parse_radius("5,0.5")
    (2.0, (5.0, 0.5))
    """
    numbers = tuple(parse_number(part) for part in text.split(","))
    return numbers if len(numbers) > 1 else numbers[0]


def together(
    table: Mapping[str, Any], flags: Mapping[str, Any], names: Sequence[str] | None
) -> dict[str, Any]:
    """What flags say beside a file: of each variable, and in further constraints.

    Limits that a file states are not lost because a flag states another.
    """
    both: dict[str, Any] = {}
    for key in BY_NAME:
        if key in flags and key in table:
            both[key] = {**_by_name(key, table[key], names), **flags[key]}
    if "constraints" in flags and "constraints" in table:
        both["constraints"] = [*_texts(table["constraints"]), *flags["constraints"]]
    return both


def knob_arguments(settings: Any, labels: Sequence[str]) -> dict[str, Any]:
    """The arguments of `Optimizer` that a `RunSettings` states; only those stated.

    Raises
    ------
    ValueError
        Naming the key, the variable and what is expected.
    """
    said: dict[str, Any] = {}
    for key in BY_NAME:
        if (value := getattr(settings, key)) is not None:
            said[key] = _of_variables(key, _by_name(key, value, labels), labels)
    if "x_scale" in said:
        said["x_scale"] = _scales(said["x_scale"], said.get("bounds", {}), labels)
    for key in ("bounds", "resolution", "max_move"):
        if key in said:
            said[key] = [said[key].get(name) for name in labels]
    if settings.constraints is not None:
        said["constraints"] = _texts(settings.constraints)
    if settings.maximize is not False:
        said["maximize"] = settings.maximize
    if settings.safe is not None:
        said["safe"] = _safe_point(settings.safe, labels)
    if settings.limit is not None:
        said["limit"] = settings.limit
    return said


def _safe_point(value: Any, labels: Sequence[str]) -> list[Any]:
    """A point, by name or as a list, with a value for each variable."""
    table = _of_variables("safe", _by_name("safe", value, labels), labels)
    if missing := [name for name in labels if name not in table]:
        raise ValueError(
            f"safe must have a value for each variable, but has none for {missing[0]!r}"
        )
    return [table[name] for name in labels]


def _by_name(key: str, value: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """A table by name; a list has one entry for each variable."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(
            f"{key} must be a table such as {{gap = {_EXPECTED[key][1]}}}, or a list "
            f"with one entry for each variable, but is {value!r}"
        )
    names = [f"x{i}" for i in range(len(value))] if names is None else names
    if len(value) != len(names):
        raise ValueError(
            f"{key} must have {len(names)} entries, one for each variable "
            f"({', '.join(map(str, names))}), but has {len(value)}"
        )
    return dict(zip(names, value, strict=True))


_EXPECTED = {
    "bounds": ("[lower, upper], either of which may be infinite", "[0, 2]"),
    "x_scale": ("a number", "0.5"),
    "resolution": ("a number", "0.01"),
    "fixed": ("a number", "1.5"),
    "max_move": ("a number", "0.1"),
    "safe": ("a number", "1.5"),
}


def _of_variables(
    key: str, table: dict[str, Any], labels: Sequence[str]
) -> dict[str, Any]:
    """The same table if it names variables and has for each what is expected."""
    for name, value in table.items():
        if name not in labels:
            raise ValueError(
                f"{key}: there is no variable {name!r}; there are {', '.join(labels)}"
            )
        numbers = value if key == "bounds" else [value]
        is_sound = (
            isinstance(numbers, list | tuple)
            and len(numbers) == (2 if key == "bounds" else 1)
            and all(_is_number(number) for number in numbers)
        )
        if not is_sound:
            expected = _EXPECTED[key][0]
            raise ValueError(f"{key} of {name!r} must be {expected}, but is {value!r}")
        if key in ("x_scale", "resolution"):
            _check.positive(f"{key} of {name!r}", value)
    return table


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(value: Any) -> list[Any]:
    """Constraints as a list of texts."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(
        isinstance(text, str) for text in texts
    ):
        raise ValueError(
            "constraints must be a list of texts such as 'gap + 2*angle <= 3', but is "
            f"{value!r}"
        )
    return list(texts)


def _scales(
    stated: Mapping[str, float],
    bounds: Mapping[str, Sequence[float]],
    labels: Sequence[str],
) -> list[float]:
    """Scales of all variables; of those without one, a part of their range, or 1."""
    scales = []
    for name in labels:
        lower, upper = bounds.get(name, (-math.inf, math.inf))
        has_range = math.isfinite(upper - lower) and upper > lower
        scales.append(stated.get(name, _PART * (upper - lower) if has_range else 1.0))
    return scales
