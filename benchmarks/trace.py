"""A reading's way through the package: files touched, hops between files, depth.

    python benchmarks/trace.py [SRC] [--method adaptive] [--n 6] [--readings 120]

SRC is the `src` folder of another checkout, to compare with. Every `tell` after the
first model is traced; the medians and the largest values are printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

import numpy as np

STANDARD = "frozen.py"  # in the place of the standard library, which is not counted


class Trace:
    """Counts calls of the package's functions during one `tell`."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.files: list[str] = []
        self.depth = self.deepest = 0

    def __call__(self, frame, event, arg):
        name = frame.f_code.co_filename
        if not name.startswith(self.package) or name.endswith(STANDARD):
            return
        if event == "call":
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
            self.files.append(name)
        elif event == "return":
            self.depth -= 1

    @property
    def hops(self) -> int:
        return sum(a != b for a, b in zip(self.files, self.files[1:], strict=False))


def traced(method: str, n: int, readings: int) -> list[tuple[int, int, int]]:
    import tobyqa

    rng = np.random.default_rng(0)
    opt = tobyqa.Optimizer(
        np.zeros(n), method=method, noise=0.01, maxfev=readings, rng=0
    )
    rows = []
    while not opt.done:
        trial = opt.ask()
        value = float(np.sum((trial.x - 1) ** 2) + np.sum(trial.x**4) / 4)
        value += 0.02 * trial.id + 0.01 * rng.normal()
        trace = Trace(os.path.dirname(tobyqa.__file__))
        sys.setprofile(trace)
        try:
            opt.tell(trial, value)
        finally:
            sys.setprofile(None)
        if trial.id > 2 * n + 2:
            rows.append((len(set(trace.files)), trace.hops, trace.deepest))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("src", nargs="?", help="another checkout's src folder")
    parser.add_argument("--method", default="adaptive")
    parser.add_argument("--n", type=int, default=6)
    parser.add_argument("--readings", type=int, default=120)
    args = parser.parse_args()
    if args.src:
        rest = ["--method", args.method, "--n", str(args.n)]
        rest += ["--readings", str(args.readings)]
        env = {**os.environ, "PYTHONPATH": args.src}
        sys.exit(subprocess.call([sys.executable, __file__, *rest], env=env))
    columns = zip(*traced(args.method, args.n, args.readings), strict=True)
    print(f"{args.method}, n = {args.n}: per tell, median (largest)")
    for name, column in zip(("files", "hops", "depth"), columns, strict=True):
        print(f"{name:>6} {statistics.median(column):6.0f} ({max(column)})")


if __name__ == "__main__":
    main()
