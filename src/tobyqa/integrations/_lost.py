"""Trials whose readings will not come: where nobody says so, later ones do."""

from __future__ import annotations

from collections.abc import Mapping

from .. import Optimizer

_PATIENCE = 10  # readings that may overtake a trial, and 2 more for each that is out


def give_up_lost(opt: Optimizer, since: Mapping[int, int], readings: int) -> None:
    """Wait no more for trials that many readings have overtaken.

    `since` has the number of readings there were when a trial went out, by its id. If
    a reading comes after all, it is one of a point that nobody asked for.
    """
    pending = opt.pending
    for trial in pending:
        assert trial.id is not None
        if readings - since.get(trial.id, 0) > _PATIENCE + 2 * len(pending):
            opt.give_up(trial)
