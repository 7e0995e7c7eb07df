"""The report of a study: tables and figures as files, a README and a web page.

The same records give the same bytes, so that a report can be kept under version
control and a change in it means a change in the results.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path

from .. import methods
from ..journal import write_output
from . import figures, published, tables
from .beside import TAU, counted, in_order, tolerance
from .catalogue import known_minimum
from .curves import drawn
from .layout import Column, Table
from .page import DEFINITION, Drawn, Picture, page
from .records import Record
from .regret_tables import regret_tables
from .returned import returned_tables
from .score import Scores, failures, one_budget, score, solve_rates

_README_FIGURES = 2  # the web page has them all


def write_report(
    records: Sequence[Record],
    out_dir: str | Path,
    *,
    title: str,
    reference_solvers: Collection[str] | None = None,
    about: Mapping[str, str],
    versus: str | None = None,
    per_simplex: bool = False,
) -> list[Path]:
    """Write everything there is to say about `records` into `out_dir`.

    Parameters
    ----------
    records : sequence of Record
    out_dir : path
        Created if needed. Gets ``README.md``, ``index.html``, ``tables/`` (Markdown,
        CSV, LaTeX) and ``figures/`` (SVG, PDF, PNG).
    title : str
    reference_solvers : collection of str, optional
        The solvers that define f_L; all in `records` by default.
    about : mapping of str to str
        Facts on the study, shown as a table at the top.
    versus : str, optional
        The solver every other is tested against; the one that solves most by default.
    per_simplex : bool
        Draw profiles against evaluations / (n + 1), as Moré and Wild (2009) do.

    Returns
    -------
    list of Path
        The files written, in order of name.
    """
    report = composed(
        records,
        title=title,
        reference_solvers=reference_solvers,
        about=about,
        versus=versus,
        per_simplex=per_simplex,
    )
    pictures = [_drawn(picture) for picture in report.pictures]
    contents: dict[str, str | bytes] = {
        "README.md": report.readme(),
        "index.html": page(title, report.facts, report.tables, pictures),
    }
    for table in report.tables:
        contents[f"tables/{table.name}.md"] = f"# {table.title}\n\n{_section(table)}"
        contents[f"tables/{table.name}.csv"] = table.csv()
        contents[f"tables/{table.name}.tex"] = table.latex()
    for picture in pictures:
        contents[f"figures/{picture.name}.svg"] = picture.svg
        contents[f"figures/{picture.name}.png"] = picture.png
        contents[f"figures/{picture.name}.pdf"] = picture.pdf
    return [_write(Path(out_dir) / name, contents[name]) for name in sorted(contents)]


@dataclass(frozen=True)
class Report:
    """All that is said and shown of some records; nothing is drawn yet."""

    title: str
    facts: Table
    tables: Sequence[Table]
    pictures: Sequence[Picture]

    def readme(self) -> str:
        """All tables on one Markdown page, the main figures by relative link.

        It links to nothing else, so that it can be kept without the other files.
        """
        parts = [f"# {self.title}\n", self.facts.markdown(), DEFINITION + "\n"]
        for picture in self.pictures[:_README_FIGURES]:
            parts.append(f"![{picture.caption}](figures/{picture.name}.svg)\n")
            parts.append(f"*{picture.caption}*\n")
        for table in self.tables:
            parts += [f"## {table.title}\n", _section(table)]
        return "\n".join(parts)


def composed(
    records: Sequence[Record],
    *,
    title: str,
    reference_solvers: Collection[str] | None = None,
    about: Mapping[str, str],
    versus: str | None = None,
    per_simplex: bool = False,
) -> Report:
    """What `write_report` writes, of the same arguments."""
    scores = one_budget(score(records, reference_solvers))
    referees = _referees(records, reference_solvers)
    return Report(
        title,
        _about_table({**about, **_targets(records)}, referees),
        build_tables(records, reference_solvers, versus),
        figures_of(scores, per_simplex=per_simplex),
    )


def summary_text(
    records: Sequence[Record], reference_solvers: Collection[str] | None = None
) -> str:
    """The solve rates for a terminal: Markdown, aligned in columns."""
    scores = one_budget(score(records, reference_solvers))
    table = tables.solve_rate_table(scores, plain=True)
    if table is None:
        text = f"No instance counts: {counted(scores)}\n"
    else:
        text = f"{table.title}\n{table.note}\n\n{table.markdown()}"
    return text + "".join(f"{line}\n" for line in failure_lines(records))


def failure_lines(records: Sequence[Record]) -> list[str]:
    """A sentence for each solver some of whose runs failed."""
    lines = []
    for solver, statuses in failures(records).items():
        failed = statuses["error"] + statuses["crash"]
        if failed:
            errors = [r.error for r in records if r.cell.solver == solver and r.error]
            lines.append(
                f"{solver}: {failed} of {statuses.total()} runs failed "
                f"({tables.commonest(errors)})"
            )
    return lines


def build_tables(
    records: Sequence[Record],
    reference_solvers: Collection[str] | None = None,
    versus: str | None = None,
) -> list[Table]:
    """All tables that have something to show.

    Ablation and curvature are comparisons of their own, so that instances which only
    those variants have run count there.
    """

    def among(solvers: Collection[str]) -> Scores:
        present = {record.cell.solver for record in records} & set(solvers)
        return score(records, reference_solvers, solvers=present)

    main = one_budget(score(records, reference_solvers))
    built = [
        *regret_tables(records),
        tables.overall_table(main),
        tables.solve_rate_table(main),
        tables.channel_table(main),
        *tables.channel_tables(main),
        tables.budget_table(main),
        tables.ablation_table(one_budget(among(published.VARIANTS))),
        tables.hessian_table(among(published.CURVATURES)),
        tables.parts_table(main, methods.DEFAULT),
        *returned_tables(main),
        tables.evaluations_table(main),
        tables.paired_table(main, versus or _leader(main)),
        tables.failure_table(records),
    ]
    return [table for table in built if table is not None]


def figures_of(scores: Scores, *, per_simplex: bool = False) -> list[Picture]:
    """All figures; none if no instance counts."""
    if not scores.instances:
        return []
    at, who = f"at τ={tolerance(TAU)}", _shown(scores)
    against = "evaluations / (n + 1)" if per_simplex else "evaluations"
    return [
        Picture(
            "data-profile",
            f"Instances solved against {against} {at}, all dimensions, channels and "
            "seeds pooled, by the best point queried so far; on the right, by the "
            f"point returned. {who}",
            partial(figures.data_profile_figure, scores, TAU, per_simplex=per_simplex),
        ),
        Picture(
            "solve-rate-by-tolerance",
            "Instances solved against the tolerance τ, all pooled: by the best point "
            f"queried, and by the point returned. {who}",
            partial(figures.tolerance_figure, scores),
        ),
        Picture(
            "data-profile-by-channel",
            f"Data profiles by channel {at}, by the best point queried. {who}",
            partial(figures.channel_figure, scores, TAU, per_simplex=per_simplex),
        ),
        Picture(
            "returned-by-channel-and-tolerance",
            "Instances solved by the point returned against the tolerance τ, by "
            f"channel. {who}",
            partial(figures.channel_tolerance_figure, scores),
        ),
    ]


def _shown(scores: Scores) -> str:
    """How to read the curves, and whether they are all."""
    text = "Bands: 95 % intervals (Wilson), instances taken as independent."
    count = len(drawn(scores))
    if count == len(scores.solvers):
        return text
    return f"{count} of {len(scores.solvers)} solvers; the tables have all. {text}"


def _section(table: Table) -> str:
    return f"{table.markdown()}\n{table.note}\n"


def _leader(scores: Scores) -> str:
    """The solver that solves most; of equals the first by name."""
    rates = dict(zip(scores.solvers, solve_rates(scores, TAU), strict=True))
    return max(rates, key=lambda solver: rates[solver]) if scores.instances else ""


def _targets(records: Sequence[Record]) -> dict[str, str]:
    """Where f_L is another than the page defines."""
    problems = {(record.cell.problem, record.cell.n) for record in records}
    if all(known_minimum(*problem) is None for problem in problems):
        return {}
    return {"f_L in boxes": "the least value in the box, whether or not it was found"}


def _referees(
    records: Sequence[Record], reference_solvers: Collection[str] | None
) -> list[str]:
    """The reference solvers that ran: no other had a say in f_L."""
    present = {record.cell.solver for record in records}
    return in_order(present & set(reference_solvers or present))


def _about_table(about: Mapping[str, str], referees: Sequence[str]) -> Table:
    rows = (*about.items(), ("reference solvers", ", ".join(referees)))
    columns = Column("fact", "about"), Column("value", "this study")
    return Table("about", "About this study", "", columns, rows)


def _drawn(picture: Picture) -> Drawn:
    """Draw into memory, leaving out all that differs from one run to the next."""
    from matplotlib import rc_context

    figure = picture.figure()

    undated = {"CreationDate": None, "Creator": None, "Producer": None}
    # Type 42: journals refuse the Type 3 fonts that are the default.
    with rc_context({"svg.hashsalt": picture.name, "pdf.fonttype": 42}):
        svg, png, pdf = BytesIO(), BytesIO(), BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
        figure.savefig(pdf, format="pdf", metadata=undated)
    return Drawn(
        picture.name,
        picture.caption,
        svg.getvalue().decode(),
        png.getvalue(),
        pdf.getvalue(),
    )


def _write(path: Path, content: str | bytes) -> Path:
    """Write bytes, so that line ends are the same on every system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output(path, content.encode() if isinstance(content, str) else content)
    return path
