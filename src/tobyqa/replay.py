"""The search of a run, replayed from its beginning: what the log has is the truth."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from .changes import CHANGES
from .counting import Event
from .course import Course
from .setup import Setup

_log = logging.getLogger(__name__)

_PAUSE = 1.0  # seconds between two words about a long replay


def replayed(setup: Setup, live: Sequence[Event]) -> Course:
    """The search after all these events, from its beginning.

    What its method cannot take in, it is not told: the reading stays in the history,
    and a warning says so. Where that happens follows from the events, so every replay
    makes the same of them.
    """
    unheard: set[int] = set()
    while True:
        course, place = Course(setup), 0
        words = _Words(len(live))
        try:
            for place, event in enumerate(live):
                course.take(event, is_heard=place not in unheard)
                words.say(place)
        except MemoryError:
            raise
        except Exception as error:
            if place in unheard:
                raise
            unheard.add(place)
            event = live[place]
            _log.warning(
                "the method cannot take in %s, which is left out: %s: %s",
                f"the change {event['event']!r}"
                if event["event"] in CHANGES
                else f"the reading of trial {event.get('id')}",
                type(error).__name__,
                error,
            )
        else:
            return course


class _Words:
    """What is said of a replay that takes long."""

    def __init__(self, total: int) -> None:
        self._total, self._last = total, time.monotonic()

    def say(self, place: int) -> None:
        now = time.monotonic()
        if now - self._last >= _PAUSE:
            self._last = now
            _log.info("reopening the run: %d of %d events", place + 1, self._total)
