"""The variance components of a fit: what the likelihood chooses."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Components:
    """How curved, how far so, how restless: logarithms, relative to the noise."""

    log_a: float  # curvature per region
    log_l: float  # length of quadratic behaviour, in regions
    log_q: float  # wandering of the drift per spacing
    log_b: float = -math.inf  # how the drift differs over a region, per spacing
    log_s: float = math.log(4.0)  # length over which that difference is straight

    @property
    def interacts(self) -> bool:
        """Whether the drift depends on the place."""
        return self.log_b > -math.inf

    def rescaled(self, factor: float) -> Components:
        """Of the same function, seen from a region that is `factor` times as large."""
        log = math.log(factor)
        return Components(
            self.log_a + 2.0 * log,
            self.log_l - log,
            self.log_q,
            self.log_b + log,
            self.log_s - log if self.interacts else self.log_s,
        )
