"""Any program as an instrument: how it gets the point; `protocol` reads its answer.

The program is started anew for every trial, without a shell. It gets the point

- on standard input, as one JSON object of names and values;
- in the environment: ``TOBYQA_X`` (all values, a JSON list), ``TOBYQA_INDEX`` (the
  trial's number) and ``TOBYQA_<NAME>`` for each variable
  and, of several that run at the same time, ``TOBYQA_SLOT``: 0, 1, ...;
- in its arguments, where they hold ``{x}``, ``{index}`` or ``{name of a variable}``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .books import Trial
from .child import WINDOW, Ending, Job, Leash, run_plainly
from .journal import JournalError
from .measurement import Measurement
from .protocol import LONGEST_LINE, parse_output
from .running import Notes
from .supervised import run_supervised

SLOT = "TOBYQA_SLOT"
_TAIL = 500  # characters of standard error that a failure's record keeps


class ProgramError(Exception):
    """A trial that gave no reading; the text says why."""


def variable_of(name: str) -> str:
    """The environment variable that holds a variable's value.

    >>> variable_of("lens gap")
    'TOBYQA_LENS_GAP'
    """
    return "TOBYQA_" + re.sub(r"[^A-Z0-9]", "_", name.upper())


@dataclass(frozen=True)
class Program:
    """A command that measures; checked when it is made, started by `measure`."""

    command: tuple[str, ...]
    names: tuple[str, ...]
    timeout: float | None = None  # seconds
    max_output: float = 64.0  # MiB
    stderr_lines: int = 3  # of standard error that the record of a failure keeps
    notes: Notes | None = None  # where it is remembered while it runs
    leash: Leash | None = None  # by which another thread can end it
    has_slots: bool = False  # several run at the same time

    def __post_init__(self) -> None:
        if not self.command:
            raise ValueError("no program is given; it goes after --")
        if shutil.which(self.command[0]) is None:
            raise ValueError(f"cannot find the program {self.command[0]!r}")
        seen = {"TOBYQA_X": "the whole point", "TOBYQA_INDEX": "the trial's number"}
        if self.has_slots:
            seen[SLOT] = "the number of its slot"
        for name in self.names:
            variable = variable_of(name)
            if variable in seen:
                raise ValueError(
                    f"a variable cannot be called {name!r} here: {variable} is "
                    f"{seen[variable]} already"
                )
            seen[variable] = f"the variable {name!r}"
        for argument in self.command:
            _check_placeholders(argument, ("x", "index", *self.names))

    def measure(self, trial: Trial, slot: int | None = None) -> Measurement:
        """Start the program at a trial's point and wait for its reading.

        `slot`: which of those that run at the same time it is, from 0.

        Raises
        ------
        ProgramError
            If it gives none. Whatever interrupts the wait, the program is ended.
        JournalError
            If it cannot be noted beside the journal that it runs.
        """
        run = run_supervised if os.name == "posix" else run_plainly
        try:
            ending = run(self._job(trial, slot))
        except JournalError:
            raise
        except OSError as error:
            raise ProgramError(f"cannot be started: {error}") from None
        try:
            if ending.why:
                raise ProgramError(ending.why)
            if ending.code != 0:
                raise ProgramError(_ending(ending.code))
            return parse_output(_whole_lines(ending.out))
        except (ProgramError, ValueError) as error:
            complaint = self._complaint(ending)
            detail = f"; standard error: {complaint}" if complaint else ""
            raise ProgramError(f"{error}{detail}") from None

    def _job(self, trial: Trial, slot: int | None) -> Job:
        values = [float(v) for v in trial.x]
        texts = self._texts(trial)
        point = dict(zip(self.names, values, strict=True))
        return Job(
            command=[_filled(argument, texts) for argument in self.command],
            environment={
                **os.environ,
                **{variable_of(k): text for k, text in texts.items()},
                **({} if slot is None else {SLOT: str(slot)}),
            },
            stdin=json.dumps(point).encode() + b"\n",
            timeout=self.timeout,
            max_output=self.max_output,
            notes=self.notes.of_slot(slot) if self.notes and slot else self.notes,
            leash=self.leash,
        )

    def _texts(self, trial: Trial) -> dict[str, str]:
        """What the placeholders stand for."""
        values = [float(v) for v in trial.x]
        named = {n: repr(v) for n, v in zip(self.names, values, strict=True)}
        return {"x": json.dumps(values), "index": str(trial.id), **named}

    def _complaint(self, ending: Ending) -> str:
        """The end of standard error; no more of it, since secrets may be in it."""
        text = ending.err.decode("utf-8", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return "\n".join(lines[max(0, len(lines) - self.stderr_lines) :])[-_TAIL:]


def _check_placeholders(argument: str, allowed: Sequence[str]) -> None:
    for match in _placeholders(allowed).finditer(argument):
        if match["unknown"]:
            raise ValueError(
                f"{match[0]} in the program's arguments names no variable; there are "
                f"{', '.join(allowed)} (for these braces as they are: {{{match[0]}}})"
            )


def _filled(argument: str, texts: dict[str, str]) -> str:
    """An argument with its placeholders replaced; doubled braces become single ones.

    >>> _filled("--gap={gap} {{gap}} ${gap} {print $1}", {"gap": "0.5"})
    '--gap=0.5 {gap} ${gap} {print $1}'
    """

    def text(match: re.Match[str]) -> str:
        if match["known"]:
            return texts[match["known"]]
        return match[0][1:-1] if match["doubled"] else match[0]

    return _placeholders(tuple(texts)).sub(text, argument)


def _placeholders(names: Sequence[str]) -> re.Pattern[str]:
    """Braces around a name; those of a shell's ``${name}`` and any others are text."""
    known = "|".join(map(re.escape, names))
    return re.compile(
        r"\$\{\w+\}"
        rf"|\{{\{{(?P<doubled>{known}|\w+)\}}\}}"
        rf"|\{{(?:(?P<known>{known})|(?P<unknown>[^\W\d]\w*))\}}"
    )


def _whole_lines(output: bytes) -> bytes:
    """What is kept of a long output, from a line's beginning on."""
    if len(output) < WINDOW:
        return output
    cut, _, rest = output.partition(b"\n")
    # A line too long for the window is handed on, so that it is named as such.
    return output if len(cut) > LONGEST_LINE and not rest.strip() else rest


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"


def command_of(value: Any) -> tuple[str, ...]:
    """A program and its arguments, from a list of texts."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or not all(isinstance(part, str) for part in value):
        raise TypeError(f"program must be a list of texts, but is {value!r}")
    if any("\0" in part for part in value):
        raise ValueError(f"program must hold no NUL characters, but is {value!r}")
    return tuple(value)
