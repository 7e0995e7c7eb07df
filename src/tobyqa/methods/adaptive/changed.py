"""A search that goes on with another task: other limits, or a noise stated later."""

from __future__ import annotations

from dataclasses import replace

from ...result import Status
from ...state import Task
from .belief import Asking, Belief, Place, Plan
from .noise import BELIEVED, Noise
from .plan import credited_noise, next_plan
from .search import measure, pursue


def changed(task: Task, b: Belief) -> Asking[None]:
    """The search from a belief on; all readings stay, wherever they were taken."""
    noise_is_new = task.noise is not None and task.noise != b.task.noise
    b = replace(b, task=task, settled=0, accepted=False)
    if b.status is not Status.UNBOUNDED:
        b = replace(b, status=Status.RUNNING)
        if noise_is_new:
            b = _with_noise(b, task.noise or 0.0)
        b = next_plan((yield from _arrive(b)))
    yield from pursue(b)


def _with_noise(b: Belief, stated: float) -> Belief:
    """The belief with the noise that the user has come to know."""
    before = b.noise.unit
    b = replace(b, noise=replace(b.noise, stated=stated))
    b = replace(b, noise=Noise(credited_noise(b), stated, BELIEVED))
    components = b.fitted.components.rescaled(1.0, b.noise.unit / before)
    return replace(b, fitted=b.fit_around(b.centre, components))


def _arrive(b: Belief) -> Asking[Belief]:
    """A centre and a best place within the limits; if need be, one is measured first.

    From outside, every step inside would look like a loss.
    """
    area = b.task.area
    if area is not None and not area.holds(b.best.x[None])[0]:
        b = replace(b, best=Place(b.centre_point, b.B))
    if area is None or area.holds(b.centre_point[None])[0]:
        return b
    b = replace(b, plan=Plan(area.nearest(b.centre_point), explores=False))
    b = yield from _answered(b)
    best = Place(b.samples.points[-1], b.B)
    return replace(b, centre=b.newest, best=best, accepted=True).refitted()


def _answered(b: Belief) -> Asking[Belief]:
    """After readings up to one that answers the plan, or cannot be taken."""
    while True:
        b, reading = yield from measure(b)
        if reading is None or (reading.answers and not b.is_doubted):
            return b
