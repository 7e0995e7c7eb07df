"""The measure of `import tobyqa`: ``python benchmarks/import_time.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "import_time.py"


def test_it_measures_the_import():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "1"], capture_output=True, text=True, check=False
    )
    assert not done.stderr
    theirs, ours = done.stdout.splitlines()
    # What it needs of others is most of it, or the wrong modules were called ours.
    assert 0.0 < float(ours.split()[4]) < float(theirs.split()[5])
