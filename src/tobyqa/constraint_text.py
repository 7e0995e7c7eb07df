"""Linear constraints, and how they are written: read by a grammar, never evaluated.

constraint  =  sum relation sum [relation sum]         relation  =  <=  |  >=  |  ==
sum         =  product {(+ | -) product}
product     =  factor {(* | /) factor}
factor      =  number  |  name  |  (+ | -) factor  |  "(" sum ")"
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_LARGEST = 1e50  # as for coordinates
_FLIPPED = {"<=": ">=", ">=": "<=", "==": "=="}


@dataclass(frozen=True)
class Linear:
    """lower <= coefficients . x <= upper, in the user's variables."""

    coefficients: tuple[float, ...]
    lower: float
    upper: float

    def record(self) -> dict[str, Any]:
        """As a file has it; infinite limits are None."""
        return {
            "coefficients": list(self.coefficients),
            "lower": self.lower if math.isfinite(self.lower) else None,
            "upper": self.upper if math.isfinite(self.upper) else None,
        }

    @staticmethod
    def of_record(record: Mapping[str, Any]) -> Linear:
        lower, upper = record["lower"], record["upper"]
        return Linear(
            tuple(float(a) for a in record["coefficients"]),
            -math.inf if lower is None else float(lower),
            math.inf if upper is None else float(upper),
        )


def parse_constraint(text: str, names: Sequence[str]) -> Linear:
    """The linear constraint that a text states of the variables `names`.

    >>> parse_constraint("gap + 2*angle <= 3", ["gap", "angle"])
    Linear(coefficients=(1.0, 2.0), lower=-inf, upper=3.0)
    >>> parse_constraint("0 <= (gap - angle)/2 <= 1", ["gap", "angle"])
    Linear(coefficients=(0.5, -0.5), lower=0.0, upper=1.0)
    """
    if not isinstance(text, str):
        raise TypeError(f"a constraint must be a text, but is {text!r}")
    parser = _Parser(text, names)
    with np.errstate(all="ignore"):  # what overflows is found too large
        sides, relations = [parser.sum()], []
        while parser.next in _FLIPPED:
            relations.append(parser.take())
            sides.append(parser.sum())
    if parser.next:
        raise parser.error(f"{parser.next!r} is not expected")
    if len(relations) == 1:
        return _one_relation(parser, sides[0] - sides[1], relations[0])
    if len(relations) == 2:
        return _between(parser, sides, relations)
    raise parser.error("it must have one relation <=, >= or ==, or two of a kind")


def expression(coefficients: Any, names: Sequence[str]) -> str:
    """A linear expression as one would write it.

    >>> expression([1.0, 0.0, -2.5], ["gap", "tilt", "angle"])
    'gap - 2.5*angle'
    """
    text = ""
    for a, name in zip(coefficients, names, strict=True):
        if a != 0.0:
            size = "" if abs(a) == 1.0 else f"{abs(a):.6g}*"
            sign = ("-" if a < 0 else "") if not text else (" - " if a < 0 else " + ")
            text += f"{sign}{size}{name}"
    return text or "0"


def _one_relation(parser: _Parser, difference: Array, relation: str) -> Linear:
    """difference <= 0, >= 0 or == 0; the constant comes last."""
    coefficients, constant = difference[:-1], 0.0 - float(difference[-1])
    if not coefficients.any():
        raise parser.error("no variable is left in it")
    return Linear(
        tuple(coefficients.tolist()),
        -math.inf if relation == "<=" else constant,
        math.inf if relation == ">=" else constant,
    )


def _between(parser: _Parser, sides: list[Array], relations: list[str]) -> Linear:
    """A sum between two numbers."""
    ends_are_numbers = not (sides[0][:-1].any() or sides[2][:-1].any())
    if relations[0] != relations[1] or relations[0] == "==" or not ends_are_numbers:
        raise parser.error(
            "two relations must be both <= or both >=, between two numbers"
        )
    first = _one_relation(parser, sides[1] - sides[0], _FLIPPED[relations[0]])
    second = _one_relation(parser, sides[1] - sides[2], relations[1])
    lower, upper = max(first.lower, second.lower), min(first.upper, second.upper)
    if lower > upper:
        raise parser.error(f"there is no number between {lower:g} and {upper:g}")
    return Linear(first.coefficients, lower, upper)


class _Parser:
    """Reads a text from left to right; sums are coefficients, the constant last."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self._text, self._names = text, list(names)
        # The longest name first, so that `gap2` is not read as `gap` and 2.
        known = "|".join(re.escape(n) for n in sorted(names, key=len, reverse=True))
        pattern = rf"\s*((?:{known})(?!\w)|{_NUMBER}|[^\W\d]\w*|<=|>=|==|\S)"
        self._tokens: list[str] = [*re.findall(pattern, text), ""]

    def error(self, reason: str) -> ValueError:
        names = ", ".join(self._names)
        return ValueError(
            f"constraint {self._text!r}: {reason}; it must be linear, such as "
            f"'a + 2*b <= 3' or '0 <= a - b <= 2', in the variables {names}"
        )

    @property
    def next(self) -> str:
        """The token to come, empty at the end."""
        return self._tokens[0]

    def take(self) -> str:
        return self._tokens.pop(0)

    def sum(self) -> Array:
        total = self._product()
        while self.next in ("+", "-"):
            sign = 1.0 if self.take() == "+" else -1.0
            total = total + sign * self._product()
        if not np.abs(total).max() <= _LARGEST:
            raise self.error(f"a number in it is too large, more than {_LARGEST:g}")
        return total

    def _product(self) -> Array:
        product = self._factor()
        while self.next in ("*", "/"):
            operator, factor = self.take(), self._factor()
            if operator == "/":
                if factor[:-1].any() or factor[-1] == 0.0:
                    raise self.error("one can divide by numbers only, and not by 0")
                product = product / factor[-1]
            elif factor[:-1].any() and product[:-1].any():
                raise self.error("two variables are multiplied")
            else:
                number, terms = (
                    (product[-1], factor)
                    if factor[:-1].any()
                    else (factor[-1], product)
                )
                product = number * terms
        return product

    def _factor(self) -> Array:
        token = self.take()
        if token in ("+", "-"):
            return self._factor() * (1.0 if token == "+" else -1.0)
        if token == "(":
            inner = self.sum()
            if self.take() != ")":
                raise self.error("a parenthesis is not closed")
            return inner
        terms = np.zeros(len(self._names) + 1)
        if token in self._names:
            terms[self._names.index(token)] = 1.0
        elif re.fullmatch(_NUMBER, token) and float(token) <= _LARGEST:
            terms[-1] = float(token)
        elif re.fullmatch(_NUMBER, token):
            raise self.error(f"{token} is too large, more than {_LARGEST:g}")
        elif re.fullmatch(r"[^\W\d]\w*", token):
            raise self.error(f"{token!r} is not one of the variables")
        else:
            what = repr(token) if token else "the end"
            raise self.error(f"a number or a variable is expected instead of {what}")
        return terms
