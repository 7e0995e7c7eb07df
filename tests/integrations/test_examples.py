"""The examples of integrations run as they stand, and find what they look for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

# Script, what it needs, and what it finds: name, true place, tolerance.
FOUND = [
    ("optuna_demo", "optuna", {"share": (0.6, 0.05), "log rate": (-5.809, 0.3)}),
    ("gest_demo", "gest_api", {"current": (1.5, 0.1), "gap": (0.8, 0.05)}),
    ("libensemble_demo", "libensemble", {"current": (1.5, 0.1), "gap": (0.8, 0.05)}),
    ("xopt_demo", "xopt", {"current": (1.5, 0.1), "gap": (0.8, 0.05)}),
    ("bluesky_demo", "bluesky_adaptive", {"slit": (1.2, 0.05), "mirror": (-0.4, 0.05)}),
]


def output(script):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{script}.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("script", "package", "places"), FOUND, ids=[row[0] for row in FOUND]
)
def test_an_example_finds_its_optimum(script, package, places):
    pytest.importorskip(package, reason=f"needs {package.replace('_', '-')}")
    text = output(script)
    for name, (place, tolerance) in places.items():
        # Threads decide what comes first, and so whether its error is known by the end.
        found = re.findall(rf"\b{name} = (\S+)", text)[-1]
        assert float(found) == pytest.approx(place, abs=tolerance)


def test_the_example_of_global_searches_says_what_each_found():
    lines = output("global_search").splitlines()
    assert [line.split()[:3:2] for line in lines] == [
        [search, local]
        for search in ("hopping", "annealing")
        for local in ("tobyqa", "nelder-mead")
    ]
    for line in lines:
        x = [float(v) for v in re.findall(r"[-+]\d\.\d+", line)]
        assert max(map(abs, x)) <= 3.0
        assert int(line.split()[-2]) > 100


def test_every_integration_has_an_example():
    package = EXAMPLES.parent / "src" / "tobyqa" / "integrations"
    modules = {p.stem for p in package.glob("*.py") if not p.stem.startswith("_")}
    assert {f"{name}_demo.py" for name in modules} <= {
        p.name for p in EXAMPLES.glob("*.py")
    }
