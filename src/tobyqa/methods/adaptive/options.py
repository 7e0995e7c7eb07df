"""What can be set of method ``adaptive``; most of its parts can be taken out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...settings import check_fields, label, option
from ...spacetime.likelihood import Limits, limits


@dataclass(frozen=True)
class Options:
    """The settings of the method."""

    radius: float = option(2.0, lo=0.0, open_lo=True, doc="size of the first region")
    max_radius: float = option(
        10.0,
        lo=1.0,
        doc="size of the largest region, in first radii, unless steps keep gaining "
        "beyond doubt",
    )
    window: int = option(
        500, lo=20, hi=2000, doc="readings in a fit of the search, at the most"
    )
    reach: float = option(
        4.0, lo=1.0, hi=20.0, doc="how far out readings count, in regions"
    )
    refit_every: int = option(
        6, lo=1, doc="readings between likelihood fits, at least, unless the fit is off"
    )
    ftol: float = option(
        0.0,
        lo=0.0,
        doc="stop when what is left to gain is expected to be less than this; 0: never "
        "if there is a budget, else at a twentieth of the noise",
    )
    drift: str = option(
        "smooth", choices=("smooth", "straight"), doc="a spline, or a straight line"
    )
    length: str = option(
        "fitted", choices=("fitted", "infinite"), doc="of quadratic behaviour"
    )
    likelihood: bool = option(True, doc="choose the variance components by likelihood")
    doubt: bool = option(True, doc="take a stated noise for a guess if fits deny it")
    explore: bool = option(True, doc="measure where the gradient is least known")
    reshape: bool = option(True, doc="turn the region so that all directions show")
    compare: bool = option(
        True,
        doc="measure the best place so far again now and then, and go back to it if it "
        "reads lower; without it no drift is found to depend on the place",
    )
    repeats: float = option(
        0.15,
        lo=0.0,
        hi=1.0,
        doc="share of the readings that comparisons may take at any time",
    )
    local: bool = option(True, doc="fit a drift that comparisons show to vary with x")
    robust: bool = option(
        True,
        doc="leave readings that are hard to believe out, and measure there again",
    )
    shuffle: bool = option(True, doc="take the first points in random order")

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        return label(self)

    @cached_property
    def limits(self) -> Limits:
        """Of the variance components."""
        return limits(self.drift, self.length)
