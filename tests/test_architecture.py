"""The shape of the house: who may import whom, and what a bare import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tobyqa

PACKAGE = Path(tobyqa.__file__).parent
EDGES = (
    *("__main__", "bench", "cli", "demo", "theory", "integrations", "plots", "report"),
    *(
        "advice",
        "datafile",
        "knobs",
        "limits",
        "program",
        "rounding",
        "runfile",
        "view",
    ),
    *("_supervise", "child", "protocol", "running", "supervised"),
)
CORE = [
    path
    for path in PACKAGE.rglob("*.py")
    if path.relative_to(PACKAGE).parts[0].removesuffix(".py") not in EDGES
]


def imports(path):
    """Dotted names of all modules that a file imports, anywhere in it."""
    package = ("tobyqa", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else [])))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", CORE, ids=lambda p: p.name)
def test_core_needs_numpy_and_scipy_only(path):
    foreign = {
        name.split(".")[0]
        for name in imports(path)
        if name.split(".")[0] not in {*sys.stdlib_module_names, "tobyqa"}
    }
    assert foreign <= {"numpy", "scipy"}


@pytest.mark.parametrize("path", CORE, ids=lambda p: p.name)
def test_core_never_imports_the_edges(path):
    reached = {
        name.split(".")[1] for name in imports(path) if name.startswith("tobyqa.")
    }
    assert not reached & set(EDGES)


def test_import_loads_no_extra():
    code = (
        "import sys, tobyqa; print([m for m in sys.modules if m.split('.')[0] in "
        "('matplotlib','pandas','tqdm','rich','dask','distributed','optuna')])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


def test_propose_and_absorb_fit_on_a_screen():
    """Together under 80 lines of code, comments and docstrings not counted."""
    source = (PACKAGE / "methods" / "paper.py").read_text()
    lines = source.splitlines()
    count = 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name in ("propose", "absorb"):
            body = lines[node.lineno - 1 : node.end_lineno]
            docstring = len((ast.get_docstring(node) or "").splitlines())
            code = [s for s in body if s.strip() and not s.strip().startswith("#")]
            count += len(code) - docstring
    assert 0 < count < 80
