"""The notebook in examples/ runs, and what it shows is what was kept of it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "drifting_instrument.ipynb"
BEST = (850.0, 12.0)  # as the notebook has it
LARGEST = 60_000  # bytes, with its picture


def cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def words(text):
    return re.findall(r"[a-z]+", text)


def printed(cell):
    return "".join(out.text for out in cell.outputs if out.output_type == "stream")


def pictures(cell):
    return ["image/png" in out.get("data", {}) for out in cell.outputs]


@pytest.mark.filterwarnings("ignore")  # of the packages that run notebooks
def test_the_notebook_shows_what_it_did():
    nbformat = pytest.importorskip("nbformat", reason="needs nbclient")
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
    pytest.importorskip("ipykernel", reason="needs ipykernel")
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    kept = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(kept)
    assert NOTEBOOK.stat().st_size < LARGEST
    run = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(run, timeout=200, kernel_name="python3").execute()
    for before, after in zip(cells(kept), cells(run), strict=True):
        assert before.execution_count == after.execution_count
        assert pictures(before) == pictures(after)
        # Digits may differ: another machine rounds otherwise.
        assert words(printed(before)) == words(printed(after))
    assert sum(map(any, map(pictures, cells(kept)))) == 1
    for notebook in (kept, run):
        text = "".join(map(printed, cells(notebook)))
        answer = re.search(r"answer +\[([\d.]+) +([\d.]+) *\]", text)
        assert answer is not None
        np.testing.assert_allclose([*map(float, answer.groups())], BEST, atol=2.0)
