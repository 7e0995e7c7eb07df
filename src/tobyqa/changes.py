"""What a user changes while a search is under way, as events.

========  ==============  =============================================================
event     fields          meaning
========  ==============  =============================================================
fix       values, drops   variables stay at these values, by name; trials that wait at
                          others are given up
free      names           variables are searched again
extend    maxfev          so many trials may be asked for in all
set       noise           the standard deviation of a reading, as it is known by now
correct   row, value      what was read in this row of the history was this value
withdraw  row             what was read there says nothing
========  ==============  =============================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _check

Event = dict[str, Any]

AMENDMENTS = ("correct", "withdraw")  # of a reading
CHANGES = ("fix", "free", "extend", "set", *AMENDMENTS)


def checked_change(event: Event) -> Event:
    """The fields of such an event, or an error that names the one that is wrong."""
    kind = event["event"]
    if kind == "extend":
        return {"maxfev": _check.count("maxfev", event["maxfev"])}
    if kind == "set":
        return {"noise": _check.non_negative("noise", event["noise"])}
    if kind == "correct":
        value = _check.reading("value", event["value"])
        return {"row": _check.whole("row", event["row"]), "value": value}
    if kind == "withdraw":
        return {"row": _check.whole("row", event["row"])}
    if kind == "free":
        return {"names": [_check.text("names", name) for name in event["names"]]}
    values = event["values"]
    if not isinstance(values, Mapping):
        raise TypeError(f"values must be an object, but is {values!r}")
    return {
        "values": {name: _check.finite(name, v) for name, v in values.items()},
        "drops": [_check.whole("drops", trial) for trial in event["drops"]],
    }


def fixed_after(fixed: Mapping[str, float], event: Event) -> dict[str, float]:
    """Which variables are fixed after an event, by name; `fixed` before it."""
    if event["event"] == "fix":
        return {**fixed, **event["values"]}
    if event["event"] == "free":
        return {k: v for k, v in fixed.items() if k not in event["names"]}
    return dict(fixed)
