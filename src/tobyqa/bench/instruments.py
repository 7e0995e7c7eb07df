"""Test problems in boxes, as instruments have them: knobs with units, a reading.

Peaks, ridges, valleys and some well-known small functions, each in a box of its own
units. Where a function's values span many powers of ten its logarithm is read, as an
instrument with a range would show it. Every problem has two versions: the reading's
noise is 1 % of the range in the box, or 0.1 % (the name ends with ``-quiet``).

Notation:

    x, u    the point in its units and as fractions of the box, (n,)
    c       where the minimum lies, in fractions
    q       squared, weighted distance from it

A start is given in fractions of the box; a recorder draws one for each seed. `scale` is
the range: the largest value among points spread over the box minus the least value
there is; `minimum` is that value. Tests check both.

References
----------
Rosenbrock, Himmelblau, Branin, Hartmann, Wood, Powell, Box: the functions of that name
in J. J. Moré, B. S. Garbow, K. E. Hillstrom, ACM TOMS 7 (1981), and L. C. W. Dixon,
G. P. Szegö, Towards Global Optimization 2 (1978).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tobyqa.bench import instrument_formulas as formulas
from tobyqa.bench.problems import Box, Formula, Problem
from tobyqa.bench.records import Array

QUIET = "-quiet"
_NOISE, _QUIET_NOISE = 1e-2, 1e-3  # over the range
_START_LOSSES = 0.2, 0.95  # no start is near the best, none on the plateau


@dataclass(frozen=True)
class Knob:
    """A variable: its name, unit and limits."""

    name: str
    unit: str
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Instrument:
    """Knobs, where they are at first (fractions of the box), and what is read."""

    knobs: tuple[Knob, ...]
    start: tuple[float, ...]
    formula: Formula  # of the point in its units
    minimum: float
    scale: float

    @property
    def n(self) -> int:
        return len(self.knobs)

    @property
    def limits(self) -> tuple[Array, Array]:
        return _limits(self.knobs)


def instrument_names() -> tuple[str, ...]:
    """Names of the problems, those with less noise at the end.

    >>> instrument_names()[0], len(instrument_names())
    ('mirror', 44)
    """
    return (*INSTRUMENTS, *(name + QUIET for name in INSTRUMENTS))


def get_instrument(name: str) -> Problem:
    """The problem `name`; its dimension is its own.

    >>> problem = get_instrument("mirror-quiet")
    >>> problem.n, problem.box.noise
    (2, 0.001)
    """
    made = INSTRUMENTS[name.removesuffix(QUIET)]
    lower, upper = made.limits
    x0 = lower + np.array(made.start) * (upper - lower)
    noise = _relative_noise(name)
    for array in (lower, upper, x0):
        array.flags.writeable = False
    box = Box(lower, upper, made.minimum, made.scale, noise, _START_LOSSES)
    return Problem(name, made.formula, x0, box, catalogued=True)


def own_noise(name: str) -> float | None:
    """Standard deviation of a reading, if the problem is an instrument.

    >>> own_noise("mirror"), own_noise("power")
    (0.01, None)
    """
    made = INSTRUMENTS.get(name.removesuffix(QUIET))
    return None if made is None else _relative_noise(name) * made.scale


def _relative_noise(name: str) -> float:
    return _QUIET_NOISE if name.endswith(QUIET) else _NOISE


# Parts -------------------------------------------------------------------------------


def _in_fractions(knobs: tuple[Knob, ...], formula: Formula) -> Formula:
    """A formula of u as one of x."""
    lower, upper = _limits(knobs)
    width = upper - lower
    return lambda x: formula((x - lower) / width)


def _limits(knobs: tuple[Knob, ...]) -> tuple[Array, Array]:
    lower = np.array([knob.lower for knob in knobs])
    return lower, np.array([knob.upper for knob in knobs])


def _knobs(*texts: str) -> tuple[Knob, ...]:
    """Knobs from texts such as ``"temp K 280 320"``."""
    parts = (text.split() for text in texts)
    return tuple(Knob(a, unit, float(lo), float(hi)) for a, unit, lo, hi in parts)


# Knobs ------------------------------------------------------------------------------

_TILTS = _knobs("tilt_x mrad -2 2", "tilt_y mrad -2 2")
_CAVITY = _knobs("gap mm 1.5 2.5", "angle deg -5 5")
_PUMP = _knobs("power mW 0 400", "detuning MHz -60 60")
_ROSEN2 = _knobs("bias V -2 2", "gap mm -1 3")
_HIMMEL = _knobs("phase rad -5 5", "delay ps -5 5")
_BRANIN = _knobs("field mT -5 10", "current A 0 15")
_OVEN = _knobs("temp K 280 320", "feed ml/min 0 5", "stir rpm 0 900")
_DECAYS = _knobs("fast 1/s 0.2 4", "slow 1/s 4 16", "share 1 0.2 2")
_RIDGE3 = _knobs("left V 0 30", "right V 0 30", "plunger V -3 3")
_LENS3 = _knobs("focus mm 90 110", "shift um -200 200", "tilt deg -3 3")
_COILS = _knobs("a A -2 2", "b A -2 2", "c A -8 8", "d mA -300 300")
_QUADRUPOLES = _knobs("q1 A -5 5", "q2 A -5 5", "q3 A -12 12", "q4 A 0 20")
_FOUR = _knobs("temp K 280 320", "bias V 0 12", "gap mm 0.1 0.9", "angle deg -30 30")
_SPRAY = _knobs("height mm 20 80", "speed mm/s 1 9", "temp C 60 140", "flow ul/s 0 25")
_BEAM = _knobs(
    *("m1x mrad -1 1", "m1y mrad -1 1", "m2x mrad -2 2", "m2y mrad -2 2"),
    *("lens mm 120 160", "stage um -500 500"),
)


def _alike(n: int, unit: str, lower: float, upper: float) -> tuple[Knob, ...]:
    return tuple(Knob(f"x{k}", unit, lower, upper) for k in range(n))


_STAGES, _SHIMS = _alike(6, "bar", 1, 9), _alike(8, "mA", -50, 50)
_RAILS = _alike(8, "um", 0, 250)


Made = tuple[tuple[Knob, ...], tuple[float, ...], Formula]  # knobs, start, formula


def _two_and_three() -> dict[str, Made]:
    """Instruments of two and three variables by name."""
    q, at = formulas.distance, formulas
    return {
        "mirror": (
            _TILTS,
            (0.2, 0.75),
            _in_fractions(_TILTS, at.peak(q([0.55, 0.4], [30, 12], 0.8))),
        ),
        "cavity": (
            _CAVITY,
            (0.25, 0.2),
            _in_fractions(_CAVITY, at.resonance(q([0.6, 0.7], [40, 8], 0.3))),
        ),
        "pump": (_PUMP, (0.3, 0.15), _in_fractions(_PUMP, at.pump)),
        "rosenbrock2": (_ROSEN2, (0.2, 0.5), at.logged(at.rosenbrock)),
        "himmelblau": (_HIMMEL, (0.5, 0.45), at.logged(at.himmelblau)),
        "branin": (_BRANIN, (0.85, 0.75), at.branin),
        "oven": (_OVEN, (0.25, 0.8, 0.2), _in_fractions(_OVEN, at.fermentation)),
        "decays": (_DECAYS, (0.8, 0.2, 0.85), at.logged(at.decays)),
        "hartmann3": (
            _alike(3, "V", 0, 1),
            (0.6, 0.25, 0.5),
            at.hartmann(at.A3, at.P3),
        ),
        "ridge3": (_RIDGE3, (0.2, 0.3, 0.15), _in_fractions(_RIDGE3, at.ridge)),
        "lens3": (
            _LENS3,
            (0.8, 0.3, 0.25),
            _in_fractions(_LENS3, at.peak(q([0.4, 0.6, 0.55], [14, 6, 3], 0.9))),
        ),
    }


def _four_to_eight() -> dict[str, Made]:
    """Instruments of four, six and eight variables by name."""
    q, at = formulas.distance, formulas
    spot = q([0.6, 0.35, 0.55, 0.5], [200, 60, 20, 8], 1.0)
    beam = q([0.5, 0.45, 0.4, 0.6, 0.55, 0.5], [150, 80, 40, 20, 10, 5], 0.9)
    return {
        "coils": (_COILS, (0.8, 0.25, 0.7, 0.3), _in_fractions(_COILS, at.coils)),
        "spot4": (
            _QUADRUPOLES,
            (0.2, 0.8, 0.3, 0.7),
            _in_fractions(_QUADRUPOLES, at.spot(spot)),
        ),
        "knobs4": (
            _FOUR,
            (0.75, 0.25, 0.75, 0.3),
            _in_fractions(_FOUR, at.peak(q([0.45, 0.55, 0.4, 0.6], [8, 5, 3, 2], 0.7))),
        ),
        "spray": (_SPRAY, (0.8, 0.4, 0.2, 0.6), _in_fractions(_SPRAY, at.spray)),
        "wood": (_alike(4, "mm", -2.5, 2.5), (0.2, 0.3, 0.2, 0.3), at.logged(at.wood)),
        "powell": (
            _alike(4, "mA", -4, 5),
            (0.78, 0.33, 0.44, 0.56),
            at.logged(at.powell),
        ),
        "hartmann6": (
            _alike(6, "V", 0, 1),
            (0.4, 0.3, 0.3, 0.5, 0.45, 0.45),
            at.hartmann(at.A6, at.P6),
        ),
        "beam6": (
            _BEAM,
            (0.25, 0.7, 0.7, 0.3, 0.2, 0.75),
            _in_fractions(_BEAM, at.spot(beam)),
        ),
        "sieve6": (
            _STAGES,
            (0.7, 0.25, 0.4, 0.85, 0.5, 0.2),
            _in_fractions(_STAGES, at.sieve),
        ),
        "shims8": (
            _SHIMS,
            (0.1, 0.8, 0.85, 0.85, 0.9, 0.85, 0.25, 0.2),
            _in_fractions(_SHIMS, at.shims),
        ),
        "valley8": (
            _RAILS,
            (0.15, 0.6, 0.3, 0.8, 0.35, 0.75, 0.3, 0.8),
            _in_fractions(_RAILS, at.bent_ridge),
        ),
    }


# The least value in the box, and the range.
_KNOWN: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "mirror": (-1.0, 1.0),
        "cavity": (-1.0, 0.937),
        "pump": (-0.7142857142857143, 0.714),
        "rosenbrock2": (0.0, 7.82),
        "himmelblau": (0.0, 6.74),
        "branin": (0.39788735772973816, 305.0),
        "oven": (-0.306582588640298, 0.401),
        "decays": (0.0, 2.5),
        "hartmann3": (-3.862779787332663, 3.86),
        "ridge3": (0.1414213562373095, 1.6),
        "lens3": (-1.0, 0.994),
        "coils": (0.04122029814844055, 4.81),
        "spot4": (1.0, 10.9),
        "knobs4": (-1.0, 0.934),
        "spray": (0.1575, 9.13),
        "wood": (0.0, 9.51),
        "powell": (0.0, 11.3),
        "hartmann6": (-3.322368011415515, 3.32),
        "beam6": (1.0, 8.39),
        "sieve6": (0.06756541373844326, 4.97),
        "shims8": (0.0, 37.6),
        "valley8": (0.0, 3.82),
    }
)

INSTRUMENTS: Mapping[str, Instrument] = MappingProxyType(
    {
        name: Instrument(*made, *_KNOWN[name])
        for name, made in (_two_and_three() | _four_to_eight()).items()
    }
)
