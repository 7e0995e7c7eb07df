"""The minimum as it was first known, for the answer under a drift that is local.

Such a drift grows with time: what a late fit calls the function at the first reading
is what a large drift leaves over. A fit that was sure of its minimum long before knows
better. So the first one that was sure enough is kept, until a comparison shows that
the search has found a lower place beyond it, as it does along a valley.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...state import Estimate
from .answer import JUDGED_WITHIN, expected_excess, in_user_units, recommended
from .evidence import explains_readings
from .posterior import Posterior

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

    def instead_of(self, latest: Estimate, loudest: float) -> Estimate:
        """The answer by this fit, with the later one's word on the drift."""
        return replace(
            in_user_units(self.fitted, recommended(self.fitted, loudest)),
            drift=latest.drift,
            drift_rate=latest.drift_rate,
            drift_rate_std=latest.drift_rate_std,
        )


def knows_minimum(fitted: Posterior) -> bool:
    """Whether a fit knows its minimum in spite of a local drift, which it fits too."""
    is_known = expected_excess(fitted) < _KNOWN * fitted.noise_std
    return fitted.components.interacts and is_known


def remembered(
    known: EarlyMinimum | None, fitted: Posterior, champion: Array, loudest: float
) -> EarlyMinimum | None:
    """The fit to be kept after a new one, if any.

    It must be of the place that comparisons have confirmed, `champion`; `loudest` is
    the noise beyond which a fit explains nothing.
    """
    if known is not None and not known.is_of(champion):
        known = None
    if (known is not None and known.is_sure) or not explains_readings(fitted, loudest):
        return known
    new = EarlyMinimum(fitted, expected_excess(fitted))
    most = _KNOWN * fitted.noise_std
    if known is not None:
        most = min(most, _SURER * known.excess)
    return new if new.excess < most and new.is_of(champion) else known
