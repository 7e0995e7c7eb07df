"""The user's variables and the search's: exactly inside, and back again."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, minimize

from tobyqa.space_arguments import checked_space
from tobyqa.space_record import checked_record

KNOBS = {
    "names": ["temp", "volt", "gap", "angle"],
    "units": ["K", "V", "mm", "deg"],
    "bounds": [(280.0, 320.0), (-1e-3, 1e-3), (0.0, 7.0), (None, 30.0)],
}
seeds = given(seed=st.integers(0, 10**6))


def drawn(rng, *, steps):
    """Arguments of a space around a point, with limits of every kind."""
    n = int(rng.integers(1, 7))
    centre = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3, size=n)
    width = 10.0 ** rng.uniform(-3, 3, size=n)
    lower, upper = centre - width * rng.random(n), centre + width * rng.random(n)
    lower[rng.random(n) < 0.3], upper[rng.random(n) < 0.3] = -np.inf, np.inf
    rows = []
    for _ in range(rng.integers(0, 3)):
        A = rng.normal(size=(rng.integers(1, 3), n)) / width
        A[rng.random(A.shape) < 0.3] = 0.0
        value, room = A @ centre, rng.random(len(A))
        kind = rng.integers(3)
        low = (value, value - room, np.full(len(A), -np.inf))[kind]
        high = (value, value + room, value + room * (rng.random() < 0.8))[kind]
        rows.append(LinearConstraint(A, low, high))
    arguments = {"bounds": Bounds(lower, upper), "constraints": rows}
    if steps:
        units = 10.0 ** np.floor(np.log10(width / 20.0))
        arguments["resolution"] = [u if rng.random() < 0.7 else None for u in units]
    if rng.random() < 0.4:
        arguments["x_scale"] = width
    elif rng.random() < 0.4:
        arguments["initial_radius"] = 0.1 * width
    return arguments, centre, width


def assert_allowed(x, space, arguments):
    """As a user would check it, with numpy."""
    bounds = arguments["bounds"]
    assert (bounds.lb <= x).all()
    assert (x <= bounds.ub).all()
    scale = np.array([v.scale for v in space.variables])
    for row in arguments["constraints"]:
        value = row.A @ x
        if (row.lb == row.ub).all():
            size = np.abs(row.A) @ np.maximum(scale, 1e-5 * np.abs(x))  # or rounding
            assert (np.abs(value - row.lb) <= 1e-9 * size).all()
        else:
            assert (row.lb <= value).all()
            assert (value <= row.ub).all()
    for unit, at in zip(arguments.get("resolution", []), x, strict=False):
        assert unit is None or at / unit == pytest.approx(round(at / unit), abs=1e-6)


@pytest.mark.parametrize("steps", [False, True], ids=["at will", "resolution"])
@seeds
def test_space_never_leaves_its_limits(steps, seed):
    """Nor does a place that is set move when it is set again."""
    rng = np.random.default_rng(seed)
    arguments, centre, width = drawn(rng, steps=steps)
    try:
        space = checked_space(centre.size, **arguments)
    except ValueError as error:
        assert "leave nothing to search" in str(error) or "grid" in str(error)  # noqa: PT017
        return
    start = space.start(centre + 0.3 * width * rng.normal(size=centre.size))
    assert_allowed(start.x, space, arguments)
    for reach in (1e-3, 0.1, 1.0, 10.0):
        place = space.place(start.z + reach * rng.normal(size=space.dimensions))
        assert_allowed(place.x, space, arguments)
        again = space.place(place.z)
        np.testing.assert_array_equal(again.z, place.z)
        np.testing.assert_array_equal(again.x, place.x)
        np.testing.assert_allclose(
            space.to_search(place.x), place.z, atol=1e-8 * (1 + np.abs(place.z).max())
        )
    assert checked_record(json.loads(json.dumps(space.to_record()))) == space


@seeds
def test_space_start_is_the_nearest_feasible_point(seed):
    """In scaled variables, against SLSQP."""
    rng = np.random.default_rng(seed)
    arguments, centre, width = drawn(rng, steps=False)
    arguments["x_scale"] = width
    try:
        space = checked_space(centre.size, **arguments)
    except ValueError:
        return
    x0 = centre + width * rng.normal(size=centre.size)
    start = space.start(x0)
    scaled = [
        LinearConstraint(c.A * width, c.lb, c.ub) for c in arguments["constraints"]
    ]
    bounds = arguments["bounds"]
    other = minimize(
        lambda y: np.sum((y - x0 / width) ** 2),
        centre / width,
        jac=lambda y: 2.0 * (y - x0 / width),
        bounds=Bounds(bounds.lb / width, bounds.ub / width),
        constraints=scaled,
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    own = np.sum(((start.x - x0) / width) ** 2)
    if other.success:
        assert own <= other.fun * (1.0 + 1e-6) + 1e-8


@given(
    x=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3)
)
def test_space_without_limits_is_the_identity_bit_by_bit(x):
    for bounds in (None, Bounds(-np.inf, np.inf), [(None, None)] * 3, [None] * 3):
        space = checked_space(3, bounds=bounds, x_scale=[1, 1, 1])
        assert space.is_plain
        assert space.to_user(np.array(x)).tobytes() == np.array(x).tobytes()
        assert space.to_search(np.array(x)).tobytes() == np.array(x).tobytes()
        assert space.place(np.array(x)).z.tobytes() == np.array(x).tobytes()
    assert checked_space(3).radius is None
    assert checked_space(3, initial_radius=0.5).radius == 0.5
    assert checked_space(3, initial_radius=0.5).is_plain
    assert checked_space(3).polyhedron.A.shape == (0, 3)
    assert not checked_space(3, maximize=True).is_plain


@pytest.mark.parametrize("factor", [1024.0, 1000.0])
@seeds
def test_rescaling_a_variable_with_its_scale_changes_nothing(factor, seed):
    rng = np.random.default_rng(seed)
    n = 3
    other = np.array([factor, 1.0, 1.0])
    width = 10.0 ** rng.uniform(-2, 2, size=n)
    row = LinearConstraint(rng.normal(size=(1, n)), -np.inf, rng.random(1))
    same_row = LinearConstraint(row.A / other, -np.inf, row.ub)
    spaces = [
        checked_space(n, bounds=Bounds(-width, width), constraints=row),
        checked_space(
            n, bounds=Bounds(-width * other, width * other), constraints=same_row
        ),
    ]
    x, z = width * rng.normal(size=n), rng.normal(size=n)
    one, two = (s.to_search(x * f) for s, f in zip(spaces, (1.0, other), strict=True))
    if factor == 1024.0:
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(spaces[0].polyhedron.b, spaces[1].polyhedron.b)
    np.testing.assert_allclose(one, two, rtol=1e-14)
    assert spaces[0].radius == pytest.approx(spaces[1].radius)
    np.testing.assert_allclose(
        spaces[0].to_user(z) * other, spaces[1].to_user(z), rtol=1e-9, atol=1e-12
    )


def test_scale_is_the_range_and_the_first_radius_a_share_of_it():
    space = checked_space(4, **KNOBS)
    assert [v.scale for v in space.variables] == [40.0, 2e-3, 7.0, 2.0 / 0.15]
    assert space.radius == 0.15  # of each range, 3 degrees
    assert (space.variables[0].name, space.variables[0].unit) == ("temp", "K")


@pytest.mark.parametrize(
    ("arguments", "scales", "radius"),
    [
        ({"initial_radius": [5.0, 1.0]}, [2.5, 1.0], 1.0),  # a quarter of the range
        ({"initial_radius": 0.5}, [10.0, 10.0], 0.05),
        ({"initial_radius": 50.0}, [10.0, 200.0], 0.25),
        ({"x_scale": [2.0, 4.0]}, [2.0, 4.0], 1.25),
        ({"x_scale": [2.0, 4.0], "initial_radius": 0.5}, [2.0, 4.0], 0.5),
        ({"x_scale": [2.0, 4.0], "initial_radius": [1.0, 1.0]}, [2.0, 4.0], 0.25),
        ({"bounds": None, "initial_radius": [5.0, 0.5]}, [5.0, 0.5], 1.0),
        ({"bounds": None, "x_scale": [5.0, 0.5]}, [5.0, 0.5], None),
        ({"bounds": [(0, None), (None, 1)]}, [1.0, 1.0], None),
    ],
)
def test_scale_and_first_radius_by_what_was_said(arguments, scales, radius):
    space = checked_space(2, **{"bounds": [(0.0, 10.0), (0.0, None)], **arguments})
    assert [v.scale for v in space.variables] == pytest.approx(scales)
    assert space.radius == (None if radius is None else pytest.approx(radius))


def test_bounds_are_met_to_the_last_bit_and_kept_by_name():
    space = checked_space(4, **KNOBS)
    z = space.to_search(np.array([321.0, 1.0, -1.0, 40.0]))
    x = space.to_user(z)
    assert x.tolist() == [320.0, 1e-3, 0.0, 30.0]
    assert space.active(x) == (
        "temp <= 320",
        "volt <= 0.001",
        "gap >= 0",
        "angle <= 30",
    )
    assert space.active(np.array([300.0, 0.0, 1.0, 0.0])) == ()
    assert space.holds(x)
    assert not space.holds(np.array([320.0, 1e-3, -1e-300, 30.0]))


def test_start_outside_is_moved_and_says_why():
    space = checked_space(4, **KNOBS, constraints="gap + 2*angle <= 3")
    inside = space.start(np.array([300.0, 0.0, 0.3, 0.7]))
    assert inside.violated == ()
    assert inside.x.tolist() == [300.0, 0.0, 0.3, 0.7]
    outside = space.start(np.array([300.0, 0.0, 8.0, 0.0]))
    assert outside.violated == ("gap <= 7", "gap + 2*angle <= 3")
    assert outside.x[2] + 2.0 * outside.x[3] <= 3.0
    corner = space.start(np.array([320.0, 1e-3, 0.0, 0.0]))
    assert corner.violated == ()
    assert corner.x.tolist() == [320.0, 1e-3, 0.0, 0.0]


def test_fixed_variables_are_removed():
    space = checked_space(4, **KNOBS, fixed={"temp": 300.1, 2: 1.0})
    assert space.dimensions == 2
    start = space.start(np.array([0.0, 0.0, 0.0, 10.0]))
    assert start.x.tolist() == [300.1, 0.0, 1.0, 10.0]
    assert start.violated == ()
    assert "temp" not in "".join(space.polyhedron.names)
    cov = space.cov_to_user(np.eye(2))
    assert np.sqrt(cov.diagonal()).tolist() == [0.0, 2e-3, 0.0, 2.0 / 0.15]
    unknown = space.cov_to_user(np.diag([math.inf, 1.0]))
    assert unknown.diagonal()[[0, 2]].tolist() == [0.0, 0.0]
    assert not math.isfinite(unknown[1, 1])
    equal = checked_space(2, bounds=[(1.5, 1.5), (0, 1)])
    assert equal.dimensions == 1
    assert equal.to_user(np.array([0.5])).tolist() == [1.5, 0.5]


def test_linear_equalities_are_eliminated_by_an_orthonormal_basis():
    space = checked_space(
        4,
        bounds=[(0, 10), (0, 20), (0, 5), (0, 1)],
        constraints=[LinearConstraint([[1, 2, 0, 0]], 6, 6), "x3 <= 0.7"],
    )
    assert space.dimensions == 3
    scale = np.array([v.scale for v in space.variables])
    N = (space.unrounded(np.eye(3)) - space.unrounded(np.zeros(3))).T / scale[:, None]
    np.testing.assert_allclose(N.T @ N, np.eye(3), atol=1e-14)
    assert (N[2] == [0, 1, 0]).all()  # not mentioned: an axis of its own
    x = space.to_user(np.array([0.1, 0.2, 0.9]))
    assert x[0] + 2 * x[1] == pytest.approx(6.0, abs=1e-9)
    assert x[3] == 0.7


def test_linear_inequalities_without_width_become_equalities():
    space = checked_space(3, constraints=["x0 + x1 <= 1", "x0 + x1 >= 1"])
    assert space.dimensions == 2
    corner = checked_space(3, bounds=[(0, 1)] * 3, constraints="x0 + x1 >= 2")
    assert corner.dimensions == 1
    assert corner.to_user(np.array([0.25])).tolist() == [1.0, 1.0, 0.25]


@pytest.mark.parametrize(
    ("constraints", "named", "unnamed"),
    [
        (
            ["gap + angle >= 40", "temp + volt <= 500"],
            ["gap <= 7", "angle <= 30"],
            "volt",
        ),
        (["gap - angle == 1", "2*gap - 2*angle == 3"], ["gap - angle == 1"], "temp"),
        (["temp <= 300", "temp >= 310"], ["temp <= 300", "temp >= 310"], "gap"),
    ],
)
def test_linear_constraints_that_contradict_each_other_are_named(
    constraints, named, unnamed
):
    with pytest.raises(ValueError, match="contradict each other") as error:
        checked_space(4, **KNOBS, constraints=constraints)
    assert all(name in str(error.value) for name in named)
    assert unnamed not in str(error.value)


def test_fixed_variables_that_violate_a_constraint_are_told_so():
    with pytest.raises(
        ValueError, match="violate the constraint gap \\+ 2\\*angle <= 3"
    ):
        checked_space(
            4,
            **KNOBS,
            constraints="gap + 2*angle <= 3",
            fixed={"gap": 2.0, "angle": 3.0},
        )


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"bounds": [(0, 1)]}, ValueError, "2 pairs"),
        ({"bounds": 3}, ValueError, "2 pairs"),
        ({"bounds": [(1, 0), (0, 1)]}, ValueError, "bounds of 'x0'"),
        ({"bounds": [(math.nan, 0), (0, 1)]}, ValueError, "NaN"),
        ({"bounds": Bounds([0, 0, 0], 1)}, ValueError, "2 real numbers"),
        ({"constraints": {"type": "ineq", "fun": abs}}, TypeError, "must be linear"),
        ({"constraints": NonlinearConstraint(abs, 0, 1)}, TypeError, "must be linear"),
        ({"constraints": LinearConstraint([[1, 2, 3]], 0, 1)}, ValueError, "2 columns"),
        (
            {"constraints": LinearConstraint([[1, 2]], 2, 1)},
            ValueError,
            "x0 \\+ 2\\*x1",
        ),
        ({"constraints": LinearConstraint([[1, math.inf]], 2)}, ValueError, "finite"),
        ({"constraints": "x0 + y <= 1"}, ValueError, "'y' is not one of the variables"),
        ({"x_scale": [1, 0]}, ValueError, "x_scale\\[1\\] must be > 0"),
        ({"x_scale": [1, 2, 3]}, ValueError, "x_scale must have 2 entries"),
        ({"initial_radius": [1, -1]}, ValueError, "initial_radius\\[1\\]"),
        ({"resolution": [0.1, -1]}, ValueError, "resolution\\[1\\]"),
        ({"fixed": {"temp": 1}}, ValueError, "'temp', which is no variable"),
        ({"fixed": {2: 1}}, ValueError, "2, which is no variable"),
        ({"fixed": [1, 2]}, TypeError, "must map"),
        ({"fixed": {0: 5}, "bounds": [(0, 1)] * 2}, ValueError, "within its bounds"),
        ({"fixed": {0: 5, 1: 5}}, ValueError, "nothing to search"),
        ({"maximize": 1}, TypeError, "maximize"),
        ({"resolution": 1, "bounds": [(0.1, 0.9)] * 2}, ValueError, "grid"),
        ({"bounds": [(0, 1), (1e51, 1e52)]}, ValueError, "none up to 1e50"),
        ({"resolution": 1e-9, "bounds": [(0, 1e7)] * 2}, ValueError, "at least 1e-07"),
    ],
)
def test_space_errors_name_the_argument(arguments, error, text):
    with pytest.raises(error, match=text):
        checked_space(2, **arguments)


def test_resolution_gives_settings_as_one_would_write_them():
    space = checked_space(
        2,
        bounds=[(0.013, 0.987), (None, None)],
        resolution=[0.01, None],
        x_scale=[0.3, 1],
    )
    xs = [space.to_user(np.array([z, 0.1]))[0] for z in np.linspace(-1.0, 5.0, 601)]
    assert min(xs) == 0.02
    assert max(xs) == 0.98
    assert set(xs) == {round(0.01 * k, 2) for k in range(2, 99)}
    assert space.active(np.array([0.98, 0.0])) == ("x0 <= 0.987",)


def test_resolution_with_a_linear_constraint_stays_inside():
    """0.1 + 0.2 is more than 0.3 in double precision."""
    space = checked_space(2, constraints="x0 + x1 <= 0.3", resolution=0.1, x_scale=1.0)
    x = space.to_user(np.array([0.1, 0.2]))
    assert x[0] + x[1] <= 0.3
    np.testing.assert_allclose(x / 0.1, np.rint(x / 0.1), atol=1e-9)
    assert np.abs(x - [0.1, 0.2]).sum() == pytest.approx(0.1)


def test_maximize_turns_values_and_their_derivatives_over():
    space = checked_space(2, bounds=[(0, 4), (0, 8)], maximize=True)
    assert space.value_to_search(3.0) == -3.0
    assert space.value_to_user(-3.0) == 3.0
    np.testing.assert_array_equal(space.gradient_to_user(np.ones(2)), [-0.25, -0.125])
    np.testing.assert_array_equal(space.cov_to_user(np.eye(2)), np.diag([16.0, 64.0]))
    assert checked_space(2).value_to_user(3.0) == 3.0


@seeds
def test_space_turns_derivatives_back(seed):
    """Along feasible ways the user's gradient and Hessian say what the search's do."""
    rng = np.random.default_rng(seed)
    space = checked_space(
        4, **KNOBS, constraints="gap + 2*angle == 3", maximize=bool(rng.integers(2))
    )
    k = space.dimensions
    g, H, d = rng.normal(size=k), rng.normal(size=(k, k)), rng.normal(size=k)
    way = space.unrounded(d) - space.unrounded(np.zeros(k))
    assert space.gradient_to_user(g) @ way == pytest.approx(space.sign * (g @ d))
    H = H + H.T
    assert way @ space.hessian_to_user(H) @ way == pytest.approx(space.sign * d @ H @ d)
    cov = space.cov_to_user(H @ H)
    assert np.array([0, 0, 1, 2]) @ cov @ [0, 0, 1, 2] == pytest.approx(0, abs=1e-9)


def test_no_search_asks_for_more_than_can_be_told_back():
    space = checked_space(3, x_scale=[1e20, 1e30, 1.0], fixed={2: 0.5})
    x, z = space.place(np.array([1.0, -1e25]))
    assert x.tolist() == [1e20, -1e50, 0.5]
    np.testing.assert_allclose(z, [1.0, -1e20])
    assert space.place(z).x.tolist() == x.tolist()


def test_fixed_for_the_time_being_keeps_the_search_variables():
    space = checked_space(4, **KNOBS, constraints="gap + 2*angle <= 3")
    held = space.holding({0: 300.1})
    z = space.to_search(np.array([310.0, 0.0, 1.0, 0.5]))
    assert held.dimensions == space.dimensions
    x = held.to_user(z)
    assert x.tolist() == [300.1, 0.0, 1.0, 0.5]
    assert held.polyhedron.names[-1] == "temp == 300.1"
    np.testing.assert_allclose(held.to_search(x), held.polyhedron.nearest(z))
    with pytest.raises(ValueError, match="temp=500"):
        space.holding({0: 500.0})


def test_polyhedron_tells_how_far_one_can_go():
    area = checked_space(
        2, bounds=[(0, 4), (0, 4)], constraints="x0 + x1 <= 6"
    ).polyhedron
    z = np.array([0.25, 0.25])
    assert area.reach(z, np.array([1.0, 0.0])) == pytest.approx(0.75)
    assert area.reach(z, np.array([1.0, 1.0])) == pytest.approx(0.5)
    assert area.reach(z, np.array([0.0, -1.0])) == pytest.approx(0.25)
    A, b = area.around(z, 0.5 * np.eye(2))
    u = np.array([1.0, -0.5])
    np.testing.assert_allclose(b - A @ u, area.b - area.A @ (z + 0.5 * u))
