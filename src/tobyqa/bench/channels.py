"""The channels through which a solver sees the latent function: seven, and four more.

A channel turns the latent value f(x) into phi(f(x), t); noise is not its business. The
seven are the paper's; the four, baselines of an instrument on a workday, differ from
one seed to the next.

    f_value   latent value f(x)
    t         index of the query, 1 for the first
    x0, s0    starting point, (n,), and scale: max(|f(x0)|, 1), or the range in a box
    chance    what differs from one seed to the next

References
----------
The table "Observation drift channels" of the TOBYQA paper.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

from tobyqa.bench.chance import draws, level_at, walk_at
from tobyqa.bench.records import Array


@dataclass(frozen=True, eq=False)
class Context:
    """What a channel knows: the start x0, (n,), the scale s0, and its chance."""

    x0: Array
    s0: float
    chance: int = 0


class Channel(Protocol):
    """phi: latent value, point, query index and context to the noise-free reading."""

    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float: ...


_Phi = TypeVar("_Phi", bound=Callable[..., float])


def _inf_stays_inf(phi: _Phi) -> _Phi:
    """No channel turns a failed evaluation into a number."""

    @wraps(phi)
    def guarded(self: Any, f_value: float, x: Array, t: int, context: Context) -> float:
        if not math.isfinite(f_value):
            return math.inf
        return phi(self, f_value, x, t, context)

    return cast(_Phi, guarded)


@dataclass(frozen=True)
class Static:
    """f(x)."""

    @_inf_stays_inf
    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        return f_value


@dataclass(frozen=True)
class LinearDrift:
    """f(x) + rate s0 t."""

    rate: float = 0.01

    @_inf_stays_inf
    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        return f_value + self.rate * context.s0 * t


@dataclass(frozen=True)
class PeriodicAdd:
    """f(x) + amplitude s0 sin(2 pi t / period)."""

    amplitude: float = 0.05
    period: float = 50.0

    @_inf_stays_inf
    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        wave = math.sin(2.0 * math.pi * t / self.period)
        return f_value + self.amplitude * context.s0 * wave


@dataclass(frozen=True)
class ChaoticDrift:
    """f(x) + amplitude s0 Lorenz_x(t)."""

    amplitude: float = 0.03

    @_inf_stays_inf
    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        return f_value + self.amplitude * context.s0 * lorenz_x(t)


@dataclass(frozen=True)
class Hetero:
    """f(x) + rate s0 t (1 + tanh |x - x0|)."""

    rate: float = 0.01

    @_inf_stays_inf
    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        # Unlike the root of a dot product, math.dist cannot overflow on the way.
        distance = math.dist(x.tolist(), context.x0.tolist())
        return f_value + self.rate * context.s0 * t * (1.0 + math.tanh(distance))


@dataclass(frozen=True)
class MultCoupling:
    """f(x) (1 + rate t)."""

    rate: float = 1e-4

    @_inf_stays_inf
    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        return f_value * (1.0 + self.rate * t)


@dataclass(frozen=True)
class PeriodicMult:
    """f(x) (1 + amplitude sin(2 pi t / period))."""

    amplitude: float = 0.05
    period: float = 50.0

    @_inf_stays_inf
    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        wave = math.sin(2.0 * math.pi * t / self.period)
        return f_value * (1.0 + self.amplitude * wave)


@dataclass(frozen=True)
class SlowWave:
    """f(x) + amplitude s0 sin(2 pi t / period + phase), the phase by chance."""

    amplitude: float = 0.25
    period: float = 80.0

    @_inf_stays_inf
    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        turns = t / self.period + draws(context.chance)[0]
        return f_value + self.amplitude * context.s0 * math.sin(2.0 * math.pi * turns)


@dataclass(frozen=True)
class RandomWalk:
    """f(x) + the sum of t normal steps of standard deviation step s0."""

    step: float = 0.02

    @_inf_stays_inf
    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        return f_value + self.step * context.s0 * walk_at(context.chance, t)


@dataclass(frozen=True)
class WarmUp:
    """f(x) +- amplitude s0 (1 - exp(-t / time)), the sign by chance."""

    amplitude: float = 0.5
    time: float = 25.0

    @_inf_stays_inf
    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        sign = 1.0 if draws(context.chance)[0] < 0.5 else -1.0
        rise = -math.expm1(-t / self.time)
        return f_value + sign * self.amplitude * context.s0 * rise


@dataclass(frozen=True)
class Steps:
    """f(x) + a level that changes by +-height s0 every `time` queries on average."""

    height: float = 0.25
    time: float = 25.0

    @_inf_stays_inf
    def __call__(self, f_value: float, x: Array, t: int, context: Context) -> float:
        level = level_at(context.chance, t, self.time)
        return f_value + self.height * context.s0 * level


_CHANNELS: MappingProxyType[str, Channel] = MappingProxyType(
    {
        "Static": Static(),
        "LinearDrift": LinearDrift(),
        "PeriodicAdd": PeriodicAdd(),
        "ChaoticDrift": ChaoticDrift(),
        "Hetero": Hetero(),
        "MultCoupling": MultCoupling(),
        "PeriodicMult": PeriodicMult(),
    }
)
_BASELINES: MappingProxyType[str, Channel] = MappingProxyType(
    {
        "SlowWave": SlowWave(),
        "RandomWalk": RandomWalk(),
        "WarmUp": WarmUp(),
        "Steps": Steps(),
    }
)


def channel_names() -> tuple[str, ...]:
    """Names of the seven channels, in the order of the paper's table."""
    return tuple(_CHANNELS)


def baseline_names() -> tuple[str, ...]:
    """Names of the four channels that differ from one seed to the next."""
    return tuple(_BASELINES)


def get_channel(name: str) -> Channel:
    """The channel `name`, the paper's with its amplitudes.

    >>> import numpy as np
    >>> context = Context(x0=np.zeros(2), s0=5.0)
    >>> get_channel("LinearDrift")(3.0, np.ones(2), t=20, context=context)
    4.0
    """
    channels = {**_CHANNELS, **_BASELINES}
    if name not in channels:
        close = difflib.get_close_matches(str(name), channels)
        hint = f"did you mean {close[0]}? " if close else ""
        known = ", ".join(channels)
        raise ValueError(f"unknown channel {name!r}; {hint}known: {known}")
    return channels[name]


_SHORTEST_PATH = 2048  # enough for the paper's 1500 queries, 1 ms to compute


def lorenz_x(t: int) -> float:
    """x of the Lorenz system after `t` Euler steps of 0.01 from (1, 1, 1).

    >>> [lorenz_x(t) for t in range(3)]
    [1.0, 1.0, 1.026]
    """
    if t < 0:
        raise ValueError(f"t: {t}, expected at least 0")
    # Powers of two: a run that outgrows its path recomputes it a few times only.
    return _lorenz_path(max(_SHORTEST_PATH, 1 << t.bit_length()))[t]


@cache
def _lorenz_path(length: int) -> tuple[float, ...]:
    """x after 0, ..., length - 1 steps; the order of rounding matters (chaos)."""
    x = y = z = 1.0
    path = [x]
    for _ in range(length - 1):
        x, y, z = (
            x + 0.01 * (10.0 * (y - x)),
            y + 0.01 * (x * (28.0 - z) - y),
            z + 0.01 * (x * y - (8.0 / 3.0) * z),
        )
        path.append(x)
    return tuple(path)
