"""A search in words for people, and as JSON for machines."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ..advice import advice
from ..books import Trial
from ..limits import constraint_text, limits
from ..optimizer import Optimizer
from ..result import Result
from ..shown import suspect_rows, unknown_error_rows
from ..space import Space
from ..state import Why
from ..text import one_line, printable
from ..view import HOUR, LOCAL_DRIFT, Run, is_unix_time, view, with_error
from .digits import handy


def say(text: str, file: TextIO | None = None) -> None:
    """Print lines; whoever wrote them, they only show text.

    If nobody is there to read them, as after the end of a terminal, they are dropped.
    """
    stream = sys.stdout if file is None else file
    try:
        print(printable(text), file=stream, flush=True)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EIO):
            raise
        # What is left in the stream must not fail again when the process ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def warn(text: str) -> None:
    """Say something beside the output."""
    say(f"tobyqa: {text}", sys.stderr)


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
        "why": None if trial.why is None else trial.why.name.lower(),
    }


def why_text(opt: Optimizer, trial: Trial) -> str:
    """What a trial is for; empty if that was not kept."""
    if trial.why is None:
        return ""
    if trial.why is Why.RECHECK:
        return _recheck_text(opt.result(), trial)
    failed = opt.result().history.failed
    is_nearer = trial.why in _NEARER and failed.size and failed[-1]
    return str(trial.why.value) + (", nearer after a failure" if is_nearer else "")


def _recheck_text(res: Result, trial: Trial) -> str:
    """Which reading is hard to believe, and by how much it is off."""
    for suspect in reversed(res.suspects):
        if np.array_equal(res.history.x[suspect.row], trial.x):
            off = suspect.value - suspect.expected
            side = "above" if off > 0.0 else "below"
            return (
                f"measured again: reading {suspect.row} was {abs(off):.3g} {side} what "
                "was expected"
            )
    return str(Why.RECHECK.value)


_NEARER = (Why.FIRST, Why.STEP, Why.EXPLORATION)  # places that a failure moves


def facts(opt: Optimizer) -> dict[str, Any]:
    """A search for machines."""
    run, pending = view(opt), opt.pending
    res, space = run.result, run.space
    fields = (
        "x x_std active fun fun_std t drift_rate drift_rate_std drift_is_local "
        "noise_std noise_std_std confidence nfev nfail nit "
        "success status message x_best_observed fun_best_observed method sensor"
    )
    return {
        "names": opt.names,
        "units": opt.units,
        "bounds": [(v.lower, v.upper) for v in space.variables],
        "constraints": [constraint_text(row, space.names) for row in space.constraints],
        "fixed": opt.fixed,
        "maximize": space.maximize,
        "done": opt.done,
        "maxfev": opt.maxfev,
        "readings": int((~res.history.failed).sum()),
        "pending": [trial_facts(opt, trial) for trial in pending],
        "advice": advice(run).text,
        "suspects": [suspect._asdict() for suspect in res.suspects],
        **{key: res[key] for key in fields.split()},
    }


def point_text(opt: Optimizer, x: Any, *, full: bool = False) -> str:
    """A point with names and units, to the digits that matter or in full."""
    shown = x if full else handy(opt, x)
    parts = zip(opt.names, shown, opt.units, strict=True)
    return ", ".join(f"{n} = {float(v)!r} {u}".rstrip() for n, v, u in parts)


def progress_line(opt: Optimizer) -> str:
    """Where the search stands, in one line."""
    res = opt.progress()
    count = f"{opt.nfev}" if opt.maxfev is None else f"{opt.nfev}/{opt.maxfev}"
    at = ", ".join(f"{n}={v:.4g}" for n, v in zip(opt.names, res.x, strict=True))
    parts = [f"{count} trials", f"value {with_error(res.fun, res.fun_std)}"]
    if math.isfinite(res.drift_rate):
        parts.append(f"drift {_rate(opt, res.t, res.drift_rate)}")
    parts.append(f"at {at}")
    if running := opt.pending:
        parts.append(f"running {', '.join(str(trial.id) for trial in running)}")
    return "  ".join(parts)


def is_date(opt: Optimizer, t: float) -> bool:
    """Whether a time is the wall clock's; a program may state others."""
    return opt.clock is time.time and is_unix_time(t)


def _rate(opt: Optimizer, t: float, rate: float, error: float | None = None) -> str:
    """A drift per hour, if the times are the wall clock's."""
    scale, unit = (HOUR, "hour") if is_date(opt, t) else (1.0, "unit of t")
    if error is None:
        return f"{scale * rate:.3g} per {unit}"
    return f"{with_error(scale * rate, scale * error)} per {unit}"


def summary(opt: Optimizer, path: str | None = None) -> str:
    """A search for people, one fact per line; `path` if it was read from a file."""
    run = view(opt)
    run = run if path is None else replace(run, journal=Path(path))
    res, space = run.result, run.space
    limit = "" if opt.maxfev is None else f" of {opt.maxfev}"
    old = int((~res.history.asked).sum())
    rows = [
        ("search", opt.message),
        ("method", res.method),
        *([("wanted", "the largest value")] if space.maximize else []),
        ("trials", f"{opt.nfev}{limit} answered, {res.nfail} of them failed"),
    ]
    if old:
        rows.append(("further", f"{old} readings that were not asked for"))
    rows += _rule_rows(opt, space)
    rows += _pending_rows(opt)
    rows += _answer_rows(opt, res, space)
    if failures := [reason for reason in opt.reasons if reason]:
        rows.append(("failure", f"the last one: {failures[-1]}"))
    if res.sensor:
        rows.append(("sensor", res.sensor))
    rows += _advice_rows(run)
    width = max(len(name) for name, _ in rows)
    # Reasons of failures may have several lines.
    return "\n".join(f"{name.ljust(width)}  {one_line(text)}" for name, text in rows)


def _rule_rows(opt: Optimizer, space: Space) -> list[tuple[str, str]]:
    """What was fixed since the search began, and what readings lead back."""
    since = [v for v in space.variables if v.name in opt.fixed and v.value != v.value]
    stays = ", ".join(f"{v.name} = {opt.fixed[v.name]:.15g} {v.unit}" for v in since)
    rows = [("fixed", stays)] if since else []
    if "limit" in opt.setup:
        side = "below" if space.maximize else "above"
        safe = point_text(opt, opt.setup["safe"])
        rows.append(("safe", f"after a reading {side} {opt.setup['limit']:g}: {safe}"))
    return rows


def _pending_rows(opt: Optimizer) -> list[tuple[str, str]]:
    rows = []
    for k, trial in enumerate(opt.pending):
        text = f"trial {trial.id}: {point_text(opt, trial.x)}"
        rows.append(("" if k else "pending", text))
        if why := why_text(opt, trial):
            rows.append(("", why))
    return rows


def _advice_rows(run: Run) -> list[tuple[str, str]]:
    """Whether to stop, and how to go on."""
    said = advice(run)
    return [("advice", said.text), *(("", line) for line in said.commands)]


def _answer_rows(opt: Optimizer, res: Result, space: Space) -> list[tuple[str, str]]:
    if res.history.failed.all():
        return [*_limit_rows(opt, space), ("answer", "no reading yet")]
    rows = _limit_rows(opt, space)
    for k, name in enumerate(opt.names):
        text = with_error(float(res.x[k]), float(res.x_std[k]))
        label = "answer" if k == 0 else ""
        rows.append((label, f"{name} = {text} {opt.units[k]}".rstrip()))
    rows += unknown_error_rows(res)
    if res.active:
        rows.append(("active", f"the answer is at {', '.join(res.active)}"))
    rows.append(("value", f"{with_error(res.fun, res.fun_std)} {_moment(opt, res.t)}"))
    if math.isfinite(res.drift_rate):
        rate = _rate(opt, res.t, res.drift_rate, res.drift_rate_std)
        rows.append(("drift", rate))
    if res.drift_is_local:
        rows.append(("", LOCAL_DRIFT))
    if math.isfinite(res.noise_std):
        rows.append(("noise", f"{res.noise_std:.3g} per reading"))
    return [*rows, *suspect_rows(res)]


def _limit_rows(opt: Optimizer, space: Space) -> list[tuple[str, str]]:
    """Bounds, steps and constraints, as far as there are any."""
    texts = limits(space, opt.names)
    return [("" if k else "limits", text) for k, text in enumerate(texts)]


def _moment(opt: Optimizer, t: float) -> str:
    if not is_date(opt, t):
        return f"at t = {t:g}"
    return time.strftime("on %Y-%m-%d at %H:%M:%S", time.localtime(t))
