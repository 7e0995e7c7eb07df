"""A belief once one of its readings is known to have been another, or none."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...result import Status
from ...samples import SampleSet
from .belief import TO_SPARE, Belief
from .centre import Evidence, witness
from .first import probe_length
from .noise import Noise, noise_of_probe
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
    b = replace(b, noise=_noise(b))
    return anew(replace(b, evidence=_evidence(b)))


def _evidence(b: Belief) -> Evidence:
    """Of the drift: each reading beside the one before it at its place."""
    evidence, latest = None, dict[bytes, int]()
    for row in np.setdiff1d(np.arange(len(b.samples)), b.doubts.rows).tolist():
        place = (b.samples.points[row] + 0.0).tobytes()  # one zero, whatever its sign
        if place in latest:
            old = latest[place]
            seen = witness(b.samples, old, row, b.noise.unit, b.spacing)
            evidence = seen if evidence is None else seen.after(evidence)
        latest[place] = row
    return evidence or Evidence(0.0, math.sqrt(2.0) * b.noise.unit)


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
