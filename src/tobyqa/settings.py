"""Settings: what a user may change, declared once, with its range and meaning.

A settings class is a frozen dataclass whose fields are made with :func:`option`::

    @dataclass(frozen=True)
    class Paper:
        eta: float = option(0.75, lo=0.0, hi=1.0, doc="ratio above which sigma falls")

        def __post_init__(self) -> None:
            check_fields(self)

Their description and labels are generated from the same declarations.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")

__all__ = ["check_fields", "describe", "label", "option", "with_options"]


@dataclasses.dataclass(frozen=True)
class _Domain:
    """What a field may hold."""

    doc: str
    lo: float = -math.inf
    hi: float = math.inf
    open_lo: bool = False
    choices: tuple[Any, ...] | None = None

    def describe(self) -> str:
        if self.choices is not None:
            return "one of " + ", ".join(map(repr, self.choices))
        if math.isinf(self.lo) and math.isinf(self.hi):
            return "any finite number"
        if math.isinf(self.hi):
            return f"{'>' if self.open_lo else '>='} {self.lo:g}"
        return f"in {'(' if self.open_lo else '['}{self.lo:g}, {self.hi:g}]"

    def contains(self, value: Any) -> bool:
        if self.choices is not None:
            # 1 == True in Python; a switch takes booleans only.
            return any(value == c and type(value) is type(c) for c in self.choices)
        above = value > self.lo if self.open_lo else value >= self.lo
        return bool(above and value <= self.hi and math.isfinite(value))


def option(
    default: Any,
    *,
    doc: str,
    lo: float = -math.inf,
    hi: float = math.inf,
    open_lo: bool = False,
    choices: tuple[Any, ...] | None = None,
) -> Any:
    """Declare a setting: its default, the values it may take and one line of text."""
    if choices is None and isinstance(default, bool):
        choices = (False, True)
    domain = _Domain(doc, lo, hi, open_lo, choices)
    return dataclasses.field(default=default, metadata={"domain": domain})


def check_fields(settings: Any) -> None:
    """Check each field of a settings object against its declaration."""
    for field in dataclasses.fields(settings):
        value = _checked_value(type(settings), field, getattr(settings, field.name))
        object.__setattr__(settings, field.name, value)


def _checked_value(cls: type, field: dataclasses.Field[Any], value: Any) -> Any:
    """`value` in the type of the field's default, or an error that names all of it."""
    domain: _Domain = field.metadata["domain"]
    try:
        if domain.choices is None:
            value = _number_like(field.default, value)
        allowed = domain.contains(value)
    except (TypeError, ValueError):
        allowed = False
    if not allowed:
        raise ValueError(
            f"{cls.__name__}.{field.name} = {value!r} is not allowed; "
            f"it must be {domain.describe()} ({domain.doc})"
        )
    return value


def _number_like(default: Any, value: Any) -> Any:
    """A whole number where the default is one, else a float; booleans are neither."""
    if isinstance(value, bool):
        raise TypeError("a boolean is not a number")
    if isinstance(default, int):
        if int(value) != value:
            raise ValueError("not a whole number")
        return int(value)
    return float(value)


def with_options(settings: T, options: Mapping[str, Any] | None) -> T:
    """A copy of `settings` with the named fields replaced; unknown names are errors."""
    if not options:
        return settings
    known = [f.name for f in dataclasses.fields(settings)]  # type: ignore[arg-type]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(
                f"unknown option {name!r} for method "
                f"{type(settings).__name__.lower()!r}{hint}; known: {', '.join(known)}"
            )
    return dataclasses.replace(settings, **options)  # type: ignore[type-var]


def label(settings: Any) -> str:
    """The method's name and its non-default fields, e.g. ``paper:sigma_rule=frozen``.

    >>> from tobyqa import Paper
    >>> print(Paper(), "|", Paper(sigma_rule="frozen", chi=10))
    paper | paper:sigma_rule=frozen,chi=10.0
    """
    changed = [
        f"{f.name}={getattr(settings, f.name)}"
        for f in dataclasses.fields(settings)
        if getattr(settings, f.name) != f.default
    ]
    name = type(settings).__name__.lower()
    return f"{name}:{','.join(changed)}" if changed else name


def describe(cls: type) -> str:
    """A plain-text table of all fields of a settings class."""
    rows = []
    for field in dataclasses.fields(cls):
        domain: _Domain = field.metadata["domain"]
        rows.append((field.name, repr(field.default), domain.describe(), domain.doc))
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    return "\n".join(
        "  ".join([*(row[k].ljust(widths[k]) for k in range(3)), row[3]])
        for row in rows
    )
