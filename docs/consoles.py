"""Run the console blocks of the pages and compare what they print.

    python docs/consoles.py [PAGE ...]           exit with 1 if a page is not right
    python docs/consoles.py --write [PAGE ...]   put what was printed into the pages

A page's blocks are run in order, in one empty folder with a copy of ``examples/``.
Lines that begin with ``$`` are commands, those below them what they print; a command
with nothing below may print anything. Words have to agree, numbers but for 2 % and
their last digit; a line ``...`` stands for any lines. A code block with a caption is a
file of that name. ``<!-- not run: REASON -->`` before a block says that it is only
shown, ``<!-- needs: MODULE, MODULE -->`` that it is run where these can be imported,
``<!-- numbers vary: REASON -->`` that only words have to agree.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tobyqa import cli

HERE = Path(__file__).parent
ROOT = HERE.parent
# Notes on results say what was run for hours, once.
NOTES = sorted(HERE.glob("results/**/NOTES.md"))
PAGES = [ROOT / "README.md", *sorted({*HERE.rglob("*.md")} - {*NOTES})]

BLOCK = re.compile(
    r"(?:<!-- (?P<mark>not run|needs|numbers vary): (?P<reason>[^\n]+) -->\n+)?"
    r"^```(?P<kind>console|\{code-block\} \w+)\n(?::caption: (?P<name>\S+)\n+)?"
    r"(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
COMMAND = re.compile(r"^\$ (?P<command>(?:[^\n]*\\\n)*[^\n]*)\n?", re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
TOLERANCE = 0.02
LIMIT = 120  # seconds for a command


@dataclass(frozen=True)
class Step:
    """A command of a page and what it says that it prints."""

    command: str
    shown: str
    place: tuple[int, int]  # of what it prints, in the text of the page
    numbers_vary: bool

    def agrees(self, real: str) -> bool:
        """Whether the page shows what was printed."""
        pairs = paired(self.shown, real)
        return pairs is not None and (
            self.numbers_vary or all(_is_near(*pair) for pair in pairs)
        )


def steps(text: str) -> Iterator[Step | tuple[str, str]]:
    """The commands of a page, and its files as name and contents."""
    for block in BLOCK.finditer(text):
        if not _can_run(block["mark"], block["reason"]):
            continue
        if block["name"]:
            yield block["name"], block["text"]
        elif block["kind"] == "console":
            varying = block["mark"] == "numbers vary"
            yield from _commands(text, *block.span("text"), varying)


def _can_run(mark: str | None, reason: str) -> bool:
    """Whether a block can run here: if all modules that it needs are there."""
    if mark == "needs":
        return all(map(_is_there, reason.split(", ")))
    return mark != "not run"


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _commands(text: str, begin: int, end: int, varying: bool) -> Iterator[Step]:
    """The commands within a block."""
    found = list(COMMAND.finditer(text, begin, end))
    stops = [*(command.start() for command in found[1:]), end]
    for command, stop in zip(found, stops, strict=True):
        place = command.end(), stop
        yield Step(command["command"], text[slice(*place)], place, varying)


def printed(command: str, folder: Path) -> str:
    """What a command prints; RuntimeError if it fails."""
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    is_ours = words[0] == "tobyqa" and "--" not in words
    code, out, err = _called(words[1:], folder) if is_ours else _run(command, folder)
    if code:
        raise RuntimeError(f"{command}\nended with {code}: {err}")
    return out


def _called(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    """Our own command, in this process, which saves half a second each time."""
    before, out, err = Path.cwd(), io.StringIO(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main(arguments)
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        os.chdir(before)
    return code, out.getvalue(), err.getvalue()


def _run(command: str, folder: Path) -> tuple[int, str, str]:
    """Any command, by the shell."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def paired(shown: str, real: str) -> list[tuple[str, str]] | None:
    """Numbers shown, and those in their places; None if the words differ."""
    parts = re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)
    pattern = r"[\s\S]*?".join(
        r"\s+".join(_pattern(word) for word in part.split()) + r"\s*" for part in parts
    )
    found = re.fullmatch(r"\s*" + pattern, real)
    if found is None:
        return None
    return list(zip(NUMBER.findall(shown), found.groups(), strict=True))


def _pattern(word: str) -> str:
    """A word with a group for each of its numbers."""
    return f"({NUMBER.pattern})".join(re.escape(part) for part in NUMBER.split(word))


def _is_near(shown: str, real: str) -> bool:
    """Whether two numbers are the same as far as a page can promise."""
    if shown.isdigit():
        return shown == real
    mantissa, _, power = shown.partition("e")
    digit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    a, b = float(shown), float(real)
    return abs(a - b) <= max(TOLERANCE * max(a, b), 1.01 * digit)


def differences(page: Path) -> list[tuple[Step, str]]:
    """Run a page; the commands that print something else, and what."""
    text, wrong = page.read_text(encoding="utf-8"), []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shutil.copytree(ROOT / "examples", folder / "examples")
        for step in steps(text):
            if isinstance(step, tuple):
                (folder / step[0]).write_text(step[1], encoding="utf-8")
                continue
            real = printed(step.command, folder)
            if step.shown.strip() and not step.agrees(real):
                wrong.append((step, real))
    return wrong


def write(page: Path, wrong: list[tuple[Step, str]]) -> None:
    """Put what was printed in the place of what was shown."""
    text = page.read_text(encoding="utf-8")
    for step, real in reversed(wrong):
        begin, end = step.place
        text = f"{text[:begin]}{real.rstrip()}\n{text[end:]}"
    page.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Check or write the pages that are named, or all."""
    named = [Path(name).resolve() for name in arguments if name != "--write"]
    outdated = 0
    for page in named or PAGES:
        wrong = differences(page)
        for step, real in wrong:
            print(f"{page.relative_to(ROOT)}: $ {step.command}\n{real}")
        if "--write" in arguments:
            write(page, wrong)
        outdated += len(wrong)
    return int(outdated > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
