"""Tables of regrets: what returned points leave, by channel, noise and budget.

They have something to show where runs are of instruments, whose least values are known
and whose budgets are multiples of n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .. import methods
from .beside import in_order
from .instruments import QUIET, instrument_names
from .layout import Column, Table, Value
from .records import Record
from .regret import budget_name, regret, summary

BUDGETS = ("3n+5", "5n", "10n", "20n", "40n")
_CLOSE = 1.1  # of the best, at the smallest budget
_PROFILE = (0.1, 0.01)
_NOISES = {"": "1 %", QUIET: "0.1 %"}

Group = tuple[str, str, str, str]  # channel, noise, budget, solver
Groups = dict[Group, list[float]]
_ALL = "all channels"


def regret_tables(records: Sequence[Record]) -> list[Table]:
    """All of them; none if no instrument was run."""
    groups = _groups(records)
    if not groups:
        return []
    channels = [*dict.fromkeys(key[0] for key in groups if key[0] != _ALL), _ALL]
    tables = [missed_table(groups)]
    for noise in dict.fromkeys(key[1] for key in groups):
        tables += [_profile_table(groups, noise), _logs_table(groups, noise)]
        tables += [_channel_table(groups, channel, noise) for channel in channels]
    return tables


def _groups(records: Sequence[Record]) -> Groups:
    """Regrets of the runs on instances that every solver has run."""
    known = set(instrument_names())
    own = [record for record in records if record.cell.problem in known]
    solvers = {record.cell.solver for record in own}
    ran: dict[object, int] = {}
    for record in own:
        ran[record.cell.instance] = ran.get(record.cell.instance, 0) + 1
    groups: Groups = {}
    for record in own:
        cell = record.cell
        if ran[cell.instance] < len(solvers):
            continue
        noise = _NOISES[QUIET if cell.problem.endswith(QUIET) else ""]
        budget = budget_name(cell.n, cell.budget)
        for channel in (cell.channel, _ALL):
            key = channel, noise, budget, cell.solver
            groups.setdefault(key, []).append(regret(record))
    return groups


def _budgets(groups: Groups) -> list[str]:
    present = dict.fromkeys(key[2] for key in groups)
    usual = [name for name in BUDGETS if name in present]
    return usual + [name for name in present if name not in usual]


@dataclass(frozen=True)
class _Measure:
    """A figure of a set of regrets; one column for each budget."""

    key: str
    head: str
    form: str
    best: Literal["min", "max"]
    value: Callable[[list[float]], float]


def _table(
    groups: Groups, channel: str, noise: str, measures: Sequence[_Measure]
) -> tuple[tuple[Column, ...], tuple[tuple[Value, ...], ...]]:
    """Columns and rows, one row for each solver."""
    columns = [Column("solver", "solver")]
    rows: dict[str, list[Value]] = {
        solver: [solver] for solver in in_order({key[3] for key in groups})
    }
    for measure in measures:
        for budget in _budgets(groups):
            key = f"{measure.key}_{budget}"
            columns.append(
                Column(key, budget, measure.head, measure.form, measure.best)
            )
            for solver, row in rows.items():
                own = groups.get((channel, noise, budget, solver))
                row.append(measure.value(own) if own else None)
    return tuple(columns), tuple(map(tuple, rows.values()))


def _median(regrets: list[float]) -> float:
    return 100 * summary(regrets).median


def _worst_tenth(regrets: list[float]) -> float:
    return 100 * summary(regrets).worst_tenth


def _no_better(regrets: list[float]) -> float:
    return 100 * summary(regrets).no_better


def _mean_log10(regrets: list[float]) -> float:
    return summary(regrets).mean_log10


_MEDIAN = _Measure("median", "median", ".2f", "min", _median)
_WORST_TENTH = _Measure("tenth", "worst tenth", ".1f", "min", _worst_tenth)


def _channel_table(groups: Groups, channel: str, noise: str) -> Table:
    columns, rows = _table(groups, channel, noise, (_MEDIAN, _WORST_TENTH))
    runs = {len(r) for key, r in groups.items() if key[:2] == (channel, noise)}
    return Table(
        f"regret-{_slug(channel)}-{_slug(noise)}",
        f"Regret (%) of the returned point, {channel}, noise {noise} of the range",
        "(f(x) − f*) / (f(x0) − f*): the median, and what nine of ten runs do not "
        f"exceed, by the number of readings. {min(runs)} runs or more in a figure.",
        columns,
        rows,
    )


def _logs_table(groups: Groups, noise: str) -> Table:
    measures = (
        _Measure("log10", "mean log10", ".2f", "min", _mean_log10),
        _Measure("no_better", "% no better than x0", ".1f", "min", _no_better),
    )
    columns, rows = _table(groups, _ALL, noise, measures)
    return Table(
        f"regret-logs-{_slug(noise)}",
        f"Regret of the returned point as logarithm, noise {noise} of the range",
        "All channels; log10 of the regret, cut at 1e-6 and 100, and the share of runs "
        "that return something no better than x0.",
        columns,
        rows,
    )


def _profile_table(groups: Groups, noise: str) -> Table:
    """A data profile of returned points: each budget is a run of its own."""

    def share(limit: float) -> Callable[[list[float]], float]:
        return lambda regrets: 100.0 * float(np.mean(np.asarray(regrets) <= limit))

    measures = [
        _Measure(f"within{limit:g}", f"regret ≤ {limit:g}", ".1f", "max", share(limit))
        for limit in _PROFILE
    ]
    columns, rows = _table(groups, _ALL, noise, measures)
    return Table(
        f"regret-profile-{_slug(noise)}",
        f"Data profile of the returned point, noise {noise} of the range",
        "Share (%) of runs whose regret is that small, by the number of readings; all "
        "channels.",
        columns,
        rows,
    )


def _slug(text: str) -> str:
    return text.removesuffix(" %").replace(" ", "-")


def missed_table(groups: Groups) -> Table:
    """Where a peer's regret is lower than that of the package's default method."""
    rows: list[tuple[Value, ...]] = []
    cells = 0
    for where, ours, peers in _contests(groups):
        for measure in (_MEDIAN, _WORST_TENTH):
            cells += 1
            own = measure.value(ours)
            least, peer = min((measure.value(r), name) for name, r in peers.items())
            room = _CLOSE if where[2] == BUDGETS[0] else 1.0
            if own > room * least:
                rows.append((*where, measure.head, own, peer, least))
    heads = ("channel", "noise", "readings", "solver", "measure", "regret", "peer")
    return Table(
        "regret-missed",
        f"Where a peer leaves less: {len(rows)} of {cells} figures",
        "Regrets (%) of the returned point; at 3n+5 readings, more than a tenth above "
        "the peer's.",
        tuple(Column(head, head, form=".2f") for head in (*heads, "peer's")),
        tuple(rows),
    )


def _contests(
    groups: Groups,
) -> Iterator[tuple[Group, list[float], dict[str, list[float]]]]:
    """Each group of the default method beside those of the peers."""
    for group, regrets in groups.items():
        peers = {
            other[3]: its
            for other, its in groups.items()
            if other[:3] == group[:3] and _method(other) not in methods.METHODS
        }
        is_own = _method(group) == methods.DEFAULT
        if is_own and peers and group[0] != _ALL:
            yield group, regrets, peers


def _method(group: Group) -> str:
    return group[3].partition(":")[0]
