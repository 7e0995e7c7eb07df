"""Any program as an instrument: how it gets the point, and how its answer is read.

The program is started anew for every trial, without a shell. It gets the point

- on standard input, as one JSON object of names and values;
- in the environment: ``TOBYQA_X`` (all values, a JSON list), ``TOBYQA_INDEX`` (the
  trial's number) and ``TOBYQA_<NAME>`` for each variable;
- in its arguments, where they hold ``{x}``, ``{index}`` or ``{name of a variable}``.

The last line that it prints, empty ones not counted, is the reading: a number, or a
JSON object with ``value`` and, if known, ``t`` and ``sigma``. Other keys are ignored,
so that a program may report more. In an object, numbers are those of JSON: no text, no
boolean, no NaN.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import IO, Any, NoReturn

from . import _check
from .books import Trial
from .minimize import Measurement

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LONGEST_LINE = 65536  # bytes; no reading is that long
_TAIL = 500  # characters of standard error that a failure's record keeps
_GRACE = 2.0  # seconds between asking a program to end and killing it


class ProgramError(Exception):
    """A trial that gave no reading; the text says why."""


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
    if len(lines[-1]) > _LONGEST_LINE:
        raise ValueError(f"the last line printed is longer than {_LONGEST_LINE} bytes")
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

    def __post_init__(self) -> None:
        if not self.command:
            raise ValueError("no program is given; it goes after --")
        if shutil.which(self.command[0]) is None:
            raise ValueError(f"cannot find the program {self.command[0]!r}")
        seen = {"TOBYQA_X": "the whole point", "TOBYQA_INDEX": "the trial's number"}
        for name in self.names:
            variable = variable_of(name)
            if variable in seen:
                raise ValueError(
                    f"a variable cannot be called {name!r} here: {variable} is "
                    f"{seen[variable]} already"
                )
            seen[variable] = f"the variable {name!r}"

    def measure(self, trial: Trial) -> Measurement:
        """Start the program at a trial's point and wait for its reading.

        Raises
        ------
        ProgramError
            If it gives none. Whatever interrupts the wait, the program is ended first.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self._run(trial, out, err)
            try:
                if code is None:
                    raise ProgramError(f"not ended after {self.timeout:g} s")
                if code != 0:
                    raise ProgramError(_ending(code))
                return parse_output(_tail(out))
            except (ProgramError, ValueError) as error:
                complaint = _tail(err).decode("utf-8", "replace").strip()[-_TAIL:]
                detail = f"; standard error: {complaint}" if complaint else ""
                raise ProgramError(f"{error}{detail}") from None

    def _run(self, trial: Trial, out: IO[bytes], err: IO[bytes]) -> int | None:
        """The exit code; None after a time-out.

        Files and not pipes: what the program leaves running may hold a pipe open.
        """
        values = [float(v) for v in trial.x]
        environment, texts = self._environment(trial), self._texts(trial)
        command = [_filled(argument, texts) for argument in self.command]
        with contextlib.ExitStack() as at_last:
            with _interrupts_held(), tempfile.TemporaryFile() as point:
                named = dict(zip(self.names, values, strict=True))
                point.write(json.dumps(named).encode() + b"\n")
                point.seek(0)
                try:
                    process = subprocess.Popen(
                        command,
                        stdin=point,
                        stdout=out,
                        stderr=err,
                        env=environment,
                        start_new_session=True,
                    )
                except OSError as error:
                    raise ProgramError(f"cannot be started: {error}") from None
                at_last.enter_context(_ended_at_last(process))
            try:
                return process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                return None

    def _texts(self, trial: Trial) -> dict[str, str]:
        """What the placeholders stand for."""
        values = [float(v) for v in trial.x]
        named = {n: repr(v) for n, v in zip(self.names, values, strict=True)}
        return {"x": json.dumps(values), "index": str(trial.id), **named}

    def _environment(self, trial: Trial) -> dict[str, str]:
        texts = self._texts(trial)
        return {**os.environ, **{variable_of(k): text for k, text in texts.items()}}


def _filled(argument: str, texts: dict[str, str]) -> str:
    """An argument with its placeholders replaced; other braces are left alone."""
    names = "|".join(map(re.escape, texts))
    return re.sub(rf"\{{({names})\}}", lambda match: texts[match[1]], argument)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits until the end of this.

    A program that is started while one arrives would otherwise be left running, since
    nobody knows of it yet. Only the main thread is ever interrupted.
    """
    handler = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not (in_main_thread and callable(handler)):
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *arrived: held.append(arrived))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            handler(*held[0])


@contextlib.contextmanager
def _ended_at_last(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End a program that still runs, with all that it has started."""
    try:
        yield
    finally:
        if process.poll() is None:
            _signal_group(process, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            if os.name == "posix":
                _signal_group(process, signal.SIGKILL)
            else:
                process.kill()
            process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    if os.name != "posix":
        process.send_signal(number)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _tail(file: IO[bytes]) -> bytes:
    """The end of a file, from a line's beginning on if it is long."""
    window = 2 * _LONGEST_LINE
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - window))
    data = file.read()
    if size <= window:
        return data
    cut, _, rest = data.partition(b"\n")
    # A line too long for the window is handed on, so that it is named as such.
    return data if len(cut) > _LONGEST_LINE and not rest.strip() else rest


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
    return tuple(value)
