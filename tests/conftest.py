"""Shared set-up: hypothesis without deadlines, and the same examples in every run.

Test machines are noisy, and a change should be judged by its own failures. To look for
new ones: ``pytest --hypothesis-profile=explore``.
"""

import os

from hypothesis import settings

# Before numpy is imported: several BLAS threads on busy cores make small systems crawl.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("tobyqa", deadline=None, max_examples=60, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("tobyqa")
