"""Attacks on files that are not in use: cut short, flipped bits, lines moved."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from fault_files import ARGUMENTS, reading
from fault_marks import Tally
from tobyqa import Optimizer

READINGS = 20  # of the journal that is damaged


class Damaged:
    """A sound journal, all its earlier moments, and what becomes of changed copies."""

    def __init__(self, folder: Path) -> None:
        whole = folder / "whole.jsonl"
        with Optimizer(**ARGUMENTS, journal=whole, names=["gap", "flow"]) as opt:
            for k in range(READINGS):
                opt.tell(opt.ask(), reading(k), sigma=0.1 + 0.01 * k)
            opt.ask()
        self.data, self._copy = whole.read_bytes(), folder / "copy.jsonl"
        self.lines = self.data.splitlines(keepends=True)
        ends = [b"".join(self.lines[:k]) for k in range(1, len(self.lines) + 1)]
        self._moments = [self._contents(data) for data in ends]
        values = np.frombuffer(self._moments[-1][2])
        assert values.tolist() == [reading(k) for k in range(READINGS)]

    def _contents(self, data: bytes) -> tuple:
        """All of a run that counts, after it was read from a file."""
        self._copy.write_bytes(data)
        opt = Optimizer.load(self._copy)
        result, pending = opt.result(), opt.pending
        history = result.history
        arrays = (history.x, history.t, history.value, history.sigma, result.x)
        waiting = [(trial.id, trial.x.tobytes()) for trial in pending]
        said = (tuple(opt.names or ()), str(opt.method), str(opt.status), waiting)
        return (*(np.asarray(a, dtype=float).tobytes() for a in arrays), *said)

    def try_copy(self, data: bytes, tally: Tally, text: str) -> None:
        """Open changed data: a clear error, an earlier moment, or a finding."""
        try:
            found = self._contents(data)
        except ValueError:
            return  # refused, as it should be
        except Exception as error:
            tally.note("other", f"{text}: {type(error).__name__} {error}")
            return
        if found not in self._moments:
            tally.note("altered", text)
        elif found != self._moments[-1]:
            is_cut = self.data.startswith(data)
            tally.earlier += is_cut
            if not is_cut:
                tally.note("lost", f"{text}: loads as an earlier moment")


def truncations(tally: Tally, count: int, folder: Path) -> None:
    """A journal cut at every byte, or at `count` of them."""
    damaged = Damaged(folder)
    every = range(len(damaged.data))
    some = every if count >= len(every) else random.Random(3).sample(every, count)
    for size in tally.attacks(some):
        damaged.try_copy(damaged.data[:size], tally, f"cut at {size}")


def bit_flips(tally: Tally, count: int, folder: Path) -> None:
    """One bit anywhere."""
    damaged, rng = Damaged(folder), random.Random(4)
    for _ in tally.attacks(range(count)):
        place, bit = rng.randrange(len(damaged.data)), rng.randrange(8)
        data = bytearray(damaged.data)
        data[place] ^= 1 << bit
        damaged.try_copy(bytes(data), tally, f"byte {place}, bit {bit}")


def lines_moved(tally: Tally, count: int, folder: Path) -> None:
    """A line deleted, repeated, or swapped with another."""
    damaged, rng = Damaged(folder), random.Random(5)
    for attack in tally.attacks(range(count)):
        lines = list(damaged.lines)
        i, j = sorted(rng.sample(range(len(lines)), 2))
        if attack % 3 == 0:
            what, _ = f"line {i + 1} deleted", lines.pop(i)
        elif attack % 3 == 1:
            what, _ = f"line {i + 1} repeated at {j + 1}", lines.insert(j, lines[i])
        else:
            what = f"lines {i + 1} and {j + 1} swapped"
            lines[i], lines[j] = lines[j], lines[i]
        damaged.try_copy(b"".join(lines), tally, what)
