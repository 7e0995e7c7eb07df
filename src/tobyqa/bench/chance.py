"""Paths by chance, the same whenever a number asks for them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_KEPT = 64  # paths of as many seeds; a run asks for one of them again and again


def stream(key: int) -> np.random.Generator:
    """Random numbers of their own for each key."""
    # Spelt out: the generator behind default_rng may change between numpy versions.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))


@lru_cache(_KEPT)
def draws(key: int) -> tuple[float, ...]:
    """Two numbers between 0 and 1."""
    return tuple(stream(key).random(2).tolist())


def walk_at(key: int, t: int) -> float:
    """The sum of `t` standard normal numbers."""
    return _walk(key, _length(t))[t]


def level_at(key: int, t: int, time: float) -> float:
    """A whole number that steps up or down once in `time` on average."""
    return _levels(key, _length(t), time)[t]


def _length(t: int) -> int:
    """A power of two beyond `t`: a longer path begins as a shorter one does."""
    return max(512, 1 << t.bit_length())


@lru_cache(_KEPT)
def _walk(key: int, length: int) -> tuple[float, ...]:
    steps = stream(key).standard_normal(length)
    return tuple((np.cumsum(steps) - steps[0]).tolist())


@lru_cache(_KEPT)
def _levels(key: int, length: int, time: float) -> tuple[float, ...]:
    drawn = stream(key).random((length, 2))
    steps = np.where(drawn[:, 0] < 1.0 / time, np.where(drawn[:, 1] < 0.5, -1, 1), 0)
    return tuple((np.cumsum(steps) - steps[0]).tolist())
