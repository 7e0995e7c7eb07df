"""The tables of the benchmark, each beside the paper's own where it printed one.

A builder lists the solvers in the scores it is given and returns None when there is
nothing to show. Rates and shares are in percent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from . import published
from .beside import (
    TAU,
    Measure,
    assemble,
    by_tolerance_and_block,
    channel_measures,
    counted,
    dimension_head,
    group_head,
    has_all_channels,
    has_papers_blocks,
    in_order,
    paper_column,
    percent,
    percent_estimate,
    tolerance,
)
from .effort import budget_use, median_evaluations
from .layout import Column, Table, Value, Versus
from .paired import compare
from .records import Record
from .score import (
    TOLERANCES,
    Point,
    Scores,
    block,
    channel,
    dimension,
    failures,
    solve_intervals,
    solve_rates,
    split,
)

__all__ = [
    "Column",
    "Table",
    "Versus",
    "ablation_table",
    "budget_table",
    "channel_table",
    "channel_tables",
    "evaluations_table",
    "failure_table",
    "hessian_table",
    "overall_table",
    "paired_table",
    "parts_table",
    "solve_rate_table",
]


def overall_table(scores: Scores) -> Table | None:
    """Solve rates over all instances, best solver first, with Wilson intervals."""
    measures = [
        Measure(
            Column(f"tau{tolerance(tau)}", f"τ={tolerance(tau)}", best="max"),
            [percent_estimate(rate) for rate in solve_intervals(scores, tau)],
        )
        for tau in TOLERANCES
    ]
    rates = dict(zip(scores.solvers, solve_rates(scores, TAU), strict=True))
    return assemble(
        "overall",
        "Solve rates (%) over all instances",
        f"Ordered by τ={tolerance(TAU)}; below each rate its 95 % Wilson interval, "
        "instances taken as independent.",
        scores,
        measures,
        order=sorted(rates, key=lambda solver: (-rates[solver], solver)),
    )


def solve_rate_table(scores: Scores, *, plain: bool = False) -> Table | None:
    """Solve rates by tolerance and dimension; `plain` ones are narrow, ours alone."""
    measures = []
    for tau, (n, budget), part, key in by_tolerance_and_block(scores):
        head, rates = dimension_head(n, budget, scores), percent(solve_rates(part, tau))
        if plain:
            measures.append(Measure(Column(key, head, tolerance(tau)), rates))
            continue
        shown = budget == published.BUDGET and has_all_channels(part)
        paper = paper_column(published.SOLVE_RATES, (tau, n), shown=shown)
        column = Column(key, head, group_head(tau), best="max")
        measures.append(Measure(column, rates, paper))
    title = "Solve rates (%) by tolerance and dimension"
    return assemble("solve-rates", title, "", scores, measures)


def channel_table(scores: Scores) -> Table | None:
    """Solve rates by channel, pooled over dimensions and seeds."""
    return assemble(
        "channels",
        f"Solve rates (%) at τ={tolerance(TAU)} by channel",
        "Pooled over dimensions and seeds.",
        scores,
        channel_measures(scores, published.CHANNEL_RATES),
    )


def channel_tables(scores: Scores) -> list[Table]:
    """Solve rates by channel, a table for each of several dimensions."""
    by_dimension = split(scores, dimension)
    built = []
    for n, part in by_dimension.items() if len(by_dimension) > 1 else ():
        measures = [
            Measure(
                Column(
                    f"{name}_tau{tolerance(tau)}", name, group_head(tau), best="max"
                ),
                percent(solve_rates(seen, tau)),
            )
            for tau in (1e-3, 1e-5)
            for name, seen in split(part, channel).items()
        ]
        title = f"Solve rates (%) by channel, n={n}"
        built.append(assemble(f"channels-n{n}", title, "", part, measures))
    return [table for table in built if table is not None]


def parts_table(scores: Scores, method: str) -> Table | None:
    """What a method loses when one of its settings is another.

    Variants of `method` are written ``method:setting=value``.
    """
    variants = [s for s in sorted(scores.solvers) if s.startswith(f"{method}:")]
    if method not in scores.solvers or not variants or not scores.instances:
        return None
    judged: tuple[tuple[Point, float], ...] = (
        ("queried", 1e-3),
        ("queried", 1e-5),
        ("returned", 1e-3),
    )
    columns = [Column("variant", "variant")]
    rows: list[list[Value]] = [[variant] for variant in (method, *variants)]
    for point, tau in judged:
        part = scores.judged_by(point)
        key, group = f"{point}_tau{tolerance(tau)}", f"{point}, {group_head(tau)}"
        rates = dict(zip(part.solvers, percent(solve_rates(part, tau)), strict=True))
        columns += [
            Column(key, "rate", group),
            Column(f"{key}_earned", "earned", group, form="+.1f"),
        ]
        rows[0] += [rates[method], None]
        for variant, row in zip(variants, rows[1:], strict=True):
            pair = compare(part, method, variant, tau)
            row += [rates[variant], percent_estimate(pair.difference)]
    return Table(
        "parts",
        f"What each part of {method} earns",
        f"Solve rates (%) of {method} and of its variants; earned: its rate minus the "
        "variant's, in points, with a 95 % interval (Newcombe), instances taken as "
        f"independent. {counted(scores)}",
        tuple(columns),
        tuple(map(tuple, rows)),
    )


def ablation_table(scores: Scores) -> Table | None:
    """Solve rates by channel of the method and its ablated variants."""
    if not set(scores.solvers) - {"paper"}:
        return None
    return assemble(
        "ablation",
        f"Ablation: solve rates (%) at τ={tolerance(TAU)} by channel",
        "Pooled over dimensions and seeds.",
        scores,
        channel_measures(scores, published.ABLATION),
    )


def budget_table(scores: Scores) -> Table | None:
    """How much of its budget each solver used."""
    if not scores.instances:
        return None
    use = budget_use(scores)
    shown = has_papers_blocks(scores) and has_all_channels(scores)
    columns = {
        Column("evaluations", "median evaluations", form=".0f"): use.evaluations,
        Column("budget_share", "% of budget"): 100 * use.share,
        Column("stopping_early", "% of runs stopping early"): 100 * use.early,
    }
    paper = {
        row: dict(enumerate(figures)) for row, figures in published.BUDGET_USE.items()
    }
    measures = [
        Measure(column, list(map(float, ours)), paper_column(paper, j, shown=shown))
        for j, (column, ours) in enumerate(columns.items())
    ]
    note = "A run stops early if it returns before its budget is spent."
    return assemble("budget", "Use of the budget", note, scores, measures)


def hessian_table(scores: Scores) -> Table | None:
    """The two treatments of curvature, by dimension and budget."""
    if not set(scores.solvers) - {"paper"}:
        return None
    measures = []
    for (n, budget), part in split(scores, block).items():
        for tau in (1e-3, 1e-5):
            key = f"n{n}_b{budget}_tau{tolerance(tau)}"
            group = f"n={n}, budget {budget}"
            measures.append(
                Measure(
                    Column(key, f"τ={tolerance(tau)}", group, best="max"),
                    percent(solve_rates(part, tau)),
                    paper_column(
                        published.HESSIAN,
                        (n, budget, tau),
                        shown=has_all_channels(part),
                    ),
                )
            )
    title = "Zero or interpolated Hessian: solve rates (%) by dimension and budget"
    return assemble("hessian", title, "", scores, measures)


def evaluations_table(scores: Scores) -> Table | None:
    """Median evaluations to the target, among the instances a solver solved."""
    measures = []
    for tau, (n, budget), part, key in by_tolerance_and_block(scores):
        head = dimension_head(n, budget, scores)
        ours = list(map(float, median_evaluations(part, tau)))
        measures.append(Measure(Column(key, head, group_head(tau), form=".0f"), ours))
    return assemble(
        "evaluations",
        "Median evaluations among solved instances",
        "Each solver over the instances it solved: comparable only where the solve "
        "rates are alike.",
        scores,
        measures,
    )


def paired_table(scores: Scores, solver: str, tau: float = TAU) -> Table | None:
    """`solver` against every other one on the same instances."""
    others = [other for other in in_order(scores.solvers) if other != solver]
    if not others or not scores.instances:
        return None
    pairs = [compare(scores, solver, other, tau) for other in others]
    rows: list[tuple[Value, ...]] = [
        (
            *(p.other, percent_estimate(p.difference), p.only_solver, p.only_other),
            *(p.p_solved, p.wins, p.losses, p.ties, p.p_wins),
        )
        for p in pairs
    ]
    solved, value = f"solved at τ={tolerance(tau)}", "lower value found"
    columns = (
        Column("other", "against"),
        Column("difference", "difference", solved, form="+.1f"),
        Column("only_solver", "only it", solved, form=".0f"),
        Column("only_other", "only the other", solved, form=".0f"),
        Column("p_solved", "McNemar p", solved, form=".2g"),
        Column("wins", "wins", value, form=".0f"),
        Column("losses", "losses", value, form=".0f"),
        Column("ties", "ties", value, form=".0f"),
        Column("p_wins", "sign test p", value, form=".2g"),
    )
    note = (
        "Difference of the solve rates in points with its 95 % interval (Newcombe). "
        "Exact two-sided p-values, not corrected for the number of comparisons; "
        f"instances taken as independent. {counted(scores)}"
    )
    title = f"{solver} against each other solver"
    return Table("paired", title, note, columns, tuple(rows))


def failure_table(records: Sequence[Record]) -> Table:
    """How the runs ended, whether or not their instances are complete."""
    heads = {
        "ok": "returned",
        "budget": "stopped at the budget",
        "error": "error",
        "crash": "crash",
    }
    statuses = failures(records)
    rows: list[tuple[Value, ...]] = []
    for solver in in_order(statuses):
        errors = [r.error for r in records if r.cell.solver == solver and r.error]
        counts = [statuses[solver][status] for status in heads]
        total = sum(statuses[solver].values())
        rows.append((solver, total, *counts, commonest(errors)))
    columns = [Column(key, head, form=".0f") for key, head in heads.items()]
    return Table(
        "failures",
        "How the runs ended",
        "A failed run counts with the points it queried before it failed.",
        (
            Column("solver", "solver"),
            Column("runs", "runs", form=".0f"),
            *columns,
            Column("commonest_error", "commonest error"),
        ),
        tuple(rows),
    )


def commonest(errors: Sequence[str]) -> str:
    """The most frequent error, cut to a line; of equals the first by name."""
    if not errors:
        return ""
    counts = Counter(errors)
    text = " ".join(min(counts, key=lambda error: (-counts[error], error)).split())
    return text if len(text) <= 80 else text[:79] + "…"
