"""When a reading that is typed in was taken."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from ..books import Trial
from ..counting import READINGS, WITHDRAWABLE
from ..optimizer import Optimizer
from ..protocol import parse_number
from ..view import is_unix_time

_YEAR = 365.25 * 86400.0  # seconds
_AHEAD = timedelta(minutes=5)  # by which another clock may go before this one
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{3}|\.\d{6})?)?([+-]\d{2}:\d{2})?"
)


def parse_time(text: str, now: float | None = None) -> float | datetime:
    """A number as it is, or a moment: a date with its time, a clock's time, ``now``.

    Without a zone it is local time. A clock's time is today's, or yesterday's if it is
    still to come.

    >>> parse_time("12.5"), parse_time("2026-11-18T03:58:00Z").timestamp()
    (12.5, 1794974280.0)
    """
    text = text.strip()
    present = datetime.fromtimestamp(time.time() if now is None else now)
    try:
        if text == "now":
            return present
        if _CLOCK.fullmatch(text):
            return _latest(text, present)
        dated = re.sub("[Zz]$", "+00:00", text)
        if _DATE.fullmatch(dated):
            return datetime.fromisoformat(dated)
        return parse_number(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is no time; allowed are a number, a date with a time "
            "(2026-11-18T03:58, with seconds and zone if need be), the time of a clock "
            "(03:58) and now"
        ) from None


def _latest(text: str, now: datetime) -> datetime:
    """The latest moment, up to now, at which a clock showed this."""
    hour, minute, second = (*map(int, text.split(":")), 0)[:3]
    today = now.replace(hour=hour, minute=minute, second=second, microsecond=0)
    return today if today <= now + _AHEAD else today - timedelta(days=1)


def as_run_time(opt: Optimizer, stated: float | datetime) -> float:
    """A time that a user stated, as the run counts time."""
    if isinstance(stated, float):
        return stated
    if opt.clock is not time.time:
        raise ValueError(
            f"t is a date ({stated:%Y-%m-%d %H:%M:%S}), but this run does not go by "
            "the wall clock: a number is needed"
        )
    return stated.timestamp()


def is_numbered(opt: Optimizer) -> bool:
    """Whether readings have numbers for times."""
    if opt.clock is not None:
        return False
    t = opt.result().history.t
    return bool(np.array_equal(t, np.arange(t.size)))


def withdrawn_time(events: Iterable[Mapping[str, Any]], trial: Trial) -> float | None:
    """The time of a trial's reading that was withdrawn and not yet told anew.

    `events` are those of a journal. A trial is the same if number and point are; a
    reading that nobody asked for has a point only.
    """
    withdrawn: dict[Any, float] = {}
    live: list[Mapping[str, Any]] = []
    for event in events:
        if event["event"] != "undo":
            live.append(event)
            if event["event"] in READINGS:
                withdrawn.pop(_place(live), None)
            continue
        latest = max(k for k, e in enumerate(live) if e["event"] in WITHDRAWABLE)
        if live[latest]["event"] == "tell":
            withdrawn[_place(live[: latest + 1])] = live[latest]["t"]
        del live[latest]
    return withdrawn.get((trial.id, tuple(map(float, trial.x))))


def _place(events: Sequence[Mapping[str, Any]]) -> tuple[int | None, tuple[float, ...]]:
    """The trial that the last event, a reading or a failure, is about."""
    number = events[-1]["id"]
    if number is None:
        return None, tuple(map(float, events[-1]["x"]))
    asked = (e for e in reversed(events) if e["event"] == "ask" and e["id"] == number)
    return number, tuple(map(float, next(asked)["x"]))


def correction_note(opt: Optimizer) -> str:
    """What to know if the latest reading has the time of one withdrawn."""
    when = _time_text(opt, opt.result().history.t[-1])
    again = "now" if opt.clock is not None else "T"
    return (
        "taken for a correction, so its time is that of the reading withdrawn: "
        f"{when}; if it was measured again, undo it and tell it with --t {again}"
    )


def time_warning(opt: Optimizer) -> str:
    """What is odd about the latest reading's time on the wall clock; mostly nothing."""
    if opt.clock is not time.time:
        return ""
    history = opt.result().history
    t, others = history.t[-1], history.t[:-1][~history.failed[:-1]]
    what = "the other readings" if others.size else "now"
    distance = np.abs(t - (others if others.size else time.time())).min()
    if distance < _YEAR:
        return ""
    return (
        f"warning: the time of this reading, {_time_text(opt, t)}, is "
        f"{distance / _YEAR:.3g} years away from {what}; times are in seconds since "
        "1970, or dates; tobyqa undo withdraws it"
    )


def _time_text(opt: Optimizer, t: float) -> str:
    """A time as a user would state it."""
    if opt.clock is not time.time or not is_unix_time(t):
        return f"t = {t:.10g}"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(t))
