"""The answer of a run in words and as JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._version import __version__
from ..advice import has_model, has_reading
from ..result import Status
from ..rounding import keeps_digits, settable
from ..shown import suspect_rows
from ..text import printable
from ..view import LOCAL_DRIFT, Run, rounded, with_error

_NUMBERS = (
    "fun fun_std t drift_rate drift_rate_std noise_std nfev nfail nit fun_best_observed"
).split()
_UNKNOWN = 1e-4  # of a setting, taken for its error where there is none


def facts(run: Run) -> dict[str, Any]:
    """The answer for machines, every digit of it; what is not known is None."""
    result = run.result
    return {
        "tobyqa": __version__,
        "method": result.method,
        "names": list(run.names),
        "units": list(run.units),
        "maximize": run.maximize,
        "x": _plain(result.x),
        "x_std": _plain(result.x_std),
        "x_best_observed": _plain(result.x_best_observed),
        "active": [printable(name) for name in result.active],
        **{key: _plain(result[key]) for key in _NUMBERS},
        "drift_is_local": result.drift_is_local,
        "confidence": printable(result.confidence),
        "suspects": [suspect._asdict() for suspect in result.suspects],
        "success": bool(result.success),
        "status": result.status,
        "status_name": run.status.name,
        "message": result.message,
        "sensor": result.sensor,
    }


def _plain(value: Any) -> Any:
    """Numbers as JSON has them: no arrays, None for NaN."""
    if isinstance(value, np.ndarray):
        return [_plain(entry) for entry in value.tolist()]
    return value if math.isfinite(value) else None


def setting(run: Run) -> str:
    """The recommended point in a sentence."""
    parts = zip(run.names, setpoint(run), run.units, strict=True)
    point = ", ".join(f"{name} = {x} {unit}".rstrip() for name, x, unit in parts)
    if not has_reading(run):
        return f"No answer yet; the search starts at {point}."
    if not has_model(run):
        best = "highest" if run.maximize else "lowest"
        return f"No model yet; the {best} reading so far is at {point}."
    return f"Set {point}."


def setpoint(run: Run) -> list[str]:
    """The recommended point to the digits that its errors leave, within the limits.

    What moves in steps or is fixed has all of them.
    """
    space, x, stds = run.space, run.result.x, run.result.x_std
    errors = np.where(stds > 0.0, stds, _UNKNOWN * np.abs(x)).tolist()
    decimals = [
        None if keep or error == 0.0 else 1 - math.floor(math.log10(error))
        for error, keep in zip(errors, keeps_digits(space), strict=True)
    ]
    shown, further = settable(space, x, decimals)
    return [
        _digits(at, std / 10.0**further) for at, std in zip(shown, stds, strict=True)
    ]


def _digits(x: float, std: float) -> str:
    """A number that is rounded already, with the zeros that belong to its error."""
    text = rounded(x, std)
    return text if float(text) == x else f"{x:.15g}"


def summary(run: Run) -> list[tuple[str, str]]:
    """What else there is to know about the answer: terms and texts."""
    result = run.result
    rows = []
    if has_reading(run):
        note = "" if has_model(run) else " (the reading itself)"
        rows.append(("Expected value", f"{value_now(run)}{note}"))
    if run.maximize:
        rows.insert(0, ("Wanted", "the largest value"))
    if result.active:
        limits = ", ".join(printable(name) for name in result.active)
        rows.append(("At its limit", limits))
    if math.isfinite(result.drift_rate):
        rows.append(("Drift", run.drift_rate()))
    if result.drift_is_local:
        rows.append(("Drift over x", LOCAL_DRIFT))
    if math.isfinite(result.noise_std):
        rows.append(("Noise of one reading", f"{result.noise_std:.3g}"))
    if has_model(run):
        what = "Maximum" if run.maximize else "Minimum"
        rows.append((what, printable(result.confidence)))
    rows += [
        ("Reading left out" if k == 0 else "", text)
        for k, (_, text) in enumerate(suspect_rows(result))
    ]
    failed = f", {result.nfail} of them failed" if result.nfail else ""
    budget = run.setup.get("maxfev")
    limit = f" of at most {budget}" if budget else ""
    rows.append(("Evaluations", f"{result.nfev}{limit}{failed}"))
    told = int((~run.history.asked).sum())
    if told:
        rows.append(("Further readings", f"{told} that were not asked for"))
    if result.sensor:
        rows.append(("Sensor", result.sensor))
    label = "State" if run.status is Status.RUNNING else "Why it stopped"
    rows.append((label, result.message))
    return rows


def value_now(run: Run) -> str:
    """The value expected at the answer, drift as of the latest reading."""
    return with_error(run.result.fun, run.result.fun_std)
