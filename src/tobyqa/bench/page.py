"""The report as one web page that needs no other file, no server and no script."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from .layout import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFINITION = (
    "An instance is a problem seen through a channel with one noise seed. A solver "
    "solves it at tolerance τ if the noise-free value f of some point it queried is "
    "at most f_L + τ (f(x0) − f_L), where f_L is the lowest such value that any "
    "reference solver found."
)

_STYLE = """\
:root { color-scheme: light; }
body {
  max-width: 84rem; margin: 2.5rem auto; padding: 0 1.25rem;
  font: 1rem/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  color: #1c1e21; background: #fff;
}
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 1.25rem; }
h2 { font-size: 1.2rem; margin: 0 0 .6rem; }
p { max-width: 46rem; color: #444; }
section { margin: 2.75rem 0; }
section p { font-size: .9rem; }
figure { margin: 2.25rem 0; }
figure svg { display: block; max-width: 100%; height: auto; }
figcaption { color: #444; font-size: .9rem; margin-top: .4rem; }
nav { margin: 2.25rem 0; }
nav ul { columns: 2 22rem; padding-left: 1.1rem; margin: 0; }
a { color: #005a8c; }
.wide { overflow-x: auto; }
table {
  border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums;
  border-top: 2px solid #1c1e21; border-bottom: 2px solid #1c1e21;
}
th, td { padding: .3rem .5rem; text-align: right; vertical-align: top; }
th { font-weight: 600; vertical-align: bottom; }
th[colspan] { text-align: center; }
.text { text-align: left; }
td.text { max-width: 17rem; overflow-wrap: anywhere; }
.dense-0 td.text { white-space: nowrap; }
.dense-1 { font-size: .8rem; }
.dense-2 { font-size: .7rem; }
.dense-1 th, .dense-1 td { padding: .25rem .3rem; }
.dense-2 th, .dense-2 td { padding: .2rem .2rem; }
.dense-1 small, .dense-2 small { font-size: .65rem; white-space: normal; }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; }
.facts td.text { white-space: normal; max-width: 60rem; }
thead tr:last-child th { border-bottom: 1px solid #1c1e21; }
tbody tr + tr td { border-top: 1px solid #e6e6e6; }
tbody tr:hover td { background: #f4f8fb; }
small {
  display: block; color: #666; font-size: .75rem; line-height: 1.25;
  white-space: nowrap;
}
@media print { body { margin: 0; max-width: none; } section { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Picture:
    """A figure, which takes seconds to draw and a moment to speak of."""

    name: str
    caption: str
    figure: Callable[[], Figure]


@dataclass(frozen=True)
class Drawn:
    """A drawn figure, ready to be written."""

    name: str
    caption: str
    svg: str
    png: bytes
    pdf: bytes


def page(
    title: str, facts: Table, results: Sequence[Table], pictures: Sequence[Drawn]
) -> str:
    """Facts, figures and tables as a complete HTML document."""
    links = [
        f'<li><a href="#{table.name}">{escape(table.title)}</a></li>'
        for table in results
    ]
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<div class="wide facts">\n{facts.html()}</div>',
        f"<p>{escape(DEFINITION)}</p>",
        *map(_figure, pictures),
        "<nav>\n<ul>\n" + "\n".join(links) + "\n</ul>\n</nav>",
        *map(_section, results),
    ]
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{_STYLE}</style>",
    ]
    inner = "\n".join(["<head>", *head, "</head>", "<body>", *body, "</body>"])
    return f'<!DOCTYPE html>\n<html lang="en">\n{inner}\n</html>\n'


def _section(table: Table) -> str:
    return (
        f'<section id="{table.name}">\n<h2>{escape(table.title)}</h2>\n'
        f'<div class="wide">\n{table.html()}</div>\n'
        f"<p>{escape(table.note)}</p>\n</section>"
    )


def _figure(picture: Drawn) -> str:
    """The figure's own SVG, with names that no other figure on the page has."""
    svg = picture.svg[picture.svg.index("<svg") :].rstrip()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{picture.name}-", svg)
    label = escape(picture.caption, quote=True)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    caption = f"<figcaption>{escape(picture.caption)}</figcaption>"
    return f"<figure>\n{svg}\n{caption}\n</figure>"
