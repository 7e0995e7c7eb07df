"""Checksums: nothing in a file can be altered without a word that names the line."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import journaled_run
from test_optimizer import assert_same
from tobyqa import Optimizer
from tobyqa.journal import read

KINDS = ["journal", "saved"]


@pytest.fixture(scope="module", params=KINDS)
def run(request, tmp_path_factory):
    """A run in a file, either kind: its path, its bytes, its result."""
    path = tmp_path_factory.mktemp("runs") / "run.jsonl"
    journal = path if request.param == "journal" else None
    opt = Optimizer([0.0, 0.0], method="paper", noise=0.01, rng=1, journal=journal)
    with opt:
        for k in range(8):
            opt.tell(opt.ask(), journaled_run.reading(opt.ask().x, k))
        if journal is None:
            opt.save(path)
    return path, path.read_bytes(), opt.result()


def refused_line(path, data):
    """The line that is named when a file with these bytes is refused, or None."""
    path.write_bytes(data)
    try:
        read(path)
    except ValueError as error:
        named = re.search(r"line (\d+)", str(error))
        return int(named[1]) if named else 1  # no run, or of another version
    return None


def test_no_flipped_bit_goes_unnoticed(run, tmp_path):
    """Except where the end of the file is lost, which looks like a torn write."""
    _, data, _ = run
    path, rng = tmp_path / "flipped.jsonl", random.Random(0)
    places = [(k, b) for k in range(len(data)) for b in range(8)]
    for place, bit in rng.sample(places, 900) + places[-80:]:
        flipped = bytearray(data)
        flipped[place] ^= 1 << bit
        line = refused_line(path, bytes(flipped))
        assert line is not None, (place, bit)
        assert line - 1 == data[:place].count(b"\n"), "the line that was changed"


def test_the_attack_that_moved_an_answer(run, tmp_path):
    path, (_, data, _) = tmp_path / "altered.jsonl", run
    digit = re.search(rb'"value": -?(\d)', data)
    other = b"5" if digit[1] != b"5" else b"6"
    altered = data[: digit.start(1)] + other + data[digit.end(1) :]
    line = data[: digit.start()].count(b"\n") + 1
    assert refused_line(path, altered) == line
    for way in (Optimizer.load, Optimizer.resume):
        with pytest.raises(ValueError, match=rf"altered.jsonl, line {line} is corrupt"):
            way(path)
    assert path.read_bytes() == altered  # what is left of it is left alone


@given(st.data())
def test_lines_that_are_removed_repeated_or_swapped_are_named(run, data):
    path, content, _ = run
    lines = content.splitlines(keepends=True)
    first = data.draw(st.integers(0, len(lines) - 2))
    how = data.draw(st.sampled_from(["removed", "repeated", "swapped", "moved"]))
    changed = list(lines)
    if how == "removed":
        del changed[first]
    elif how == "repeated":
        changed.insert(first, lines[first])
    else:
        second = data.draw(st.integers(first + 1, len(lines) - 1))
        if how == "swapped":
            changed[first], changed[second] = lines[second], lines[first]
        else:
            changed.insert(second, changed.pop(first))
    named = refused_line(path.with_name("changed.jsonl"), b"".join(changed))
    # Repeating a line makes the copy the wrong one.
    assert named == first + (2 if how == "repeated" else 1)


def test_records_of_another_run_do_not_fit(run, tmp_path):
    _, data, _ = run
    other = Optimizer([0.0, 0.0], method="paper", noise=0.01, rng=1)
    other.save(tmp_path / "other.jsonl")
    header = (tmp_path / "other.jsonl").read_bytes().splitlines(keepends=True)[0]
    mixed = header + b"".join(data.splitlines(keepends=True)[1:])
    assert refused_line(tmp_path / "mixed.jsonl", mixed) == 2


def test_a_damaged_last_line_that_is_complete_is_not_cut_off(run, tmp_path):
    path, (_, data, _) = tmp_path / "damaged.jsonl", run
    damaged = data[:-20] + b"#" + data[-19:]
    last = data.count(b"\n")
    assert refused_line(path, damaged) == last
    with pytest.raises(ValueError, match=f"line {last} is corrupt"):
        Optimizer.resume(path)
    assert path.read_bytes() == damaged
    assert refused_line(path, data[:-1] + b"#") == last  # what follows is no line end
    assert refused_line(path, data + b"\n") == last + 1
    assert refused_line(path, data + b"{") is None  # this is how a crash leaves it


def test_a_run_read_back_is_the_run(run):
    path, data, expected = run
    path.write_bytes(data)
    assert_same(expected, Optimizer.load(path).result())


def test_a_deeply_nested_line_is_corrupt(run, tmp_path):
    _, data, _ = run
    assert refused_line(tmp_path / "deep.jsonl", data + b"[" * 100_000 + b"\n")


def test_a_saved_run_that_ends_early_is_seen_to_be_no_saved_run(tmp_path):
    """The one thing that a chain cannot show; the last record of a saved run does."""
    path = tmp_path / "run.jsonl"
    Optimizer([0.0]).save(path)
    assert read(path).events[-1]["event"] == "saved"
