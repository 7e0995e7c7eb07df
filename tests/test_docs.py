"""What the pages say is what the studies found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_the_tables_in_the_pages_are_the_generated_ones():
    command = [sys.executable, str(DOCS / "tables.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "variant" in (DOCS / "method.md").read_text()
