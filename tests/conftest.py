"""Shared set-up: hypothesis without deadlines, and the same examples in every run.

Test machines are noisy, and a change should be judged by its own failures. To look for
new ones: ``pytest --hypothesis-profile=explore``.

Temporary folders are in memory where there is room. Journals wait for the disk after
each event, thousands of times here, and no test pulls the plug.
"""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings

MEMORY = Path("/dev/shm")
ROOM = 2**30  # bytes
if (
    "TMPDIR" not in os.environ
    and os.access(MEMORY, os.W_OK)
    and shutil.disk_usage(MEMORY).free > ROOM
):
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# Before numpy is imported: several BLAS threads on busy cores make small systems crawl.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("tobyqa", deadline=None, max_examples=60, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("tobyqa")
