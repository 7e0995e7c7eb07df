"""Validation of arguments: each function returns the clean value or raises.

Errors name the argument, the value given and what is allowed, and are raised before
anything is evaluated.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LARGEST_READING = 1e100  # squares of larger ones leave the floating-point range
LARGEST_COORDINATE = 1e50  # fourth powers of larger ones leave the range
LARGEST_TIME = 1e100
LARGEST_NOISE = 1e100  # squares of larger ones overflow


def start_point(x0: Any) -> Array:
    """A read-only float copy of `x0`, one-dimensional, non-empty and finite."""
    x = point("x0", x0)
    if x.size == 0:
        raise ValueError("x0 is empty; at least one variable is needed")
    return x


def point(
    name: str, x: Any, n: int | None = None, largest: float = LARGEST_COORDINATE
) -> Array:
    """A read-only float copy of a point, with `n` entries if `n` is given."""
    raw = np.asarray(x)
    if raw.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must hold real numbers, but is {x!r} of type {raw.dtype}"
        )
    clean = np.array(raw, dtype=np.float64, ndmin=1)
    if clean.ndim != 1 or (n is not None and clean.size != n):
        wanted = "one-dimensional" if n is None else f"of shape ({n},)"
        raise ValueError(f"{name} must be {wanted}, but has shape {raw.shape}")
    if not np.all(np.isfinite(clean)):
        raise ValueError(f"{name} must be finite, but is {clean}")
    if clean.size and np.abs(clean).max() > largest:
        raise ValueError(f"{name} must be at most {largest:g} in size, but is {clean}")
    clean.flags.writeable = False
    return clean


def points(name: str, x: Any) -> Array:
    """Points as rows of a read-only table of finite numbers, at least one wide."""
    raw = np.asarray(x)
    if raw.ndim != 2 or raw.shape[1] == 0:
        raise ValueError(f"{name} must be of shape (N, n), but has shape {raw.shape}")
    return point(name, raw.reshape(-1)).reshape(raw.shape)


def column(name: str, value: Any, length: int, *, nan_allowed: bool = False) -> Array:
    """`length` real numbers, finite unless NaN stands for those that are not known."""
    raw = np.asarray(value)
    if raw.dtype.kind not in "biuf" or raw.shape != (length,):
        raise ValueError(
            f"{name} must hold {length} real numbers, but is of type {raw.dtype} and "
            f"shape {raw.shape}"
        )
    clean = raw.astype(np.float64)
    sound = np.isfinite(clean) | (np.isnan(clean) & nan_allowed)
    if not sound.all():
        row = int(np.flatnonzero(~sound)[0])
        raise ValueError(f"{name}[{row}] must be finite, but is {clean[row]}")
    return clean


def readings(
    x: Any, t: Any, value: Any, sigma: Any
) -> list[tuple[Array, float, float, float | None]]:
    """Readings as rows of point, value, time and standard error, as far as known.

    Without times they are numbered.
    """
    table = points("x", x)
    m = len(table)
    values = column("value", value, m).tolist()
    sigmas = [None] * m
    if sigma is not None:
        stated = column("sigma", sigma, m, nan_allowed=True).tolist()
        sigmas = [None if math.isnan(s) else s for s in stated]
    times = column("t", np.arange(m) if t is None else t, m).tolist()
    return list(zip(table, values, times, sigmas, strict=True))


def number(name: str, value: Any) -> float:
    """A real scalar: Python or numpy number, or an array holding exactly one."""
    if type(value) is float:  # the common case, at a tenth of the price
        return value
    raw = np.asarray(value)
    if raw.dtype.kind not in "biuf" or raw.size != 1:
        raise TypeError(f"{name} must be one real number, but is {value!r}")
    return float(raw.reshape(()))


def finite(name: str, value: Any) -> float:
    """A finite real scalar."""
    clean = number(name, value)
    if not math.isfinite(clean):
        raise ValueError(f"{name} must be finite, but is {clean}")
    return clean


def reading(name: str, value: Any) -> float:
    """A reading that can be used: finite, at most 1e100 in size."""
    clean = number(name, value)
    if not abs(clean) <= LARGEST_READING:
        raise ValueError(
            f"{name} must be finite and at most {LARGEST_READING:g} in size, "
            f"but is {clean}"
        )
    return clean


def time(name: str, value: Any) -> float:
    """A point in time: finite, at most 1e100 in size."""
    clean = finite(name, value)
    if abs(clean) > LARGEST_TIME:
        raise ValueError(f"{name} must be at most 1e100 in size, but is {clean}")
    return clean


def non_negative(name: str, value: Any) -> float:
    """A real scalar in [0, 1e100]; squares of larger ones overflow."""
    clean = finite(name, value)
    if clean < 0.0:
        raise ValueError(f"{name} must be >= 0, but is {clean}")
    if clean > LARGEST_NOISE:
        raise ValueError(f"{name} must be <= 1e100, but is {clean}")
    return clean


def positive(name: str, value: Any) -> float:
    """A real scalar in [1e-50, 1e50], as for coordinates."""
    clean = finite(name, value)
    if clean <= 0.0:
        raise ValueError(f"{name} must be > 0, but is {clean}")
    if not 1.0 / LARGEST_COORDINATE <= clean <= LARGEST_COORDINATE:
        raise ValueError(f"{name} must be in [1e-50, 1e50], but is {clean}")
    return clean


def switch(name: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as one."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, but is {value!r}")
    return bool(value)


def count(name: str, value: Any) -> int:
    """A whole number >= 1."""
    try:
        clean = operator.index(value)
    except TypeError:
        # SciPy users write 1e3 for a budget.
        as_float = number(name, value)
        if not math.isfinite(as_float) or as_float != math.floor(as_float):
            raise ValueError(
                f"{name} must be a whole number, but is {as_float}"
            ) from None
        clean = int(as_float)
    if clean < 1:
        raise ValueError(f"{name} must be >= 1, but is {clean}")
    return clean


def whole(name: str, value: Any) -> int:
    """A whole number >= 0, as such: no float, no truth value."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} must be a whole number >= 0, but is {value!r}")
    return value


def text(name: str, value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, but is {value!r}")
    return value


def one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    """One of the texts allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, but is {value!r}")
    return str(value)


def function(name: str, value: Any) -> Any:
    """Something that can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be callable, but is {value!r}")
    return value


def labels(name: str, value: Any, n: int) -> list[str]:
    """A list of `n` different texts (units may repeat); empty if None."""
    if value is None:
        return []
    if isinstance(value, str) or not all(isinstance(v, str) for v in value):
        raise TypeError(f"{name} must be a sequence of strings, but is {value!r}")
    clean = list(value)
    if len(clean) != n:
        raise ValueError(f"{name} must have {n} entries, but has {len(clean)}")
    if name == "names" and (len(set(clean)) != n or not all(clean)):
        raise ValueError(f"{name} must be different and not empty, but is {clean}")
    return clean


def seed(rng: Any) -> int:
    """One whole number drawn from `rng` (anything `numpy.random.default_rng` takes).

    The search stores this number instead of a generator, so that a saved run replays.
    """
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"rng = {rng!r} is not a seed or Generator: {error}"
        ) from None
    return int(generator.integers(2**63))
