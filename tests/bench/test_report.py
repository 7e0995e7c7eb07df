"""The report: complete, self-contained and the same every time."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from synthetic import run, study

from tobyqa.bench import curves, figures
from tobyqa.bench.report import composed, summary_text, write_report
from tobyqa.bench.score import score, solve_intervals

pytest.importorskip("matplotlib")

ABOUT = {"study": "a <small> one", "seeds": "0 | 1"}


class Page(HTMLParser):
    """Checks the nesting of tags; collects identifiers, links and sources."""

    def __init__(self):
        super().__init__()
        self.open, self.names, self.links, self.tags = [], [], [], set()

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in ("meta", "wbr"):
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
    assert {"README.md", "index.html"} < names
    assert {f"data-profile.{kind}" for kind in ("svg", "pdf", "png")} < names


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


def test_reference_and_opponent_are_chosen(records):
    text = composed(
        records,
        title="t",
        about={},
        reference_solvers=["paper", "dfols"],
        versus="dfols",
    ).readme()
    assert "paper, dfols" in text
    assert "## dfols against each other solver" in text


def test_the_reference_solvers_named_are_those_that_ran(records):
    some = [record for record in records if record.cell.channel == "Static"]
    referees = ["paper", "dfols", "never-installed"]
    text = composed(some, title="t", about={}, reference_solvers=referees).readme()
    line = next(line for line in text.splitlines() if "reference solvers" in line)
    assert "paper, dfols" in line
    assert "never-installed" not in text


def test_at_most_eight_solvers_are_drawn_and_the_caption_says_so():
    names = [f"s{j:02d}" for j in range(12)]
    records = study(names, problems=1, seeds=1, channels=["Static"])
    text = composed(records, title="t", about={}).readme()
    assert "8 of 12 solvers; the tables have all." in text
    assert all(f"| {name} " in text for name in names)


def test_curves_end_at_the_solve_rate_and_differ_in_colour():
    scores = score(study([f"s{j:02d}" for j in range(20)], problems=1, seeds=1))
    axes, beside = figures.data_profile_figure(scores).axes
    ends = {line.get_label(): line.get_ydata()[-1] for line in axes.lines}
    rates = dict(zip(scores.solvers, scores.solved(1e-3).mean(axis=0), strict=True))
    assert ends == pytest.approx({solver: 100 * rates[solver] for solver in ends})
    assert len(axes.lines) == 8
    assert len({line.get_color() for line in axes.lines}) == 8
    assert list(ends.values()) == sorted(ends.values(), reverse=True)
    left_out = [rates[solver] for solver in rates if solver not in ends]
    assert max(left_out) <= min(rates[solver] for solver in ends)
    returned = scores.judged_by("returned").solved(1e-3).mean(axis=0)
    by_solver = dict(zip(scores.solvers, 100 * returned, strict=True))
    shown = [line.get_ydata()[0] for line in beside.lines[1::2]]
    assert shown == pytest.approx([by_solver[solver] for solver in ends])


def test_a_solver_has_one_colour_in_all_figures():
    names = ["adaptive", "cma", "x", "paper", "y"]
    scores = score(study(names, problems=1, seeds=1))
    seen = {}
    for draw in (
        figures.data_profile_figure,
        figures.tolerance_figure,
        figures.channel_figure,
        figures.channel_tolerance_figure,
    ):
        for axes in draw(scores).axes:
            for line in axes.lines:
                if not line.get_label().startswith("_"):
                    seen.setdefault(line.get_label(), set()).add(line.get_color())
    assert {name: len(colours) for name, colours in seen.items()} == dict.fromkeys(
        names, 1
    )
    assert len({colour for (colour,) in seen.values()}) == len(names)
    fewer = score(study(["adaptive", "z"], problems=1, seeds=1))
    assert curves.styles(curves.drawn(fewer))["adaptive"]["color"] in seen["adaptive"]


def test_the_look_of_a_solver_does_not_depend_on_its_rank():
    names = ["z", "adaptive", "y", "x", "cma"]
    looks = curves.styles(names)
    assert curves.styles(names[::-1]) == looks
    assert len({look["color"] for look in looks.values()}) == len(names)


def test_variants_make_room_for_other_solvers():
    others = [f"s{j}" for j in range(7)]
    variants = [f"paper:eta=0.{j}" for j in range(1, 5)]
    scores = score(study(["paper", *variants, *others], problems=1, seeds=1))
    assert set(curves.drawn(scores)) == {"paper", *others}
    alone = score(study(["paper", *variants], problems=1, seeds=1))
    assert set(curves.drawn(alone)) == {"paper", *variants}


def test_bands_are_the_intervals_of_the_tables():
    scores = score(study(["a", "b"], problems=2))
    found = curves.profiles(scores, 1e-3, ("a", "b"), per_simplex=False)
    intervals = dict(zip(scores.solvers, solve_intervals(scores, 1e-3), strict=True))
    for curve in found:
        assert (curve.low <= curve.y).all()
        assert (curve.y <= curve.high).all()
        end = intervals[curve.solver]
        assert (curve.low[-1], curve.y[-1], curve.high[-1]) == pytest.approx(
            (100 * end.low, 100 * end.value, 100 * end.high)
        )


def test_units_of_n_plus_one_evaluations():
    scores = score(study(["a", "b"], problems=1))
    plain = figures.data_profile_figure(scores).axes[0]
    simplex = figures.data_profile_figure(scores, per_simplex=True).axes[0]
    assert plain.get_xlabel() == "evaluations"
    assert simplex.get_xlabel() == "evaluations / (n + 1)"
    largest = max(i[4] / (i[1] + 1) for i in scores.instances)
    assert simplex.get_xlim()[1] == pytest.approx(largest)


def test_figures_have_no_title():
    scores = score(study(["a", "b"], problems=1, seeds=1))
    for draw in (figures.data_profile_figure, figures.tolerance_figure):
        figure = draw(scores)
        assert figure.get_suptitle() == ""
        labels = [axes.get_title(loc="left") for axes in figure.axes]
        assert labels == ["best point queried", "point returned"]


def test_channels_have_a_panel_each():
    scores = score(study(["a", "b"], problems=1, seeds=1))
    for draw in (figures.channel_figure, figures.channel_tolerance_figure):
        titles = [axes.get_title(loc="left") for axes in draw(scores).axes]
        assert titles[-1] == "all channels"
        assert len(titles) == 8


def test_tolerances_run_from_easy_to_hard():
    scores = score(study(["a", "b"], problems=1))
    figure = figures.tolerance_figure(scores)
    for axes in (*figure.axes, figures.channel_tolerance_figure(scores).axes[0]):
        left, right = axes.get_xlim()
        assert left > 0.1 > 1e-7 > right


# In a browser ------------------------------------------------------------------------


def test_tables_fit_into_1300_pixels(report):
    """Long names, the paper's figures beside ours, 22 columns of returned points."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs chromium and chromedriver (apt-get install chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    # No sandbox and no shared memory: both are missing in many containers.
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    options.add_argument("--window-size=1300,900")
    service = webdriver.ChromeService(executable_path=driver)
    with webdriver.Chrome(options=options, service=service) as browser:
        browser.get((report[0] / "index.html").as_uri())
        assert browser.execute_script("return window.innerWidth") <= 1300
        over = browser.execute_script(
            "return [...document.querySelectorAll('.wide')]"
            ".filter(d => d.scrollWidth > d.clientWidth).map(d => d.parentElement.id)"
        )
        count = browser.execute_script(
            "return document.querySelectorAll('.wide').length"
        )
    assert count > 10
    assert over == []
