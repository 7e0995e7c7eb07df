"""Numbers and times as people write them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HOUR = 3600.0  # seconds
LOCAL_DRIFT = "depends on the place; the answer is for the time of the first reading"


@dataclass(frozen=True)
class Clock:
    """How the times of a run are shown."""

    label: str  # of a time axis
    origin: float = 0.0
    scale: float = 1.0  # units of t in a unit of the axis
    rate_scale: float = 1.0  # units of t in `rate_unit`
    rate_unit: str = "unit of time"

    def __call__(self, t: Any) -> Any:
        """Times as shown."""
        return (np.asarray(t) - self.origin) / self.scale

    @staticmethod
    def of(t: Array) -> Clock:
        """The clock that suits these times.

        Times that number the readings and Unix time stamps are recognised; the unit of
        any others is the user's own.
        """
        if not t.size or np.array_equal(t, np.arange(t.size)):
            return Clock("number of the reading", rate_unit="reading")
        start, span = float(t.min()), float(np.ptp(t))
        if is_unix_time(start) and is_unix_time(float(t.max())):
            seconds, unit = _readable_unit(span)
            begin = datetime.fromtimestamp(start, timezone.utc)
            label = f"{unit} since {begin:%Y-%m-%d %H:%M} UTC"
            return Clock(label, start, seconds, HOUR, "hour")
        if abs(start) > 100 * span:  # an axis would show nothing but the offset
            return Clock(f"time since {start:.10g}", start)
        return Clock("time")


def is_unix_time(t: float) -> bool:
    """Whether a time is, in all likelihood, seconds since 1970: 2001 to 2286."""
    return 1e9 < t < 1e10


def _readable_unit(span: float) -> tuple[float, str]:
    """Seconds in the unit in which a span is a handy number."""
    if span <= 300:
        return 1.0, "seconds"
    if span <= 3 * HOUR:
        return 60.0, "minutes"
    if span <= 72 * HOUR:
        return HOUR, "hours"
    return 24 * HOUR, "days"


def with_error(value: float, error: float) -> str:
    """A number to the digits that its standard error leaves.

    >>> with_error(1.23456, 0.0213), with_error(123456.0, 300.0)
    ('1.235 ± 0.021', '123460 ± 300')
    >>> with_error(1.23456e-9, 2e-11)
    '(1.235 ± 0.020)e-09'
    >>> with_error(1.23456789, float("nan"))
    '1.23457'
    """
    if not math.isfinite(error) or error <= 0.0 or not math.isfinite(value):
        return f"{value:.6g}"
    size = max(abs(value), error)
    if 1e-4 <= size < 1e7:
        return f"{_rounded(value, error)} ± {_rounded(error, error)}"
    power = math.floor(math.log10(size))
    value, error = value / 10.0**power, error / 10.0**power
    return f"({_rounded(value, error)} ± {_rounded(error, error)})e{power:+03d}"


def rounded(value: float, error: float) -> str:
    """A number to the digits that its standard error leaves, without the error.

    >>> rounded(1.23456, 0.0213), rounded(-0.0001, 0.1), rounded(2.0, float("nan"))
    ('1.235', '0.00', '2')
    """
    text = with_error(value, error)
    return text.split(" ± ")[0] if text[0] != "(" else f"{value:.6g}"


def _rounded(value: float, error: float) -> str:
    """Two digits of the error decide; more than a double has are never shown."""
    decimals = min(1 - math.floor(math.log10(error)), 12)
    text = f"{round(value, decimals):.{max(decimals, 0)}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text
