"""What constraints leave free: fixed variables and equalities removed.

=======  ==============================================================  =======
symbol   meaning                                                         shape
=======  ==============================================================  =======
x, s     the user's variables and their scales                           (n,)
y        x / s                                                           (n,)
z        free directions: x = p + s N z, z = N'(x / s)                   (k,)
p, N     a point where the equalities hold; their orthonormal null       (n,),
         space in y; p / s has no part in it                             (n, k)
U, c     inequalities in y, rows of length one: U y <= c                 (m, n)
E, d     equalities in y, rows of length one: E y = d                    (q, n)
=======  ==============================================================  =======
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr
from scipy.optimize import linprog

from .constraint_text import Linear, expression
from .polyhedron import Polyhedron, factors

Array = NDArray[np.float64]

THIN = 1e-9  # width of a set, in scales, that counts as none
_NO_WIDTH = 2e-10  # the same where rows imply it: what the linear programme resolves
_LP = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Side(NamedTuple):
    """a . x <= limit, one side of a bound or of a constraint; or a . x == limit."""

    a: Array
    limit: float
    name: str
    is_bound: bool = False


@dataclass(frozen=True)
class Reduction:
    """Free directions, what bounds them, and a point inside."""

    p: Array
    N: Array
    sides: tuple[Side, ...]  # inequalities with free directions
    equalities: tuple[Side, ...]  # stated ones and those that inequalities imply
    polyhedron: Polyhedron  # the sides in z, row by row
    inner: Array  # a point of the polyhedron away from its sides, (k,)


def reduce(
    sides: Sequence[Side], equalities: Sequence[Side], known: Array, scale: Array
) -> Reduction:
    """Remove what is known (NaN where not) and what equalities determine.

    An empty set raises ValueError, which names the constraints that cannot all hold.
    """
    free = np.isnan(known)
    point = np.where(free, 0.0, known)
    sides, equalities = _relevant(sides, equalities, point, free)
    sides, equalities, inner = _without_implied(sides, equalities, point, scale, free)
    E, d = _rows(equalities, point, scale, free)
    y, N = _null_space(E, d, free)
    p = np.where(free, scale * y, known)
    kept = [side for side in sides if (abs(side.a * scale) @ abs(N)).any()]
    A = np.array([(side.a * scale) @ N for side in kept]).reshape(len(kept), N.shape[1])
    b = np.array([side.limit - side.a @ p for side in kept])
    size = np.array([_size(side, scale, free) for side in kept])
    return Reduction(
        p=p,
        N=N,
        sides=tuple(kept),
        equalities=tuple(equalities),
        polyhedron=Polyhedron(A / size[:, None], b / size, tuple(s.name for s in kept)),
        inner=np.asarray(N.T @ inner),
    )


def sides_of_bounds(
    lower: Array, upper: Array, names: Sequence[str], free: NDArray[np.bool_]
) -> list[Side]:
    """Finite bounds of free variables."""
    sides = []
    for i in np.flatnonzero(free).tolist():
        unit = np.eye(lower.size)[i]
        if np.isfinite(upper[i]):
            sides.append(
                Side(unit, float(upper[i]), f"{names[i]} <= {upper[i]:.6g}", True)
            )
        if np.isfinite(lower[i]):
            sides.append(
                Side(-unit, -float(lower[i]), f"{names[i]} >= {lower[i]:.6g}", True)
            )
    return sides


def sides_of_rows(
    rows: Sequence[Linear], names: Sequence[str], scale: Array
) -> tuple[list[Side], list[Side]]:
    """Inequalities and equalities; two limits too close together are an equality."""
    sides, equalities = [], []
    for row in rows:
        a, text = np.array(row.coefficients), expression(row.coefficients, names)
        largest = max(abs(row.upper), abs(row.lower))
        width = max(THIN * float(np.abs(a) @ scale), 1e-12 * largest)
        if np.isfinite(width) and row.upper - row.lower <= width:
            middle = row.lower + 0.5 * (row.upper - row.lower)
            equalities.append(Side(a, middle, f"{text} == {middle:.6g}"))
            continue
        if np.isfinite(row.upper):
            sides.append(Side(a, row.upper, f"{text} <= {row.upper:.6g}"))
        if np.isfinite(row.lower):
            sides.append(Side(-a, -row.lower, f"{text} >= {row.lower:.6g}"))
    return sides, equalities


def _relevant(
    sides: Sequence[Side],
    equalities: Sequence[Side],
    point: Array,
    free: NDArray[np.bool_],
) -> tuple[list[Side], list[Side]]:
    """Those on free variables; an error if what is known violates another."""
    for is_equality, side in _marked(sides, equalities):
        excess = float(side.a @ point) - side.limit
        size = max(abs(side.limit), float(np.abs(side.a) @ np.abs(point)))
        is_violated = (abs(excess) if is_equality else excess) > THIN * size
        if is_violated and not side.a[free].any():
            raise ValueError(f"the fixed variables violate the constraint {side.name}")
    return (
        [side for side in sides if side.a[free].any()],
        [side for side in equalities if side.a[free].any()],
    )


def _marked(
    sides: Sequence[Side], equalities: Sequence[Side]
) -> list[tuple[bool, Side]]:
    """All of them, and whether each is an equality."""
    return [*((False, s) for s in sides), *((True, s) for s in equalities)]


def _size(side: Side, scale: Array, free: NDArray[np.bool_]) -> float:
    return float(np.linalg.norm((side.a * scale)[free]))


def _rows(
    sides: Sequence[Side], point: Array, scale: Array, free: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Rows of length one in y; columns of variables that are known hold zeros."""
    rows, limits = np.zeros((len(sides), scale.size)), np.zeros(len(sides))
    for row, side in enumerate(sides):
        size = _size(side, scale, free)
        rows[row] = np.where(free, side.a * scale, 0.0) / size
        limits[row] = (side.limit - side.a @ point) / size
    return rows, limits


def _without_implied(
    sides: list[Side],
    equalities: list[Side],
    point: Array,
    scale: Array,
    free: NDArray[np.bool_],
) -> tuple[list[Side], list[Side], Array]:
    """Inequalities that leave no width become equalities; and a point inside.

    The linear programme max r with U y + r <= c, E y = d, r <= 1 finds the middle. If
    r < 0 there is no point; if r = 0, the rows with multipliers > 0 hold as equalities
    at every point. In both cases the multipliers say which rows are to blame.
    """
    box = _middle_of_box(sides, equalities, scale)
    if box is not None:
        return sides, equalities, box
    while True:
        U, c = _rows(sides, point, scale, free)
        E, d = _rows(equalities, point, scale, free)
        y, r, blamed = _middle(U, c, E, d)
        names = [side.name for side in (*sides, *equalities)]
        if r < -THIN:
            guilty = [
                name for name, is_guilty in zip(names, blamed, strict=True) if is_guilty
            ]
            raise ValueError(
                "no point satisfies all constraints; these contradict each other: "
                + ", ".join(guilty or names)
            )
        implied = blamed[: len(sides)]
        if r > _NO_WIDTH or not implied.any():
            return sides, equalities, y
        equalities = [
            *equalities,
            *(s for s, i in zip(sides, implied, strict=True) if i),
        ]
        sides = [s for s, i in zip(sides, implied, strict=True) if not i]


def _middle_of_box(
    sides: list[Side], equalities: list[Side], scale: Array
) -> Array | None:
    """The middle in y, one scale inside where there is one bound; None: no such box."""
    if equalities or any(np.count_nonzero(side.a) != 1 for side in sides):
        return None
    low, high = np.full(scale.size, -np.inf), np.full(scale.size, np.inf)
    for a, limit, *_ in sides:
        i = int(np.flatnonzero(a)[0])
        y = limit / a[i] / scale[i]
        low[i], high[i] = (
            (low[i], min(high[i], y)) if a[i] > 0 else (max(low[i], y), high[i])
        )
    if not (high - low > 10.0 * THIN).all():
        return None
    low = np.where(np.isfinite(low), low, np.minimum(high - 2.0, -1.0))
    high = np.where(np.isfinite(high), high, np.maximum(low + 2.0, 1.0))
    return np.asarray(0.5 * (low + high))


def _middle(
    U: Array, c: Array, E: Array, d: Array
) -> tuple[Array, float, NDArray[np.bool_]]:
    """y, r and the rows with multipliers, of the programme above; r < 0: no point.

    Equalities may be violated at a price that no r can pay, so that they are blamed
    where they contradict each other.
    """
    (m, n), q = U.shape, len(d)
    # Near the point that satisfies the equalities best, numbers are small.
    start = np.linalg.lstsq(E, d, rcond=None)[0] if q else np.zeros(n)
    price = 1e3 * (m + q + 1)
    columns = [U, np.ones((m, 1)), np.zeros((m, 2 * q))]
    found = linprog(
        np.concatenate([np.zeros(n), [-1.0], np.full(2 * q, price)]),
        A_ub=np.hstack(columns) if m else None,
        b_ub=c - U @ start if m else None,
        A_eq=np.hstack([E, np.zeros((q, 1)), np.eye(q), -np.eye(q)]) if q else None,
        b_eq=d - E @ start if q else None,
        bounds=[(None, None)] * n + [(None, 1.0)] + [(0.0, None)] * (2 * q),
        options=_LP,
    )
    if found.status != 0:
        raise ValueError(f"the constraints could not be examined: {found.message}")
    violated = float(found.x[n + 1 :].sum())
    duals = np.concatenate(
        [found.ineqlin.marginals if m else [], found.eqlin.marginals if q else []]
    )
    point = start + found.x[:n]
    if violated > THIN:
        # What limits r is of no interest beside what costs the price.
        return point, -violated, np.abs(duals) > 1e-3 * price
    return point, float(found.x[n]), np.abs(duals) > 1e-7


def _null_space(E: Array, d: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The least y with E y = d, and an orthonormal basis of the ways that keep it.

    A variable that no equality mentions keeps an axis of its own, in its place.
    """
    n = free.size
    mentioned = np.flatnonzero(np.abs(E).max(axis=0, initial=0.0) > 0.0)
    alone = np.flatnonzero(free & ~np.isin(np.arange(n), mentioned))
    if mentioned.size == 0:
        return np.zeros(n), np.eye(n)[:, alone]
    _, R, order = qr(E.T, mode="economic", pivoting=True)
    rank = int((np.abs(R.diagonal()) > 1e-10).sum())
    rows = np.sort(order[:rank])  # in their order, not that of the pivots
    Y, R = factors(E[np.ix_(rows, mentioned)])
    y, N = np.zeros(n), np.zeros((n, mentioned.size - rank))
    y[mentioned] = Y[:, :rank] @ lapack.dtrtrs(R, d[rows], trans=1)[0]
    N[mentioned] = Y[:, rank:]
    axes = np.hstack([np.eye(n)[:, alone], N])
    place = np.concatenate([alone, mentioned[rank:]])
    return y, axes[:, np.argsort(place, kind="stable")]
