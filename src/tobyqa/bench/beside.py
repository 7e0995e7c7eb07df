"""Laying our figures beside the paper's: what its tables have in common.

The paper's figures stand only where ours were measured in its setting: its
dimensions, its budget, all its channels. Elsewhere a comparison would mislead.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from . import published
from .layout import Column, Table, Value, Versus
from .records import Array
from .score import TOLERANCES, Estimate, Scores, block, channel, solve_rates, split

Key = TypeVar("Key", bound=Hashable)

TAU = 1e-3  # where one tolerance must do, the paper's choice


@dataclass(frozen=True)
class Measure:
    """A column: each solver's figure and, by its row names, the paper's."""

    column: Column
    ours: Sequence[float | Estimate]  # in the order of Scores.solvers
    paper: Mapping[str, float] = field(default_factory=dict)


def assemble(
    name: str,
    title: str,
    note: str,
    scores: Scores,
    measures: Sequence[Measure],
    order: Sequence[str] | None = None,
) -> Table | None:
    """One row per solver, one column per measure; no table if no instance counts."""
    if not scores.instances:
        return None
    solvers = in_order(scores.solvers) if order is None else order
    figures = [_figures(scores, solver, measures) for solver in solvers]
    labels = [Column("solver", "solver")]
    rows: list[tuple[Value, ...]] = [(solver,) for solver in solvers]
    note = f"{note} {counted(scores)}".strip()
    if any(isinstance(value, Versus) for row in figures for value in row):
        labels.append(Column("paper_row", "in the paper"))
        rows = [
            (solver, _paper_row(solver, row))
            for solver, row in zip(solvers, figures, strict=True)
        ]
        note += " Below our figure: the paper's and, in brackets, ours minus it."
    return Table(
        name,
        title,
        note,
        (*labels, *(measure.column for measure in measures)),
        tuple(label + row for label, row in zip(rows, figures, strict=True)),
    )


def _paper_row(solver: str, figures: tuple[Value, ...]) -> str:
    """The paper's name for a row, empty if its table has none such."""
    is_printed = any(isinstance(value, Versus) for value in figures)
    return published.ROWS[solver] if is_printed else ""


def _figures(
    scores: Scores, solver: str, measures: Sequence[Measure]
) -> tuple[Value, ...]:
    """One solver's figures, the paper's beside ours where it has one."""
    j, row = scores.solvers.index(solver), published.ROWS.get(solver, "")
    figures: list[Value] = []
    for measure in measures:
        ours = measure.ours[j]
        if row in measure.paper and not isinstance(ours, Estimate):
            figures.append(Versus(ours, measure.paper[row]))
        else:
            figures.append(ours)
    return tuple(figures)


def in_order(solvers: Collection[str]) -> list[str]:
    """The paper's solvers in its order, then the others by name."""
    known = [solver for solver in published.ROWS if solver in solvers]
    return known + sorted(set(solvers) - set(known))


def counted(scores: Scores) -> str:
    """How many instances count and how many were left out."""
    count = len(scores.instances)
    text = f"{count} instance" if count == 1 else f"{count} instances"
    if scores.incomplete:
        text += f"; {scores.incomplete} left out that not every solver has run"
    if scores.unimproved:
        text += f"; {scores.unimproved} left out on which none went below f(x0)"
    if scores.set_aside:
        text += f"; {scores.set_aside} left out that have another budget"
    return text + "."


def tolerance(tau: float) -> str:
    """A tolerance as the tables write it.

    Examples
    --------
    >>> tolerance(1e-3)
    '1e-3'
    """
    return np.format_float_scientific(tau, trim="-", exp_digits=1)


def percent(rates: Array) -> list[float]:
    return [100 * float(rate) for rate in rates]


def percent_estimate(estimate: Estimate) -> Estimate:
    return Estimate(100 * estimate.value, 100 * estimate.low, 100 * estimate.high)


def paper_column(
    table: Mapping[str, Mapping[Key, float]], key: Key, *, shown: bool
) -> Mapping[str, float]:
    """The paper's figures in one column by row, if they are to be shown."""
    return {row: line[key] for row, line in table.items() if shown and key in line}


def has_all_channels(scores: Scores) -> bool:
    return {channel(i) for i in scores.instances} == set(published.CHANNELS)


def has_papers_blocks(scores: Scores) -> bool:
    expected = {(n, published.BUDGET) for n in published.DIMENSIONS}
    return {block(i) for i in scores.instances} == expected


def channel_measures(
    scores: Scores, paper: Mapping[str, Mapping[str, float]]
) -> list[Measure]:
    """Solve rates at TAU, one column per channel, the paper's channels first."""
    parts = split(scores, channel)
    known = [name for name in published.CHANNELS if name in parts]
    return [
        Measure(
            Column(name, name, best="max"),
            percent(solve_rates(parts[name], TAU)),
            paper_column(paper, name, shown=has_papers_blocks(parts[name])),
        )
        for name in known + sorted(set(parts) - set(known))
    ]


def by_tolerance_and_block(
    scores: Scores,
) -> Iterator[tuple[float, tuple[int, int], Scores, str]]:
    """Tolerance by tolerance each dimension and budget, its scores and its key."""
    parts = split(scores, block)
    for tau in TOLERANCES:
        for (n, budget), part in parts.items():
            yield tau, (n, budget), part, f"tau{tolerance(tau)}_n{n}_b{budget}"


def group_head(tau: float) -> str:
    return f"τ={tolerance(tau)}"


def dimension_head(n: int, budget: int, scores: Scores) -> str:
    """The dimension, with the budget where several share it."""
    budgets = {b for m, b in map(block, scores.instances) if m == n}
    return f"n={n}" if len(budgets) == 1 else f"n={n}, budget {budget}"
