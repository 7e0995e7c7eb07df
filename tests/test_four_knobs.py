"""The example with four knobs: script, run file, and what the benchmark says."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from tobyqa import Optimizer
from tobyqa.runfile import merged

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "four_knobs.py"


def example():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("four_knobs", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ran(*command):
    """What a Python program printed, run from the top folder."""
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_the_run_file_and_the_script_are_one_search(tmp_path):
    path, knobs = tmp_path / "run.jsonl", example()
    flags = ["--journal", path, "--maxfev", "14", "--seed", "0", "--quiet"]
    program = ["--", sys.executable, "examples/four_knobs.py", "--measure"]
    ran("-m", "tobyqa", "run", "examples/four_knobs.toml", *flags, *program)
    history, straight = Optimizer.load(path).result().history, knobs.search(0, 14)
    np.testing.assert_array_equal(history.x, straight.history.x)
    np.testing.assert_array_equal(history.value, straight.history.value)
    low, high = np.array(knobs.BOUNDS).T
    assert ((low <= history.x) & (history.x <= high)).all()
    stated = merged(str(ROOT / "examples" / "four_knobs.toml"), {})
    assert stated.program == ("python3", "examples/four_knobs.py", "--measure")
    assert stated.maxfev == 60


def test_the_script_finds_its_minimum():
    out = ran(EXAMPLE)
    assert "after 60 readings" in out
    assert "at a limit: gap >= 0.1" in out
    (gap,) = re.findall(r"([\d.e-]+) above the true minimum", out)
    assert float(gap) < 0.1  # two noise levels
    temp = re.search(r"temp +([\d.]+) ± [\d.]+ K", out)
    assert abs(float(temp[1]) - 304) < 4


def test_the_benchmark_counts_what_it_says():
    command = [sys.executable, "benchmarks/four_knobs.py", "--seeds", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""
    assert "trials outside        0" in done.stdout
    rows = re.findall(r"^ +\d+ +(\S+) +(\S+) +\S+$", done.stdout, re.MULTILINE)
    assert len(rows) == 2
    gap, hand = (np.mean([float(row[k]) for row in rows]) for k in (0, 1))
    (ratio,) = re.findall(r"ratio ([\d.]+)", done.stdout)
    np.testing.assert_allclose(float(ratio), gap / hand, rtol=0.1)
    within = int(re.findall(r"(\d) of 2", done.stdout)[0])
    assert done.returncode == (0 if float(ratio) <= 1.2 and within == 2 else 1)
