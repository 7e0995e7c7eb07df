"""What a search believes between two readings; frozen, each change gives a new one."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...frozen import cached_property, replace
from ...result import Status
from ...samples import SampleSet
from ...scaling import norm
from ...spacetime.components import Components
from ...spacetime.fit import Fit, fit
from ...spacetime.likelihood import bounded, improve
from ...spacetime.strange import NOTHING, Seen, seen, seen_as
from ...spacetime.window import (
    FARTHEST,
    log_axis,
    mean_axis,
    window_around,
    window_size,
)
from ...state import Gauges, Observation, Task, Why, with_reading
from .doubts import NO_DOUBTS, STRANGE, Doubts
from .noise import Noise
from .options import Options

Array = NDArray[np.float64]
T = TypeVar("T")
Asking = Generator[tuple[Any, Any], "Observation | None", T]  # gives T in the end

_MOST_ROWS = 24  # by which a fit is extended before it is made anew
_WIDER = 4  # times the readings, for the answer
PATIENT = 8  # sweeps of a search for components that starts far from them
TO_SPARE = 2  # readings beyond one for each variable, without which there is no fit
_CALM = Components(2.0, 1.5, -6.0)  # for readings that others cannot be fitted to


@dataclass(frozen=True)
class Place:
    """A point and the region that the search had there."""

    x: Array
    B: Array


@dataclass(frozen=True)
class Plan:
    """The next point and what is expected of it."""

    x: Array
    unresolved: bool = True  # the gradient is less than twice its uncertainty
    explores: bool = True
    visible: float = math.inf  # largest variation over the region, in noise units
    blurred: bool = False  # the gradient is unknown, and not because of noise
    revisits: bool = False  # a known place is measured again
    rechecks: bool = False  # for a reading there was hard to believe

    @property
    def why(self) -> Why:
        if self.rechecks:
            return Why.RECHECK
        if self.revisits:
            return Why.COMPARISON
        return Why.EXPLORATION if self.explores else Why.STEP


@dataclass(frozen=True)
class Belief:
    """What a search believes, and what it is going to do."""

    task: Task
    s: Options
    samples: SampleSet
    centre: int  # row of the incumbent
    B: Array  # region {centre + B u : |u| <= 1}
    noise: Noise
    spacing: float  # unit of time
    best: Place  # confirmed by comparisons
    fitted: Fit
    plan: Plan
    latest: Seen = NOTHING  # the newest reading, by the fit before it
    local: bool = False  # the drift depends on the place
    aside: tuple[Array, ...] = ()  # places that drift in their own way, in no fit
    doubts: Doubts = NO_DOUBTS  # about single readings
    recheck: int | None = None  # row whose place is to be measured again
    widest: float = math.inf  # longest axis that the region may have
    settled: int = 0  # iterations that found nothing left to gain
    minima: tuple[Array, ...] = ()  # of the latest fits
    repeats: int = 0  # readings at known places
    to_come: tuple[Array, ...] = ()  # places of a comparison, after the planned one
    failed: tuple[Array, ...] = ()  # further points that could not be measured
    iterations: int = 0
    accepted: bool = False  # the newest reading became the centre
    status: Status = Status.RUNNING

    @property
    def newest(self) -> int:
        """Row of the newest reading."""
        return len(self.samples) - 1

    @property
    def is_doubted(self) -> bool:
        """Whether the newest reading is left out."""
        return self.newest in self.doubts.rows

    @property
    def centre_point(self) -> Array:
        return np.asarray(self.samples.points[self.centre])

    @cached_property
    def gauges(self) -> Gauges:
        """Size of the region, the gradient and its error, in the user's units."""
        scale, back = self.fitted.noise_std, self.fitted.window.frame.back
        return Gauges(
            radius=math.exp(-log_axis(back)),
            gradient=scale * norm(back.T @ self.fitted.g),
            gradient_std=scale * norm(back.T @ self.fitted.solution.V[1:-1]),
        )

    def plus(self, reading: Observation) -> Belief:
        """The belief with one more reading."""
        samples = with_reading(self.samples, reading)
        if self.status is Status.UNBOUNDED:
            return replace(self, samples=samples, accepted=False)
        fitted = self.fitted
        u = fitted.window.frame.u(samples.points[-1])
        functional = fitted.reading(u, float(samples.times[-1]))
        row, spread = len(samples) - 1, self.noise.spread
        latest = seen_as(functional, fitted, samples, row, spread)
        b = replace(
            self,
            samples=samples,
            accepted=False,
            latest=latest,
            doubts=self.doubts.faded(),
            iterations=self.iterations + 1,
        )
        least = STRANGE + b.doubts.surprise
        if reading.answers and b.may_doubt and latest.strangeness > least:
            return b.doubting(row)
        b = b.with_centre_repeated()
        if any(np.array_equal(samples.points[-1], place) for place in self.aside):
            return b
        window, longer = fitted.window.plus_newest(samples), None
        if window is not None and window.extended <= _MOST_ROWS:
            longer = fitted.extended(window, functional, spread)
        # Made anew where that does not do.
        longer = longer or b.fit_around(b.centre, fitted.components)
        return replace(b, fitted=longer)

    def with_centre_repeated(self) -> Belief:
        """If the newest reading repeats the centre, it is the centre now."""
        points, new = self.samples.points, self.newest
        if not np.array_equal(points[new], points[self.centre]):
            return self
        return replace(self, centre=new, accepted=True)

    @property
    def may_doubt(self) -> bool:
        """Whether a reading may be wrong; where places drift apart it may be that."""
        affords = self.doubts.affords(len(self.samples))
        return self.s.robust and affords and not self.local

    def seen(self, row: int) -> Seen:
        """A reading beside what is expected there."""
        return seen(self.fitted, self.samples, row, self.noise.spread)

    def fit_around(self, centre: int, components: Components, wider: int = 1) -> Fit:
        """The fit around a row; with calm components if these do not work.

        A local drift is known by what is far away as well.
        """
        local = components.interacts
        window = window_around(
            self.samples,
            centre,
            self.B,
            reach=FARTHEST if local else self.s.reach,
            size=window_size(len(self.B), self.s.window, wider, local=local),
            noise=self.noise.unit,
            spacing=self.spacing,
            all_times=local,
            left_out=self.left_out,
        )
        for chosen in (bounded(components, self.s.limits), _CALM):
            fitted = fit(window, chosen, self.noise.spread)
            if fitted is not None:
                return fitted
        return self.fitted

    @property
    def left_out(self) -> NDArray[np.int64]:
        """Rows that are in no fit."""
        rows = [self.samples.rows_at(place) for place in self.aside]
        suspects = np.array(self.doubts.rows, dtype=np.int64)
        return np.concatenate([*rows, suspects])

    def rows_at(self, x: Array) -> NDArray[np.int64]:
        """Rows of the readings at a place, without those that are suspect."""
        rows = self.samples.rows_at(x)
        return rows[~np.isin(rows, self.doubts.rows)]

    def doubting(self, row: int) -> Belief:
        """With one more suspect, and its place to be measured again if it is alone."""
        b = replace(self, doubts=self.doubts.plus(row))
        is_alone = not b.rows_at(b.samples.points[row]).size
        return replace(b, recheck=row if is_alone else b.recheck)

    def believing(self, *rows: int) -> Belief:
        """With readings in the fit that were left out of it."""
        strange = [self.seen(row).strangeness for row in rows]
        doubts = self.doubts.without(*rows, strangeness=max(strange))
        return replace(self, doubts=doubts).refitted()

    def refitted(self) -> Belief:
        """With a fit made anew, of the same components."""
        fitted = self.fit_around(self.centre, self.fitted.components)
        return replace(self, fitted=fitted)

    def with_fit(self, fitted: Fit) -> Belief:
        """With a fit whose components were searched, and what it says of the noise."""
        noise = self.noise.after(fitted.nu, doubts=self.s.doubt)
        return replace(self, fitted=fitted, noise=noise)

    def wide_fit(self, centre: int) -> Fit:
        """The fit of more readings around a row, its components chosen anew."""
        size = mean_axis(self.fitted.window.frame.back @ self.B)  # in those of the fit
        components = self.fitted.components.rescaled(size)
        fitted = self.fit_around(centre, components, _WIDER)
        return self.improved(fitted, PATIENT) if self.s.likelihood else fitted

    def improved(self, fitted: Fit, sweeps: int) -> Fit:
        """A fit with more likely components."""
        spread, local = self.noise.spread, self.local and self.s.local
        return improve(fitted, spread, sweeps, self.s.limits, local=local)
