"""Random sequences of calls on `Optimizer`, legal and illegal ones, and what broke.

Readings up to 1e100, times from 1e-308 to 1e100, coordinates up to 1e50, functions in
any unit, settings at the ends of their ranges, failures, readings nobody asked for,
undo, save and load, copies, journals, bounds, linear constraints, scales, steps. A case
is a seed; a finding names the one that shows it again, alone:

    python benchmarks/fuzz.py --calls 100000
    python benchmarks/fuzz.py --method paper --seed 4711

The exit code is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fuzz_case import METHODS, Case, NoRun
from tobyqa._check import LARGEST_COORDINATE

SLOW = 5.0  # seconds
HANGS = 60.0  # seconds, after which a call is ended by force
KINDS = {
    "exception": "undocumented exceptions",
    "warning": "warnings",
    "accepted": "illegal arguments accepted",
    "asked": "asked for NaN, beyond 1e50 or its bounds",
    "slow": f"calls above {SLOW:g} s",
    "differs": "differences after save and load, or in a copy",
}


@dataclass(frozen=True)
class Finding:
    """One thing that should not have happened."""

    kind: str
    method: str
    seed: int
    text: str


@dataclass
class Watch:
    """Makes the calls of a case, and keeps count of them and of what they did."""

    method: str
    seed: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def found(self, kind: str, text: str) -> None:
        self.findings.append(Finding(kind, self.method, self.seed, text))

    def call(
        self,
        name: str,
        function: Callable[..., Any],
        *args: Any,
        documented: tuple[type[Exception], ...] = (),
        is_illegal: bool = False,
        **kwargs: Any,
    ) -> Any:
        """What the call returns; None if it raised, which a legal one must not.

        `documented` are the errors that it may raise; those of an illegal call, which
        has to raise one, are ValueError and TypeError.
        """
        self.calls[name] += 1
        if is_illegal:
            documented = (ValueError, TypeError)
        start, result = time.perf_counter(), None
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", UserWarning)  # advice, not a defect
            try:
                with _ended_by_force():
                    result = function(*args, **kwargs)
                if is_illegal:
                    self.found("accepted", f"{name}{args}{kwargs or ''}")
            # The type itself: numpy's LinAlgError is a ValueError too.
            except Exception as error:
                if type(error) not in documented:
                    self.found("exception", f"{name}: {_where(error)}")
        if time.perf_counter() - start > SLOW:
            self.found("slow", name)
        for warning in seen:
            place = f"{Path(warning.filename).name}:{warning.lineno}"
            self.found("warning", f"{name}: {warning.message} ({place})")
        return result

    def check_point(
        self,
        name: str,
        x: np.ndarray,
        lower: ArrayLike = -math.inf,
        upper: ArrayLike = math.inf,
    ) -> None:
        """A point that is asked for or recommended must be one, within its bounds."""
        is_within = np.all(x >= lower) and np.all(x <= upper)
        if not np.all(np.abs(x) <= LARGEST_COORDINATE) or not is_within:
            self.found("asked", f"{name}: {x}")

    def check_same(self, name: str, a: Any, b: Any) -> None:
        if not np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f"):
            self.found("differs", f"{name}: {a} is now {b}")


@contextlib.contextmanager
def _ended_by_force() -> Iterator[None]:
    """No call goes on for ever, where the system has a timer."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_: object) -> None:
        raise TimeoutError(f"ended by force after {HANGS:g} s")

    previous = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, HANGS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)


def _where(error: Exception) -> str:
    """The error with the line of the package in which it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "tobyqa" in Path(f.filename).parts] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    return f"{type(error).__name__} {error} ({place})"


def run_case(method: str, seed: int, watch: Watch) -> None:
    """All calls of one case."""
    watch.seed = seed
    with tempfile.TemporaryDirectory() as folder:
        try:
            Case(method, seed, watch, Path(folder)).run()
        except NoRun:
            pass  # an illegal constructor, or one that failed and is a finding


def fuzz(method: str, calls: int, first: int, seconds: float) -> Watch:
    """Cases from seed `first` on, until so many calls were made or time is up."""
    watch, start, shown = Watch(method), time.perf_counter(), 0.0
    seed, share = first, 0.0
    while share < 1.0 and time.perf_counter() - start < seconds:
        run_case(method, seed, watch)
        seed += 1
        share = watch.calls.total() / calls
        passed = time.perf_counter() - start
        if passed - shown > 10.0 or share >= 1.0:
            shown = passed
            print(
                f"{method}: {watch.calls.total()} calls, seeds {first} to {seed - 1}, "
                f"{len(watch.findings)} findings, {passed:.0f} s",
                flush=True,
            )
    return watch


def show(watches: list[Watch]) -> None:
    """Counts by method, then each finding once with the seeds that show it."""
    width = max(map(len, KINDS.values()))
    print("\n" + " " * width + "".join(f"{w.method:>12}" for w in watches))
    print(
        f"{'calls':{width}}" + "".join(f"{w.calls.total():12d}" for w in watches),
    )
    for kind, text in KINDS.items():
        counts = (sum(f.kind == kind for f in w.findings) for w in watches)
        print(f"{text:{width}}" + "".join(f"{count:12d}" for count in counts))
    groups: dict[tuple[str, str, str], list[int]] = {}
    for f in (f for w in watches for f in w.findings):
        groups.setdefault((f.method, f.kind, f.text[:160]), []).append(f.seed)
    for (method, kind, text), seeds in sorted(
        groups.items(), key=lambda item: (item[0][:2], -len(item[1]))
    ):
        some = ", ".join(map(str, sorted(set(seeds))[:5]))
        print(f"\n{method}, {kind}, {len(seeds)} times, e.g. --seed {some}\n    {text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=20_000, help="of each method")
    parser.add_argument("--method", choices=METHODS, help="one method only")
    parser.add_argument("--seed", type=int, help="this case alone")
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="at most so long per method"
    )
    args = parser.parse_args()
    watches = []
    for method in [args.method] if args.method else METHODS:
        if args.seed is not None:
            watches.append(Watch(method))
            run_case(method, args.seed, watches[-1])
        else:
            watches.append(fuzz(method, args.calls, args.first, args.seconds))
    show(watches)
    return 1 if any(w.findings for w in watches) else 0


if __name__ == "__main__":
    sys.exit(main())
