"""The minimum as it was first known, for the answer under a drift that is local.

Such a drift grows with time: what a late fit calls the function at the first reading
is what a large drift leaves over. Once there are more readings than a fit can hold, one
that was sure of its minimum long before may know better. So the first that was sure
enough is kept, until a comparison shows that the search has found a lower place beyond
it, as it does along a valley.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...state import Estimate
from .answer import JUDGED_WITHIN, expected_excess, in_user_units, recommended
from .evidence import explains_readings
from .posterior import Posterior
from .search import Search
from .window import LARGEST_FIT

Array = NDArray[np.float64]

_KNOWN = 0.3  # noise levels between centre and minimum, at the most
_SURE = 0.1  # the same for a fit that no later one surpasses
_SURER = 0.5  # share of the height before at which a later one does, until then


@dataclass(frozen=True)
class EarlyMinimum:
    """A fit that knew its minimum."""

    fitted: Posterior
    excess: float  # expected height of its centre above that, in the user's units

    def is_of(self, place: Array) -> bool:
        """Whether the fit reaches as far as a place."""
        u = self.fitted.window.frame.u(place[None])[0]
        return bool(u @ u <= JUDGED_WITHIN**2)

    @property
    def is_sure(self) -> bool:
        return self.excess < _SURE * self.fitted.noise_std

    def instead_of(self, latest: Posterior, loudest: float) -> Estimate:
        """The answer by this fit; what is read there now, and the drift, by the latest.

        Else value and drift would not be of one time.
        """
        place = in_user_units(self.fitted, recommended(self.fitted, loudest))
        now = in_user_units(latest, latest.window.frame.u(place.x[None])[0])
        return replace(
            place,
            t=now.t,
            fun=now.fun,
            fun_std=now.fun_std,
            drift=now.drift,
            drift_rate=now.drift_rate,
            drift_rate_std=now.drift_rate_std,
        )


def remembered(search: Search, fitted: Posterior) -> EarlyMinimum | None:
    """The fit to be kept after a new one, if any.

    It must be of the place that comparisons have confirmed.
    """
    known, place = search.early, search.champion.x
    if known is not None and not known.is_of(place):
        known = None
    is_settled = known is not None and known.is_sure
    if is_settled or not explains_readings(fitted, search.loudest):
        return known
    new = EarlyMinimum(fitted, expected_excess(fitted))
    most = _KNOWN * fitted.noise_std
    if known is not None:
        most = min(most, _SURER * known.excess)
    return new if new.excess < most and new.is_of(place) else known


def still_better(
    search: Search, latest: Posterior, readings: int
) -> EarlyMinimum | None:
    """The fit that was kept, unless the search has left it or the latest is as good.

    As good is one that knows its minimum in spite of a local drift, which it fits too;
    and any, as long as a fit can hold all `readings`, those of the early one included.
    """
    known = search.early
    if known is None or not search.local or readings <= LARGEST_FIT:
        return None
    is_known = expected_excess(latest) < _KNOWN * latest.noise_std
    is_as_good = latest.components.interacts and is_known
    return known if known.is_of(search.champion.x) and not is_as_good else None
