"""The fits of a search: around which centre, of which readings, by which components."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...state import State
from .likelihood import bounded, improve, pinned, start_components
from .posterior import Components, Posterior, posterior
from .region import change, is_overgrown, rescaled
from .search import Search
from .window import FARTHEST, Window, window_around, window_size

_FELT = 2.0  # noise levels over the region: a local drift that matters
_WIDER = 4  # times the readings, for the answer
_PATIENT = 8  # sweeps of a search for components that starts far from them


@dataclass(frozen=True)
class Fits:
    """How fits are made, by the settings of the method."""

    window: int  # readings, at the most
    reach: float  # how far out they count, in regions
    fixed: frozenset[str]  # components that are not chosen but set to their limit
    likelihood: bool  # whether the others are chosen

    def first(self, state: State[Search], centre: int, search: Search) -> Posterior:
        """The fit of the probe."""
        window = self._window(state, centre, search, 1, local=False)
        components = pinned(start_components(window), self.fixed)
        fitted = posterior(window, components, search.spread)
        assert fitted is not None
        return fitted

    def around(
        self,
        centre: int,
        state: State[Search],
        search: Search,
        components: Components,
        wider: int = 1,
    ) -> Posterior:
        """The fit around a centre; with calm components if these do not work."""
        local = components.interacts
        window = self._window(state, centre, search, wider, local=local)
        calm = Components(2.0, 1.5, -6.0, components.log_b)
        for chosen in (components, calm):
            fitted = posterior(window, pinned(chosen, self.fixed), search.spread)
            if fitted is not None:
                return fitted
        return search.fitted

    def extended(self, state: State[Search], search: Search) -> Posterior:
        """The last fit with the newest reading.

        From the start where the reading is too far out or alone decides too much, or
        the window has been extended too often.
        """
        samples, fitted = state.samples, search.fitted
        assert state.centre is not None
        is_aside = search.aside is not None and np.array_equal(
            samples.points[-1], search.aside
        )
        if is_aside or fitted.window.rows[-1] == len(samples) - 1:
            return fitted
        window = fitted.window.plus_newest(samples)
        u = window.U[-1]
        extended = None
        if u @ u < FARTHEST**2 and not is_overgrown(fitted.window):
            extended = fitted.extended(window, search.spread)
        if extended is None:
            return self.around(state.centre, state, search, fitted.components)
        return extended

    def improved(
        self, state: State[Search], search: Search, fitted: Posterior, *, patient: bool
    ) -> Posterior:
        """The fit with more likely components.

        A local drift may have been left behind: where it hardly differs over the region
        any more, what is near the centre is fitted without it, if that explains it.
        """
        sweeps = _PATIENT if patient else 1
        if fitted.components.interacts and fitted.local_change < _FELT:
            assert state.centre is not None
            size, _ = change(fitted, search.B)
            plain = replace(rescaled(fitted.components, size), log_b=-math.inf)
            near = self.around(state.centre, state, search, bounded(plain))
            near = self._improve(near, search, sweeps)
            if not near.components.interacts:
                return near
        return self._improve(fitted, search, sweeps)

    def wide(self, centre: int, state: State[Search], search: Search) -> Posterior:
        """The fit of more readings around a centre, its components chosen anew."""
        size, _ = change(search.fitted, search.B)
        components = bounded(rescaled(search.fitted.components, size))
        wide = self.around(centre, state, search, components, _WIDER)
        if not self.likelihood:
            return wide
        return self._improve(wide, search, _PATIENT)

    def _improve(self, fitted: Posterior, search: Search, sweeps: int) -> Posterior:
        return improve(fitted, search.spread, sweeps, self.fixed, local=search.local)

    def _window(
        self,
        state: State[Search],
        centre: int,
        search: Search,
        wider: int,
        *,
        local: bool,
    ) -> Window:
        return window_around(
            state.samples,
            centre,
            search.B,
            reach=FARTHEST if local else self.reach,
            size=window_size(state.task.x0.size, self.window, wider, local=local),
            all_times=local,
            aside=search.aside,
            noise=search.noise,
            spacing=search.spacing,
        )
