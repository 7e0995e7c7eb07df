"""Which events of a run count: those that have not been withdrawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .changes import CHANGES

Array = NDArray[np.float64]
Event = dict[str, Any]

READINGS = ("tell", "fail")  # events that make a row of the history
WITHDRAWABLE = (*READINGS, *CHANGES)


def counting(events: Iterable[Event], notes: list[str] | None = None) -> list[Event]:
    """The events that have not been withdrawn.

    Whatever came after a withdrawn reading goes with it: the next trial, an end. But
    where trials have gone out beside others since, they stay: they are being measured.
    What was given up stays so.

    An earlier version could be interrupted after it had written a record and before
    the record counted, and went on as if nothing had been written. Its files are read
    as it went on: of two records that ask for one trial the first counts; of two that
    answer one trial the second, as a correction of the first; the answer of a trial
    that was withdrawn is a reading nobody asked for; and a withdrawal of nothing is
    passed over. `notes` takes up where this was so.
    """
    live = _Live([] if notes is None else notes)
    for event in events:
        if event["event"] == "undo":
            live.withdraw()
        elif event.get("id") is not None:
            live.take(event)
        elif event["event"] != "saved":
            live.events.append(event)
    return live.events


class _Live:
    """Events that count, and the latest one of each trial among them."""

    def __init__(self, notes: list[str]) -> None:
        self.events: list[Event] = []
        self._latest: dict[int, Event] = {}
        self._newest: int | None = None  # trial of the newest event of any
        self._points: dict[int, Array] = {}  # of all trials, withdrawn or not
        self._notes = notes

    def take(self, event: Event) -> None:
        """An event of a trial, as it counts after those that do."""
        trial, is_ask = event["id"], event["event"] == "ask"
        before = self._latest.get(trial)
        is_waiting = before is not None and before["event"] == "ask"
        if is_ask:
            self._points[trial] = event["x"]
        if is_ask and is_waiting:
            self._note(f"trial {trial} was asked for twice, the first time counts")
        elif is_ask or is_waiting or trial not in self._points:
            self._append(event)
        elif before is not None and self._newest == trial:
            self._note(f"trial {trial} was answered twice, the second answer counts")
            self.events[:] = [e for e in self.events if e is not before]
            self._append(event)
        else:
            self._note(
                f"trial {trial} was withdrawn, its answer counts as not asked for"
            )
            if "value" in event:
                self.events.append({**event, "id": None, "x": self._points[trial]})

    def withdraw(self) -> None:
        """Take the latest reading or change out, and what came after it."""
        live = self.events
        places = (
            k for k in reversed(range(len(live))) if live[k]["event"] in WITHDRAWABLE
        )
        latest = next(places, None)
        if latest is None:
            self._note("a reading was withdrawn where there was none")
            return
        kind, after = live[latest]["event"], live[latest + 1 :]
        del live[latest:]
        is_among = kind in READINGS and any("beside" in event for event in after)
        stays = ("ask", "give_up") if is_among else ("give_up",)
        live += [event for event in after if event["event"] in stays]
        of_trials = [event for event in live if event.get("id") is not None]
        self._latest = {event["id"]: event for event in of_trials}
        self._newest = of_trials[-1]["id"] if of_trials else None

    def _append(self, event: Event) -> None:
        self.events.append(event)
        self._latest[event["id"]] = event
        self._newest = event["id"]

    def _note(self, text: str) -> None:
        self._notes.append(text)
