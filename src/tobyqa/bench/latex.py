"""LaTeX for a table's rows: escaping, headings over groups, small second rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# The signs our tables use that pdfTeX has no letter for, besides TeX's own.
_SIGNS = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "#": r"\#",
        "$": r"\$",
        "%": r"\%",
        "&": r"\&",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "−": r"$-$",
        "–": "--",
        "…": r"\dots{}",
        "×": r"$\times$",
        "≤": r"$\le$",
        "τ": r"$\tau$",
    }
)

# Opens a group that is scaled down, never up, to the width of the line.
SHRINK_TO_FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def escape(text: str) -> str:
    r"""Text as LaTeX prints it.

    Examples
    --------
    >>> print(escape("τ=1e-3: 50 % of a_b"))
    $\tau$=1e-3: 50 \% of a\_b
    """
    return text.translate(_SIGNS)


def row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def main_cell(own: str, leads: bool) -> str:
    return rf"\textbf{{{escape(own)}}}" if leads else escape(own)


def aside_cell(aside: str) -> str:
    return rf"{{\scriptsize {escape(aside)}}}" if aside else ""


def group_heads(spans: Sequence[tuple[str, int]]) -> list[str]:
    """A line of headings over groups of columns, and the rules below them."""
    if not any(group for group, _ in spans):
        return []
    heads, rules, first = [], [], 1
    for group, span in spans:
        heads.append(rf"\multicolumn{{{span}}}{{c}}{{{escape(group)}}}")
        if group:
            rules.append(rf"\cmidrule(lr){{{first}-{first + span - 1}}}")
        first += span
    return [row(heads), "".join(rules)]
