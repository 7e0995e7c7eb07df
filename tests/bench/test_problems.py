"""The 65 problems: reference values, a plain-loop oracle, and their edges."""

import copy
import json
import math
import pickle
from collections.abc import Callable, Iterable
from dataclasses import FrozenInstanceError
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tobyqa.bench.problems import Problem, get_problem, min_dimension, problem_names

REFERENCE = json.loads(
    (Path(__file__).parent / "data" / "problem_values.json").read_text()
)["values"]
NAMES = problem_names()


def reference_points(x0: np.ndarray) -> dict[str, np.ndarray]:
    i = np.arange(1, len(x0) + 1)
    return {
        "f_x0": x0,
        "f_x0_plus_0.3cos_i": x0 + 0.3 * np.cos(i),
        "f_0.5sin_2i": 0.5 * np.sin(2 * i),
        "f_40sin_2i": 40 * np.sin(2 * i),
    }


def generic_point(n: int, scale: float = 1.0) -> np.ndarray:
    return scale * np.random.default_rng(n).standard_normal(n)


# An independent reading of the formulas, in plain loops and 1-based: x[1]..x[n] are
# the variables and x[0] = x[n+1] = 0 the boundary. It covers the n below the
# reference values, where a slice is most easily wrong.


def up(first: int, last: int) -> range:
    return range(first, last + 1)


def clip(z: float, bound: float) -> float:
    return min(max(z, -bound), bound)


def capped_exp(z: float) -> float:
    return math.exp(clip(z, 50))


def wood(a: float, b: float, c: float, d: float) -> float:
    return (
        100 * (b - a**2) ** 2
        + (1 - a) ** 2
        + 90 * (d - c**2) ** 2
        + (1 - c) ** 2
        + 10 * (b + d - 2) ** 2
        + 0.1 * (b - d) ** 2
    )


def broyden(x: list[float], i: int) -> float:
    return (3 - 2 * x[i]) * x[i] - x[i - 1] - 2 * x[i + 1] + 1


def brybnd(x: list[float], n: int) -> float:
    def residual(i: int) -> float:
        band = set(up(max(1, i - 5), min(n, i + 1))) - {i}
        return x[i] * (2 + 5 * x[i] ** 2) + 1 - sum(x[j] * (1 + x[j]) for j in band)

    return sum(residual(i) ** 2 for i in up(1, n))


def cosine(x: list[float], n: int) -> float:
    return sum(math.cos(x[i] ** 2 - x[i + 1] / 2) for i in up(1, n - 1))


def stretched(x: list[float], n: int) -> list[float]:
    scaled = [x[i] * math.exp(6 * (i - 1) / (n - 1)) for i in up(1, n)]
    return [0.0, *scaled, 0.0]


def cragglvy(x: list[float], n: int) -> float:
    total = 0.0
    for k in range(1, 2 * (n // 2) - 2, 2):
        a, b, c, d = x[k : k + 4]
        total += (capped_exp(a) - b) ** 4 + 100 * (b - c) ** 6
        total += math.tan(clip(c - d, 1.5)) ** 4 + a**8 + (d - 1) ** 2
    return total


def curly(x: list[float], n: int, width: int) -> float:
    sums = [sum(x[i : min(i + width, n) + 1]) for i in up(1, n)]
    return sum(q * (q * (q**2 - 20) - 0.1) for q in sums)


def dixmaan(x: list[float], n: int, letter: str) -> float:
    k = "abcdefghijkl".index(letter)
    b, c, d = [(0, 1 / 8, 1 / 8), (1 / 16,) * 3, (1 / 8,) * 3, (0.26,) * 3][k % 4]
    p, r = (0, 1) if letter == "b" else (k // 4, k // 4)
    m, last = n // 3, n - n % 3
    return (
        1
        + sum(x[i] ** 2 * (i / last) ** p for i in up(1, last))
        + b * sum((x[i] * (x[i + 1] + x[i + 1] ** 2)) ** 2 for i in up(1, last - 1))
        + c * sum(x[i] ** 2 * x[i + m] ** 4 for i in up(1, 2 * m))
        + d * sum(x[i] * x[i + 2 * m] * (i / last) ** r for i in up(1, m))
        + sum(x[i] ** 2 for i in up(last + 1, n))
    )


def integreq(x: list[float], n: int) -> float:
    h = 1 / (n + 1)
    c = [(x[j] + j * h + 1) ** 3 for j in up(0, n)]

    def residual(i: int) -> float:
        left = (1 - i * h) * sum(j * h * c[j] for j in up(1, i))
        right = i * h * sum((1 - j * h) * c[j] for j in up(i + 1, n))
        return x[i] + h / 2 * (left + right)

    return sum(residual(i) ** 2 for i in up(1, n))


def sparse_sums(values: list[float], n: int) -> Iterable[float]:
    for k in range(n):
        sets = (2 * k, 3 * k + 1, 5 * k + 2, 7 * k + 3, 11 * k + 4)
        yield sum(values[1 + j % n] for j in sets)


def path(x: list[float], n: int) -> float:
    return sum((x[i + 1] - x[i]) ** 2 / 2 for i in up(0, n))


def penalty2(x: list[float], n: int) -> float:
    e = [capped_exp(v / 10) for v in x]
    y = [capped_exp(i / 10) + capped_exp((i - 1) / 10) for i in up(0, n)]
    return (
        (x[1] - 0.2) ** 2
        + 1e-5 * sum((e[i] + e[i - 1] - y[i]) ** 2 for i in up(2, n))
        + 1e-5 * sum((e[i] - math.exp(-0.1)) ** 2 for i in up(2, n))
        + (sum((n - i + 1) * x[i] ** 2 for i in up(1, n)) - 1) ** 2
    )


def schmvett(x: list[float], n: int) -> float:
    total = 0.0
    for i in up(1, n - 2):
        a, b, c = x[i : i + 3]
        total -= 1 / (1 + (a - b) ** 2)
        total -= math.sin(clip((math.pi * b + c) / 2, 1000))
        total -= capped_exp(-(((a + c) / max(abs(b), 1e-8) - 2) ** 2))
    return total


def tointgss(x: list[float], n: int) -> float:
    total = 0.0
    for i in up(1, n - 2):
        a, b, c = x[i : i + 3]
        bump = capped_exp(-((a - b) ** 2) / (0.1 + c**2))
        total += (10 / (n + 2) + c**2) * (2 - bump)
    return total


ORACLE: dict[str, Callable[[list[float], int], float]] = {
    "arglina": lambda x, n: (
        sum((x[i] - sum(x) / n - 1) ** 2 for i in up(1, n)) + n * (sum(x) / n + 1) ** 2
    ),
    "arglinb": lambda x, n: sum(
        (i * sum(j * x[j] for j in up(1, n)) - 1) ** 2 for i in up(1, 2 * n)
    ),
    "arglinc": lambda x, n: (
        2
        + sum(
            ((i - 1) * sum((j - 1) * x[j] for j in up(2, n)) - 1) ** 2
            for i in up(2, 2 * n - 1)
        )
    ),
    "arwhead": lambda x, n: sum(
        (x[i] ** 2 + x[n] ** 2) ** 2 - 4 * x[i] + 3 for i in up(1, n - 1)
    ),
    "bdqrtic": lambda x, n: sum(
        (3 - 4 * x[i]) ** 2
        + (sum((k + 1) * x[i + k] ** 2 for k in range(4)) + 5 * x[n] ** 2) ** 2
        for i in up(1, n - 4)
    ),
    "brownal": lambda x, n: (
        sum((x[i] + sum(x) - (n + 1)) ** 2 for i in up(1, n - 1))
        + (math.prod(clip(v, 10) for v in x[1:-1]) - 1) ** 2
    ),
    "broydn3d": lambda x, n: sum(broyden(x, i) ** 2 for i in up(1, n)),
    "broydn7d": lambda x, n: (
        sum(abs(broyden(x, i)) ** (7 / 3) for i in up(1, n))
        + sum(abs(x[i] + x[i + n // 2]) ** (7 / 3) for i in up(1, n // 2))
    ),
    "brybnd": brybnd,
    "chainwoo": lambda x, n: (
        1 + sum(wood(*x[k : k + 4]) for k in range(1, 2 * ((n - 2) // 2) - 1, 2))
    ),
    # a_2..a_7: enough up to n = 7; the reference values cover the rest.
    "chnrosnb": lambda x, n: sum(
        16 * a**2 * (x[i - 1] - x[i] ** 2) ** 2 + (x[i] - 1) ** 2
        for i, a in zip(up(2, n), (1.4, 2.4, 1.4, 1.75, 1.2, 2.25), strict=False)
    ),
    "cosine": cosine,
    "cragglvy": cragglvy,
    **{f"curly{w}": lambda x, n, w=w: curly(x, n, w) for w in (10, 20, 30)},
    **{f"dixmaan{c}": lambda x, n, c=c: dixmaan(x, n, c) for c in "abcdefghijkl"},
    "dixon3dq": lambda x, n: (
        (x[1] - 1) ** 2
        + sum((x[i] - x[i + 1]) ** 2 for i in up(1, n - 1))
        + (x[n] - 1) ** 2
    ),
    "dqdrtic": lambda x, n: sum(
        x[i] ** 2 + 100 * x[i + 1] ** 2 + 100 * x[i + 2] ** 2 for i in up(1, n - 2)
    ),
    "dqrtic": lambda x, n: sum((x[i] - i) ** 4 for i in up(1, n)),
    "quartc": lambda x, n: sum((x[i] - i) ** 4 for i in up(1, n)),
    "edensch": lambda x, n: (
        16
        + sum(
            (x[i] - 2) ** 4
            + (x[i] * x[i + 1] - 2 * x[i + 1]) ** 2
            + (x[i + 1] + 1) ** 2
            for i in up(1, n - 1)
        )
    ),
    "eg2": lambda x, n: (
        sum(math.sin(clip(x[1] + x[i] ** 2 - 1, 1000)) for i in up(1, n - 1))
        + math.sin(clip(x[n] ** 2, 1000)) / 2
    ),
    "engval1": lambda x, n: sum(
        (x[i] ** 2 + x[i + 1] ** 2) ** 2 - 4 * x[i] + 3 for i in up(1, n - 1)
    ),
    "extrosnb": lambda x, n: (
        (x[1] - 1) ** 2 + 100 * sum((x[i + 1] - x[i] ** 2) ** 2 for i in up(1, n - 1))
    ),
    "fletcbv2": lambda x, n: (
        path(x, n) - sum(x[i] + math.cos(x[i]) for i in up(1, n)) / (n + 1) ** 2
    ),
    "fletcbv3": lambda x, n: (
        1e-8 * path(x, n)
        - 1e-8 / (n + 1) ** 2 * sum(100 * math.sin(x[i] / 100) for i in up(1, n))
    ),
    "fletchcr": lambda x, n: (
        100 * sum((x[i + 1] - x[i] + 1 - x[i] ** 2) ** 2 for i in up(1, n - 1))
    ),
    "freuroth": lambda x, n: sum(
        (a - 13 + ((5 - b) * b - 2) * b) ** 2 + (a - 29 + ((b + 1) * b - 14) * b) ** 2
        for a, b in pairwise(x[1 : n + 1])
    ),
    "genhumps": lambda x, n: sum(
        math.sin(2 * a) ** 2 * math.sin(2 * b) ** 2 + 0.05 * (a**2 + b**2)
        for a, b in pairwise(x[1 : n + 1])
    ),
    "genrose": lambda x, n: (
        1
        + sum(
            100 * (x[i + 1] - x[i] ** 2) ** 2 + (x[i + 1] - 1) ** 2
            for i in up(1, n - 1)
        )
    ),
    "integreq": integreq,
    "liarwhd": lambda x, n: sum(
        4 * (v**2 - x[1]) ** 2 + (v - 1) ** 2 for v in x[1 : n + 1]
    ),
    "morebv": lambda x, n: sum(
        (
            2 * x[i]
            - x[i - 1]
            - x[i + 1]
            + (x[i] + i / (n + 1) + 1) ** 3 / (2 * (n + 1) ** 2)
        )
        ** 2
        for i in up(1, n)
    ),
    "noncvxu2": lambda x, n: sum(
        a**2 + 4 * math.cos(a)
        for a in (
            x[1 + k] + x[1 + (2 * k + 1) % n] + x[1 + (3 * k + 2) % n] for k in range(n)
        )
    ),
    "nondia": lambda x, n: (
        (x[1] - 1) ** 2 + sum((100 * x[1] - x[i] ** 2) ** 2 for i in up(2, n))
    ),
    "nondquar": lambda x, n: (
        (x[1] - x[2]) ** 2
        + sum((x[i] + x[i + 1] + x[n]) ** 4 for i in up(1, n - 2))
        + (x[n - 1] + x[n]) ** 2
    ),
    "penalty1": lambda x, n: (
        1e-5 * sum((v - 1) ** 2 for v in x[1 : n + 1])
        + (sum(v**2 for v in x) - 1 / 4) ** 2
    ),
    "penalty2": penalty2,
    "powellsg": lambda x, n: sum(
        (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4
        for a, b, c, d in (x[k : k + 4] for k in range(1, n - 2, 4))
    ),
    "power": lambda x, n: sum((i * x[i]) ** 2 for i in up(1, n)),
    "sbrybnd": lambda x, n: brybnd(stretched(x, n), n),
    "schmvett": schmvett,
    "scosine": lambda x, n: cosine(stretched(x, n), n),
    "sinquad": lambda x, n: (
        (x[1] - 1) ** 4
        + sum(
            (math.sin(x[i] - x[n]) - x[1] ** 2 + x[i] ** 2) ** 2 for i in up(2, n - 1)
        )
        + (x[n] ** 2 - x[1] ** 2) ** 2
    ),
    "sparsine": lambda x, n: sum(
        (k + 1) / 2 * math.sin(clip(s, 1000)) ** 2
        for k, s in enumerate(sparse_sums(x, n))
    ),
    "sparsqur": lambda x, n: sum(
        (k + 1) / 4 * s**2 for k, s in enumerate(sparse_sums([v**2 for v in x], n))
    ),
    "srosenbr": lambda x, n: sum(
        100 * (x[k + 1] - x[k] ** 2) ** 2 + (1 - x[k]) ** 2 for k in range(1, n, 2)
    ),
    "tointgss": tointgss,
    "tquartic": lambda x, n: (
        (x[1] - 1) ** 2 + sum((x[1] ** 2 - x[i] ** 2) ** 2 for i in up(2, n))
    ),
    "tridia": lambda x, n: (
        (x[1] - 1) ** 2 + sum(i * (2 * x[i] - x[i - 1]) ** 2 for i in up(2, n))
    ),
    "trigon": lambda x, n: sum(
        (
            n
            - sum(math.cos(v) for v in x[1 : n + 1])
            + i * (1 - math.cos(x[i]))
            - math.sin(x[i])
        )
        ** 2
        for i in up(1, n)
    ),
    "vardim": lambda x, n: (
        sum((x[i] - 1) ** 2 for i in up(1, n))
        + sum(i * (x[i] - 1) for i in up(1, n)) ** 2
        + sum(i * (x[i] - 1) for i in up(1, n)) ** 4
    ),
    "woods": lambda x, n: sum(wood(*x[k : k + 4]) for k in range(1, n - 2, 4)),
}


@pytest.mark.parametrize("n", [6, 7, 10, 20, 60])
@pytest.mark.parametrize("name", NAMES)
def test_reference_values(name: str, n: int) -> None:
    problem = get_problem(name, n)
    expected = REFERENCE[name][str(n)]
    got = {key: problem.fun(x) for key, x in reference_points(problem.x0).items()}
    assert got == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_reference_covers_every_problem() -> None:
    assert len(NAMES) == 65
    assert set(REFERENCE) == set(ORACLE) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_small_dimensions_agree_with_plain_loops(name: str) -> None:
    for n in up(min_dimension(name), 7):
        problem = get_problem(name, n)
        for point in (problem.x0, generic_point(n), generic_point(n, 30.0)):
            expected = ORACLE[name]([0.0, *point.tolist(), 0.0], n)
            assert problem.fun(point) == pytest.approx(expected, rel=1e-9, abs=1e-14)


def test_names_follow_the_collection() -> None:
    assert NAMES[:3] == ("arglina", "arglinb", "arglinc")
    k = NAMES.index("curly10")
    assert NAMES[k : k + 4] == ("curly10", "curly20", "curly30", "dixmaana")
    assert NAMES[NAMES.index("dqrtic") + 1] == "quartc"
    assert NAMES[-1] == "woods"


@pytest.mark.parametrize("name", NAMES)
def test_works_from_its_smallest_dimension_on(name: str) -> None:
    assert 1 <= min_dimension(name) <= 6
    for n in (min_dimension(name), *up(6, 12), 100):
        problem = get_problem(name, n)
        assert problem.x0.shape == (n,)
        assert type(problem.fun(problem.x0)) is float
        assert math.isfinite(problem.fun(problem.x0))
        assert problem(generic_point(n)) == problem.fun(generic_point(n))


@pytest.mark.parametrize("name", NAMES)
def test_below_its_smallest_dimension_is_an_error(name: str) -> None:
    smallest = min_dimension(name)
    with pytest.raises(
        ValueError, match=rf"{name}.*n = {smallest - 1}, smallest n is {smallest}"
    ):
        get_problem(name, smallest - 1)


def test_smallest_dimensions() -> None:
    large = {name: min_dimension(name) for name in NAMES if min_dimension(name) > 3}
    assert large == {
        "bdqrtic": 5,
        "chainwoo": 6,
        "cragglvy": 4,
        "powellsg": 4,
        "woods": 4,
    }
    three = {name for name in NAMES if min_dimension(name) == 3}
    dixmaan = {f"dixmaan{c}" for c in "abcdefghijkl"}
    assert three == dixmaan | {"dqdrtic", "nondquar", "schmvett", "sinquad", "tointgss"}
    assert min_dimension("srosenbr") == min_dimension("scosine") == 2


def test_unknown_name_is_answered_with_close_ones() -> None:
    with pytest.raises(ValueError, match=r"'arwhaed'.*arwhead"):
        get_problem("arwhaed", 6)
    with pytest.raises(ValueError, match=r"unknown problem 'zzz'$"):
        min_dimension("zzz")


def test_dimension_must_be_an_integer() -> None:
    with pytest.raises(TypeError):
        get_problem("power", 6.0)  # type: ignore[arg-type]
    assert type(get_problem("power", np.int64(6)).n) is int


@pytest.mark.parametrize("shape", [(), (5,), (7,), (6, 1), (1, 6)])
def test_wrong_shape_is_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape"):
        get_problem("power", 6).fun(np.zeros(shape))


STARTS = {
    "arwhead": [1, 1, 1, 1],
    "broydn3d": [-1, -1, -1, -1],
    "brownal": [0.5, 0.5, 0.5, 0.5],
    "engval1": [2, 2, 2, 2],
    "eg2": [0, 0, 0, 0],
    "trigon": [0.25, 0.25, 0.25, 0.25],
    "genrose": [-1.2, 1, -1.2, 1],
    "dqdrtic": [-1.5, -0.6, 0.3, 1.2],
    "vardim": [0.75, 0.5, 0.25, 0],
}


@pytest.mark.parametrize("name", STARTS)
def test_starting_points(name: str) -> None:
    np.testing.assert_allclose(get_problem(name, 4).x0, STARTS[name], atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_leaves_its_argument_alone(name: str) -> None:
    x = generic_point(9)
    before = x.copy()
    get_problem(name, 9).fun(x)
    np.testing.assert_array_equal(x, before)


def test_is_immutable() -> None:
    problem = get_problem("woods", 6)
    with pytest.raises(ValueError, match="read-only"):
        problem.x0[0] = 3.0
    with pytest.raises(FrozenInstanceError):
        problem.n = 7  # type: ignore[misc]


@pytest.mark.parametrize("name", NAMES)
def test_pickles_by_name_and_dimension(name: str) -> None:
    problem = get_problem(name, 7)
    for twin in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem)):
        assert twin == problem
        assert hash(twin) == hash(problem)
        assert twin.fun(generic_point(7)) == problem.fun(generic_point(7))
        assert not twin.x0.flags.writeable
    assert len(pickle.dumps(problem)) < 150


@pytest.mark.parametrize("name", NAMES)
def test_huge_points_give_a_number_or_plus_infinity(name: str) -> None:
    """Warnings are errors here, so this also shows that there are none."""
    problem = get_problem(name, 10)
    for size in (1e80, 1e160, 1e300):
        value = problem.fun(size * generic_point(10))
        assert math.isfinite(value) or value == math.inf
    assert problem.fun(np.full(10, math.nan)) == math.inf


def test_whatever_is_not_finite_is_plus_infinity() -> None:
    assert get_problem("power", 6).fun(np.full(6, 1e200)) == math.inf
    assert get_problem("cosine", 6).fun(np.full(6, 1e200)) == math.inf  # cos(inf)
    for value in (math.nan, -math.inf, math.inf):
        problem = Problem("any", lambda x, value=value: value, np.zeros(1))
        assert problem.fun([0.0]) == math.inf


def null_directions(name: str, n: int) -> set[int]:
    """0-based variables that enter nowhere."""
    firsts = {
        "woods": n - n % 4,
        "powellsg": n - n % 4,
        "chainwoo": n - 2 - n % 2,
        "cragglvy": n - n % 2,
        "srosenbr": n - n % 2,
    }
    return {0} if name == "arglinc" else set(range(firsts.get(name, n), n))


@pytest.mark.parametrize("n", [6, 7, 9, 11, 13])
@pytest.mark.parametrize("name", NAMES)
def test_exactly_the_null_directions_have_no_effect(name: str, n: int) -> None:
    problem, x = get_problem(name, n), 0.5 * generic_point(n)
    shifted = [problem.fun(x + row) for row in 0.25 * np.eye(n)]
    silent = {k for k, value in enumerate(shifted) if value == problem.fun(x)}
    assert silent == null_directions(name, n)
