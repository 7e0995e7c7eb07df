"""A belief once one of its readings is known to have been another, or none."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...result import Status
from ...samples import SampleSet
from .belief import TO_SPARE, Belief
from .noise import Noise, noise_of_probe
from .probe import probe_length
from .recheck import anew


def amended(b: Belief, row: int, value: float) -> Belief | None:
    """With another value in a row; NaN: the row is in no fit from now on.

    The region stays as it is; what is known of noise and drift is made anew, as if the
    reading had never been another. None if too little is left.
    """
    is_known = not math.isnan(value)
    b = replace(
        b,
        samples=b.samples.revalued(row, value) if is_known else b.samples,
        doubts=b.doubts.settled(row, is_right=is_known),
        recheck=None if b.recheck == row else b.recheck,
        to_come=(),
        minima=(),
        accepted=False,
    )
    left = len(b.samples) - np.unique(b.left_out).size
    if left < b.task.x0.size + TO_SPARE or b.status is Status.UNBOUNDED:
        return None
    return anew(replace(b, noise=_noise(b)))


def _noise(b: Belief) -> Noise:
    """As it is assumed after the first readings."""
    first = np.flatnonzero(b.samples.asked)[: probe_length(b.task.x0.size)]
    known = np.setdiff1d(first, b.doubts.rows)
    if not known.size:
        return b.noise
    probe = SampleSet(b.samples.table[known])
    starts = probe.rows_at(b.task.x0)
    old, new = (int(starts[0]), int(starts[-1])) if starts.size else (0, 0)
    return noise_of_probe(b.task, probe, old, new)
