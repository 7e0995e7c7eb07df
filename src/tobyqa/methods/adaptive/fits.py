"""The fits of a search: around which centre, of which readings, by which components."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...samples import SampleSet
from .belief import Belief
from .components import Components
from .fit import Fit, fit
from .likelihood import bounded, improve, pinned, start_components
from .noise import Noise
from .options import FARTHEST, Options
from .region import change, is_overgrown
from .window import Window, window_around, window_size

Array = NDArray[np.float64]

_FELT = 2.0  # noise levels over the region: a local drift that matters
_WIDER = 4  # times the readings, for the answer
_PATIENT = 8  # sweeps of a search for components that starts far from them


def first(
    samples: SampleSet, centre: int, B: Array, noise: Noise, spacing: float, s: Options
) -> Fit:
    """The fit of the probe."""
    window = window_around(
        samples,
        centre,
        B,
        reach=s.reach,
        size=window_size(len(B), s.window),
        noise=noise.unit,
        spacing=spacing,
    )
    components = pinned(start_components(window), s.fixed)
    fitted = fit(window, components, noise.spread)
    assert fitted is not None
    return fitted


def around(
    b: Belief, s: Options, centre: int, components: Components, wider: int = 1
) -> Fit:
    """The fit around a centre; with calm components if these do not work."""
    window = _window(b, s, centre, wider, local=components.interacts)
    calm = Components(2.0, 1.5, -6.0, components.log_b)
    for chosen in (components, calm):
        fitted = fit(window, pinned(chosen, s.fixed), b.noise.spread)
        if fitted is not None:
            return fitted
    return b.fitted


def extended(b: Belief, s: Options) -> Fit:
    """The last fit with the newest reading.

    From the start where the reading is too far out or alone decides too much, or the
    window has been extended too often.
    """
    samples, fitted = b.samples, b.fitted
    window = fitted.window.plus_newest(samples)
    u = window.U[-1]
    longer = None
    if u @ u < FARTHEST**2 and not is_overgrown(fitted.window):
        longer = fitted.extended(window, b.noise.spread)
    return longer or around(b, s, b.centre, fitted.components)


def without_local(b: Belief, s: Options) -> Belief:
    """With a fit that knows of a local drift only as long as there may be one."""
    if b.local or not b.fitted.components.interacts:
        return b
    components = replace(b.fitted.components, log_b=-math.inf)
    return replace(b, fitted=around(b, s, b.centre, components))


def improved(b: Belief, s: Options, *, patient: bool) -> Fit:
    """The fit with more likely components.

    A local drift may have been left behind: where it hardly differs over the region
    any more, what is near the centre is fitted without it, if that explains it.
    """
    fitted, sweeps = b.fitted, _PATIENT if patient else 1
    if fitted.components.interacts and fitted.local_change < _FELT:
        size, _ = change(fitted, b.B)
        plain = replace(fitted.components.rescaled(size), log_b=-math.inf)
        near = _improve(b, s, around(b, s, b.centre, bounded(plain)), sweeps)
        if not near.components.interacts:
            return near
    return _improve(b, s, fitted, sweeps)


def wide(b: Belief, s: Options, centre: int) -> Fit:
    """The fit of more readings around a centre, its components chosen anew."""
    size, _ = change(b.fitted, b.B)
    components = bounded(b.fitted.components.rescaled(size))
    fitted = around(b, s, centre, components, _WIDER)
    return _improve(b, s, fitted, _PATIENT) if s.likelihood else fitted


def _improve(b: Belief, s: Options, fitted: Fit, sweeps: int) -> Fit:
    return improve(fitted, b.noise.spread, sweeps, s.fixed, local=b.local)


def _window(b: Belief, s: Options, centre: int, wider: int, *, local: bool) -> Window:
    return window_around(
        b.samples,
        centre,
        b.B,
        reach=FARTHEST if local else s.reach,
        size=window_size(b.task.x0.size, s.window, wider, local=local),
        all_times=local,
        noise=b.noise.unit,
        spacing=b.spacing,
    )
