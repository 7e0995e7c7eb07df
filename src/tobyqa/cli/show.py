"""A search in words for people, and as JSON for machines."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..books import Trial
from ..optimizer import Optimizer
from ..result import Result
from ..view import HOUR, LOCAL_DRIFT, is_unix_time, with_error


def as_json(content: Any) -> str:
    """JSON text; NaN, which JSON does not have, becomes null."""
    return json.dumps(_plain(content), allow_nan=False)


def _plain(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, np.ndarray | list | tuple):
        return [_plain(value) for value in content]
    if isinstance(content, float | np.floating):
        return float(content) if math.isfinite(content) else None
    return content


def trial_facts(opt: Optimizer, trial: Trial) -> dict[str, Any]:
    """A trial for machines."""
    return {
        "id": trial.id,
        "x": trial.x,
        "point": dict(zip(opt.names, trial.x, strict=True)),
    }


def facts(opt: Optimizer) -> dict[str, Any]:
    """A search for machines."""
    res, pending = opt.result(), opt.pending
    fields = (
        "x x_std fun fun_std t drift_rate drift_rate_std drift_is_local noise_std "
        "nfev nfail nit "
        "success status message x_best_observed fun_best_observed method"
    )
    return {
        "names": opt.names,
        "units": opt.units,
        "done": opt.done,
        "maxfev": opt.maxfev,
        "readings": int((~res.history.failed).sum()),
        "pending": None if pending is None else trial_facts(opt, pending),
        **{key: res[key] for key in fields.split()},
    }


def point_text(opt: Optimizer, x: Sequence[float] | Any) -> str:
    """A point with names and units; every digit, since someone may type it in."""
    parts = zip(opt.names, x, opt.units, strict=True)
    return ", ".join(f"{n} = {float(v)!r} {u}".rstrip() for n, v, u in parts)


def progress_line(opt: Optimizer) -> str:
    """Where the search stands, in one line."""
    res = opt.progress()
    count = f"{opt.nfev}" if opt.maxfev is None else f"{opt.nfev}/{opt.maxfev}"
    at = ", ".join(f"{n}={v:.4g}" for n, v in zip(opt.names, res.x, strict=True))
    parts = [f"{count} trials", f"value {with_error(res.fun, res.fun_std)}"]
    if math.isfinite(res.drift_rate):
        parts.append(f"drift {_rate(opt, res.t, res.drift_rate)}")
    return "  ".join([*parts, f"at {at}"])


def is_date(opt: Optimizer, t: float) -> bool:
    """Whether a time is the wall clock's; a program may state others."""
    return opt.clock is time.time and is_unix_time(t)


def _rate(opt: Optimizer, t: float, rate: float, error: float | None = None) -> str:
    """A drift per hour, if the times are the wall clock's."""
    scale, unit = (HOUR, "hour") if is_date(opt, t) else (1.0, "unit of t")
    if error is None:
        return f"{scale * rate:.3g} per {unit}"
    return f"{with_error(scale * rate, scale * error)} per {unit}"


def summary(opt: Optimizer) -> str:
    """A search for people, one fact per line."""
    res = opt.result()
    limit = "" if opt.maxfev is None else f" of {opt.maxfev}"
    old = int((~res.history.asked).sum())
    rows = [
        ("search", opt.message),
        ("method", res.method),
        ("trials", f"{opt.nfev}{limit} answered, {res.nfail} of them failed"),
    ]
    if old:
        rows.append(("further", f"{old} readings that were not asked for"))
    rows += _pending_rows(opt)
    rows += _answer_rows(opt, res)
    if failures := [reason for reason in opt.reasons if reason]:
        rows.append(("failure", f"the last one: {failures[-1]}"))
    width = max(len(name) for name, _ in rows)
    # Reasons of failures may have several lines.
    return "\n".join(f"{name.ljust(width)}  {' '.join(t.split())}" for name, t in rows)


def _pending_rows(opt: Optimizer) -> list[tuple[str, str]]:
    trial = opt.pending
    if trial is None:
        return []
    return [("pending", f"trial {trial.id}: {point_text(opt, trial.x)}")]


def _answer_rows(opt: Optimizer, res: Result) -> list[tuple[str, str]]:
    if res.history.failed.all():
        return [("answer", "no reading yet")]
    rows = []
    for k, name in enumerate(opt.names):
        text = with_error(float(res.x[k]), float(res.x_std[k]))
        label = "answer" if k == 0 else ""
        rows.append((label, f"{name} = {text} {opt.units[k]}".rstrip()))
    rows.append(("value", f"{with_error(res.fun, res.fun_std)} {_moment(opt, res.t)}"))
    if math.isfinite(res.drift_rate):
        rate = _rate(opt, res.t, res.drift_rate, res.drift_rate_std)
        rows.append(("drift", rate))
    if res.drift_is_local:
        rows.append(("", LOCAL_DRIFT))
    if math.isfinite(res.noise_std):
        rows.append(("noise", f"{res.noise_std:.3g} per reading"))
    return rows


def _moment(opt: Optimizer, t: float) -> str:
    if not is_date(opt, t):
        return f"at t = {t:g}"
    return time.strftime("on %Y-%m-%d at %H:%M:%S", time.localtime(t))
