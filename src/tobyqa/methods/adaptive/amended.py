"""A belief once one of its readings is known to have been another, or none."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...result import Status
from ...samples import SampleSet
from ...spacetime.likelihood import start_components
from .belief import PATIENT, TO_SPARE, Belief
from .noise import BELIEVED, Noise, noise_of_probe
from .probe import probe_length
from .recheck import at_what_counts


def amended(b: Belief, row: int, value: float) -> Belief | None:
    """With another value in a row; NaN: the row is in no fit from now on.

    The region stays as it is, and so does what comparisons of other readings have
    shown; the components are searched from where they are before anything is known.
    None if too little is left.
    """
    is_known = not math.isnan(value)
    samples = b.samples.revalued(row, value) if is_known else b.samples
    b = replace(
        b,
        samples=samples,
        doubts=b.doubts.settled(row, is_right=is_known),
        recheck=None if b.recheck == row else b.recheck,
        minima=(),
        accepted=False,
    )
    left = len(samples) - np.unique(b.left_out).size
    if left < b.task.x0.size + TO_SPARE or b.status is Status.UNBOUNDED:
        return None
    b = at_what_counts(b)
    return _fitted(replace(b, noise=_noise(b, row)))


def _noise(b: Belief, row: int) -> Noise:
    """What is assumed of it, as if the reading had never been another.

    A guess that rests on the first readings is made anew if it is one of them.
    """
    if b.noise.is_stated:
        return replace(b.noise, spread=BELIEVED)
    first = probe_length(b.task.x0.size)
    samples = b.samples
    asked = np.flatnonzero(samples.asked)[:first]
    known = np.setdiff1d(asked, b.doubts.rows)
    if row not in asked or not known.size:
        return b.noise
    probe = SampleSet.of(
        samples.points[known],
        samples.times[known],
        samples.values[known],
        samples.sigmas[known],
    )
    starts = probe.rows_at(b.task.x0)
    old, new = (int(starts[0]), int(starts[-1])) if starts.size else (0, 0)
    return noise_of_probe(b.task, probe, old, new)


def _fitted(b: Belief) -> Belief:
    """With a fit made anew, and its components searched from the beginning."""
    fitted = b.refitted().fitted
    if b.s.likelihood:
        start = start_components(fitted.window, b.s.limits)
        fitted = b.improved(b.fit_around(b.centre, start), PATIENT)
    return b.with_fit(fitted)
