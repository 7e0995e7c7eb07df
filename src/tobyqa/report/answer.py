"""The answer of a run in words and as JSON, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._version import __version__
from ..result import Status
from ..view import LOCAL_DRIFT, Run, rounded, with_error

_NUMBERS = (
    "fun fun_std t drift_rate drift_rate_std noise_std nfev nfail nit fun_best_observed"
).split()


@dataclass(frozen=True)
class Advice:
    """What to do next, and if a line of Python does it, that line."""

    text: str
    command: str = ""


def facts(run: Run) -> dict[str, Any]:
    """The answer for machines, every digit of it; what is not known is None."""
    result = run.result
    return {
        "tobyqa": __version__,
        "method": result.method,
        "names": list(run.names),
        "units": list(run.units),
        "x": _plain(result.x),
        "x_std": _plain(result.x_std),
        "x_best_observed": _plain(result.x_best_observed),
        **{key: _plain(result[key]) for key in _NUMBERS},
        "drift_is_local": result.drift_is_local,
        "success": bool(result.success),
        "status": result.status,
        "status_name": run.status.name,
        "message": result.message,
    }


def _plain(value: Any) -> Any:
    """Numbers as JSON has them: no arrays, None for NaN."""
    if isinstance(value, np.ndarray):
        return [_plain(entry) for entry in value.tolist()]
    return value if math.isfinite(value) else None


def has_model(run: Run) -> bool:
    """Whether the answer is that of a model, not just the lowest reading."""
    return bool(np.isfinite(run.result.jac).all())


def has_reading(run: Run) -> bool:
    return not run.history.failed.all()


def setting(run: Run) -> str:
    """The recommended point in a sentence."""
    parts = [
        f"{name} = {rounded(x, std)} {unit}".rstrip()
        for name, x, std, unit in zip(
            run.names, run.result.x, run.result.x_std, run.units, strict=True
        )
    ]
    point = ", ".join(parts)
    if not has_reading(run):
        return f"No answer yet; the search starts at {point}."
    if not has_model(run):
        return f"No model yet; the lowest reading so far is at {point}."
    return f"Set {point}."


def summary(run: Run) -> list[tuple[str, str]]:
    """What else there is to know about the answer: terms and texts."""
    result = run.result
    rows = []
    if has_reading(run):
        note = "" if has_model(run) else " (the reading itself)"
        rows.append(("Expected value", f"{value_now(run)}{note}"))
    if math.isfinite(result.drift_rate):
        rows.append(("Drift", run.drift_rate()))
    if result.drift_is_local:
        rows.append(("Drift over x", LOCAL_DRIFT))
    if math.isfinite(result.noise_std):
        rows.append(("Noise of one reading", f"{result.noise_std:.3g}"))
    failed = f", {result.nfail} of them failed" if result.nfail else ""
    budget = run.setup.get("maxfev")
    limit = f" of at most {budget}" if budget else ""
    rows.append(("Evaluations", f"{result.nfev}{limit}{failed}"))
    told = int((~run.history.asked).sum())
    if told:
        rows.append(("Further readings", f"{told} that were not asked for"))
    label = "State" if run.status is Status.RUNNING else "Why it stopped"
    rows.append((label, result.message))
    return rows


def value_now(run: Run) -> str:
    """The value expected at the answer, drift as of the latest reading."""
    return with_error(run.result.fun, run.result.fun_std)


def advice(run: Run) -> Advice:
    """What to do next, by the reason why the search stopped."""
    return _ADVICE[run.status](run)


def _running(run: Run) -> Advice:
    if not has_reading(run):
        return Advice("Measure at the starting point and tell the reading.")
    return Advice(
        "The search has not ended: this is how it stands. Go on measuring what it "
        "asks for, and write this report again."
    )


def _converged(run: Run) -> Advice:
    return Advice(
        "Use these settings. More readings of this kind would not move them "
        "noticeably; to see finer, lower the noise, for example by averaging longer. "
        "Measure once or twice at the answer to confirm the expected value."
    )


def _budget_spent(run: Run) -> Advice:
    gradient, error = run.history.gradient[-1], run.history.gradient_std[-1]
    if not has_model(run):
        text = f"The budget was too small for a model of {run.n} variables."
    elif gradient > error:
        times = f" ({gradient / error:.1f} times its error)" if error > 0.0 else ""
        text = f"The gradient still stands out of the noise{times}: more readings help."
    else:
        text = (
            "The gradient is within its error: the settings can be used. More readings "
            "would improve them slowly, less noise would do so faster."
        )
    return _continued(run, text, larger_budget=True)


def _stopped(run: Run) -> Advice:
    return _continued(run, "The search was stopped before its end.")


def _failures(run: Run) -> Advice:
    return _continued(
        run,
        "Find out why the measurements failed (the reasons are in the table of "
        "readings) and remove the cause.",
    )


def _stagnated(run: Run) -> Advice:
    return Advice(
        "The steps became smaller than the numbers can tell apart. If the readings "
        "vary with the settings, use the answer; if not, check that the settings "
        "reach the instrument, and that they are in units of similar size."
    )


def _unbounded(run: Run) -> Advice:
    return Advice(
        "The readings seem to fall without end. Check their sign (the search "
        "minimises: to maximise, tell the negative), and begin again from a sensible "
        "point with a smaller initial_radius."
    )


_ADVICE: dict[Status, Callable[[Run], Advice]] = {
    Status.RUNNING: _running,
    Status.CONVERGED: _converged,
    Status.SETTLED: _converged,
    Status.MAXFEV: _budget_spent,
    Status.STOPPED: _stopped,
    Status.CALLBACK: _stopped,
    Status.FAILURES: _failures,
    Status.STAGNATED: _stagnated,
    Status.UNBOUNDED: _unbounded,
}


def _continued(run: Run, text: str, *, larger_budget: bool = False) -> Advice:
    """Advice to go on, with the line of Python that does so."""
    budget = 2 * (run.setup.get("maxfev") or max(run.result.nfev, 1))
    if run.journal is None:
        start = ", ".join(f"{x:.6g}" for x in run.result.x)
        return Advice(
            f"{text} No journal of this run is known; to go on, begin at its answer:",
            f"tobyqa.minimize(fun, [{start}], maxfev={budget})",
        )
    option = f" with `--maxfev {budget}`" if larger_budget else ""
    argument = f", maxfev={budget}" if larger_budget else ""
    return Advice(
        f"{text} To go on, repeat the command `tobyqa run`{option}, or in Python:",
        f"opt = tobyqa.Optimizer.resume({str(run.journal)!r}{argument})",
    )
