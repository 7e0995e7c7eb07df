"""The tables: right numbers in every written form, the paper's where they belong."""

from __future__ import annotations

import csv
import io
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import run, study

from tobyqa.bench import latex, published, tables
from tobyqa.bench.layout import Column, Table, Versus
from tobyqa.bench.returned import returned_tables, worse_table
from tobyqa.bench.score import Estimate, dimension, score, solve_rates, split

MIXED = Table(
    "mixed",
    "A title",
    "A note.",
    (
        Column("solver", "solver"),
        Column("rate", "rate", "group", best="max"),
        Column("interval", "interval", "group"),
        Column("p", "p", form=".2g"),
    ),
    (
        ("a_b", Versus(70.12, 71.0), Estimate(0.5, 0.25, 0.75), 1e-30),
        ("c|d", 10.0, None, float("nan")),
    ),
)


class Balance(HTMLParser):
    """Checks that tags open and close in order; collects the cells' text."""

    VOID = frozenset({"meta", "br", "wbr", "img", "link"})

    def __init__(self):
        super().__init__()
        self.open, self.cells = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open and "small" not in self.open:
            self.cells[-1] += data


def parse(table):
    return list(csv.DictReader(io.StringIO(table.csv())))


@pytest.fixture(scope="module")
def scores():
    return score(study(problems=3))


def test_csv_keeps_every_figure_in_a_column_of_its_own():
    first, second = parse(MIXED)
    assert first["solver"] == "a_b"
    assert float(first["rate"]) == 70.12
    assert float(first["rate_paper"]) == 71.0
    assert float(first["rate_difference"]) == pytest.approx(-0.88)
    assert float(first["interval_high"]) == 0.75
    assert float(first["p"]) == 1e-30
    assert (second["solver"], second["rate"]) == ("c|d", "10")
    assert second["rate_paper"] == second["interval"] == second["p"] == ""


def test_markdown_is_aligned_and_escaped():
    lines = MIXED.markdown().splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "**70.1**<br><sub>71.0 (−0.9)</sub>" in lines[2]
    assert "0.5<br><sub>[0.2, 0.8]</sub>" in lines[2]
    assert r"c\|d" in lines[3]


def test_latex_is_escaped_and_has_a_row_for_the_asides():
    text = MIXED.latex()
    assert r"a\_b & \textbf{70.1}" in text
    assert r"{\scriptsize 71.0 ($-$0.9)}" in text
    assert r"\cmidrule(lr){2-3}" in text
    assert text.count(r"\\") == 5  # groups, heads, two rows, one row of asides
    assert text.count("{") == text.count("}")


def test_html_is_well_formed():
    parser = Balance()
    parser.feed(MIXED.html())
    parser.close()
    assert parser.open == []
    assert parser.cells == ["a_b", "70.1", "0.5", "1e−30", "c|d", "10.0", "", "–"]


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=20))
def test_any_line_of_text_survives_in_csv_and_html(text):
    columns = (Column("x", "x"), Column("y", "y"))
    table = Table("t", "t", "", columns, ((text, 1.0), ("other", 2.0)))
    rows = list(csv.reader(io.StringIO(table.csv(), newline="")))
    assert rows[1] == [text, "1"]
    parser = Balance()
    parser.feed(table.html())
    assert parser.open == []
    assert parser.cells[0] == text  # places where it may be broken are no text
    assert len(table.markdown().splitlines()) == 4


@given(st.text(alphabet="\\{}#$%&_~^ab", max_size=20))
def test_latex_escape_leaves_no_active_character(text):
    escaped = latex.escape(text).replace(r"\textbackslash{}", "")
    for command in (r"\textasciitilde{}", r"\textasciicircum{}"):
        escaped = escaped.replace(command, "")
    for character in "{}#$%&_":
        escaped = escaped.replace("\\" + character, "")
    assert set(escaped) <= set("ab")


def test_zero_has_no_sign():
    columns = (Column("s", "s"), Column("x", "x", form="+.1f"))
    table = Table("t", "t", "", columns, (("a", -0.01), ("b", Versus(1.0, 1.0))))
    assert "−0.0" not in table.markdown()


def test_a_table_without_rows_has_its_heads():
    table = Table("t", "t", "", (Column("x", "x"),), ())
    assert table.csv() == "x\n"
    assert "<th>x</th>" in table.html()
    assert table.markdown().startswith("| x |\n")


def test_solve_rates_beside_the_paper(scores):
    rows = {row["solver"]: row for row in parse(tables.solve_rate_table(scores))}
    assert list(rows) == list(published.ROWS)
    row, column = rows["newuoa-pdfo"], "tau1e-3_n10_b1500"
    assert row["paper_row"] == "NEWUOA"
    assert float(row[f"{column}_paper"]) == 18.5
    ours = float(row[column])
    part = split(scores, lambda instance: instance[1])[10]
    rate = solve_rates(part, 1e-3)[scores.solvers.index("newuoa-pdfo")]
    assert ours == pytest.approx(100 * rate)
    assert float(row[f"{column}_difference"]) == pytest.approx(ours - 18.5)
    # Not in that table of the paper.
    assert rows["paper:sigma_rule=frozen"]["paper_row"] == ""


def test_every_figure_of_the_paper_finds_its_place():
    records = study(problems=1, seeds=1)
    records += study(
        list(published.CURVATURES), problems=1, seeds=1, blocks=[(6, 450), (20, 5000)]
    )
    everyone = score(records)
    built = [
        (tables.solve_rate_table(everyone), published.SOLVE_RATES),
        (tables.channel_table(everyone), published.CHANNEL_RATES),
        (
            tables.ablation_table(score(records, solvers=published.VARIANTS)),
            published.ABLATION,
        ),
        (
            tables.hessian_table(score(records, solvers=published.CURVATURES)),
            published.HESSIAN,
        ),
    ]
    for table, paper in built:
        shown = [v.paper for row in table.rows for v in row if isinstance(v, Versus)]
        printed = [v for figures in paper.values() for v in figures.values()]
        assert sorted(shown) == sorted(printed)
    budget = tables.budget_table(everyone)
    shown = [v.paper for row in budget.rows for v in row if isinstance(v, Versus)]
    assert sorted(shown) == sorted(v for r in published.BUDGET_USE.values() for v in r)


@pytest.mark.parametrize(
    "setting",
    [
        {"blocks": [(6, 1000), (10, 1000), (20, 1000)]},
        {"blocks": [(7, 1500)]},
        {"channels": ["Elsewhere"]},
    ],
)
def test_the_paper_is_not_shown_beside_another_setting(setting):
    scores = score(study(["paper", "dfols"], problems=2, **setting))
    builders = (tables.solve_rate_table, tables.channel_table, tables.budget_table)
    for builder in builders:
        table = builder(scores)
        assert [column.key for column in table.columns][1] != "paper_row"
        assert not any(isinstance(v, Versus) for row in table.rows for v in row)


def test_tables_with_nothing_to_show_are_skipped():
    nothing = score([run("a", {}), run("b", {})])
    builders = (
        tables.overall_table,
        tables.solve_rate_table,
        tables.channel_table,
        tables.budget_table,
        tables.ablation_table,
        tables.hessian_table,
        tables.evaluations_table,
    )
    assert [builder(nothing) for builder in builders] == [None] * len(builders)
    assert tables.paired_table(nothing, "a") is None
    assert tables.parts_table(nothing, "a") is None
    assert tables.channel_tables(nothing) == returned_tables(nothing) == []
    alone = score(study(["paper"], problems=1))
    assert tables.ablation_table(alone) is None
    assert tables.hessian_table(alone) is None
    assert tables.paired_table(alone, "paper") is None


def test_overall_is_a_ranking(scores):
    rows = parse(tables.overall_table(scores))
    rates = [float(row["tau1e-3"]) for row in rows]
    assert rates == sorted(rates, reverse=True)
    for row in rows:
        low, high = float(row["tau1e-3_low"]), float(row["tau1e-3_high"])
        assert low <= float(row["tau1e-3"]) <= high


def test_returned_point_never_does_better(scores):
    by_name = {table.name: table for table in returned_tables(scores)}
    for name, key in (
        ("returned-point", "tau1e-3"),
        ("returned-by-dimension", "n10"),
        ("returned-by-channel", "Hetero"),
    ):
        for row in parse(by_name[name]):
            queried, returned = (
                float(row[f"{key}_{point}"]) for point in ("queried", "returned")
            )
            assert float(row[f"{key}_change"]) == pytest.approx(returned - queried)
            assert returned <= queried


def test_runs_worse_than_the_start_are_counted():
    """f(x0) = 5, so the noise is 0.005; a failed run has nothing to hand back."""
    returned = {"fine": 4.0, "a little": 5.004, "worse": 5.006, "lost": np.nan}
    records = [
        run(solver, {1: 1.0}, f_start=5.0, f_returned=value)
        for solver, value in returned.items()
    ]
    rows = {row["solver"]: row for row in parse(worse_table(score(records)))}
    counts = {s: (row["n2_any"], row["n2_noise"]) for s, row in rows.items()}
    assert counts == {
        "fine": ("0", "0"),
        "a little": ("1", "0"),
        "worse": ("1", "1"),
        "lost": ("1", "1"),
    }


def test_channels_by_dimension_pool_to_the_rate_of_the_dimension(scores):
    built = {table.name: table for table in tables.channel_tables(scores)}
    assert list(built) == ["channels-n6", "channels-n10", "channels-n20"]
    part = split(scores, dimension)[10]
    rates = dict(zip(part.solvers, solve_rates(part, 1e-3), strict=True))
    for row in parse(built["channels-n10"]):
        channels = [float(row[f"{name}_tau1e-3"]) for name in published.CHANNELS]
        assert np.mean(channels) == pytest.approx(100 * rates[row["solver"]])


def test_a_part_earns_what_the_method_loses_without_it():
    names = ("own", "own:a=1", "own:b=2", "other")
    scores = score(study(names, problems=2))
    table = tables.parts_table(scores, "own")
    rows = parse(table)
    assert [row["variant"] for row in rows] == ["own", "own:a=1", "own:b=2"]
    for row in rows[1:]:
        for key in ("queried_tau1e-3", "queried_tau1e-5", "returned_tau1e-3"):
            earned = float(rows[0][key]) - float(row[key])
            assert float(row[f"{key}_earned"]) == pytest.approx(earned)
    assert tables.parts_table(scores, "other") is None


def test_paired_table_counts_every_instance(scores):
    rows = parse(tables.paired_table(scores, "dfols"))
    assert len(rows) == len(scores.solvers) - 1
    for row in rows:
        counts = [int(row[key]) for key in ("wins", "losses", "ties")]
        assert sum(counts) == len(scores.instances)


def test_failures_name_the_commonest_error():
    records = [
        run("a", {}, seed=seed, status="error", error=error)
        for seed, error in enumerate(["B", "A", "A", "B", "C" * 200])
    ]
    (row,) = parse(tables.failure_table(records))
    assert (row["runs"], row["error"], row["commonest_error"]) == ("5", "5", "A")


def test_notes_tell_what_was_left_out():
    records = [run("a", {1: 0.0}), run("b", {1: 0.0}), run("a", {1: 0.0}, seed=1)]
    records += [run("a", {}, seed=2), run("b", {}, seed=2)]
    note = tables.overall_table(score(records)).note
    assert "1 instance; 1 left out that not every solver has run; 1 left out" in note


def test_evaluations_of_unsolved_cells_are_empty():
    records = [run("a", {7: 0.0}), run("b", {7: 0.9})]
    rows = parse(tables.evaluations_table(score(records)))
    values = [row["tau1e-3_n2_b100"] for row in rows]
    assert values == ["7", ""]


def test_published_rates_are_percentages():
    rates = [
        rate
        for table in (
            published.SOLVE_RATES,
            published.CHANNEL_RATES,
            published.ABLATION,
            published.HESSIAN,
        )
        for figures in table.values()
        for rate in figures.values()
    ]
    assert len(rates) == 6 * 12 + 6 * 7 + 6 * 7 + 2 * 10
    assert np.all((np.array(rates) >= 0) & (np.array(rates) <= 100))
    # The paper prints these cells twice.
    assert published.ABLATION["TOBYQA"] == published.CHANNEL_RATES["TOBYQA"]
    for n in published.DIMENSIONS:
        for tau in (1e-3, 1e-5):
            printed = published.HESSIAN["TOBYQA"][n, published.BUDGET, tau]
            assert published.SOLVE_RATES["TOBYQA"][tau, n] == printed
