"""The report: complete, self-contained and the same every time."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from synthetic import run, study

from tobyqa.bench import figures
from tobyqa.bench.report import summary_text, write_report
from tobyqa.bench.score import score

pytest.importorskip("matplotlib")

ABOUT = {"study": "a <small> one", "seeds": "0 | 1"}


class Page(HTMLParser):
    """Checks the nesting of tags; collects identifiers, links and sources."""

    def __init__(self):
        super().__init__()
        self.open, self.names, self.links, self.tags = [], [], [], set()

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        for key, value in attrs:
            if key == "id":
                self.names.append(value)
            if key in ("href", "xlink:href", "src"):
                self.links.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def records():
    variants = ["paper", "paper:hessian=interpolated"]
    return [*study(problems=2), *study(variants, problems=2, blocks=[(6, 450)])]


@pytest.fixture(scope="module")
def report(records, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    return out, write_report(records, out, title="A & B", about=ABOUT)


def test_all_files_are_listed_and_there(report):
    out, written = report
    assert sorted(path for path in out.rglob("*") if path.is_file()) == sorted(written)
    names = {path.name for path in written}
    papers = ("solve-rates", "channels", "budget", "ablation", "hessian")
    assert {
        f"{name}.{kind}" for name in papers for kind in ("md", "csv", "tex")
    } < names
    assert {"README.md", "index.html", "data-profile.svg", "data-profile.png"} < names


def test_text_files_are_the_same_every_time(report, records, tmp_path):
    out, written = report
    again = write_report(records[::-1], tmp_path, title="A & B", about=ABOUT)
    for first, second in zip(written, again, strict=True):
        assert first.relative_to(out) == second.relative_to(tmp_path)
        assert first.read_bytes() == second.read_bytes(), first.name


def test_the_readme_needs_two_figures_and_nothing_else(report):
    out, _ = report
    text = (out / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert len(targets) == 2
    assert all((out / target).is_file() for target in targets)
    assert all(target.startswith("figures/") for target in targets)
    assert text.startswith("# A & B\n")
    assert "a &lt;small&gt; one" in text


def test_page_is_well_formed_and_self_contained(report):
    out, _ = report
    page = Page()
    page.feed((out / "index.html").read_text(encoding="utf-8"))
    page.close()
    assert page.open == []
    assert len(set(page.names)) == len(page.names)
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.names)
    assert "svg" in page.tags
    assert not page.tags & {"script", "img", "link", "iframe"}


def test_references_inside_the_inlined_figures_resolve(report):
    out, _ = report
    text = (out / "index.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    used = re.findall(r"url\(#([^)]+)\)", text)
    assert used
    assert set(used) <= set(page.names)


def test_svg_files_are_xml_without_a_date(report):
    out, _ = report
    for path in (out / "figures").glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        ElementTree.fromstring(text)
        assert "dc:date" not in text


def test_unfinished_study_reports_how_runs_ended(tmp_path):
    records = [run("a", {1: 0.0}), run("b", {1: 0.0}, seed=1)]
    written = write_report(records, tmp_path, title="t", about={})
    assert {path.name for path in written} == {
        "README.md",
        "index.html",
        "failures.md",
        "failures.csv",
        "failures.tex",
    }
    assert summary_text(records).startswith("No instance")


def test_summary_is_an_aligned_table(records):
    lines = summary_text(records, ["paper"]).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 11
    assert len({len(line) for line in table}) == 1
    assert "<" not in "".join(table)


def test_reference_and_opponent_are_chosen(records, tmp_path):
    write_report(
        records,
        tmp_path,
        title="t",
        about={},
        reference_solvers=["paper", "dfols"],
        versus="dfols",
    )
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "paper, dfols" in text
    assert "## dfols against each other solver" in text


def test_curves_end_at_the_solve_rate_and_differ_in_style():
    scores = score(study([f"s{j:02d}" for j in range(20)], problems=1, seeds=1))
    (axes,) = figures.data_profile_figure(scores).axes
    ends = {line.get_label(): line.get_ydata()[-1] for line in axes.lines}
    rates = scores.solved(1e-3).mean(axis=0)
    assert ends == pytest.approx(
        {solver: 100 * rate for solver, rate in zip(scores.solvers, rates, strict=True)}
    )
    styles = {
        (line.get_color(), str(line.get_linestyle()), line.get_marker())
        for line in axes.lines
    }
    assert len(styles) == len(axes.lines) == 20
    assert list(ends.values()) == sorted(ends.values(), reverse=True)


def test_channels_have_a_panel_each():
    figure = figures.channel_figure(score(study(["a", "b"], problems=1, seeds=1)))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[-1] == "all channels"
    assert len(titles) == 8


def test_tolerances_run_from_easy_to_hard():
    figure = figures.tolerance_figure(score(study(["a", "b"], problems=1)))
    (axes,) = figure.axes
    left, right = axes.get_xlim()
    assert left > 0.1 > 1e-7 > right
