"""Method ``adaptive``: the data choose how curved, how restless and how loud.

Keeps the paper's idea, one generalized-least-squares system in space and time in which
affine drift cannot touch the gradient, and adds: curvature as a random function that
far readings know little of, drift as a smoothing spline, with a steady part that may
depend on the place, variance components by restricted likelihood, and a region that
stays large enough for differences to stand out of the noise and is shaped so that every
direction is equally visible.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...spacetime.estimate import estimate_at
from ...spacetime.likelihood import finest
from ...spacetime.precision import precision
from ...state import Estimate, Observation, Proposal, State, Task, first_readings
from .amended import amended
from .answer import answer, recommended
from .belief import Belief
from .changed import changed
from .further import further
from .options import Options
from .probe import first_further, probe_length
from .recheck import doubtful
from .search import search

Array = NDArray[np.float64]
_Known = State[Any] | Belief  # a state until the probe is complete


@dataclass(frozen=True)
class Adaptive(Options):
    """Method ``adaptive``: the default; its ablations are field values.

    A fit costs O(m^3) for a window of m readings, about `window` at the most (for the
    answer up to four times as many, but not more than 1000), and memory O(m^2 + n^2); a
    quadratic has (n + 1)(n + 2) / 2 coefficients, so from n = 31 on the window holds
    fewer readings than that and the curvature is known only in part.
    """

    RETIRED: ClassVar[frozenset[str]] = frozenset(
        "appeal caution early excursions focus home verify".split()
    )

    def needs(self, n: int) -> int:
        """Those of the probe."""
        return probe_length(n)

    def begin(
        self, task: Task
    ) -> Generator[tuple[Proposal, _Known], Observation | None, None]:
        """The search as a generator: yields proposals, is sent observations."""
        if task.radius is None:
            task = replace(task, radius=self.radius)
        return search(task, self)

    def continued(
        self, task: Task, belief: _Known
    ) -> Generator[tuple[Proposal, Belief], Observation | None, None] | None:
        """The search from a belief on, with another task."""
        if isinstance(belief, State):
            return None
        return changed(replace(task, radius=belief.task.radius), belief)

    def amended(
        self, task: Task, belief: _Known, place: int, value: float
    ) -> Generator[tuple[Proposal, Belief], Observation | None, None] | None:
        """The search from a belief on, made anew with another reading in its table."""
        known = None if isinstance(belief, State) else amended(belief, place, value)
        return None if known is None else self.continued(task, known)

    def further(
        self,
        belief: _Known,
        proposal: Proposal | None,
        waiting: tuple[Array, ...],
    ) -> Proposal:
        """What is worth most beside the trials that are out."""
        if isinstance(belief, State):
            return proposal or first_further(belief, self, waiting)
        return further(belief, proposal, waiting)

    def estimate(self, belief: _Known, *, quick: bool = False) -> Estimate:
        """The best point by all that was seen; `quick`: by the search's own fit.

        Its values are those of the time of the newest reading it is made of.
        """
        if isinstance(belief, State):
            return first_readings(belief)
        area, spread = belief.task.area, belief.noise.spread
        if quick:
            fitted, u = belief.fitted, recommended(belief.fitted, belief.noise, area)
            fine = fitted
        else:
            fitted, u = answer(belief)
            fine = finest(fitted, spread, self.limits)
        known = precision(fitted, area, spread, belief.minima)
        estimate = estimate_at(fitted, u, known, fine, spread)
        doubts = doubtful(belief, fitted)
        return replace(estimate, drift_is_local=belief.local, doubtful=doubts)
