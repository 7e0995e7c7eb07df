"""How a program's answer is read.

The last line that it prints, empty ones not counted, is the reading: a number, or a
JSON object with ``value`` and, if known, ``t`` and ``sigma``. Other keys are ignored,
so that a program may report more. In an object, numbers are those of JSON: no text, no
boolean, no NaN.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from . import _check
from .measurement import Measurement

LONGEST_LINE = 65536  # bytes; no reading is that long
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def parse_number(text: str) -> float:
    """A plain decimal number; Python's own reading would let ``1_0`` and ``nan`` pass.

    >>> parse_number(" -1.5e-3 ")
    -0.0015
    """
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError(f"{_shown(text.strip())} is not a number")
    return _check.finite("the number", float(text))


def parse_output(output: bytes) -> Measurement:
    r"""The reading that a program printed.

    Raises
    ------
    ValueError
        If the last non-empty line is not one; the error says what is wrong with it.

    Examples
    --------
    >>> parse_output(b"warming up\n1.25\n")
    Measurement(value=1.25, t=None, sigma=None)
    >>> parse_output(b'{"value": 3, "sigma": 0.5, "lamp": "on"}')
    Measurement(value=3.0, t=None, sigma=0.5)
    """
    lines = [line for line in output.splitlines() if line.strip()]
    if not lines:
        raise ValueError("the program printed nothing")
    if len(lines[-1]) > LONGEST_LINE:
        raise ValueError(f"the last line printed is longer than {LONGEST_LINE} bytes")
    try:
        line = lines[-1].decode("utf-8").strip()
    except UnicodeDecodeError:
        raise ValueError(
            f"the last line printed is no text: {lines[-1][:80]!r}"
        ) from None
    if line.startswith("{"):
        return _from_object(line)
    try:
        return Measurement(parse_number(line))
    except ValueError as error:
        raise ValueError(f"the last line printed: {error}") from None


def _from_object(line: str) -> Measurement:
    try:
        fields = json.loads(
            line, parse_constant=_no_constant, object_pairs_hook=_without_repeats
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the last line printed is no sound JSON: {error}") from None
    if "value" not in fields:
        raise ValueError("the JSON object printed has no 'value'")
    value, t, sigma = (_json_number(fields, key) for key in ("value", "t", "sigma"))
    if value is None:
        raise ValueError("'value' must be a number, but is null")
    return Measurement(
        value, t, None if sigma is None else _check.non_negative("'sigma'", sigma)
    )


def _json_number(fields: dict[str, Any], key: str) -> float | None:
    """A finite number; null and a missing key both say that it is not known."""
    raw = fields.get(key)
    if raw is None:
        return None
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        kind = _shown(raw) if isinstance(raw, str | bool) else type(raw).__name__
        raise ValueError(f"{key!r} must be a number, but is {kind}")
    try:
        return _check.finite(repr(key), float(raw))
    except OverflowError:
        raise ValueError(f"{key!r} is too large") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key occurs twice")
    return table


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
