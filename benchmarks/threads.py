"""Processor time of a search with the linear algebra library's own number of threads.

Each search runs in two processes, one after the other: where nothing was set, and where
the library was told to use one thread. The package is to cost the same in both, and
the more so the busier the machine is.

    python benchmarks/threads.py [--n 200] [--readings 412]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
SEARCH = """
import sys, time
import numpy as np
import tobyqa

method, n, readings = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
opt = tobyqa.Optimizer(np.zeros(n), method=method, noise=0.01, maxfev=readings, rng=0)
start = time.process_time()
while not opt.done:
    trial = opt.ask()
    opt.tell(trial, np.sum((trial.x - 1.0) ** 2) + 0.01 * rng.normal())
opt.result()
print(time.process_time() - start)
"""


def seconds(method: str, n: int, readings: int, threads: str | None) -> float:
    """Of processor time, all threads together."""
    env = {k: v for k, v in os.environ.items() if k not in SETTINGS}
    if threads is not None:
        env |= dict.fromkeys(SETTINGS, threads)
    command = [sys.executable, "-c", SEARCH, method, str(n), str(readings)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--readings", type=int, default=412)
    args = parser.parse_args()
    print(f"{args.readings} readings, n = {args.n}, {os.cpu_count()} cores")
    for method in ("paper", "adaptive"):
        free = seconds(method, args.n, args.readings, None)
        one = seconds(method, args.n, args.readings, "1")
        print(
            f"{method:>9}: {free:.2f} s of processor time with nothing set, "
            f"{one:.2f} s with one thread, ratio {free / one:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
