"""What a search believes between two readings; frozen, each change gives a new one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...result import Status
from ...samples import SampleSet
from ...state import Gauges, Task
from .centre import Evidence
from .components import Components
from .fit import Fit
from .likelihood import RELATIVE, bounded
from .noise import Noise

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """A point and the region that the search had there."""

    x: Array
    B: Array


@dataclass(frozen=True)
class Plan:
    """The next point and what is expected of it."""

    x: Array
    predicted: float
    unresolved: bool  # the gradient is less than twice its uncertainty
    explores: bool
    visible: float  # largest variation over the region, in noise units
    blurred: bool = False  # the gradient is unknown, and not because of noise
    revisits: bool = False  # a known place is measured again


@dataclass(frozen=True)
class Belief:
    """What a search believes, and what it is going to do."""

    task: Task
    samples: SampleSet
    centre: int  # row of the incumbent
    B: Array  # region {centre + B u : |u| <= 1}
    noise: Noise
    spacing: float  # unit of time
    evidence: Evidence  # of the drift
    best: Place  # confirmed by comparisons
    fitted: Fit
    plan: Plan
    local: bool = False  # the drift depends on the place
    local_is_known: bool = False
    settled: int = 0  # iterations that found nothing left to gain
    repeats: int = 0  # readings at known places
    iterations: int = 0
    accepted: bool = False  # the newest reading became the centre
    status: Status = Status.RUNNING

    @property
    def newest(self) -> int:
        """Row of the newest reading."""
        return len(self.samples) - 1

    @property
    def centre_point(self) -> Array:
        return np.asarray(self.samples.points[self.centre])

    @cached_property
    def gauges(self) -> Gauges:
        """Size of the region, the gradient and its error, in the user's units."""
        scale, frame = self.fitted.noise_std, self.fitted.window.frame
        back, log_volume = frame.back, float(np.linalg.slogdet(frame.B)[1])
        g = back.T @ self.fitted.g
        variance = float(np.vdot(back @ back.T, self.fitted.gradient_covariance))
        return Gauges(
            radius=math.exp(log_volume / len(back)),
            gradient=scale * math.sqrt(g @ g),
            gradient_std=scale * math.sqrt(max(variance, 0.0)),
        )

    def measuring(self, place: Array) -> Belief:
        """A known place is to be measured again."""
        return replace(self, plan=replace(self.plan, x=place, revisits=True))

    def in_unit(self, unit: float, components: Components) -> tuple[Belief, Components]:
        """The same knowledge in another unit of noise, and the components in it."""
        ratio = unit / self.noise.unit
        log = math.log(ratio)
        moved = {name: getattr(components, name) - log for name in RELATIVE}
        b = replace(
            self,
            noise=replace(self.noise, unit=unit),
            evidence=self.evidence.divided(ratio),
        )
        return b, bounded(replace(components, **moved))
