"""The variance components of a fit: what is chosen by likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..frozen import replace
from .drift import Drift, Jump, jumps_within
from .window import Window


@dataclass(frozen=True)
class Components:
    """How curved, how far so, how restless: logarithms, relative to the noise."""

    log_a: float  # curvature per region
    log_l: float  # length of quadratic behaviour, in regions
    log_q: float  # wandering of the drift per spacing
    log_b: float = -math.inf  # how the drift differs over a region, per spacing
    walks: bool = False  # the drift has no slope, only steps
    jumps: tuple[Jump, ...] = ()  # of the baseline

    @property
    def interacts(self) -> bool:
        """Whether the drift depends on the place."""
        return self.log_b > -math.inf

    def rescaled(self, size: float, noise: float = 1.0) -> Components:
        """Of the same function, from a region and in a unit of noise so many times."""
        log, louder = math.log(size), math.log(noise)
        return replace(
            self,
            log_a=self.log_a + 2.0 * log - louder,
            log_l=self.log_l - log,
            log_q=self.log_q - louder,
            log_b=self.log_b + log - louder,
            jumps=tuple(Jump(time, height / noise) for time, height in self.jumps),
        )


def drift_of(window: Window, components: Components) -> Drift:
    """The drift by the clock of a window; jumps outside of it are none."""
    jumps = jumps_within(window, components.jumps)
    q2 = math.exp(2.0 * components.log_q)
    return Drift(q2, components.walks, jumps, window.frame.clock)
