"""A result as a person reads it: rows of a label and a text, as text and as HTML.

A result may be a part of one, as that of `Optimizer.progress` is: what is not there is
not shown.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import numpy as np

from .text import one_line
from .wording import LOCAL_DRIFT, Clock, is_unix_time, with_error

Rows = list[tuple[str, str]]

_MOST = 20  # variables that are shown, one per line
_MOST_SUSPECTS = 8  # lines


def as_text(rows: Rows) -> str:
    """One row per line, labels and texts below each other.

    >>> print(as_text([("value", "1.5"), ("", "or so"), ("t", "3")]))
    value  1.5
           or so
    t      3
    """
    width = max((len(label) for label, _ in rows), default=0)
    return "\n".join(f"{label.ljust(width)}  {one_line(text)}" for label, text in rows)


def as_html(rows: Rows) -> str:
    """A table for notebooks."""
    start = " style='text-align: left'"
    cells = (
        f"<tr><th{start}>{html.escape(one_line(label))}</th>"
        f"<td{start}>{html.escape(one_line(text))}</td></tr>"
        for label, text in rows
    )
    return f"<table>{''.join(cells)}</table>"


def result_rows(res: Mapping[str, Any]) -> Rows:
    """All that there is to say of a result."""
    rows = answer_rows(res)
    if math.isfinite(res.get("noise_std", math.nan)):
        rows.append(("noise", f"{res['noise_std']:.3g} per reading"))
    rows += suspect_rows(res)
    if res.get("sensor"):
        rows.append(("sensor", res["sensor"]))
    if "history" in res:
        rows.append(("readings", _readings(res)))
    elif "nfev" in res:
        rows.append(("readings", str(res["nfev"])))
    if "message" in res:
        word = "success" if res.get("success") else "no success"
        rows.append(
            ("search", f"{res['message']} ({word}, status {res.get('status')})")
        )
    if "method" in res:
        rows.append(("method", res["method"]))
    return rows


def answer_rows(res: Mapping[str, Any]) -> Rows:
    """The answer: where, on which limits, what is read there, and how that drifts."""
    if "x" not in res:
        return []
    rows = _point_rows(res)
    if res.get("active"):
        rows.append(("active", f"the answer is at {', '.join(res['active'])}"))
    if math.isfinite(res.get("fun", math.nan)):
        value = with_error(res["fun"], res.get("fun_std", math.nan))
        rows.append(("value", f"{value} at {_moment(res.get('t', math.nan))}"))
    if math.isfinite(res.get("drift_rate", math.nan)):
        rows.append(("drift", _drift(res)))
    if res.get("drift_is_local"):
        rows.append(("", LOCAL_DRIFT))
    return rows


def point_texts(res: Mapping[str, Any], x: Any, std: Any = math.nan) -> list[str]:
    """A point, one text per variable, with names and units."""
    errors = np.broadcast_to(std, np.shape(x)).tolist()
    names = res.get("names") or [f"x{i}" for i in range(len(errors))]
    units = res.get("units") or [""] * len(errors)
    parts = zip(names, np.asarray(x).tolist(), errors, units, strict=True)
    return [
        f"{name} = {with_error(v, e)} {unit}".rstrip() for name, v, e, unit in parts
    ]


def _point_rows(res: Mapping[str, Any]) -> Rows:
    std = np.asarray(res.get("x_std", math.nan))
    texts = point_texts(res, res["x"], std)
    if (more := len(texts) - _MOST) > 0:
        texts = [*texts[:_MOST], f"and {more} further variables"]
    labels = ["answer"] + [""] * (len(texts) - 1)
    rows = list(zip(labels, texts, strict=True))
    if math.isnan(res.get("fun", 0.0)):
        return [*rows, ("", "that is the start: there is no reading yet")]
    return rows + unknown_error_rows(res)


def unknown_error_rows(res: Mapping[str, Any]) -> Rows:
    """Why the answer has no error, if it has none."""
    if math.isnan(res.get("drift_rate", 0.0)):
        return [("", "that is the best reading: there is no model yet")]
    if "x_std" not in res or np.isfinite(res["x_std"]).all():
        return []
    why = res.get("confidence") or "the model has no minimum"
    return [("", f"its error is not known: {why}")]


def suspect_rows(res: Mapping[str, Any]) -> Rows:
    """Readings that the answer leaves out."""
    texts = [
        f"reading {suspect.row}: {suspect.value:.6g} instead of about "
        f"{suspect.expected:.4g}, {suspect.sigmas:.0f} standard errors off; left out"
        for suspect in res.get("suspects", [])
    ]
    if len(texts) > _MOST_SUSPECTS:
        more = len(texts) - _MOST_SUSPECTS + 1
        texts = [*texts[: _MOST_SUSPECTS - 1], f"and {more} more readings"]
    return [("" if k else "suspect", text) for k, text in enumerate(texts)]


def _drift(res: Mapping[str, Any]) -> str:
    """Its rate, and how much it was over the readings of the last fit."""
    now = np.array([res.get("t", math.nan)])
    clock = Clock.of(res["history"].t if "history" in res else now)
    rate = clock.rate_scale * res["drift_rate"]
    error = clock.rate_scale * res.get("drift_rate_std", math.nan)
    text = f"{with_error(rate, error)} per {clock.rate_unit}"
    if "drift" not in res or not res["drift"].t.size:
        return text
    first, last = _moment(res["drift"].t[0]), _moment(res["drift"].t[-1])
    change = with_error(-res["drift"].value[0], res["drift"].std[0])
    return f"{text} now; {change} from {first} to {last}"


def _readings(res: Mapping[str, Any]) -> str:
    """The history in a line."""
    history = res["history"]
    parts = [f"{len(history)}"]
    if failed := int(history.failed.sum()):
        parts.append(f"{failed} of them failed")
    if told := int((~history.asked).sum()):
        parts.append(f"{told} of them not asked for")
    if len(history):
        first, last = _moment(history.t.min()), _moment(history.t.max())
        parts.append(f"from {first} to {last}")
    if math.isfinite(res.get("fun_best_observed", math.nan)):
        parts.append(f"the best one {res['fun_best_observed']:.6g}")
    return ", ".join(parts)


def _moment(t: float) -> str:
    """A time, as a date if it is one."""
    if is_unix_time(t):
        return f"{datetime.fromtimestamp(t, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    return f"t = {t:.10g}"
