"""An optimizer for plans of bluesky-adaptive (1.0 or later) and blop, its other name.

It has the methods of their protocols ``Optimizer``, ``CanRegisterSuggestions``,
``TrialFaultAware``, ``SupportsStoppingCriteria`` and ``Checkpointable``, and imports
none of them. ::

    from bluesky_adaptive.plans import optimize
    from bluesky_adaptive.protocols import OptimizationProblem
    from tobyqa.integrations.bluesky import TobyqaOptimizer

    optimizer = TobyqaOptimizer(
        {"slit": (0.1, 2.0), "angle": (-5.0, 5.0)}, "flux", maximize=True, maxfev=80
    )
    problem = OptimizationProblem(optimizer, [slit, angle], [diode], evaluation)
    RE(optimize(problem, iterations=80))
    print(optimizer.optimizer.result())
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from .. import Optimizer
from ._desk import Desk, Row


class TobyqaOptimizer:
    """Suggest settings of actuators, and learn from the outcomes.

    An outcome is dated by its entry ``"time"`` or ``"timestamp"``, if the evaluation
    function gives it one (that of the event, say: points may be measured in another
    order than they were suggested), else by `clock` when it comes in. An outcome that
    is missing or NaN is a failed measurement.

    Parameters
    ----------
    bounds : dict
        Limits of the actuators, by name.
    objective : str
        The outcome to be minimised, by name.
    x0 : dict, optional
        Where to start, by name; the middle of the limits by default.
    maximize : bool
        Whether it is to be large.
    clock : callable
        Gives the time of outcomes without one.
    journal : path, optional
        As in `tobyqa.Optimizer`; a run that it holds is continued. Each outcome is in
        it before it counts, so that `checkpoint` has nothing to do.
    checkpoint_path : path, optional
        Where `checkpoint` saves the run, if there is no journal.
    **arguments
        Of `tobyqa.Optimizer`, such as `noise`, `maxfev`, `resolution` and `max_move`.
    """

    def __init__(
        self,
        bounds: Mapping[str, tuple[float, float]],
        objective: str,
        x0: Mapping[str, float] | None = None,
        *,
        maximize: bool = False,
        clock: Any = time.time,
        journal: Any = None,
        checkpoint_path: Any = None,
        **arguments: Any,
    ) -> None:
        start = {name: 0.5 * (low + high) for name, (low, high) in bounds.items()}
        start |= dict(x0 or {})
        if unknown := start.keys() - bounds.keys():
            raise ValueError(f"x0 names {sorted(unknown)}, which have no bounds")
        self._path = checkpoint_path
        self._desk = Desk(
            objective,
            journal,
            x0=list(start.values()),
            names=list(bounds),
            bounds=list(bounds.values()),
            maximize=maximize,
            clock=clock,
            **arguments,
        )

    @property
    def optimizer(self) -> Optimizer:
        """The search, for its result, pictures and reports."""
        return self._desk.optimizer

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """So many new points, one by default; ValueError once the search has ended."""
        return self._desk.suggest(1 if num_points is None else num_points)

    def ingest(self, points: Sequence[Row]) -> None:
        """Take outcomes in; if one is of an unknown suggestion, none of them."""
        self._desk.ingest(points)

    def register_suggestions(self, suggestions: Sequence[Row]) -> list[dict[str, Any]]:
        """Give points of one's own an ``"_id"``."""
        return self._desk.register(suggestions)

    def register_failures(self, suggestions: Sequence[Row]) -> None:
        """Say that these could not be measured."""
        self._desk.fail(suggestions)

    def get_best_points(self) -> list[tuple[Any, Row, Row]]:
        """Where all readings together expect the best outcome, which it is.

        That is no point that was measured, so the id is None.
        """
        if not self.optimizer.nfev:
            return []
        res = self.optimizer.result()
        best = dict(zip(res.names, res.x.tolist(), strict=True))
        return [(None, best, {self._desk.objective: res.fun})]

    def should_stop(self) -> tuple[bool, str | None]:
        """Whether the search has ended, and why."""
        opt = self.optimizer
        return (True, opt.message) if opt.done else (False, None)

    def checkpoint(self) -> None:
        """Save the run, unless it is in a journal already."""
        if self.optimizer.journal is None:
            if self._path is None:
                raise ValueError("checkpoint_path or journal is needed to save the run")
            self.optimizer.save(self._path)
