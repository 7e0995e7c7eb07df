"""The web page itself. Whatever a user may have written is escaped on its way in."""

from __future__ import annotations

import base64
import io
import json
import platform
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from .. import plots
from .._version import __version__
from ..advice import advice, has_model
from ..limits import constraint_text, range_text
from ..text import printable
from ..view import Run, rounded, with_error
from .answer import facts, setting, summary
from .look import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def page(run: Run, written: datetime) -> str:
    """A run as a complete HTML document."""
    title = "Run" if run.journal is None else run.journal.name
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',  # else browsers ask the server for one
        f"<title>{_text(title)} – tobyqa report</title>",
        f"<style>\n{STYLE}</style>",
    ]
    body = [
        f"<header><p>tobyqa report</p>\n<h1>{_text(title)}</h1></header>",
        "<main>",
        _answer(run),
        _pictures(run),
        _readings(run),
        _settings(run, written),
        "</main>",
        _machine_readable(run),
    ]
    inner = "\n".join(["<head>", *head, "</head>", "<body>", *body, "</body>"])
    return f'<!DOCTYPE html>\n<html lang="en">\n{inner}\n</html>\n'


def _text(content: object) -> str:
    return escape(printable(str(content)), quote=True)


def _prose(content: str) -> str:
    """Text in which `backticks` stand for code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", _text(content))


def _section(name: str, title: str, *content: str) -> str:
    heading = f'<h2 id="{name}-title">{title}</h2>'
    inner = "\n".join((heading, *content))
    return f'<section id="{name}" aria-labelledby="{name}-title">\n{inner}\n</section>'


# -- the answer ----------------------------------------------------------------------


def _answer(run: Run) -> str:
    terms = [f"<dt>{_text(k)}</dt><dd>{_prose(v)}</dd>" for k, v in summary(run)]
    next_step = advice(run)
    lines = [f"# {who}\n{line}" if who else line for who, line in next_step.ways]
    commands = "\n<pre>" + _text("\n".join(lines)) + "</pre>" if lines else ""
    terms.append(
        f'<dt>What to do next</dt><dd id="next">{_prose(next_step.text)}{commands}</dd>'
    )
    return _section(
        "answer",
        "Answer",
        f'<p class="set">{_text(setting(run))}</p>',
        "<dl>\n" + "\n".join(terms) + "\n</dl>",
        _variables(run),
    )


def _variables(run: Run) -> str:
    x, std, start = run.result.x, run.result.x_std, run.setup.get("x0")
    columns = {"Variable": run.names}
    columns["Recommended"] = [with_error(*pair) for pair in zip(x, std, strict=True)]
    if start is not None:
        columns["Started at"] = [f"{value:.6g}" for value in start]
    columns["Unit"] = run.units
    text = [0, len(columns) - 1]
    ranges = [
        range_text(v, n) for v, n in zip(run.space.variables, run.names, strict=True)
    ]
    if any(ranges):
        text.append(len(columns))
        columns["Limits"] = ranges
    note = (
        "± is one standard error, by noise alone. Where there is none, the model has "
        "no optimum that noise could shift, or a limit holds it."
    )
    rows = zip(*columns.values(), strict=True)
    table = _table("The recommended point", list(columns), rows, text=text)
    return (
        f'<div class="wide">\n{table}\n</div>\n<p class="note">{note}</p>'
        f"{_constraints(run)}"
    )


def _constraints(run: Run) -> str:
    texts = [constraint_text(row, run.names) for row in run.space.constraints]
    return f"\n<p>Kept: {_text('; '.join(texts))}.</p>" if texts else ""


def _machine_readable(run: Run) -> str:
    content = json.dumps(facts(run), allow_nan=False, indent=1)
    # Inside a script element nothing is escaped, so nothing may look like its end.
    content = content.replace("<", "\\u003c").replace("&", "\\u0026")
    kind = 'type="application/json" id="tobyqa-answer"'
    return f"<script {kind}>\n{content}\n</script>"


# -- pictures ------------------------------------------------------------------------


def _pictures(run: Run) -> str:
    pictures = [
        _picture(
            plots.overview(run),
            f"Readings and drift, objective, step length, gradient and the paths of "
            f"{run.n} variables over {len(run.history)} readings. {setting(run)}",
            "The run. Blue dots are readings; grey ones have no drift estimate and are "
            "shown as they were read.",
        )
    ]
    if has_model(run):
        pictures.append(
            _picture(
                plots.model(run)[0].figure,
                f"Slices through the model along each of {run.n} variables, with "
                "readings near by.",
                "The model around the answer, along one variable at a time. Dots are "
                "readings near by, drift removed, moved onto the slice by the model. "
                "The band has the errors of height and slope, not that of curvature.",
            )
        )
    return _section("pictures", "Pictures", *pictures)


def _picture(figure: Figure, alt: str, caption: str) -> str:
    """A figure as an image within the page; no name in it can meet another's."""
    buffer = io.BytesIO()
    metadata = {"Date": None, "Creator": None}  # the same run, the same picture
    figure.savefig(buffer, format="svg", dpi=150, metadata=metadata)
    data = base64.b64encode(buffer.getvalue()).decode()
    image = f'<img alt="{_text(alt)}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>\n{image}\n<figcaption>{_text(caption)}</figcaption>\n</figure>"


# -- tables --------------------------------------------------------------------------


def _table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    text: Sequence[int] = (),
) -> str:
    """A table whose columns `text` are set to the left, numbers to the right."""
    kinds = [' class="text"' if k in text else "" for k in range(len(columns))]
    header = "".join(
        f'<th scope="col"{kind}>{_text(name)}</th>'
        for kind, name in zip(kinds, columns, strict=True)
    )
    lines = []
    for first, *rest in rows:
        cells = [f'<th scope="row"{kinds[0]}>{_text(first)}</th>']
        cells += [
            f"<td{kind}>{_text(cell)}</td>"
            for kind, cell in zip(kinds[1:], rest, strict=True)
        ]
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return (
        f"<table>\n<caption>{_text(caption)}</caption>\n"
        f"<thead>\n<tr>{header}</tr>\n</thead>\n"
        "<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table>"
    )


def _readings(run: Run) -> str:
    if not len(run.history):
        return _section("readings", "Readings", "<p>There is no reading yet.</p>")
    names, cells = zip(*_reading_columns(run), strict=True)
    rows = zip(*cells, strict=True)
    table = _table("Every event, in order", names, rows, text=(len(names) - 1,))
    # A region that scrolls must be reachable by the keyboard.
    region = 'class="scroll" role="region" aria-label="Table of readings" tabindex="0"'
    return _section("readings", "Readings", f"<div {region}>\n{table}\n</div>")


def _reading_columns(run: Run) -> list[tuple[str, list[str]]]:
    """The table of readings, column by column; those without content left out."""
    history, noise = run.history, run.result.noise_std
    columns = [("No.", [str(k) for k in range(len(history))]), *_times(run)]
    for i, (name, unit) in enumerate(zip(run.names, run.units, strict=True)):
        label = f"{name} ({unit})" if unit else name
        columns.append((label, [f"{x:.6g}" for x in history.x[:, i]]))
    columns.append(("Reading", _numbers(history.value, noise)))
    if np.isfinite(history.sigma).any():
        errors = [_known(s, f"{s:.2g}") for s in history.sigma]
        columns.append(("Its error", errors))
    corrected = run.corrected()
    if np.isfinite(corrected).any():
        columns.append(("Drift removed", _numbers(corrected, noise)))
    columns.append(("Remark", [_remark(run, k) for k in range(len(history))]))
    return columns


def _times(run: Run) -> list[tuple[str, list[str]]]:
    """The column of times, as dates if they are; none if they only count."""
    t, clock = run.history.t, run.clock
    if clock.rate_unit == "reading":
        return []
    if clock.rate_unit == "hour":
        dates = [datetime.fromtimestamp(s, timezone.utc) for s in t]
        return [("Time (UTC)", [f"{date:%Y-%m-%d %H:%M:%S}" for date in dates])]
    return [("Time", [f"{s:.10g}" for s in t])]


def _numbers(values: Any, error: float) -> list[str]:
    return [_known(value, rounded(value, error)) for value in values]


def _known(value: float, text: str) -> str:
    return text if np.isfinite(value) else "–"


def _remark(run: Run, k: int) -> str:
    history = run.history
    if history.failed[k]:
        return f"failed: {run.reasons[k]}" if run.reasons[k] else "failed"
    remarks = []
    if not history.asked[k]:
        remarks.append("not asked for")
    if history.accepted[k]:
        remarks.append("new centre")
    if not history.weight[k]:
        remarks.append("left out: all others deny it")
    return ", ".join(remarks)


def _settings(run: Run, written: datetime) -> str:
    hidden = {"names", "units", "settings", "method", "bounds", "space"}
    rows = [["method", run.result.method]]
    if run.setup:
        scales = [f"{v.scale:.6g} {v.unit}".rstrip() for v in run.space.variables]
        rows.append(["scales of the variables", ", ".join(scales)])
    rows += [
        [_LABELS.get(k, k), _shown(v)] for k, v in run.setup.items() if k not in hidden
    ]
    rows += [[f"method: {k}", _shown(v)] for k, v in _method_settings(run).items()]
    versions = [
        ["tobyqa", __version__],
        ["numpy", np.__version__],
        ["scipy", scipy.__version__],
        ["python", platform.python_version()],
        ["report written", f"{written:%Y-%m-%d %H:%M} UTC"],
    ]
    return _section(
        "settings",
        "Settings and versions",
        '<div class="beside">',
        _table("Settings", ["Setting", "Value"], rows, text=(0, 1)),
        _table("Versions", ["Package", "Version"], versions, text=(0, 1)),
        "</div>",
    )


_LABELS = {"initial_radius": "initial radius, in scales"}


def _method_settings(run: Run) -> dict[str, Any]:
    settings: dict[str, Any] = run.setup.get("settings", {})
    return settings


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, np.ndarray):
        return ", ".join(f"{entry:.6g}" for entry in value)
    return str(value)
