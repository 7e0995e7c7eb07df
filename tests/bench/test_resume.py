"""A run that is killed twice and resumed stores what an uninterrupted one does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from same import comparable

from tobyqa.bench.run import run_cell
from tobyqa.bench.store import Store
from tobyqa.bench.study import Study, study_text

STUDY = Study(
    name="resumed",
    description="",
    problems=("power", "woods", "engval1"),
    channels=("LinearDrift", "ChaoticDrift"),
    dimensions=(6,),
    seeds=(0, 1, 2),
    budget=150,
    solvers=("paper", "nelder-mead", "cma"),
)


def count(directory: Path) -> int:
    try:
        with Store(directory) as store:
            return len(store.done())
    except ValueError:  # not there yet
        return 0


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_killed_twice_and_resumed(tmp_path):
    out = tmp_path / "run"
    (tmp_path / "resumed.toml").write_text(study_text(STUDY))
    command = [sys.executable, "-m", "tobyqa.bench", "run", "resumed.toml"]
    command += ["--out", str(out), "--workers", "2", "--quiet"]

    seen = 0
    for _ in range(2):
        with subprocess.Popen(command, cwd=tmp_path) as process:
            deadline = time.monotonic() + 90
            while process.poll() is None and count(out) < seen + 5:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.kill()
            assert process.wait() == -9  # still running when killed
        assert seen < count(out) < len(STUDY.cells())
        seen = count(out)

    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    with Store(out) as store:
        resumed = store.records()
    assert comparable(resumed) == comparable(map(run_cell, STUDY.cells()))
