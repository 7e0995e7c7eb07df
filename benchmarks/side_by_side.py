"""Two versions of the package on the same searches: do they ask for the same points?

    python benchmarks/side_by_side.py OLD_SRC NEW_SRC [--readings 200]

OLD_SRC and NEW_SRC are the `src` folders of two checkouts (`git worktree add`). Each
runs 100 searches in a process of its own, with the same interpreter and libraries;
every point of every search is compared, to the last bit. Settings that a version does
not know are left out, so that parts taken out since are switched off in the older one.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TESTS = Path(__file__).resolve().parents[1] / "tests"
PROBLEMS = ("arwhead", "dqrtic", "genhumps", "tquartic", "chnrosnb", "penalty1")
DIMENSIONS = (2, 3, 6, 10)
LEFT_OUT = ("excursions", "early")  # parts that no later version has


def searches(readings: int) -> dict[str, np.ndarray]:
    """The points that this process's version asks for, by search."""
    sys.path.insert(0, str(TESTS))
    import golden
    import tobyqa
    from tobyqa.bench.channels import channel_names

    known = {field.name for field in dataclasses.fields(tobyqa.Adaptive)}
    options = {part: False for part in LEFT_OUT if part in known}
    points = {}
    for name, (n, noise, tell) in golden.RUNS.items():
        opt = tobyqa.Optimizer(np.zeros(n), noise=noise, rng=3, options=options)
        points[name] = _asked(opt, tell, readings)
    instances = [
        (p, c, n) for n in DIMENSIONS for p in PROBLEMS for c in channel_names()
    ]
    for k, (problem, channel, n) in enumerate(instances[::2][: 100 - len(points)]):
        points[f"{problem} {channel} n={n}"] = _instance(
            problem, channel, n, readings, options, is_told=k % 5 != 4
        )
    return points


def _instance(problem, channel, n, readings, options, *, is_told):
    import tobyqa
    from tobyqa.bench.problems import get_problem
    from tobyqa.bench.recorder import Recorder

    recorder = Recorder(get_problem(problem, n), channel, 7, readings)
    noise = recorder.noise if is_told else None
    opt = tobyqa.Optimizer(
        recorder.x0, noise=noise, rng=7, maxfev=readings, options=options
    )

    def tell(opt):
        trial = opt.ask()
        opt.tell(trial, recorder(trial.x))

    return _asked(opt, tell, readings)


def _asked(opt, tell, readings) -> np.ndarray:
    asked = []
    while len(asked) < readings and not opt.done:
        asked.append(opt.ask().x.copy())
        tell(opt)
    result = opt.result()
    return np.array([*asked, result.x])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs=2, type=Path, metavar="SRC")
    parser.add_argument("--readings", type=int, default=200)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        np.savez(args.inside, **searches(args.readings))
        return
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{k}.npz" for k in range(2)]
        running = [
            subprocess.Popen(
                [*_command(args), "--inside", str(file)],
                env={**os.environ, "PYTHONPATH": str(src), "OPENBLAS_NUM_THREADS": "1"},
            )
            for src, file in zip(args.sources, files, strict=True)
        ]
        if any([process.wait() for process in running]):
            sys.exit("one of the two versions failed")
        old, new = (dict(np.load(file)) for file in files)
    report(old, new)


def _command(args: argparse.Namespace) -> list[str]:
    sources = [str(src) for src in args.sources]
    return [sys.executable, __file__, *sources, "--readings", str(args.readings)]


def report(old: dict[str, np.ndarray], new: dict[str, np.ndarray]) -> None:
    """Which searches differ, from which point on; then the counts."""
    same = total = 0
    for name, points in old.items():
        other = new[name]
        m = min(len(points), len(other))
        differs = (points[:m] != other[:m]).any(axis=1)
        total += len(points)
        if len(points) == len(other) and not differs.any():
            same += 1
            continue
        first = int(differs.argmax()) if differs.any() else m
        print(f"{name}: {len(points)} and {len(other)} points, differ from {first} on")
    print(f"{same} of {len(old)} searches identical to the last bit ({total} points)")


if __name__ == "__main__":
    main()
