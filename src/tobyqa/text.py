r"""Texts that others wrote, made safe where they are shown.

A program's output, reasons of failures and names may hold anything: escape sequences
that move a terminal's cursor, marks that turn the direction of writing, halves of
characters that no file can hold.
"""

from __future__ import annotations

import re

_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
# Control characters but tab and line feed, marks of direction, line separators, what
# is no character (surrogates) and what XML forbids.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    r"\ud800-\udfff\ufffe\uffff]"
)

# The last four are the wide forms of the first, which some spreadsheets take as well.
_BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠")


def printable(text: str) -> str:
    r"""Text that a terminal, a page or a picture can show; it may have several lines.

    >>> printable("\x1b[31mbeam lost\x1b[0m\x07"), printable("20 °C, \udc80")
    ('beam lost\\x07', '20 °C, \\udc80')
    """
    return _UNSAFE.sub(_escaped, _COLOUR.sub("", text))


def one_line(text: str) -> str:
    r"""Printable text with single blanks between its words.

    >>> one_line("beam\n  lost ")
    'beam lost'
    """
    return printable(" ".join(text.split()))


def check_label(name: str, value: str) -> None:
    """A name or a unit must be printable and in one line, or ValueError is raised."""
    if printable(value) != value or re.search(r"[\t\n]", value):
        raise ValueError(
            f"{name} must hold no control characters and nothing else that cannot be "
            f"shown, but one is {value!r}"
        )


def as_cell(text: str) -> str:
    """Text as a cell of a table that no spreadsheet takes for a formula.

    An apostrophe goes before what could be one, and before an apostrophe.

    >>> as_cell("=1+1"), as_cell("gap"), from_cell(as_cell("'gap"))
    ("'=1+1", 'gap', "'gap")
    """
    return f"'{text}" if text.startswith(_BEGINS_FORMULA) else text


def from_cell(cell: str) -> str:
    """What `as_cell` was given."""
    return cell[1:] if cell.startswith("'") and as_cell(cell[1:]) == cell else cell


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode("ascii")
