"""What `import tobyqa` costs beyond what it needs of SciPy.

    python benchmarks/import_time.py [REPEATS]

Each import is timed in a process of its own, after the modules of NumPy, SciPy and the
standard library that it loads have been imported in the order in which it does so. The
median of the repeats is given, in seconds of the processor, so that other programs do
not count.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

REPEATS = 15
LIMIT = 0.3  # seconds
OWN = "tobyqa"

# Prints the modules that the package loads, in the order in which they are finished.
LISTING = f"""
import json, sys
before = set(sys.modules)
import {OWN}
print(json.dumps([name for name in sys.modules if name not in before]))
"""
# Prints the seconds for those of others, and for the package after them.
TIMING = """
import importlib, json, sys, time
begin = time.process_time()
for name in json.loads(sys.argv[1]):
    try:
        importlib.import_module(name)
    except ImportError:
        pass  # made by its parent, not found by name
middle = time.process_time()
importlib.import_module(sys.argv[2])
print(json.dumps([middle - begin, time.process_time() - middle]))
"""


def python(code: str, *arguments: str) -> list:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def foreign() -> list[str]:
    """The modules of others that the package loads."""
    return [name for name in python(LISTING) if name.partition(".")[0] != OWN]


def measured(repeats: int) -> tuple[float, float]:
    """Median seconds for the modules of others, and for the package after them."""
    others = json.dumps(foreign())
    times = [python(TIMING, others, OWN) for _ in range(repeats)]
    theirs, ours = zip(*times, strict=True)
    return statistics.median(theirs), statistics.median(ours)


def main() -> int:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS
    theirs, ours = measured(repeats)
    print(f"what it needs of others  {theirs:.3f} s")
    print(f"import {OWN} after that {ours:.3f} s (aim: at most {LIMIT} s)")
    return int(ours > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
