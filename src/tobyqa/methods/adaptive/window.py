"""Which readings a fit is made of, and in which units.

=======  ==================================================================
symbol   meaning
=======  ==================================================================
u        position in the region, B^-1 (x - centre); |u| <= 1 inside
theta    time since now, in spans of the window: -1 ... 0
t        time since the window's first reading, in mean spacings of the probe
y        readings above the centre's, in units of the assumed noise
=======  ==================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...kernels import damped_powell, damping, integrated_wiener
from ...samples import SampleSet
from .options import FARTHEST

Array = NDArray[np.float64]

_NEAR = 2.0  # regions
_EDGE = 1.1  # regions; rounding and old steps reach a little beyond one
_LONGEST_PAUSE = 1000.0  # usual gaps between readings
_LONGEST_TIME = 1e30  # spacings; its cube is still a number
LARGEST_FIT = 1000  # readings in the final, wider fit
_SMALLEST_WINDOW = 150  # few variables need as many readings to know the drift


@dataclass(frozen=True)
class Frame:
    """The units of a fit: where its region lies, what it counts time and value from."""

    x: Array  # centre of the region
    B: Array
    now: float  # time of the newest reading
    first: float  # time of the earliest one
    start: float  # time of the first reading of all
    spacing: float  # unit of time
    level: float  # the centre's value: where it counts, nothing must be clipped
    noise: float  # assumed standard deviation of a reading
    longest: float = math.inf  # pause that counts in full, in the user's time
    pauses: tuple[tuple[float, float], ...] = ()  # longer ones: begin, what is left out

    def u(self, points: Array) -> Array:
        """Positions in the region, one per row."""
        return np.asarray((points - self.x) @ self.back.T)

    @cached_property
    def back(self) -> Array:
        """B^-1; the region's axes differ by a factor of a hundred at the most."""
        return np.asarray(np.linalg.inv(self.B))

    def point(self, u: Array) -> Array:
        """The point at a position in the region."""
        return np.asarray(self.x + self.B @ u)

    def theta(self, times: Array) -> Array:
        span = self.now - self.first
        return np.asarray((times - self.now) / (span if span > 0.0 else 1.0))

    def t(self, times: Array) -> Array:
        """Before the window began the drift is taken to be straight.

        Long pauses count in part only: the variance of the wandering grows with the
        cube of t, and would leave the readings after it no digits.
        """
        t = np.clip((times - self.first) / self.spacing, 0.0, _LONGEST_TIME)
        for begin, left_out in self.pauses:
            after = times - begin - self.longest
            t = t - np.clip(after, 0.0, left_out) / self.spacing
        return np.asarray(t)

    def age(self, times: Array) -> Array:
        """Time since the first reading of all, in spacings."""
        age = (times - self.start) / self.spacing
        return np.clip(age, -_LONGEST_TIME, _LONGEST_TIME)

    def y(self, values: Array) -> Array:
        return np.clip((values - self.level) / self.noise, -1e9, 1e9)


@dataclass(frozen=True)
class Window:
    """The readings under consideration, the newest one last."""

    frame: Frame
    rows: NDArray[np.int64]  # in the search's history
    centre: int  # row of the centre within the window
    U: Array  # (m, n)
    times: Array
    t: Array
    y: Array
    variances: Array  # of the readings, relative to the assumed noise
    extended: int = 0  # readings added since it was chosen

    @cached_property
    def squares(self) -> Array:
        """|u|^2 of each reading."""
        return np.asarray(np.einsum("ij,ij->i", self.U, self.U))

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which readings were taken in the region, or as good as."""
        return np.asarray(self.squares <= _EDGE**2)

    @cached_property
    def theta(self) -> Array:
        return self.frame.theta(self.times)

    @cached_property
    def age(self) -> Array:
        return self.frame.age(self.times)

    @cached_property
    def gram(self) -> Array:
        """u_i.u_j."""
        return np.asarray(self.U @ self.U.T)

    @cached_property
    def wiener(self) -> Array:
        return integrated_wiener(self.t)

    def curved(self, length: float) -> Array:
        """Powell's kernel, damped over `length`; made anew only for another one."""
        if length not in self._curved:
            self._curved.clear()
            e = damping(self.squares, length)
            self._curved[length] = damped_powell(self.gram, e, e, length)
        return self._curved[length]

    @cached_property
    def _curved(self) -> dict[float, Array]:
        return {}

    @property
    def farthest(self) -> float:
        """Distance of the farthest reading, in regions."""
        return float(np.sqrt(self.squares.max()))

    @property
    def is_dense(self) -> bool:
        """Whether the region itself holds enough readings for a gradient."""
        near = np.count_nonzero(self.squares <= _NEAR**2)
        return bool(near >= 2 * self.U.shape[1] + 2)

    def resized(self, factor: float) -> Window:
        """The same readings, seen from a region `factor` times as large."""
        frame = replace(self.frame, B=self.frame.B * factor)
        return replace(self, frame=frame, U=self.U / factor)

    def plus_newest(self, samples: SampleSet) -> Window:
        """The window with the newest reading, in the same frame.

        If it was taken at the centre, it is the centre from now on.
        """
        frame, x, time = self.frame, samples.points[-1], float(samples.times[-1])
        latest = float(self.times.max())
        if time - latest > frame.longest:
            pause = latest, time - latest - frame.longest
            frame = replace(frame, pauses=(*frame.pauses, pause))
        variance = relative_variances(samples.sigmas[-1:], frame.noise)
        return Window(
            frame=frame,
            rows=np.append(self.rows, len(samples) - 1),
            centre=self.rows.size if np.array_equal(x, frame.x) else self.centre,
            U=np.vstack([self.U, frame.u(x[None])]),
            times=np.append(self.times, samples.times[-1]),
            t=np.append(self.t, frame.t(samples.times[-1:])),
            y=np.append(self.y, frame.y(samples.values[-1:])),
            variances=np.append(self.variances, variance),
            extended=self.extended + 1,
        )


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
    return min(wider * wanted, max(LARGEST_FIT, wanted))


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
) -> Window:
    """The newest readings near the centre, with some others if they are few.

    `all_times`: not the newest within `reach`, but from the first to the last.
    """
    x = samples.points[centre]
    n = x.size
    U = (samples.points - x) @ np.linalg.inv(B).T
    far = np.sqrt(np.einsum("ij,ij->i", U, U))
    rows = np.flatnonzero(far <= reach)
    rows = _thinned(rows, size) if all_times else rows[-size:]
    if rows.size < 2 * n + 2:
        near = np.argsort(far, kind="stable")[: 2 * n + 2]
        rows = np.union1d(rows, near[far[near] < FARTHEST])
    newest = len(samples) - 1
    rows = np.union1d(rows, [centre, newest] if far[newest] < FARTHEST else [centre])
    times = samples.times[rows]
    longest, pauses = _pauses(times)
    frame = Frame(
        x=x,
        B=B,
        now=float(times[-1]),
        first=float(times.min()),
        start=float(samples.times[0]),
        spacing=spacing,
        level=float(samples.values[centre]),
        noise=noise,
        longest=longest,
        pauses=pauses,
    )
    return Window(
        frame=frame,
        rows=rows,
        centre=int(np.searchsorted(rows, centre)),
        U=U[rows],
        times=times,
        t=frame.t(times),
        y=frame.y(samples.values[rows]),
        variances=relative_variances(samples.sigmas[rows], noise),
    )


def _pauses(times: Array) -> tuple[float, tuple[tuple[float, float], ...]]:
    """The longest pause that counts in full, and those that are longer."""
    ordered = np.sort(times)
    gaps = np.diff(ordered)
    if not gaps.any():
        return math.inf, ()
    longest = _LONGEST_PAUSE * float(np.median(gaps[gaps > 0.0]))
    long = np.flatnonzero(gaps > longest)
    return longest, tuple((float(ordered[k]), float(gaps[k] - longest)) for k in long)


def _thinned(rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The newer half of what is wanted, and of those before it as many, evenly."""
    if rows.size <= size:
        return rows
    old, new = np.split(rows, [rows.size - size // 2])
    kept = np.linspace(0, old.size - 1, size - size // 2).astype(np.int64)
    return np.concatenate([old[kept], new])


def relative_variances(sigmas: Array, noise: float) -> Array:
    """Variances of readings over the assumed one: those stated, else one."""
    ratio = np.where(np.isnan(sigmas), 1.0, sigmas / noise)
    return np.asarray(np.clip(ratio, 1e-6, 1e6) ** 2)
