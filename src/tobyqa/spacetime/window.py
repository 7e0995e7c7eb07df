"""Which readings a fit is made of, and in which units.

=======  ==================================================================
symbol   meaning
=======  ==================================================================
u        position in the region, B^-1 (x - centre); |u| <= 1 inside
theta    time since now, in spans of the window: -1 ... 0
t        time since the window's first reading, in mean spacings of the probe
age      time since the first reading of all, in the same unit
y        readings above the centre's, in units of the assumed noise
=======  ==================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..frozen import cached_property, replace
from ..kernels import damped_powell, damping, integrated_wiener, walk_between
from ..samples import SampleSet
from ..stuck import rounding_of
from .clock import LONGEST_TIME, Clock, clipped

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

FARTHEST = 20.0  # regions; beyond that a reading says nothing about this one
_NEAR = 2.0  # regions
_EDGE = 1.1  # regions; rounding and old steps reach a little beyond one
_LARGEST_FIT = 1000  # readings in the final, wider fit
_LENGTHS_KEPT = 3  # matrices as large as the fit
_SMALLEST_WINDOW = 150  # few variables need as many readings to know the drift


@dataclass(frozen=True)
class Frame:
    """The units of a window: where its region lies, what it counts from."""

    x: Array  # centre of the region
    B: Array  # region {x + B u : |u| <= 1}
    back: Array  # B^-1; the axes differ by a factor of a hundred at the most
    level: float  # the centre's value: where it counts, nothing must be clipped
    noise: float  # assumed standard deviation of a reading
    start: float  # time of the first reading of all
    clock: Clock
    rounding: float = 0.0  # error of a reading because it comes in steps

    def u(self, points: Array) -> Array:
        """Positions in the region, one per row."""
        return np.asarray((points - self.x) @ self.back.T)

    def point(self, u: Array) -> Array:
        """The point at a position in the region."""
        return np.asarray(self.x + self.B @ u)

    def age(self, times: Array) -> Array:
        longest = LONGEST_TIME * self.clock.spacing
        age = clipped(times - self.start, -longest, longest)
        return np.asarray(age / self.clock.spacing)

    def y(self, values: Array) -> Array:
        return clipped((values - self.level) / self.noise, -1e9, 1e9)

    def reading(self, samples: SampleSet, row: int) -> tuple[float, float]:
        """One reading in these units, and the variance of its noise."""
        own = relative_variances(samples.sigmas[[row]], self.noise)
        return float(self.y(samples.values[[row]])[0]), float(own[0])

    def seen(self, samples: SampleSet, rows: Rows) -> dict[str, Any]:
        """Readings in these units: what a window is made of."""
        times = samples.times[rows]
        return {
            "rows": rows,
            "U": self.u(samples.points[rows]),
            "times": times,
            "t": self.clock.t(times),
            "theta": self.clock.theta(times),
            "age": self.age(times),
            "y": self.y(samples.values[rows]),
            "variances": relative_variances(samples.sigmas[rows], self.noise),
        }


@dataclass(frozen=True)
class Window:
    """Readings around a centre, the newest one last."""

    frame: Frame
    centre: int  # row of the centre among these
    rows: Rows  # in the search's history, ascending
    U: Array  # (m, n)
    times: Array
    t: Array
    theta: Array
    age: Array
    y: Array
    variances: Array  # of the readings, relative to the assumed noise
    extended: int = 0  # readings added since it was chosen

    @cached_property
    def squares(self) -> Array:
        """|u|^2 of each reading."""
        return np.asarray(np.einsum("ij,ij->i", self.U, self.U))

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Which readings were taken in the region, or as good as."""
        return np.asarray(self.squares <= _EDGE**2)

    @cached_property
    def columns(self) -> Array:
        """What is not penalised: the level, the slopes in space and in time."""
        m, n = self.U.shape
        X = np.empty((m, n + 2), order="F")
        X[:, 0], X[:, 1:-1], X[:, -1] = 1.0, self.U, self.theta
        return X

    @cached_property
    def gram(self) -> Array:
        """u_i.u_j."""
        return np.asarray(self.U @ self.U.T)

    @cached_property
    def wiener(self) -> Array:
        return integrated_wiener(self.t)

    @cached_property
    def walk(self) -> Array:
        return walk_between(self.t, self.t)

    def curved(self, length: float) -> Array:
        """Powell's kernel, damped over `length`; the latest ones are kept.

        A line search comes back to the length that it began with.
        """
        known = self._curved.pop(length, None)
        if known is None:
            if len(self._curved) >= _LENGTHS_KEPT:
                del self._curved[next(iter(self._curved))]
            e = damping(self.squares, length)
            known = damped_powell(self.gram, e, e, length)
        self._curved[length] = known
        return known

    @cached_property
    def _curved(self) -> dict[float, Array]:
        return {}

    @property
    def is_dense(self) -> bool:
        """Whether the region itself holds enough readings for a gradient."""
        near = np.count_nonzero(self.squares <= _NEAR**2)
        return bool(near >= 2 * self.U.shape[1] + 2)

    def plus_newest(self, samples: SampleSet) -> Window | None:
        """The window with the newest reading, in the same frame.

        None if that is too far out, comes after too long a pause, or was taken at the
        centre: it is the centre from now on.
        """
        clock, time = self.frame.clock, float(samples.times[-1])
        last = self.frame.seen(samples, np.array([len(samples) - 1]))
        u = last["U"][0]
        is_remote = not float(u @ u) < FARTHEST**2 or not u.any()
        if is_remote or time - float(clock.times[-1]) > clock.longest:
            return None
        grown: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), more])
            for name, more in last.items()
        }
        return replace(self, **grown, extended=self.extended + 1)


def log_axis(B: Array) -> float:
    """Logarithm of the axes of a region, on average."""
    return float(np.linalg.slogdet(B)[1]) / len(B)


def mean_axis(B: Array) -> float:
    """Geometric mean of the axes of a region: its size."""
    return math.exp(log_axis(B))


def coefficients(n: int) -> int:
    """How many a quadratic has."""
    return (n + 1) * (n + 2) // 2


def window_size(n: int, limit: int, wider: int = 1, *, local: bool = False) -> int:
    """Readings in a fit: three times the coefficients of a quadratic.

    A restless drift takes nearly as many readings as the quadratic itself, and a local
    one is a second function to be known.
    """
    wanted = max(3 * coefficients(n) + 3 * n, _SMALLEST_WINDOW)
    wanted = min(2 * wanted if local else wanted, limit)
    return min(wider * wanted, max(_LARGEST_FIT, wanted))


def window_around(
    samples: SampleSet,
    centre: int,
    B: Array,
    *,
    reach: float,
    size: int,
    noise: float,
    spacing: float,
    all_times: bool = False,
    left_out: Rows | None = None,
) -> Window:
    """The newest readings near the centre, with some others if they are few.

    `all_times`: half of them from all the time before.
    """
    back = np.asarray(np.linalg.inv(B))
    U = (samples.points - samples.points[centre]) @ back.T
    far = np.sqrt(np.einsum("ij,ij->i", U, U))
    if left_out is not None:
        far[left_out] = np.inf
    rows = np.flatnonzero(far <= reach)
    if all_times and rows.size > size:
        old, new = np.split(rows, [rows.size - size // 2])
        evenly = np.linspace(0, old.size - 1, size - size // 2).astype(np.int64)
        rows = np.concatenate([old[evenly], new])
    rows = rows[-size:]
    chosen = np.zeros(len(samples), dtype=bool)
    chosen[rows] = chosen[centre] = True
    if rows.size < 2 * len(B) + 2:
        near = np.argsort(far, kind="stable")[: 2 * len(B) + 2]
        chosen[near[far[near] < FARTHEST]] = True
    if far[-1] < FARTHEST:
        chosen[-1] = True
    rows = np.flatnonzero(chosen)
    frame = Frame(
        x=samples.points[centre],
        B=B,
        back=back,
        level=float(samples.values[centre]),
        noise=noise,
        start=float(samples.times[0]),
        clock=Clock.of(samples.times[rows], spacing),
        rounding=rounding_of(samples.values[rows]),
    )
    row = int(np.searchsorted(rows, centre))
    return Window(frame, row, **frame.seen(samples, rows))


def relative_variances(sigmas: Array, noise: float) -> Array:
    """Variances of readings over the assumed one: those stated, else one."""
    known = ~np.isnan(sigmas)
    if not known.any():
        return np.ones(sigmas.size)
    ratio = np.where(known, sigmas / noise, 1.0)
    return np.asarray(clipped(ratio, 1e-6, 1e6) ** 2)
