"""A table of results and its four written forms.

A cell may carry a second figure beside its own: the paper's value (`Versus`) or an
interval (`Estimate`). The pages set it small below the first, LaTeX in a row of its
own, and CSV in columns of its own.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from . import latex
from .score import Estimate


@dataclass(frozen=True)
class Versus:
    """Our figure beside the paper's."""

    ours: float
    paper: float

    @property
    def difference(self) -> float:
        return self.ours - self.paper


_MANY_COLUMNS = 8, 14  # beyond which a table is set closer, and closer still

Value = str | int | float | Versus | Estimate | None


@dataclass(frozen=True)
class Column:
    """`key` names the column in CSV, `group` and `head` on a page.

    `form` is a format specification for its numbers; the leading entry is set bold
    if `best` says which way is better.
    """

    key: str
    head: str
    group: str = ""
    form: str = ".1f"
    best: Literal["max", "min", ""] = ""


@dataclass(frozen=True)
class Table:
    """Rows of values under columns, with a title and a note on how to read it."""

    name: str
    title: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    def csv(self) -> str:
        """Comma-separated values, ten digits, every figure in a column of its own."""
        kinds = [_kind(values) for values in self._by_column()]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(
            column.key + suffix
            for column, kind in zip(self.columns, kinds, strict=True)
            for suffix in _SUFFIXES[kind]
        )
        for row in self.rows:
            cells = zip(row, kinds, strict=True)
            writer.writerow(f for value, kind in cells for f in _fields(value, kind))
        return out.getvalue()

    def markdown(self) -> str:
        """A pipe table, padded so that it also reads as plain text."""
        heads = [f"{column.group} {column.head}".strip() for column in self.columns]
        body = [[_markdown_cell(*cell) for cell in row] for row in self._cells()]
        widths = [max(map(len, texts)) for texts in zip(heads, *body, strict=True)]
        left = self._is_text()
        rules = [
            "-" * width if is_left else "-" * (width - 1) + ":"
            for width, is_left in zip(widths, left, strict=True)
        ]
        lines = [
            " | ".join(map(_pad, texts, widths, left))
            for texts in [heads, rules, *body]
        ]
        return "".join(f"| {line} |\n" for line in lines)

    def html(self) -> str:
        """A `table` element, set closer the more columns it has."""
        dense = sum(len(self.columns) > many for many in _MANY_COLUMNS)
        lines = [f'<table class="dense-{dense}">', "<thead>"]
        if any(column.group for column in self.columns):
            cells = [
                f'<th colspan="{span}">{html.escape(group)}</th>'
                for group, span in self._groups()
            ]
            lines.append("<tr>" + "".join(cells) + "</tr>")
        left = self._is_text()
        heads = [_breakable(column.head) for column in self.columns]
        lines += [_html_row("th", heads, left), "</thead>", "<tbody>"]
        for row in self._cells():
            lines.append(_html_row("td", [_html_cell(*cell) for cell in row], left))
        return "\n".join([*lines, "</tbody>", "</table>"]) + "\n"

    def latex(self) -> str:
        """A `table` environment; needs the packages booktabs and graphicx."""
        alignment = "".join("l" if is_left else "r" for is_left in self._is_text())
        lines = [
            r"\begin{table}[t]",
            r"\centering\footnotesize",
            r"\setlength{\tabcolsep}{3pt}",
            rf"\caption{{{latex.escape(f'{self.title}. {self.note}')}}}",
            rf"\label{{tab:{self.name}}}",
            latex.SHRINK_TO_FIT,
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            *latex.group_heads(self._groups()),
            latex.row(latex.escape(column.head) for column in self.columns),
            r"\midrule",
        ]
        for row in self._cells():
            lines.append(latex.row(latex.main_cell(own, best) for own, _, best in row))
            if any(aside for _, aside, _ in row):
                lines.append(latex.row(latex.aside_cell(aside) for _, aside, _ in row))
        lines += [r"\bottomrule", r"\end{tabular}}", r"\end{table}"]
        return "\n".join(lines) + "\n"

    def _by_column(self) -> list[list[Value]]:
        return [[row[j] for row in self.rows] for j in range(len(self.columns))]

    def _cells(self) -> list[list[tuple[str, str, bool]]]:
        """Rows of cells: the figure, what stands beside it, whether it leads."""
        columns = map(_column_cells, self.columns, self._by_column())
        return [list(row) for row in zip(*columns, strict=True)]

    def _groups(self) -> list[tuple[str, int]]:
        """Neighbouring columns of one group, as the group and their number."""
        groups = groupby(self.columns, key=lambda column: column.group)
        return [(group, len(list(members))) for group, members in groups]

    def _is_text(self) -> list[bool]:
        """Which columns hold words, to be set flush left."""
        columns = self._by_column()
        return [any(isinstance(value, str) for value in column) for column in columns]


_Kind = Literal["plain", "versus", "estimate"]
_SUFFIXES: dict[_Kind, tuple[str, ...]] = {
    "plain": ("",),
    "versus": ("", "_paper", "_difference"),
    "estimate": ("", "_low", "_high"),
}


def _kind(values: Sequence[Value]) -> _Kind:
    if any(isinstance(value, Versus) for value in values):
        return "versus"
    return "estimate" if any(isinstance(v, Estimate) for v in values) else "plain"


def _fields(value: Value, kind: _Kind) -> list[str]:
    """The CSV fields of one cell, empty where there is nothing to say."""
    figures: tuple[str | float | None, ...]
    if isinstance(value, Versus):
        figures = value.ours, value.paper, value.difference
    elif isinstance(value, Estimate):
        figures = value.value, value.low, value.high
    else:
        figures = (value,)
    texts = [_csv_field(figure) for figure in figures]
    return texts + [""] * (len(_SUFFIXES[kind]) - len(texts))


def _csv_field(figure: str | float | None) -> str:
    if figure is None or isinstance(figure, str):
        return figure or ""
    return "" if math.isnan(figure) else format(figure, ".10g")


def _number(value: float, form: str) -> str:
    """A number as printed, with a true minus sign; a dash if there is none."""
    if math.isnan(value):
        return "–"
    text = format(value, form)
    # What rounds to zero has no sign worth printing.
    text = text if float(text) else format(0.0, form)
    return text.replace("-", "−")


def _texts(value: Value, form: str) -> tuple[str, str]:
    """A cell's own figure and what stands beside it."""
    if value is None or isinstance(value, str):
        return value or "", ""
    if isinstance(value, Versus):
        difference = _number(value.difference, "+" + form.lstrip("+"))
        aside = f"{_number(value.paper, form)} ({difference})"
        return _number(value.ours, form), aside
    if isinstance(value, Estimate):
        low, high = _number(value.low, form), _number(value.high, form)
        return _number(value.value, form), f"[{low}, {high}]"
    return _number(value, form), ""


def _own(value: Value) -> float:
    if isinstance(value, Versus):
        return value.ours
    if isinstance(value, Estimate):
        return value.value
    return math.nan if value is None or isinstance(value, str) else value


def _column_cells(
    column: Column, values: Sequence[Value]
) -> list[tuple[str, str, bool]]:
    texts = [_texts(value, column.form) for value in values]
    numbers = [_own(value) for value in values if not math.isnan(_own(value))]
    if not column.best or len(numbers) < 2:
        return [(own, aside, False) for own, aside in texts]
    top = _number(max(numbers) if column.best == "max" else min(numbers), column.form)
    return [(own, aside, own == top) for own, aside in texts]


def _pad(text: str, width: int, is_left: bool) -> str:
    return text.ljust(width) if is_left else text.rjust(width)


def _markdown_cell(own: str, aside: str, leads: bool) -> str:
    own = html.escape(" ".join(own.split()), quote=False)
    own = own.replace("|", r"\|").replace("*", r"\*")
    own = f"**{own}**" if leads else own
    return f"{own}<br><sub>{aside}</sub>" if aside else own


def _html_cell(own: str, aside: str, leads: bool) -> str:
    own = f"<strong>{html.escape(own)}</strong>" if leads else _breakable(own)
    return f"{own}<small>{html.escape(aside)}</small>" if aside else own


def _breakable(text: str) -> str:
    """As HTML, with places where names such as paper:field=value may be broken."""
    return re.sub(r"(?<=[:,=])(?=\w)|(?<=[a-z])(?=[A-Z])", "<wbr>", html.escape(text))


def _html_row(tag: str, texts: Iterable[str], left: Iterable[bool]) -> str:
    classes = {True: ' class="text"', False: ""}
    cells = zip(texts, left, strict=True)
    row = [f"<{tag}{classes[is_left]}>{text}</{tag}>" for text, is_left in cells]
    return "<tr>" + "".join(row) + "</tr>"
