"""Methods: frozen settings objects that can `begin` a search and `estimate` its answer.

A method is chosen by name, or by handing over a settings object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..settings import with_options
from ..state import Method
from .adaptive import Adaptive
from .paper import Paper

METHODS: Mapping[str, type[Method]] = {"paper": Paper, "adaptive": Adaptive}
DEFAULT = "adaptive"

__all__ = ["DEFAULT", "METHODS", "Adaptive", "Paper", "resolve"]


def resolve(method: str | Method, options: Mapping[str, Any] | None = None) -> Method:
    """The settings object for a name or an object, with `options` put in."""
    if isinstance(method, str):
        if method not in METHODS:
            known = ", ".join(map(repr, METHODS))
            raise ValueError(f"method = {method!r} is unknown; known: {known}")
        return with_options(METHODS[method](), options)
    if not isinstance(method, tuple(METHODS.values())):
        raise TypeError(
            f"method must be a name or a settings object such as tobyqa.Paper(), "
            f"but is {method!r}"
        )
    return with_options(method, options)
