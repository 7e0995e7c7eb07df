"""What others wrote, a program or a file, is shown and kept without harm."""

from __future__ import annotations

import base64
import contextlib
import csv
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_cli_run import TOBYQA
from tobyqa import Optimizer
from tobyqa.cli import main
from tobyqa.datafile import RESERVED, read_readings, write_readings
from tobyqa.text import as_cell, check_label, from_cell, one_line, printable

# A title, a cleared screen, a colour, a bell, a direction of writing.
EVIL = "\x1b]0;owned\x07 \x1b[2J\x1b[31mlost\x1b[0m \u202egap\r\x9b2J"
FORMULA = '=HYPERLINK("http://evil","x")'
CONTROL = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae")
# Halves of characters too, which hypothesis leaves out of its own accord.
ANYTHING = st.characters(exclude_categories=[]) | st.sampled_from("\x1b[m\t\n=@")
ANY_TEXT = st.text(ANYTHING)


@dataclass(frozen=True)
class Done:
    """What a command has printed, on both channels."""

    returncode: int
    stdout: bytes
    stderr: bytes


def tobyqa(*arguments):
    """A command with channels as strict as those of a process of its own."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", "strict", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*map(str, arguments)])
    err.flush()
    return Done(code, out.buffer.getvalue(), err.buffer.getvalue())


@given(ANY_TEXT)
def test_printable_text_has_nothing_that_a_terminal_obeys(text):
    shown = printable(text)
    assert not CONTROL.search(shown.replace("\t", " ").encode("utf-8"))
    assert printable(shown) == shown
    assert one_line(text) == printable(" ".join(text.split()))


@given(st.text(alphabet=st.characters(categories=["L", "M", "N", "P", "S", "Zs"])))
def test_ordinary_text_is_shown_as_it_is(text):
    assert printable(text) == text
    check_label("names", text)


def test_no_escape_sequence_of_a_program_reaches_the_terminal(tmp_path):
    script, path = tmp_path / "evil.py", tmp_path / "run.jsonl"
    script.write_text(f"import sys; print({EVIL!r}); sys.exit({EVIL!r})")
    run = ["run", "--x0", "0", "--max-failures", "2", "--journal", path]
    program = ["--", sys.executable, script]
    results = [subprocess.run([*TOBYQA, *run, *program], capture_output=True)]
    assert results[0].returncode == 1
    for command in (["status"], ["export"], ["undo"], ["fail", "--reason", EVIL]):
        results.append(tobyqa(command[0], path, *command[1:]))
    assert b"lost" in results[1].stdout
    for done in results:
        assert b"Traceback" not in done.stderr
        assert not CONTROL.search(done.stdout + done.stderr)


def test_on_a_terminal_only_our_own_line_is_rewritten(tmp_path):
    script = tmp_path / "evil.py"
    script.write_text(f"import sys; sys.exit({EVIL!r})")
    master, slave = os.openpty()
    process = subprocess.Popen(
        [*TOBYQA, "run", "--x0", "0", "--maxfev", "3", "--", sys.executable, script],
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    seen = b""
    with open(master, "rb", buffering=0) as terminal:
        while True:
            try:
                piece = terminal.read(4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
    assert process.wait() == 1
    assert seen.count(b"lost") >= 3
    assert not CONTROL.search(seen.replace(b"\r\x1b[K", b"").replace(b"\r\n", b"\n"))


def test_names_of_older_files_are_harmless_everywhere(tmp_path):
    pytest.importorskip("matplotlib")
    path, page = tmp_path / "run.jsonl", tmp_path / "report.html"
    names, units = [EVIL, "\udc80half"], ["\x00", FORMULA]
    with Optimizer([0.0, 1.0], names=names, units=units, journal=path, rng=0) as opt:
        for k in range(12):
            opt.tell(opt.ask(), float(k % 5))
        opt.tell_failed(opt.ask(), EVIL)
        opt.ask()
    for command in ("status", "ask", "export"):
        done = tobyqa(command, path)
        assert done.returncode == 0, done.stderr
        assert not CONTROL.search(done.stdout + done.stderr)
    assert main(["report", str(path), "-o", str(page)]) == 0
    html = page.read_bytes()
    assert not CONTROL.search(html)
    pictures = re.findall(rb"data:image/svg\+xml;base64,([\w+/=]+)", html)
    assert len(pictures) == 2
    for picture in pictures:
        assert not CONTROL.search(base64.b64decode(picture))
        ElementTree.fromstring(base64.b64decode(picture))
    assert main(["plot", str(path), "-o", str(tmp_path / "run.svg")]) == 0
    ElementTree.parse(tmp_path / "run.svg")


@pytest.mark.parametrize(
    "label", ["a\x1b[1m", "a\nb", "a\tb", "\udc80", "\u202ea", "\x7f"]
)
@pytest.mark.parametrize("flag", ["--name", "--unit"])
def test_names_that_cannot_be_shown_are_refused(tmp_path, capsys, flag, label):
    path = tmp_path / "run.jsonl"
    assert main(["init", str(path), "--x0", "0", flag, label]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"tobyqa: {flag[2:]}s must hold no control characters")
    assert ascii(label)[1:-1] in err.replace("\\\\", "\\")
    assert not path.exists()


# Tables ------------------------------------------------------------------------------

NAMES = st.text(
    st.sampled_from("=+-@'＝ab, \"\u00b5") | st.characters(categories=["L", "N", "P"]),
    min_size=1,
).filter(lambda name: name == name.strip() and name not in RESERVED)


@given(ANY_TEXT)
def test_no_cell_is_a_formula_and_all_come_back(text):
    cell = as_cell(text)
    assert cell == "" or cell[0] not in "=+-@\t\r\n＝＋－＠"
    assert from_cell(cell) == text


@given(st.lists(NAMES, min_size=1, max_size=3, unique=True), ANY_TEXT)
def test_tables_are_harmless_and_come_back_unchanged(tmp_path_factory, names, reason):
    opt = Optimizer([-0.5] * len(names), names=names)
    opt.tell(opt.ask(), -1.5)
    opt.tell_failed(opt.ask(), reason)
    file = io.StringIO(newline="")
    write_readings(opt, file)
    head, row, failed = csv.reader(io.StringIO(file.getvalue(), newline=""))
    for cell in (*head, failed[-1]):
        assert cell == "" or cell[0] not in "=+-@\t\r＝＋－＠"
    assert row[0] == "-0.5"  # a number is one
    path = tmp_path_factory.mktemp("table") / "run.csv"
    path.write_text(file.getvalue(), encoding="utf-8", newline="")
    back = read_readings(str(path), None, times_needed=True)
    assert list(back.names) == names
    assert (back.x == -0.5).all()
    assert list(back.value) == [-1.5]


def test_a_formula_as_a_name_goes_round(tmp_path):
    path, table = tmp_path / "run.jsonl", tmp_path / "run.csv"
    flags = ["--x0", "0,0", "--name", FORMULA, "--name", "@b"]
    assert main(["init", str(path), *flags]) == 0
    assert main(["ask", str(path)]) == 0
    assert main(["tell", str(path), "1"]) == 0
    assert main(["ask", str(path)]) == 0
    assert main(["fail", str(path), "--reason", "+1+cmd|' /C calc'!A0"]) == 0
    assert main(["export", str(path), "-o", str(table)]) == 0
    head, _, failed = csv.reader(table.read_text().splitlines())
    assert head[:2] == [f"'{FORMULA}", "'@b"]
    assert failed[-1] == "'+1+cmd|' /C calc'!A0"
    again = tmp_path / "again.jsonl"
    assert main(["init", str(again), "--data", str(table)]) == 0
    assert Optimizer.load(again).names == [FORMULA, "@b"]
