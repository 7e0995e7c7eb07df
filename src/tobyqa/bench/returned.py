"""Tables of the returned points: what a user is handed, without hindsight."""

from __future__ import annotations

import numpy as np

from .beside import TAU, Measure, assemble, group_head, percent, tolerance
from .instruments import own_noise
from .layout import Column, Table
from .recorder import noise_level
from .records import Array
from .score import TOLERANCES, Scores, channel, dimension, solve_rates, split


def returned_tables(scores: Scores) -> list[Table]:
    """By tolerance, dimension and channel, and how often the start was better."""
    title = "Solve rates (%) of the best queried and of the returned point"
    every = [
        (f"tau{tolerance(tau)}", group_head(tau), scores, tau) for tau in TOLERANCES
    ]
    by_dimension = [
        (f"n{n}", f"n={n}", part, TAU) for n, part in split(scores, dimension).items()
    ]
    by_channel = [
        (name, name, part, TAU) for name, part in split(scores, channel).items()
    ]
    at = f"at {group_head(TAU)}"
    built = [
        _table("returned-point", title, scores, every),
        _table("returned-by-dimension", f"{title} {at}", scores, by_dimension),
        _table("returned-by-channel", f"{title} {at}, by channel", scores, by_channel),
        worse_table(scores),
    ]
    return [table for table in built if table is not None]


def _table(
    name: str, title: str, scores: Scores, parts: list[tuple[str, str, Scores, float]]
) -> Table | None:
    """Queried, returned and the change, for parts given as key, head, scores, tau."""
    measures = []
    for key, group, part, tau in parts:
        queried = solve_rates(part.judged_by("queried"), tau)
        returned = solve_rates(part.judged_by("returned"), tau)
        measures += [
            Measure(
                Column(f"{key}_queried", "queried", group, best="max"),
                percent(queried),
            ),
            Measure(
                Column(f"{key}_returned", "returned", group, best="max"),
                percent(returned),
            ),
            Measure(
                Column(f"{key}_change", "change", group, form="+.1f"),
                percent(returned - queried),
            ),
        ]
    note = (
        "The user is handed the returned point; the best one queried is known only "
        "in hindsight, without noise."
    )
    return assemble(name, title, note, scores, measures)


def worse_table(scores: Scores) -> Table | None:
    """Runs that handed back something worse than what they were given."""
    measures = []
    for n, part in split(scores, dimension).items():
        start, noise = part.f_start[:, None], _noise(part)
        # A failed run has no returned value; it did not improve on the start.
        above = np.where(np.isnan(part.returned), np.inf, part.returned) - start
        for key, head, limit in (
            ("any", "at all", 0.0),
            ("noise", "by the noise", noise),
        ):
            counts = (above > limit).sum(axis=0).astype(float)
            column = Column(f"n{n}_{key}", head, f"n={n}", form=".0f")
            measures.append(Measure(column, counts.tolist()))
    return assemble(
        "worse-than-start",
        "Runs whose returned point is worse than x0",
        "Number of runs whose returned point has a higher noise-free value than x0: by "
        "any amount, and by more than the standard deviation of a reading.",
        scores,
        measures,
    )


def _noise(scores: Scores) -> Array:
    """Standard deviation of a reading on each instance, (k, 1)."""
    usual = noise_level(scores.f_start)
    own = [own_noise(problem) for problem, *_ in scores.instances]
    noise = [u if o is None else o for u, o in zip(usual, own, strict=True)]
    return np.array(noise, dtype=float)[:, None]
