"""The fuzzer: a short run of the command finds nothing, and it would find something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from fuzz import Watch, run_case  # noqa: E402


def test_some_hundred_calls_on_paper():
    """The complete one: ``python benchmarks/fuzz.py --calls 100000``."""
    command = [sys.executable, BENCHMARKS / "fuzz.py", "--method", "paper"]
    done = subprocess.run(
        [*command, "--calls", "2000"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "calls                                                2" in done.stdout


@pytest.mark.parametrize(
    ("function", "args", "kinds"),
    [
        (np.linalg.inv, (np.zeros((2, 2)),), ["exception"]),  # it is a ValueError, too
        (float, ("high",), []),
        (np.square, (np.array([1e200]),), ["warning"]),
        (np.add, (1, 2), []),
    ],
)
def test_what_counts_as_a_finding(function, args, kinds):
    watch = Watch("paper", seed=7)
    watch.call("call", function, *args, documented=(ValueError,))
    assert [f.kind for f in watch.findings] == kinds
    assert all(f.seed == 7 for f in watch.findings)
    assert watch.calls["call"] == 1


@pytest.mark.parametrize(
    ("method", "seed"),
    [
        ("adaptive", 4),
        ("adaptive", 104),
        ("adaptive", 410),
        ("adaptive", 1025),
        ("paper", 171),
        ("paper", 323),
        ("paper", 433),
        ("paper", 820),
    ],
)
def test_cases_that_broke_something_once(method, seed):
    watch = Watch(method)
    run_case(method, seed, watch)
    assert watch.calls.total() > 1
    assert not watch.findings


def test_points_copies_and_illegal_arguments_are_looked_at():
    watch = Watch("paper")
    watch.check_point("ask", np.array([1.0, -1e50]))
    watch.check_same("load", np.array([1.0, np.nan]), np.array([1.0, np.nan]))
    watch.call("float", float, "high", is_illegal=True)
    assert not watch.findings
    watch.check_point("ask", np.array([1.0, np.nan]))
    watch.check_point("ask", np.array([1.1e50]))
    watch.check_point("ask", np.array([1.0, 2.0]), [0.0, 0.0], [1.0, 1.9])
    watch.check_same("load", np.array([1.0]), np.array([1.0 + 1e-15]))
    watch.call("float", float, "1", is_illegal=True)
    kinds = [f.kind for f in watch.findings]
    assert kinds == ["asked", "asked", "asked", "differs", "accepted"]
