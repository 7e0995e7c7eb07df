"""The checks as text, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from textwrap import fill

from .check import Check, Row

READING = "Figures stand before their bound, NO after those that do not keep to it."


def cell(row: Row) -> str:
    """The figure, what bounds it, and whether it keeps to that."""
    text = f"{row.measured:.3g}"
    if row.bound is not None:
        text += f" / {row.bound:.3g}"
    return f"{text} NO" if row.holds is False else text


def tables(check: Check) -> list[list[list[str]]]:
    """The rows side by side: cases down, quantities across, where these are alike."""
    by_case = [(case, list(rows)) for case, rows in groupby(check.rows, _case)]
    found = []
    for quantities, block in groupby(by_case, lambda item: _quantities(item[1])):
        lines = [[case, *map(cell, rows)] for case, rows in block]
        found.append([["", *quantities], *lines])
    return found


def _case(row: Row) -> str:
    return row.case


def _quantities(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(row.quantity for row in rows)


def as_text(checks: Sequence[Check]) -> str:
    """For a terminal."""
    blocks = [READING]
    for check in checks:
        blocks.append(
            f"{check.title} ({check.result})\n{_wrapped(f'Claim: {check.claim}.')}\n"
            + _wrapped(f"Computed: {check.setting}.")
        )
        blocks += [_text_table(table) for table in tables(check)]
        blocks.append(_wrapped(check.finding))
    return "\n\n".join([*blocks, summary(checks)])


def _wrapped(text: str) -> str:
    return fill(text, 88, initial_indent="  ", subsequent_indent="  ")


def _text_table(table: list[list[str]]) -> str:
    """Headings stand above their columns, on several lines where they are long."""
    head = [fill(text, 15).split("\n") for text in table[0]]
    height = max(map(len, head))
    lines = [
        list(row)
        for row in zip(*([""] * (height - len(h)) + h for h in head), strict=True)
    ]
    lines += table[1:]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  " + "  ".join(
            text.ljust(width) if k == 0 else text.rjust(width)
            for k, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )  # fmt: skip


def as_markdown(checks: Sequence[Check]) -> str:
    """The page docs/theory.md."""
    blocks = [
        "# The paper's theory, checked",
        "Made by `tobyqa theory --markdown`; every figure is computed. Theorems, "
        "lemmas, propositions and assumptions have the paper's numbers, which run "
        "through each section. Runs are runs of method `paper` with four variables on "
        "three functions whose gradient, Lipschitz constant and minimum are known: a "
        "convex quadratic (bowl), a sum of logarithms that is not convex (wells) and "
        "one without curvature at its minimum (flat), through the paper's channels "
        "Static, LinearDrift and PeriodicAdd.",
        READING,
        summary(checks),
    ]
    for check in checks:
        blocks += [
            f"## {check.title}",
            f"{check.result}. Claim: {check.claim}.",
            f"Computed: {check.setting}.",
            *map(_markdown_table, tables(check)),
            check.finding,
        ]
    return "\n\n".join(blocks)


def _markdown_table(table: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(table[0]) - 1)]
    escaped = [[text.replace("|", "\\|") for text in row] for row in table]
    return "\n".join(
        "| " + " | ".join(row) + " |" for row in (escaped[0], rule, *escaped[1:])
    )


def as_json(checks: Sequence[Check]) -> str:
    """For programs: figures in full."""
    return json.dumps([asdict(check) for check in checks], indent=1)


def summary(checks: Sequence[Check]) -> str:
    """How many of the figures with a bound keep to it."""
    bounded = [row for check in checks for row in check.rows if row.holds is not None]
    failed = sum(row.holds is False for row in bounded)
    return (
        f"{len(bounded) - failed} of {len(bounded)} figures keep to their bound, "
        f"{failed} do not."
    )
