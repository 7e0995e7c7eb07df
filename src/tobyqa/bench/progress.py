"""What a running study shows, and what it says at the end."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tobyqa.bench.records import Record

FAILURES = ("error", "crash")

_LINE_EVERY = 10.0  # seconds between lines in a log

Advance = Callable[[Record], None]


@dataclass(frozen=True)
class Rate:
    """How many instances a solver does in a minute on one core."""

    solver: str
    n: int
    budget: int
    instances: int
    per_minute: float


@dataclass(frozen=True)
class Summary:
    """What `run_study` did; printing it gives a small report.

    ``cells`` were asked for, ``earlier`` of them had a record already, ``ran`` are new
    and the rest belongs to the solvers in ``skipped``, which says why.
    """

    study: str
    cells: int
    earlier: int
    ran: int
    failures: Mapping[str, int]  # by solver
    skipped: Mapping[str, str]
    seconds: float
    rates: tuple[Rate, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.study}: {self.ran} cells in {self.seconds:.1f} s, "
            f"{self.earlier} done before, {sum(self.failures.values())} failed",
            *(f"  {solver}: {k} failed" for solver, k in self.failures.items()),
            *(f"  {solver}: skipped, {why}" for solver, why in self.skipped.items()),
        ]
        return "\n".join(lines + _rate_lines(self.rates))


def throughput(records: Iterable[Record]) -> tuple[Rate, ...]:
    """Rates by solver, n and budget; a run that crashed tells nothing."""
    seconds: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for record in records:
        if record.status != "crash":
            cell = record.cell
            seconds[cell.solver, cell.n, cell.budget].append(record.seconds)
    return tuple(
        Rate(*key, len(spent), 60.0 * len(spent) / max(sum(spent), 1e-9))
        for key, spent in sorted(seconds.items())
    )


def failures(records: Iterable[Record]) -> dict[str, int]:
    """How many runs of each solver failed; solvers without failures are left out."""
    counts = Counter(r.cell.solver for r in records if r.status in FAILURES)
    return dict(sorted(counts.items()))


@contextmanager
def meter(total: int, earlier: int, shown: bool) -> Iterator[Advance]:
    """A function to be called with each new record, which moves the bar on."""
    if not shown:
        yield lambda record: None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield _lines(total, earlier)
        return
    is_watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    with tqdm(
        total=total,
        initial=earlier,
        unit="cell",
        dynamic_ncols=True,
        mininterval=0.2 if is_watched else _LINE_EVERY,  # a log needs few lines
    ) as bar:
        failed = 0

        def advance(record: Record) -> None:
            nonlocal failed
            failed += record.status in FAILURES
            bar.set_postfix_str(f"{failed} failed", refresh=False)
            bar.update()

        yield advance


def _lines(total: int, earlier: int) -> Advance:
    """The same as plain lines, where tqdm is not installed."""
    start = last = time.monotonic()
    ran = failed = 0

    def advance(record: Record) -> None:
        nonlocal last, ran, failed
        ran, failed = ran + 1, failed + (record.status in FAILURES)
        now = time.monotonic()
        is_due = now - last >= _LINE_EVERY or earlier + ran == total
        if is_due:
            last, rate = now, ran / max(now - start, 1e-9)
            left = (total - earlier - ran) / rate
            print(
                f"{earlier + ran}/{total} cells, {rate:.1f}/s, {left:.0f} s left, "
                f"{failed} failed",
                file=sys.stderr,
            )

    return advance


def _rate_lines(rates: tuple[Rate, ...]) -> list[str]:
    if not rates:
        return []
    width = max(len(rate.solver) for rate in rates)
    head = (
        f"{'solver'.ljust(width)}  {'n':>3}  {'budget':>6}  {'instances/min/core':>18}"
    )
    return [head] + [
        f"{r.solver.ljust(width)}  {r.n:>3}  {r.budget:>6}  {r.per_minute:>18.1f}"
        for r in rates
    ]
