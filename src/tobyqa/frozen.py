"""For frozen dataclasses that are made and read thousands of times a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def replace(value: T, /, **changes: Any) -> T:
    """As `dataclasses.replace`, in a fifth of the time, without a call per field.

    For classes without `__post_init__`. What was computed on the way
    (`cached_property`) is not taken along.
    """
    names = type(value).__dataclass_fields__  # type: ignore[attr-defined]
    known, new = value.__dict__, object.__new__(type(value))
    if len(known) > len(names):
        known = {name: known[name] for name in names}
    fields = new.__dict__
    fields.update(known)
    fields.update(changes)
    assert len(fields) == len(names), f"{type(value)} has not all of {changes}"
    return new


class cached_property(Generic[T]):
    """As that of functools, without the lock that it has before Python 3.12."""

    def __init__(self, computed: Callable[[Any], T]) -> None:
        self._computed, self.__doc__ = computed, computed.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, value: Any, owner: type | None = None) -> T:
        found = self._computed(value)
        value.__dict__[self._name] = found
        return found
