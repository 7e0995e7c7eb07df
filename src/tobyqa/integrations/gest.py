"""A generator as gest-api defines it, for Xopt (3 or later), optimas and libEnsemble.

Needs the package gest-api. ::

    from gest_api.vocs import VOCS
    from tobyqa.integrations.gest import TobyqaGenerator

    vocs = VOCS(variables={"x": [-2, 2], "y": [0, 1]}, objectives={"f": "MAXIMIZE"})
    generator = TobyqaGenerator(vocs, noise=0.1)
    for point in generator.suggest(4):
        generator.ingest([point | {"f": measured(point["x"], point["y"])}])
    print(generator.optimizer.result())
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

from gest_api.generator import Generator
from gest_api.vocs import (
    VOCS,
    ContextualVariable,
    ContinuousVariable,
    MaximizeObjective,
    MinimizeObjective,
)

from .. import Optimizer
from ._desk import TIMES, Desk


class TobyqaGenerator(Generator):  # type: ignore[misc]
    """Suggest points for one objective of continuous variables, within their domains.

    A result is dated by its entry ``"time"`` or ``"timestamp"``, a number or a date, if
    it has one, else by `clock` when it comes in. Where the objective is missing or NaN,
    the measurement has failed. A result with the ``"_id"`` of a suggestion is a reading
    of the point that was suggested; one without is a reading of any point. An ``"_id"``
    that is not out is a ValueError.

    Parameters
    ----------
    vocs : gest_api.vocs.VOCS
        Variables, which may be named ``time`` or ``timestamp`` if they are contextual,
        and one objective, MINIMIZE or MAXIMIZE.
    x0 : dict, optional
        Where to start, by name; by default the variables' default values, or else the
        middle of their domains.
    clock : callable
        Gives the time of results without one.
    journal : path, optional
        As in `tobyqa.Optimizer`; a run that it holds is continued.
    **arguments
        Of `tobyqa.Optimizer`, such as `noise`, `method`, `initial_radius` and
        `max_move`. Without `maxfev` there are suggestions as long as one asks.
    """

    returns_id = True

    def __init__(
        self,
        vocs: VOCS,
        x0: Mapping[str, float] | None = None,
        *,
        clock: Any = time.time,
        journal: Any = None,
        **arguments: Any,
    ) -> None:
        self._validate_vocs(vocs)
        self.vocs = vocs
        variables = _searched(vocs)
        start = {name: _start(v) for name, v in variables.items()} | dict(x0 or {})
        if unknown := start.keys() - variables.keys():
            raise ValueError(f"x0 names {sorted(unknown)}, which are no variables")
        ((objective, sense),) = vocs.objectives.items()
        self._desk = Desk(
            objective,
            journal,
            x0=list(start.values()),
            names=list(variables),
            bounds=[tuple(v.domain) for v in variables.values()],
            maximize=isinstance(sense, MaximizeObjective),
            clock=clock,
            **{"maxfev": sys.maxsize, **arguments},
        )

    def _validate_vocs(self, vocs: VOCS) -> None:
        for name, variable in vocs.variables.items():
            is_time = isinstance(variable, ContextualVariable) and name in TIMES
            if not is_time and type(variable) is not ContinuousVariable:
                raise ValueError(
                    f"variables must be continuous, but {name} is {variable!r}"
                )
        senses = list(vocs.objectives.values())
        is_one = len(senses) == 1
        if not is_one or not isinstance(
            senses[0], MinimizeObjective | MaximizeObjective
        ):
            raise ValueError(
                "objectives must be a single one, MINIMIZE or MAXIMIZE, but are "
                f"{dict(vocs.objectives)}"
            )
        if vocs.constraints:
            raise ValueError(
                f"constraints must be none, but there are {list(vocs.constraints)}"
            )
        if not _searched(vocs):
            raise ValueError("variables must have at least one that is continuous")

    @property
    def optimizer(self) -> Optimizer:
        """The search, for its result, pictures and reports."""
        return self._desk.optimizer

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """So many new points, one by default; ValueError once the search has ended."""
        constants = {name: each.value for name, each in self.vocs.constants.items()}
        points = self._desk.suggest(1 if num_points is None else num_points)
        return [constants | point for point in points]

    def ingest(self, results: list[dict[str, Any]]) -> None:
        """Take results in; if one is of an unknown suggestion, none of them."""
        self._desk.ingest(results)

    def finalize(self) -> None:
        """Release the journal, if there is one."""
        self.optimizer.close()

    # Xopt calls these with a table of results that it was given at the beginning.

    def add_data(self, data: Any) -> None:
        """Take in results of another generator."""
        rows = data.to_dict(orient="records")
        self._desk.ingest({**row, "_id": None} for row in rows)

    set_data = add_data


def _searched(vocs: VOCS) -> dict[str, ContinuousVariable]:
    """The variables that are suggested."""
    found = vocs.variables.items()
    return {n: v for n, v in found if not isinstance(v, ContextualVariable)}


def _start(variable: ContinuousVariable) -> float:
    if variable.default_value is not None:
        return float(variable.default_value)
    return 0.5 * float(sum(variable.domain))
