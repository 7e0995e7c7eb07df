"""A quadratic's minimum within a ball and a polyhedron.

=======  =======================================================  =======
symbol   meaning                                                  shape
=======  =======================================================  =======
A, b     polyhedron {s : A s <= b}                                (m, n), (m,)
U, c     the same with rows of length one, c >= 0                 (m, n), (m,)
g, H     gradient and Hessian of the model m(s) = g.s + s'Hs/2    (n,), (n, n)
e, Q     eigenvalues (ascending) and eigenvectors of H            (n,), (n, n)
s        step, |s| <= 1                                           (n,)
W        rows that hold as equalities: the face in force          list
lam, mu  multipliers of the rows and of the ball                  (m,), scalar
=======  =======================================================  =======

First-order conditions: g + H s + A'lam + mu s = 0 with lam, mu >= 0, zero where slack.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from .polyhedron import factors, project
from .step import ball_step

Array = NDArray[np.float64]

_EPS = float(np.finfo(float).eps)
_ACROSS = 1e-10  # least component of a unit way across a row that it runs into
_TOUCHES = 1e-11  # slack of a unit row, in radii, that counts as none
_STILL = 1e-13  # a move, in radii, that is none
_NOTHING = 1e-16  # a fall of the model, relative to |g| + |H|, that is rounding
_STATIONARY = 1e-11  # gradient left over, relative to |g| + |H|
_MOST_FACES = 100  # that are tried, with four more for every row


class Step(NamedTuple):
    """A step within ball and polyhedron, and what holds it back."""

    s: Array
    active: NDArray[np.intp]  # rows without slack at s
    multipliers: Array  # of these rows, >= 0
    mu: float  # of the ball, >= 0


def bounded_step(g: Array, e: Array, Q: Array, A: Array, b: Array) -> Step:
    """A minimiser of g.s + s'Hs/2 over |s| <= 1 and A s <= b, for H = Q diag(e) Q'.

    Global if H is positive semidefinite, else a point that satisfies the first-order
    conditions and is no higher than the minimum along steepest descent. An active-set
    method: on a face the problem is one in a ball of fewer dimensions, of which
    `ball_step` finds the global minimum. Without rows in the way the result is that of
    `ball_step`, bit by bit.

    The origin counts as feasible: a negative b is taken as 0. The result is never
    uphill, and A s <= b holds to rounding.
    """
    s = ball_step(g, e, Q)
    if not (A @ s > b).any():
        return Step(s, np.empty(0, dtype=np.intp), np.empty(0), _ball_price(g, e, Q, s))
    size = np.sqrt(np.einsum("ij,ij->i", A, A))
    kept = np.flatnonzero(np.isfinite(b) & (size > 0.0))
    unit = max(math.sqrt(g @ g), float(np.abs(e).max()), 1e-300)
    face = _Problem(
        g=g / unit,
        e=e / unit,
        Q=Q,
        H=(Q * (e / unit)) @ Q.T,
        U=A[kept] / size[kept, None],
        c=np.maximum(b[kept] / size[kept], 0.0),
    )
    s, lam, mu = _descend(face)
    s = face.inside(s)
    active = np.flatnonzero(face.slack(s) <= _TOUCHES)
    prices = unit * lam[active] / size[kept[active]]
    return Step(s, kept[active], prices, unit * mu)


def _ball_price(g: Array, e: Array, Q: Array, s: Array) -> float:
    """mu at a minimiser within the ball alone."""
    square = float(s @ s)
    if square < 1.0 - 1e-9:
        return 0.0
    return max(0.0, -float(s @ (g + Q @ (e * (Q.T @ s)))) / square)


def _descend(p: _Problem) -> tuple[Array, Array, float]:
    """s, lam, mu: down from the origin, face by face, until nothing is left to gain."""
    s, W = _first_descent(p)
    has_fallen = True
    for _ in range(_MOST_FACES + 4 * p.c.size):
        further, row = p.along(s, W)
        has_fallen = has_fallen or p.fall(s, further) > _NOTHING
        s = further
        if row is not None:
            W = [*W, row]
            continue
        lam, mu, downhill = p.certificate(s)
        if math.sqrt(downhill @ downhill) <= _STATIONARY:
            return s, lam, mu
        if not has_fallen:
            # Nothing since the last certificate: faces through one vertex take turns.
            slid = p.slide(s, downhill)
            if p.fall(s, slid) <= _NOTHING:
                return s, lam, mu
            s = slid
        W = [int(i) for i in np.flatnonzero(lam > 0.0) if p.slack(s)[i] <= _TOUCHES]
        has_fallen = False
    return s, *p.certificate(s)[:2]


def _first_descent(p: _Problem) -> tuple[Array, list[int]]:
    """Towards the minimum in the ball or along steepest descent, whichever is lower."""
    origin = np.zeros_like(p.g)
    s, row = p.along(origin, [])
    if p.e[0] < 0.0:
        _, _, downhill = p.certificate(origin)
        cauchy = p.slide(origin, downhill)
        if p.fall(s, cauchy) > 0.0:
            return cauchy, []
    return s, [] if row is None else [row]


class _Face(NamedTuple):
    """Points centre + N t, |t| <= radius, with the model's eigenvectors in t."""

    centre: Array
    N: Array
    radius: float
    e: Array
    Q: Array


@dataclass(frozen=True)
class _Problem:
    """The problem with rows of length one and |g|, |H| at most one."""

    g: Array
    e: Array
    Q: Array
    H: Array
    U: Array
    c: Array  # >= 0

    def slack(self, s: Array) -> Array:
        return np.asarray(self.c - self.U @ s)

    def fall(self, s: Array, to: Array) -> float:
        """How much lower the model is at another place."""
        d = to - s
        return -float(d @ (self.g + self.H @ (s + 0.5 * d)))

    def face(self, W: list[int]) -> _Face | None:
        """The face of a set of rows; None if it is a point."""
        n, k = self.g.size, len(W)
        if not W:
            return _Face(np.zeros(n), np.eye(n), 1.0, self.e, self.Q)
        if k >= n:
            return None
        Y, R = factors(self.U[W])
        centre = Y[:, :k] @ lapack.dtrtrs(R, self.c[W], trans=1)[0]
        room = 1.0 - float(centre @ centre)
        N = Y[:, k:]
        e, Q = np.linalg.eigh(N.T @ self.H @ N)
        return _Face(centre, N, math.sqrt(room), e, Q) if room > 0.0 else None

    def along(self, s: Array, W: list[int]) -> tuple[Array, int | None]:
        """A point of the face that is lower, and the row that is in the way there.

        First towards the minimum on the face. Where that is behind a hump, towards that
        of m(s') + shift |s' - s|^2 / 2, which is convex: it falls all the way, and the
        model with it.
        """
        face = self.face(W)
        if face is None:
            return s, None
        for share in (0.0, 0.5, 1.1):
            shift = share * max(0.0, -float(face.e[0]))
            g = face.N.T @ (self.g + self.H @ face.centre - shift * (s - face.centre))
            t = ball_step(g, face.e + shift, face.Q, face.radius)
            to, row = self.toward(s, face.centre + face.N @ t, W)
            is_convex = shift + face.e[0] >= 0.0
            if is_convex or self.fall(s, to) > _NOTHING:
                break
        return to, row

    def toward(self, s: Array, target: Array, W: list[int]) -> tuple[Array, int | None]:
        """As far as no row is in the way, and the row that is; not uphill."""
        d = target - s
        if d @ d <= _STILL**2:
            return s, None
        ahead = self.U @ d
        ahead[W] = 0.0
        blocking = ahead > max(_ACROSS * math.sqrt(d @ d), 8.0 * _EPS)
        room = np.maximum(self.slack(s), 0.0) / np.where(blocking, ahead, 1.0)
        room[~blocking] = np.inf
        row = int(room.argmin())
        to = s + min(1.0, float(room[row])) * d
        if self.fall(s, to) < -_NOTHING:
            return s, None
        return to, row if room[row] < 1.0 else None

    def certificate(self, s: Array) -> tuple[Array, float, Array]:
        """lam, mu and the part of -(g + H s) that they leave: the way downhill.

        It is the projection onto the directions that lead into ball and polyhedron,
        zero where the first-order conditions hold.
        """
        touched = np.flatnonzero(self.slack(s) <= _TOUCHES)
        rows = self.U[touched]
        is_on_sphere = s @ s >= (1.0 - _TOUCHES) ** 2
        if is_on_sphere:
            rows = np.vstack([rows, s / math.sqrt(s @ s)])
        way = project(-(self.g + self.H @ s), rows, np.zeros(len(rows)))
        lam = np.zeros(self.c.size)
        lam[touched] = way.multipliers[: touched.size]
        return lam, float(way.multipliers[-1]) if is_on_sphere else 0.0, way.x

    def slide(self, s: Array, d: Array) -> Array:
        """Along a way downhill, scaled back into the ball, to where it is lower."""
        size = math.sqrt(d @ d)
        if size <= _STATIONARY:
            return s
        ahead = self.U @ d
        blocking = ahead > 1e-12 * size
        room = np.maximum(self.slack(s)[blocking], 0.0) / ahead[blocking]
        length = min(2.0 / size, float(room.min(initial=math.inf)))
        curvature = float(d @ self.H @ d)
        if curvature > 0.0:
            length = min(length, -float(d @ (self.g + self.H @ s)) / curvature)
        for _ in range(40):
            # The origin is feasible, so a point scaled towards it stays feasible.
            to = s + length * d
            to = to / max(1.0, math.sqrt(to @ to))
            if self.fall(s, to) > 1e-4 * length * size**2:
                return np.asarray(to)
            length *= 0.5
        return s

    def inside(self, s: Array) -> Array:
        """s, moved into polyhedron and ball where rounding left it outside."""
        s = project(s, self.U, self.c).x
        for _ in range(3):
            excess = self.U @ s - self.c
            worst = int(excess.argmax())
            if excess[worst] <= 0.0:
                break
            s = s - (excess[worst] + _EPS * self.c[worst]) * self.U[worst]
        s = s / max(1.0, math.sqrt(s @ s))
        return s if self.fall(np.zeros_like(s), s) >= 0.0 else np.zeros_like(s)
