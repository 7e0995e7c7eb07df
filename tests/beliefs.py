"""Beliefs for the tests of single decisions: readings at two places and elsewhere."""

from __future__ import annotations

import math

import numpy as np

from tobyqa import Adaptive
from tobyqa.methods.adaptive.belief import Belief, Place, Plan
from tobyqa.methods.adaptive.noise import BELIEVED, Noise
from tobyqa.samples import SampleSet
from tobyqa.spacetime.components import Components
from tobyqa.spacetime.fit import fit
from tobyqa.state import Task
from windows import window_of

HERE, THERE = np.zeros(2), np.array([3.0, 0.0])
NOISE, Q = 0.5, 0.3


def samples_of(readings):
    """From (place, time, value), in the order of their arrival."""
    places, times, values = zip(*readings, strict=True)
    return SampleSet.of(np.array(places), times, values)


def belief(
    samples, *, noise=NOISE, spread=BELIEVED, q=Q, spacing=1.0, centre=-1, **fields
):
    """Of a search whose best place is the origin, by a fit of all the readings."""
    row = range(len(samples))[centre]
    window = window_of(samples, noise=noise, spacing=spacing, centre=row)
    fitted = fit(window, Components(1.0, 1.4, math.log(q)), spread)
    chosen = {
        "task": Task(HERE, radius=2.0),
        "s": Adaptive(),
        "B": np.eye(2),
        "best": Place(HERE, 2.0 * np.eye(2)),
        "plan": Plan(HERE),
        **fields,
    }
    return Belief(
        samples=samples,
        centre=row,
        noise=Noise(noise, noise, spread),
        spacing=spacing,
        fitted=fitted,
        **chosen,
    )
