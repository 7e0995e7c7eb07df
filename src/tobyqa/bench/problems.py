"""The 65 smooth test problems of the benchmark, in any dimension that makes sense.

The names are those of the CUTEst collection, but several formulas differ from the
problem of that name: where CUTEst asks for a special dimension, the sums here are cut
so that every n >= 6 works. Some variables then enter nowhere; those null directions
are part of the test (arglinc x_1; powellsg and woods the remainder of n modulo 4;
chainwoo the last two or three; cragglvy and srosenbr the last one for odd n).

Notation, as in the formulas below:

    x, n        the point, (n,), and its dimension; x_1..x_n in the text
    i           the vector (1, ..., n), or the part of it that a sum runs over
    a, b, c, d  neighbouring variables, one vector per letter
    r           residuals, mostly of a sum of squares
    h           1 / (n + 1), mesh width; t = i h the mesh

`min_n` is the smallest n at which some sum of the formula has a term, every variable
it names exists and nothing is divided by zero.
"""

# numpy's stubs give Any for x[0]; Problem.fun turns every value into a float once.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tobyqa.bench.records import Array

Formula = Callable[[Array], float]
Factory = Callable[[int], Formula]


@dataclass(frozen=True, eq=False)
class Box:
    """Limits of the variables, and what is known of the function within them."""

    lower: Array  # (n,)
    upper: Array
    minimum: float  # the least latent value
    scale: float | None = None  # of drift and noise; None: max(|f(x0)|, 1), as without
    noise: float | None = None  # standard deviation over the scale; None: the paper's
    # Where starts differ from seed to seed: what they lose, at least and at most, over
    # the scale.
    start_losses: tuple[float, float] | None = None

    def holds(self, x: Array) -> bool:
        """Whether `x` is inside, but for rounding."""
        room = 1e-9 * (self.upper - self.lower)
        return bool(np.all(x >= self.lower - room) and np.all(x <= self.upper + room))


@dataclass(frozen=True)
class Problem:
    """One test problem in one dimension; problems of one name and n are equal.

    A function of your own becomes one with ``Problem(name, fun, x0)``: it takes a point
    of shape (n,) and gives the noise-free value; channel and noise are added by the
    benchmark.

    >>> Problem("bowl", lambda x: x @ x, [1.0, 2.0]).fun([3.0, 4.0])
    25.0
    """

    name: str
    n: int = field(init=False)
    formula: Formula = field(repr=False, compare=False)
    x0: Array = field(repr=False, compare=False)  # (n,), read-only
    box: Box | None = field(default=None, repr=False, compare=False)
    # Found again by its name in every process, so that its formula need not travel.
    catalogued: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"name: {self.name!r} is not a name")
        if not callable(self.formula):
            raise TypeError(f"fun: {self.formula!r} is not a function")
        x0 = np.array(self.x0, dtype=np.float64)
        if x0.ndim != 1 or x0.size < 1 or not np.isfinite(x0).all():
            raise ValueError(f"x0: {self.x0!r} is not a point (n finite numbers)")
        x0.flags.writeable = False
        object.__setattr__(self, "x0", x0)
        object.__setattr__(self, "n", x0.size)

    def fun(self, x: ArrayLike) -> float:
        """Latent value at `x`; whatever is not finite is reported as +inf."""
        x = np.asarray(x, dtype=np.float64)
        if x.shape != (self.n,):
            raise ValueError(f"x: shape {x.shape}, {self.name} expects ({self.n},)")
        with np.errstate(all="ignore"):
            value = float(self.formula(x))
        return value if math.isfinite(value) else math.inf

    __call__ = fun

    def __reduce__(self) -> tuple[Any, ...]:
        from tobyqa.bench.catalogue import find_problem  # which knows all kinds

        if self.catalogued:
            return find_problem, (self.name, self.n)
        return Problem, (self.name, self.formula, self.x0, self.box)


@dataclass(frozen=True)
class _Definition:
    start: Callable[[int], Array]
    min_n: int
    factory: Factory


def problem_names() -> tuple[str, ...]:
    """Names of all problems: alphabetical, but quartc next to its twin dqrtic.

    >>> len(problem_names())
    65
    """
    return tuple(_DEFINITIONS)


def min_dimension(name: str) -> int:
    """Smallest n at which the problem makes sense.

    >>> min_dimension("woods")
    4
    """
    return _definition(name).min_n


def get_problem(name: str, n: int) -> Problem:
    """The problem `name` in dimension `n`.

    >>> rosenbrock = get_problem("srosenbr", 2)
    >>> rosenbrock.x0.tolist(), round(rosenbrock([1.0, 1.0]), 12)
    ([-1.2, 1.0], 0.0)
    """
    definition, n = _definition(name), operator.index(n)
    if n < definition.min_n:
        raise ValueError(f"problem {name!r}: n = {n}, smallest n is {definition.min_n}")
    return Problem(name, definition.factory(n), definition.start(n), catalogued=True)


def _definition(name: str) -> _Definition:
    if name not in _DEFINITIONS:
        close = difflib.get_close_matches(str(name), _DEFINITIONS)
        hint = f"; close to it: {', '.join(close)}" if close else ""
        raise ValueError(f"unknown problem {name!r}{hint}")
    return _DEFINITIONS[name]


# Starting points and registration --------------------------------------------------

_STARTS: dict[str, Callable[[int], Array]] = {
    "ones": np.ones,
    "neg1": lambda n: np.full(n, -1.0),
    "half": lambda n: np.full(n, 0.5),
    "two": lambda n: np.full(n, 2.0),
    "zero": np.zeros,
    "small": lambda n: np.full(n, 1.0 / n),
    "alt": lambda n: np.where(np.arange(n) % 2 == 0, -1.2, 1.0),
    "spread": lambda n: -1.5 + 2.7 * np.arange(n) / (n - 1),
    "index": lambda n: 1.0 - np.arange(1, n + 1) / n,
}

# Filled by the decorators below while this module loads, only read afterwards.
_DEFINITIONS: dict[str, _Definition] = {}


def _factory(*names: str, start: str, min_n: int) -> Callable[[Factory], Factory]:
    """Register a function n -> formula; what depends on n alone is computed once."""

    def register(factory: Factory) -> Factory:
        definition = _Definition(_STARTS[start], min_n, factory)
        _DEFINITIONS.update(dict.fromkeys(names, definition))
        return factory

    return register


def _formula(*names: str, start: str, min_n: int) -> Callable[[Formula], Formula]:
    """Register a formula that needs nothing computed in advance."""

    def register(formula: Formula) -> Formula:
        _factory(*names, start=start, min_n=min_n)(lambda n: formula)
        return formula

    return register


# What the formulas share ------------------------------------------------------------

# As plain names these cost half of x @ y and x.sum() at n = 10.
_dot: Callable[[Any, Any], float] = np.dot
_sum: Callable[[Array], float] = np.add.reduce
_prod: Callable[[Array], float] = np.multiply.reduce


def _clip(z: Array, bound: float) -> Array:
    """z limited to [-bound, bound]; a third of the time of np.clip."""
    return np.minimum(np.maximum(z, -bound), bound)


def _exp(z: Array) -> Array:
    """E(z), the exponential that cannot overflow."""
    return np.exp(_clip(z, 50.0))


def _squares(r: Array) -> float:
    return _dot(r, r)


def _fourth_powers(r: Array) -> float:
    q = r * r
    return _dot(q, q)


def _index(n: int) -> Array:
    return np.arange(1.0, n + 1.0)


def _stretch(n: int) -> Array:
    """exp(6 (i-1) / (n-1)): the scaling of sbrybnd and scosine."""
    return np.exp(6.0 * np.arange(n) / (n - 1))


def _wood(a: Array, b: Array, c: Array, d: Array) -> float:
    return (
        100.0 * _squares(b - a * a)
        + _squares(1.0 - a)
        + 90.0 * _squares(d - c * c)
        + _squares(1.0 - c)
        + 10.0 * _squares(b + d - 2.0)
        + 0.1 * _squares(b - d)
    )


def _broyden_residuals(x: Array) -> Array:
    """(3 - 2 x_i) x_i - x_{i-1} - 2 x_{i+1} + 1 with x_0 = x_{n+1} = 0."""
    r = (3.0 - 2.0 * x) * x + 1.0
    r[1:] -= x[:-1]
    r[:-1] -= 2.0 * x[1:]
    return r


def _path_squares(x: Array) -> float:
    """sum_{i=0..n} (x_{i+1} - x_i)^2 with x_0 = x_{n+1} = 0."""
    return x[0] * x[0] + _squares(x[1:] - x[:-1]) + x[-1] * x[-1]


def _sparse_sets(n: int) -> NDArray[np.intp]:
    """Column k holds the five (0-based) indices of I_k, repeats kept; (5, n)."""
    k = np.arange(n)
    return np.stack([2 * k, 3 * k + 1, 5 * k + 2, 7 * k + 3, 11 * k + 4]) % n


# The problems -----------------------------------------------------------------------


@_factory("arglina", start="ones", min_n=1)
def _arglina(n: int) -> Formula:
    def f(x: Array) -> float:
        mean = _sum(x) / n  # (2/m) S, m = 2n
        return _squares(x - mean - 1.0) + n * (mean + 1.0) ** 2

    return f


@_factory("arglinb", start="ones", min_n=1)
def _arglinb(n: int) -> Formula:
    i, rows = _index(n), _index(2 * n)
    return lambda x: _squares(rows * _dot(i, x) - 1.0)


@_factory("arglinc", start="ones", min_n=2)
def _arglinc(n: int) -> Formula:
    j, rows = _index(n - 1), _index(2 * n - 2)
    return lambda x: 2.0 + _squares(rows * _dot(j, x[1:]) - 1.0)


@_formula("arwhead", start="ones", min_n=2)
def _arwhead(x: Array) -> float:
    a = x[:-1]
    q = a * a + x[-1] * x[-1]
    return _sum(q * q - 4.0 * a + 3.0)


@_formula("bdqrtic", start="ones", min_n=5)
def _bdqrtic(x: Array) -> float:
    q = x * x
    quartic = q[:-4] + 2.0 * q[1:-3] + 3.0 * q[2:-2] + 4.0 * q[3:-1] + 5.0 * q[-1]
    return _squares(3.0 - 4.0 * x[:-4]) + _squares(quartic)


@_factory("brownal", start="half", min_n=2)
def _brownal(n: int) -> Formula:
    def f(x: Array) -> float:
        linear = x[:-1] + (_sum(x) - (n + 1))
        return _squares(linear) + (_prod(_clip(x, 10.0)) - 1.0) ** 2

    return f


@_formula("broydn3d", start="neg1", min_n=1)
def _broydn3d(x: Array) -> float:
    return _squares(_broyden_residuals(x))


@_factory("broydn7d", start="neg1", min_n=1)
def _broydn7d(n: int) -> Formula:
    half, power = n // 2, 7.0 / 3.0

    def f(x: Array) -> float:
        far = x[:half] + x[half : 2 * half]
        near = _broyden_residuals(x)
        return _sum(np.abs(near) ** power) + _sum(np.abs(far) ** power)

    return f


@_factory("brybnd", start="neg1", min_n=1)
def _brybnd(n: int) -> Formula:
    # Convolved with it, entry i + 1 of the full result sums the band J_i:
    # offsets +1, (0 left out), -1, ..., -5.
    band = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0])

    def f(x: Array) -> float:
        coupling = np.convolve(x * (1.0 + x), band)[1 : n + 1]
        return _squares(x * (2.0 + 5.0 * x * x) + 1.0 - coupling)

    return f


@_factory("chainwoo", start="alt", min_n=6)
def _chainwoo(n: int) -> Formula:
    m = 2 * ((n - 2) // 2)

    def f(x: Array) -> float:
        a, b, c, d = x[0 : m - 2 : 2], x[1 : m - 1 : 2], x[2:m:2], x[3:m:2]
        return 1.0 + _wood(a, b, c, d)

    return f


_CHNROSNB = np.array([
    1.25, 1.40, 2.40, 1.40, 1.75, 1.20, 2.25, 1.20, 1.00, 1.10,
    1.50, 1.60, 1.25, 1.25, 1.20, 1.20, 1.40, 0.50, 0.50, 1.25,
    1.80, 0.75, 1.25, 1.40, 1.60, 2.00, 1.00, 1.60, 1.25, 2.75,
    1.25, 1.25, 1.25, 3.00, 1.50, 2.00, 1.25, 1.40, 1.80, 1.50,
    2.20, 1.40, 1.50, 1.25, 2.00, 1.50, 1.25, 1.40, 0.60, 1.50,
])  # fmt: skip


@_factory("chnrosnb", start="alt", min_n=2)
def _chnrosnb(n: int) -> Formula:
    weights = 4.0 * np.resize(_CHNROSNB, n)[1:]

    def f(x: Array) -> float:
        b = x[1:]
        return _squares(weights * (x[:-1] - b * b)) + _squares(b - 1.0)

    return f


@_formula("cosine", start="ones", min_n=2)
def _cosine(x: Array) -> float:
    a = x[:-1]
    return _sum(np.cos(a * a - 0.5 * x[1:]))


@_factory("cragglvy", start="ones", min_n=4)
def _cragglvy(n: int) -> Formula:
    m = 2 * (n // 2)

    def f(x: Array) -> float:
        a, b, c, d = x[0 : m - 3 : 2], x[1 : m - 2 : 2], x[2 : m - 1 : 2], x[3:m:2]
        a2, bc = a * a, b - c
        return (
            _fourth_powers(_exp(a) - b)
            + 100.0 * _squares(bc * bc * bc)
            + _fourth_powers(np.tan(_clip(c - d, 1.5)))
            + _fourth_powers(a2)
            + _squares(d - 1.0)
        )

    return f


def _curly(n: int, width: int) -> Formula:
    window = np.ones(width + 1)

    def f(x: Array) -> float:
        q = np.convolve(x, window)[width:]  # sum of x_i .. x_min(i+K,n)
        return _sum(q * (q * (q * q - 20.0) - 0.1))

    return f


for _width in (10, 20, 30):
    _factory(f"curly{_width}", start="small", min_n=1)(partial(_curly, width=_width))


def _dixmaan(n: int, b: float, c: float, p: int, r: int) -> Formula:
    """The products x_i x_{i+2M} have the weight c too: in all twelve d = c."""
    m = n // 3
    i = _index(3 * m) / (3 * m)
    square_weights, product_weights = i**p, c * i[:m] ** r

    def f(x: Array) -> float:
        y, rest = x[: 3 * m], x[3 * m :]
        q = y * y
        value = 1.0 + _dot(square_weights, q) + _squares(rest)
        if b:  # where the term is absent it must not overflow either
            s = y[:-1] * (y[1:] + q[1:])
            value += b * _squares(s)
        s = y[: 2 * m] * q[m:]
        return value + c * _squares(s) + _dot(product_weights, y[:m] * y[2 * m :])

    return f


# (b, c) of the letters a-d; e-h and i-l repeat them with other exponents.
_DIXMAAN = ((0.0, 0.125), (0.0625, 0.0625), (0.125, 0.125), (0.26, 0.26))

for _k, _letter in enumerate("abcdefghijkl"):
    _b, _c = _DIXMAAN[_k % 4]
    _p = _k // 4
    _r = 1 if _letter == "b" else _p  # r = 1 for dixmaanb is meant, not a slip
    _factory(f"dixmaan{_letter}", start="two", min_n=3)(
        partial(_dixmaan, b=_b, c=_c, p=_p, r=_r)
    )


@_formula("dixon3dq", start="neg1", min_n=2)
def _dixon3dq(x: Array) -> float:
    return (x[0] - 1.0) ** 2 + _squares(x[:-1] - x[1:]) + (x[-1] - 1.0) ** 2


@_formula("dqdrtic", start="spread", min_n=3)
def _dqdrtic(x: Array) -> float:
    return _squares(x[:-2]) + 100.0 * (_squares(x[1:-1]) + _squares(x[2:]))


@_factory("dqrtic", "quartc", start="two", min_n=1)
def _dqrtic(n: int) -> Formula:
    i = _index(n)
    return lambda x: _fourth_powers(x - i)


@_formula("edensch", start="zero", min_n=2)
def _edensch(x: Array) -> float:
    b, a2 = x[1:], x[:-1] - 2.0
    return 16.0 + _fourth_powers(a2) + _squares(a2 * b) + _squares(b + 1.0)


@_formula("eg2", start="zero", min_n=2)
def _eg2(x: Array) -> float:
    # The argument of the last sine, x_n^2, shares the vector with the others.
    z = x * x
    z[:-1] += x[0] - 1.0
    s = np.sin(_clip(z, 1000.0))
    return _sum(s[:-1]) + 0.5 * s[-1]


@_formula("engval1", start="two", min_n=2)
def _engval1(x: Array) -> float:
    squares = x * x
    q = squares[:-1] + squares[1:]
    return _sum(q * q - 4.0 * x[:-1] + 3.0)


@_formula("extrosnb", start="neg1", min_n=2)
def _extrosnb(x: Array) -> float:
    a = x[:-1]
    return (x[0] - 1.0) ** 2 + 100.0 * _squares(x[1:] - a * a)


@_factory("fletcbv2", start="small", min_n=1)
def _fletcbv2(n: int) -> Formula:
    h2 = (n + 1.0) ** -2
    return lambda x: 0.5 * _path_squares(x) - h2 * _sum(x + np.cos(x))


@_factory("fletcbv3", start="small", min_n=1)
def _fletcbv3(n: int) -> Formula:
    p, h2 = 1e-8, (n + 1.0) ** -2
    return lambda x: p * (0.5 * _path_squares(x) - h2 * 100.0 * _sum(np.sin(0.01 * x)))


@_formula("fletchcr", start="zero", min_n=2)
def _fletchcr(x: Array) -> float:
    a = x[:-1]
    return 100.0 * _squares(x[1:] - a + 1.0 - a * a)


@_formula("freuroth", start="half", min_n=2)
def _freuroth(x: Array) -> float:
    a, b = x[:-1], x[1:]
    return _squares(a - 13.0 + ((5.0 - b) * b - 2.0) * b) + _squares(
        a - 29.0 + ((b + 1.0) * b - 14.0) * b
    )


@_formula("genhumps", start="neg1", min_n=2)
def _genhumps(x: Array) -> float:
    s = np.sin(2.0 * x)
    return _squares(s[:-1] * s[1:]) + 0.05 * (_squares(x[:-1]) + _squares(x[1:]))


@_formula("genrose", start="alt", min_n=2)
def _genrose(x: Array) -> float:
    a, b = x[:-1], x[1:]
    return 1.0 + 100.0 * _squares(b - a * a) + _squares(b - 1.0)


@_factory("integreq", start="index", min_n=1)
def _integreq(n: int) -> Formula:
    h = 1.0 / (n + 1)
    t = h * _index(n)
    s = 1.0 - t
    left, right = 0.5 * h * s, 0.5 * h * t[:-1]

    def f(x: Array) -> float:
        z = x + t + 1.0
        c = z * z * z
        r = x + left * np.add.accumulate(t * c)
        # Backwards and without j = 1: the sums over j > i, i = n-1 .. 1.
        r[:-1] += right * np.add.accumulate((s * c)[:0:-1])[::-1]
        return _squares(r)

    return f


@_formula("liarwhd", start="two", min_n=1)
def _liarwhd(x: Array) -> float:
    return 4.0 * _squares(x * x - x[0]) + _squares(x - 1.0)


@_factory("morebv", start="half", min_n=1)
def _morebv(n: int) -> Formula:
    h = 1.0 / (n + 1)
    t_plus_1 = h * _index(n) + 1.0

    def f(x: Array) -> float:
        z = x + t_plus_1
        r = 2.0 * x + (0.5 * h * h) * (z * z * z)
        r[1:] -= x[:-1]
        r[:-1] -= x[1:]
        return _squares(r)

    return f


@_factory("noncvxu2", start="index", min_n=1)
def _noncvxu2(n: int) -> Formula:
    k = np.arange(n)
    second, third = (2 * k + 1) % n, (3 * k + 2) % n

    def f(x: Array) -> float:
        a = x + x.take(second) + x.take(third)
        return _squares(a) + 4.0 * _sum(np.cos(a))

    return f


@_formula("nondia", start="neg1", min_n=2)
def _nondia(x: Array) -> float:
    b = x[1:]
    return (x[0] - 1.0) ** 2 + _squares(100.0 * x[0] - b * b)


@_formula("nondquar", start="alt", min_n=3)
def _nondquar(x: Array) -> float:
    middle = _fourth_powers(x[:-2] + x[1:-1] + x[-1])
    return (x[0] - x[1]) ** 2 + middle + (x[-2] + x[-1]) ** 2


@_formula("penalty1", start="index", min_n=1)
def _penalty1(x: Array) -> float:
    return 1e-5 * _squares(x - 1.0) + (_squares(x) - 0.25) ** 2


@_factory("penalty2", start="half", min_n=1)
def _penalty2(n: int) -> Formula:
    i = _index(n)
    y = (_exp(0.1 * i) + _exp(0.1 * (i - 1.0)))[1:]
    weights, level = n - i + 1.0, math.exp(-0.1)

    def f(x: Array) -> float:
        e = _exp(0.1 * x)
        small = _squares(e[1:] + e[:-1] - y) + _squares(e[1:] - level)
        return (x[0] - 0.2) ** 2 + 1e-5 * small + (_dot(weights, x * x) - 1.0) ** 2

    return f


@_factory("powellsg", start="spread", min_n=4)
def _powellsg(n: int) -> Formula:
    m = n - n % 4

    def f(x: Array) -> float:
        a, b, c, d = x[0:m:4], x[1:m:4], x[2:m:4], x[3:m:4]
        return (
            _squares(a + 10.0 * b)
            + 5.0 * _squares(c - d)
            + _fourth_powers(b - 2.0 * c)
            + 10.0 * _fourth_powers(a - d)
        )

    return f


@_factory("power", start="ones", min_n=1)
def _power(n: int) -> Formula:
    i = _index(n)
    return lambda x: _squares(i * x)


@_factory("sbrybnd", start="neg1", min_n=2)
def _sbrybnd(n: int) -> Formula:
    scale, brybnd = _stretch(n), _brybnd(n)
    return lambda x: brybnd(scale * x)


@_formula("schmvett", start="half", min_n=3)
def _schmvett(x: Array) -> float:
    a, b, c = x[:-2], x[1:-1], x[2:]
    ab = a - b
    ratio = (a + c) / np.maximum(np.abs(b), 1e-8) - 2.0
    wave = np.sin(_clip(0.5 * (math.pi * b + c), 1000.0))
    return -_sum(1.0 / (1.0 + ab * ab) + wave + _exp(-ratio * ratio))


@_factory("scosine", start="ones", min_n=2)
def _scosine(n: int) -> Formula:
    scale = _stretch(n)
    return lambda x: _cosine(scale * x)


@_formula("sinquad", start="small", min_n=3)
def _sinquad(x: Array) -> float:
    middle, first2, last2 = x[1:-1], x[0] * x[0], x[-1] * x[-1]
    r = np.sin(middle - x[-1]) - first2 + middle * middle
    return (x[0] - 1.0) ** 4 + _squares(r) + (last2 - first2) ** 2


@_factory("sparsine", start="half", min_n=1)
def _sparsine(n: int) -> Formula:
    sets, weights = _sparse_sets(n), 0.5 * _index(n)

    def f(x: Array) -> float:
        s = np.sin(_clip(np.add.reduce(x.take(sets)), 1000.0))
        return _dot(weights, s * s)

    return f


@_factory("sparsqur", start="half", min_n=1)
def _sparsqur(n: int) -> Formula:
    sets, weights = _sparse_sets(n), 0.25 * _index(n)

    def f(x: Array) -> float:
        q: Array = np.add.reduce((x * x).take(sets))
        return _dot(weights, q * q)

    return f


@_factory("srosenbr", start="alt", min_n=2)
def _srosenbr(n: int) -> Formula:
    m = n - n % 2

    def f(x: Array) -> float:
        a, b = x[0:m:2], x[1:m:2]
        return 100.0 * _squares(b - a * a) + _squares(1.0 - a)

    return f


@_factory("tointgss", start="spread", min_n=3)
def _tointgss(n: int) -> Formula:
    base = 10.0 / (n + 2)

    def f(x: Array) -> float:
        c, ab = x[2:], x[:-2] - x[1:-1]
        c2 = c * c
        return _dot(base + c2, 2.0 - _exp(-ab * ab / (0.1 + c2)))

    return f


@_formula("tquartic", start="half", min_n=2)
def _tquartic(x: Array) -> float:
    b = x[1:]
    return (x[0] - 1.0) ** 2 + _squares(x[0] * x[0] - b * b)


@_factory("tridia", start="ones", min_n=2)
def _tridia(n: int) -> Formula:
    i = _index(n)[1:]

    def f(x: Array) -> float:
        r = 2.0 * x[1:] - x[:-1]
        return (x[0] - 1.0) ** 2 + _dot(i, r * r)

    return f


@_factory("trigon", start="small", min_n=1)
def _trigon(n: int) -> Formula:
    i = _index(n)

    def f(x: Array) -> float:
        cos = np.cos(x)
        return _squares(n - _sum(cos) + i * (1.0 - cos) - np.sin(x))

    return f


@_factory("vardim", start="index", min_n=1)
def _vardim(n: int) -> Formula:
    i = _index(n)

    def f(x: Array) -> float:
        r = x - 1.0
        s2 = _dot(i, r) ** 2
        return _squares(r) + s2 + s2 * s2

    return f


@_factory("woods", start="alt", min_n=4)
def _woods(n: int) -> Formula:
    m = n - n % 4
    return lambda x: _wood(x[0:m:4], x[1:m:4], x[2:m:4], x[3:m:4])
