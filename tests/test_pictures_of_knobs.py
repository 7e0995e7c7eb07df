"""Pictures and reports of runs with limits, scales and a sense: nothing is mistaken."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint

from tobyqa import Optimizer, plots, report
from tobyqa.advice import advice, left_to_gain
from tobyqa.rounding import settable
from tobyqa.space_arguments import checked_space
from tobyqa.view import view

pytest.importorskip("matplotlib")
walls = pytest.importorskip("tobyqa.plots.walls")

NAMES, UNITS = ["temp", "gap", "angle", "shift"], ["K", "mm", "deg", "mm"]
LIMITS = {
    "bounds": [(280, 320), (0.1, 2), (-10, 10), None],
    "constraints": "gap + 0.1*angle <= 0.3",
    "resolution": [None, 0.01, None, None],
    "fixed": {"shift": 0.5},
}


def loss(x, k):
    """Lowest, within the limits, at 304 K, 0.1 mm and 2 deg; drifts by 0.02 each."""
    noise = 0.02 * np.random.default_rng(k).normal()
    bowl = ((x[0] - 304) / 8) ** 2 + 2 * x[1] + ((x[2] - 3) / 3) ** 2
    return float(5.0 + bowl + 0.02 * k + noise)


def finished(sign=1.0, maxfev=40, **more):
    opt = Optimizer(
        [295, 1, -8, 0.5],
        names=NAMES,
        units=UNITS,
        maxfev=maxfev,
        rng=1,
        maximize=sign < 0,
        **LIMITS,
        **more,
    )
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, sign * loss(trial.x, trial.id))
    return opt


@pytest.fixture(scope="module")
def low():
    return finished()


@pytest.fixture(scope="module")
def high():
    return finished(-1.0)


def line(axes, label):
    (found,) = [drawn for drawn in axes.lines if drawn.get_label() == label]
    return found


def assert_mirrored(a, b):
    heights = [np.asarray(drawn.get_ydata(), dtype=float) for drawn in (a, b)]
    np.testing.assert_array_equal(heights[0], -heights[1])


def spans(axes):
    """Extents of the walls, in units of the data along their axis."""
    return [
        patch.get_patch_transform().transform_path(patch.get_path()).get_extents()
        for patch in axes.patches
        if patch.get_hatch()
    ]


# -- the sense -----------------------------------------------------------------------


@pytest.mark.parametrize("source", ["optimizer", "result"])
def test_the_best_so_far_of_a_maximisation_rises(high, low, source):
    opts = [opt if source == "optimizer" else opt.result() for opt in (high, low)]
    assert [view(opt).maximize for opt in opts] == [True, False]
    up, down = (line(plots.progress(opt)[0], "best so far").get_ydata() for opt in opts)
    up, down = up[np.isfinite(up)], down[np.isfinite(down)]
    assert (np.diff(up) >= 0).all()
    assert (np.diff(down) <= 0).all()
    np.testing.assert_array_equal(up, -down)


def test_pictures_of_a_maximisation_are_the_mirror_image(high, low):
    """All that is drawn has the sign of what was measured."""
    for drawn in (plots.drift, lambda run: plots.progress(run)[0]):
        for a, b in zip(drawn(high).lines, drawn(low).lines, strict=True):
            if a.get_label() not in ("off scale", "failed"):
                assert_mirrored(a, b)
    for a, b in zip(plots.model(high), plots.model(low), strict=True):
        for up, down in zip(a.lines, b.lines, strict=True):
            if up.get_label() != "recommended":
                assert_mirrored(up, down)


def test_a_report_of_a_maximisation_has_its_sign(high, tmp_path):
    text = report.write(high, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "the largest value" in text
    (content,) = re.findall(r'id="tobyqa-answer">\n(.*?)</script>', text, re.DOTALL)
    answer, result = json.loads(content), high.result()
    assert answer["maximize"] is True
    assert answer["fun"] == result.fun < 0
    assert answer["fun_best_observed"] == max(result.history.value)
    assert answer["active"] == result.active
    early = Optimizer([0.5], maximize=True)
    early.tell(early.ask(), 1.0)
    text = report.write(early, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "the highest reading so far" in text


def test_advice_about_a_run_away_knows_the_sense(high, low):
    said = []
    for opt in (high, low):
        result = opt.result()
        result["status"] = 8
        said.append(advice(view(result)).text)
    assert "seem to rise" in said[0]
    assert "leave out maximize" in said[0]
    assert "seem to fall" in said[1]


# -- limits --------------------------------------------------------------------------


def test_bounds_are_walls_beside_the_paths(low):
    temp, gap, angle, shift = plots.variables(low)
    wide = finished()
    wide.tell([284.0, 0.2, 0.0, 0.5], 11.0)  # so that both walls are in view
    box = spans(plots.variables(wide)[0])
    assert [round(edge.y1) for edge in box if edge.y0 < 290] == [280]
    assert [round(edge.y0) for edge in box if edge.y1 > 310] == [320]
    assert min(wall.y1 for wall in spans(gap)) == pytest.approx(0.1)
    assert not spans(shift)
    assert shift.get_title(loc="left") == "shift = 0.5 mm, fixed"
    assert gap.get_title(loc="left") == "gap = 0.1 mm, a limit"
    for axes in (gap, angle):
        assert "gap + 0.1*angle <= 0.3" in [text.get_text() for text in axes.texts]
    assert not temp.texts
    labels = [text.get_text() for text in temp.figure.legends[0].get_texts()]
    assert labels.count("limit") == 1


def test_slices_end_at_the_walls(low):
    result = low.result()
    for i, axes in enumerate(plots.model(low)[:3]):
        at = line(axes, "model").get_xdata()
        bound = LIMITS["bounds"][i]
        assert bound[0] - 1e-9 <= at.min()
        assert at.max() <= bound[1] + 1e-9
    gap, angle = (line(plots.model(low)[i], "model").get_xdata() for i in (1, 2))
    assert gap.max() + 0.1 * result.x[2] <= 0.3 + 1e-9
    assert result.x[1] + 0.1 * angle.max() <= 0.3 + 1e-9
    assert [text.get_text() for text in plots.model(low)[3].texts] == ["not searched"]


def test_lengths_and_gradients_say_that_they_are_scaled(low):
    _, radius, gradient = plots.progress(low)
    assert radius.get_ylabel() == "length, scaled variables"
    assert gradient.get_ylabel() == "norm, scaled variables"
    plain = Optimizer([1.0, 2.0], units=["mm", "mm"])
    _, radius, gradient = plots.progress(plain)
    assert (radius.get_ylabel(), gradient.get_ylabel()) == ("length (mm)", "norm")


def test_what_an_equality_ties_moves_together():
    opt = Optimizer(
        [0.3, 0.3, 0.4],
        names=["water", "salt", "sugar"],
        bounds=[(0, 1)] * 3,
        constraints="water + salt + sugar == 1",
        maxfev=30,
        rng=0,
    )
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, 5 * (trial.x[0] - 0.2) ** 2 + (trial.x[1] - 0.3) ** 2)
    result = opt.result()
    for i, axes in enumerate(plots.model(opt)):
        drawn = line(axes, "model")
        v = walls.way(view(opt).space, i)
        assert v.sum() == pytest.approx(0.0, abs=1e-12)
        assert v[i] == 1.0
        d = drawn.get_xdata() - result.x[i]
        expected = result.fun + result.jac @ v * d + 0.5 * (v @ result.hess @ v) * d**2
        np.testing.assert_allclose(drawn.get_ydata(), expected, rtol=1e-9)


@st.composite
def spaces(draw):
    """A space with an inequality, sometimes an equality, and a point within."""
    n = draw(st.integers(2, 4))
    number = st.floats(-2, 2)
    x = np.array(draw(st.lists(number, min_size=n, max_size=n)))
    a = np.array(draw(st.lists(number, min_size=n, max_size=n)))
    a = np.round(a, 3) + (np.abs(a).max() < 0.1)
    rows = [(a, -np.inf, float(a @ x) + draw(st.floats(0, 1)))]
    if n > 2 and draw(st.booleans()):
        rows.append((np.ones(n), float(x.sum()), float(x.sum())))
    constraints = [LinearConstraint(row, lb, ub) for row, lb, ub in rows]
    bounds = [(value - 1, value + 1) for value in x]
    return checked_space(n, bounds=bounds, constraints=constraints), x


@given(spaces(), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_a_slice_within_its_room_is_allowed(drawn, part):
    """And just beyond it is not."""
    space, x = drawn
    for i in range(x.size):
        v = walls.way(space, i)
        if not v.any():
            continue
        low, high = walls.room(space, x, v, i)
        assert low <= x[i] <= high
        inside = x + (0.999 * (low + part * (high - low) - x[i])) * v
        outside = [x + (end - x[i] + e) * v for end, e in ((low, -1e-3), (high, 1e-3))]
        assert allowed(space, inside, 1e-9)
        assert not any(allowed(space, point, 1e-6) for point in outside)


def allowed(space, x, slack):
    """Within bounds and constraints, but for so much."""
    rows = [(row.coefficients, row.lower, row.upper) for row in space.constraints]
    rows += [
        (e, v.lower, v.upper)
        for e, v in zip(np.eye(x.size), space.variables, strict=True)
    ]
    return all(lb - slack <= np.dot(a, x) <= ub + slack for a, lb, ub in rows)


# -- the setting that is told --------------------------------------------------------


def test_the_setting_of_a_report_can_be_set(low, tmp_path):
    """Rounded, but within the limits, and on the grid."""
    text = report.write(low, tmp_path / "r.html").read_text(encoding="utf-8")
    (said,) = re.findall(r'class="set">Set (.*?)\.</p>', text)
    x = np.array([float(part.split()[2]) for part in said.split(", ")])
    assert view(low).space.holds(x)
    assert x[1] == low.result().x[1]
    assert x[3] == 0.5
    np.testing.assert_allclose(x, low.result().x, rtol=1e-2)
    assert "280 &lt;= temp &lt;= 320 K" in text
    assert "gap + 0.1*angle &lt;= 0.3" in text


# -- what is left to gain ------------------------------------------------------------


def test_what_is_left_to_gain_is_about_the_gap():
    """On a face, in scaled variables, and of either sense."""
    for sign in (1.0, -1.0):
        ratios = []
        for seed in range(4):
            opt = Optimizer(
                [0.0, 0.0],
                bounds=[(-2, 2), (-2, 0.5)],
                maxfev=40,
                rng=seed,
                maximize=sign < 0,
            )
            rng = np.random.default_rng(seed)
            while not opt.done:
                trial = opt.ask()
                value = np.sum((trial.x - 1.0) ** 2) + 0.05 * rng.normal()
                opt.tell(trial, sign * value)
            run = view(opt)
            assert run.result.x[1] == 0.5
            gap = (run.result.x[0] - 1.0) ** 2
            ratios.append((gap, left_to_gain(run)))
        gaps, gains = np.mean(ratios, axis=0)
        assert 0.1 * gains < gaps + 1e-4 < 10 * gains
        assert gains < 0.05  # of the noise, not of the slope across the wall


@given(spaces(), st.lists(st.integers(1, 4), min_size=4, max_size=4))
@settings(max_examples=60, deadline=None)
def test_rounded_settings_are_allowed_and_near(drawn, decimals):
    """With few digits more, mostly: limits are drawn with many."""
    space, inside = drawn
    x = space.to_user(space.to_search(inside))
    shown, further = settable(space, x, decimals[: x.size])
    assert space.holds(shown)
    assert np.abs(shown - x).max() <= x.size * 10.0 ** -min(decimals) + 1e-12
    if further < 16:
        for value, d in zip(shown.tolist(), decimals, strict=False):
            assert value == round(value, d + further)


def test_rounding_moves_last_digits_instead_of_showing_all():
    space = checked_space(2, bounds=[(0, 3), (0, 3)], constraints="x0 + 0.1*x1 <= 2.2")
    x = np.array([2.00990652921951, 1.90093470780486])  # on the constraint
    shown, further = settable(space, x, [3, 2])
    assert (shown.tolist(), further) == ([2.009, 1.9], 0)
    mix = checked_space(3, bounds=[(0, 1)] * 3, constraints="x0 + x1 + x2 == 1")
    x = mix.to_user(mix.to_search(np.array([0.24994, 0.38834, 0.36172])))
    shown, further = settable(mix, x, [3, 3, 3])
    assert further == 0
    assert shown.sum() == pytest.approx(1.0, abs=1e-12)
