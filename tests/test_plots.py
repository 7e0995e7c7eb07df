"""Pictures: what is drawn is what the result says, in the hard cases too."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

from drawn_runs import BEGIN, HARD, NAMES, UNITS, finished, reading, stamped
from tobyqa import Optimizer, plots
from tobyqa.plots import canvas
from tobyqa.view import Clock, view, with_error

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.figure")  # what is named below
FigureCanvasAgg = pytest.importorskip("matplotlib.backends.backend_agg").FigureCanvasAgg


@pytest.fixture(scope="module")
def opt():
    return finished()


@pytest.fixture(scope="module")
def result(opt):
    return opt.result()


def line(axes, label):
    """The one line of this label."""
    (found,) = [drawn for drawn in axes.lines if drawn.get_label() == label]
    return found


def labels(axes):
    return axes.get_legend_handles_labels()[1]


def rendered(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=50)
    return buffer.getvalue()


# -- what is drawn -------------------------------------------------------------------


def test_drift_line_is_the_drift_curve_at_the_answer(result):
    axes = plots.drift(result)
    drawn = line(axes, "drift at the answer")
    np.testing.assert_array_equal(drawn.get_xdata(), result.drift.t)
    np.testing.assert_array_equal(drawn.get_ydata(), result.fun + result.drift.value)
    (band,) = axes.collections
    heights = band.get_paths()[0].vertices[:, 1]
    expected = result.fun + result.drift.value - result.drift.std
    assert heights.min() == pytest.approx(expected.min())


def test_every_reading_is_drawn_once_as_read(result):
    axes, history = plots.drift(result), result.history
    heights = [
        line(axes, label).get_ydata()
        for label in ("reading", "outside the last fit")
        if label in labels(axes)
    ]
    drawn = np.sort(np.concatenate(heights))
    np.testing.assert_array_equal(drawn, np.sort(history.value[~history.failed]))
    np.testing.assert_array_equal(
        line(axes, "failed").get_xdata(), np.flatnonzero(history.failed)
    )


def test_readings_outside_the_fit_stay_uncorrected_and_grey():
    result = finished(method="paper").result()
    axes = plots.progress(result)[0]
    grey = line(axes, "as read: drift unknown")
    before = ~result.history.failed & (result.history.t < result.drift.t[0])
    assert before.sum() > 30
    np.testing.assert_array_equal(grey.get_xdata(), np.flatnonzero(before))
    np.testing.assert_array_equal(grey.get_ydata(), result.history.value[before])
    assert grey.get_markerfacecolor() == "none"
    assert line(axes, "drift removed").get_xdata().min() >= result.drift.t[0]


def test_drift_is_removed_from_the_objective(result):
    axes, history = plots.progress(result)[0], result.history
    drawn = line(axes, "drift removed")
    rows = drawn.get_xdata().astype(int)
    drift = np.interp(history.t[rows], result.drift.t, result.drift.value)
    np.testing.assert_allclose(drawn.get_ydata(), history.value[rows] - drift)
    best = line(axes, "best so far").get_ydata()
    assert np.nanmin(best) == drawn.get_ydata().min() == best[-1]
    model = line(axes, "model's value")
    assert set(model.get_ydata()) == {result.fun}


def test_gauges_are_those_of_the_history(result):
    _, radius, gradient = plots.progress(result)
    np.testing.assert_array_equal(radius.lines[0].get_ydata(), result.history.radius)
    drawn = [line(gradient, "gradient"), line(gradient, "its standard error")]
    np.testing.assert_array_equal(drawn[0].get_ydata(), result.history.gradient)
    np.testing.assert_array_equal(drawn[1].get_ydata(), result.history.gradient_std)
    assert drawn[0].get_linestyle() != drawn[1].get_linestyle()
    assert gradient.get_yscale() == "log"


def test_paths_end_at_the_recommended_point(result):
    panels = plots.variables(result)
    assert len(panels) == 3
    for i, axes in enumerate(panels):
        centre = line(axes, "centre of the search").get_ydata()
        np.testing.assert_array_equal(centre, result.history.centre[:, i])
        (bars,) = axes.containers
        _, caps, _ = bars
        low, high = (cap.get_ydata()[0] for cap in caps)
        assert (high + low) / 2 == pytest.approx(result.x[i])
        assert (high - low) / 2 == pytest.approx(result.x_std[i])
        assert with_error(result.x[i], result.x_std[i]) in axes.get_title(loc="left")


def test_no_error_bar_where_there_is_no_error(result):
    unknown = type(result)({**result, "x_std": np.full(3, np.nan)})
    (bars,) = plots.variables(unknown)[0].containers
    assert not bars.has_yerr


def test_slices_are_those_of_the_quadratic_model(result):
    for i, axes in enumerate(plots.model(result)):
        drawn = line(axes, "model")
        d = drawn.get_xdata() - result.x[i]
        expected = result.fun + result.jac[i] * d + 0.5 * result.hess[i, i] * d**2
        np.testing.assert_allclose(drawn.get_ydata(), expected, rtol=1e-9)
        at_answer = np.argmin(np.abs(d))
        assert drawn.get_ydata()[at_answer] == pytest.approx(result.fun)


def test_dots_lie_off_the_slice_by_what_the_model_leaves_unexplained(result):
    axes = plots.model(result)[0]
    dots = line(axes, "readings near by, drift removed")
    d = dots.get_xdata() - result.x[0]
    along = result.fun + result.jac[0] * d + 0.5 * result.hess[0, 0] * d**2
    rest = dots.get_ydata() - along
    assert len(rest) > 10
    assert np.std(rest) < 4 * 0.05  # the noise, though readings differ by several units


def test_names_and_units_are_shown():
    opt = stamped()
    for panels in (plots.variables(opt), plots.model(opt)):
        for axes, name, unit in zip(panels, NAMES, UNITS, strict=True):
            title = axes.get_title(loc="left")
            assert title.startswith(f"{name} = ")
            assert title.endswith(f" {unit}")
    assert plots.model(opt)[0].get_xlabel() == "temperature (°C)"


def test_result_without_names_counts_its_variables(result):
    titles = [axes.get_title(loc="left") for axes in plots.variables(result)]
    assert [title[:4] for title in titles] == ["x0 =", "x1 =", "x2 ="]


def test_time_stamps_are_shown_since_the_start():
    opt = stamped()
    axes = plots.drift(opt)
    assert axes.get_xlabel() == "minutes since 2026-05-28 20:26 UTC"
    low, high = axes.get_xlim()
    assert -10 < low < 0
    assert 177 < high < 190
    drawn = line(axes, "drift at the answer").get_xdata()
    np.testing.assert_allclose(drawn, (opt.result().drift.t - BEGIN) / 60)


def test_black_and_white_can_tell_all_apart(result):
    """No two entries of a legend share marker, fill and line."""
    for axes in [plots.drift(result), *plots.progress(result), plots.model(result)[0]]:
        looks = [
            (drawn.get_marker(), drawn.get_markerfacecolor() == "none", style)
            for drawn in axes.lines
            if not drawn.get_label().startswith("_")
            for style in [str(drawn.get_linestyle()) + str(drawn._dash_pattern)]
        ]
        assert len(set(looks)) == len(looks)


def test_far_readings_are_marked_at_the_edge():
    result = finished(value=lambda x, k: reading(x, k) + 1e3 * (k == 20)).result()
    axes = plots.progress(result)[0]
    low, high = axes.get_ylim()
    marks = line(axes, "off scale")
    assert np.all((marks.get_ydata() > low) & (marks.get_ydata() < high))
    shown = np.where(np.isnan(view(result).corrected()), 0, view(result).corrected())
    beyond = shown > high
    assert beyond.any()
    assert set(np.flatnonzero(beyond)) <= set(marks.get_xdata())


# -- where it is drawn ---------------------------------------------------------------


def test_own_axes_are_used_and_returned(result):
    figure = matplotlib.figure.Figure()
    axes = figure.subplots(4, 3)
    assert plots.drift(result, ax=axes[0, 0]) is axes[0, 0]
    assert list(plots.progress(result, axes=axes[1])) == list(axes[1])
    assert list(plots.variables(result, axes=axes[2])) == list(axes[2])
    assert list(plots.model(result, axes=list(axes[3]))) == list(axes[3])
    one = matplotlib.figure.Figure().subplots()
    assert plots.variables(finished(1, 20), axes=one)[0] is one


def test_wrong_number_of_axes_is_an_error(result):
    axes = matplotlib.figure.Figure().subplots(1, 2)
    with pytest.raises(ValueError, match="3 panels, but holds 2"):
        plots.model(result, axes=axes)


def test_pyplot_is_left_alone():
    code = (
        "import sys, tobyqa, tobyqa.report; from tobyqa import plots\n"
        "assert 'matplotlib' not in sys.modules\n"
        "res = tobyqa.minimize(lambda x: x @ x, [1.0, 2.0], noise=0.1, maxfev=30)\n"
        "plots.overview(res); plots.model(res)\n"
        "print('matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.split() == ["True", "False"]


# -- what is taken -------------------------------------------------------------------


def test_result_optimizer_and_journal_draw_the_same(tmp_path):
    path = tmp_path / "run.jsonl"
    opt = stamped(journal=path)
    before = path.read_bytes()
    drawn = [
        line(plots.drift(source), "drift at the answer").get_ydata()
        for source in (opt.result(), opt, path, str(path))  # the journal is in use
    ]
    for other in drawn[1:]:
        np.testing.assert_array_equal(drawn[0], other)
    opt.close()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_other_sources_are_refused(tmp_path):
    with pytest.raises(TypeError, match="not list"):
        plots.overview([1.0])
    (tmp_path / "notes.txt").write_text("no run")
    with pytest.raises(ValueError, match="corrupt"):
        plots.overview(tmp_path / "notes.txt")


def test_looking_changes_nothing():
    opt = finished(2, 20)
    events = len(opt.result().history)
    plots.overview(opt)
    assert len(opt.result().history) == events


# -- hard cases ----------------------------------------------------------------------


@pytest.mark.parametrize("case", HARD)
def test_hard_cases_can_be_drawn(case):
    opt = HARD[case]()
    assert rendered(plots.overview(opt)).startswith(b"\x89PNG")
    assert rendered(plots.model(opt)[0].figure).startswith(b"\x89PNG")


@pytest.mark.parametrize("value", [0.09999999999999998, 2.0, 1e-30])
def test_values_that_differ_by_rounding_only_have_limits_of_their_own(value):
    """Matplotlib would warn of each, and a command would pass the warning on."""
    for values in ([value], [value, np.nextafter(value, 3.0)]):
        for limit in (canvas.log_axis, canvas.focus):
            axes = matplotlib.figure.Figure().subplots()
            axes.plot(values)
            limit(axes, np.array(values))
            assert axes.get_ylim()[0] < value < axes.get_ylim()[1]


def test_empty_panels_say_why():
    opt = Optimizer([1.0, 2.0])
    assert plots.drift(opt).texts[0].get_text() == "no reading yet"
    assert plots.progress(opt)[2].texts[0].get_text() == "no model yet"
    assert plots.model(opt)[1].texts[0].get_text() == "no model yet"


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("n", [1, 3, 4, 20])
def test_no_text_overlaps_another_or_leaves_the_page(n, named):
    names = [f"corrector magnet number {i}" for i in range(n)] if named else None
    units = ["mrad"] * n if named else None
    figure = plots.overview(finished(n, 3 * n + 20, names=names, units=units))
    drawn = FigureCanvasAgg(figure)
    drawn.draw()
    renderer, page = drawn.get_renderer(), figure.bbox
    spare = _spare_ticks(figure)
    texts = [
        text
        for text in figure.findobj(matplotlib.text.Text)
        if text.get_text().strip() and text not in spare
    ]
    boxes = [t.get_window_extent(renderer) for t in texts]
    for box, text in zip(boxes, texts, strict=True):
        assert page.x0 - 1 <= box.x0, text
        assert box.x1 <= page.x1 + 1, text
        assert page.y0 - 1 <= box.y0, text
        assert box.y1 <= page.y1 + 1, text
    for i, first in enumerate(boxes):
        for j in range(i):
            assert not first.padded(-1).overlaps(boxes[j].padded(-1)), (
                texts[i].get_text(),
                texts[j].get_text(),
            )


def _spare_ticks(figure):
    """Labels of ticks that exist but are not drawn."""
    spare = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks() + axis.get_minor_ticks():
                if not (axes.axison and low <= tick.get_loc() <= high):
                    spare |= {tick.label1, tick.label2}
                spare.add(tick.label2)
    return spare


# -- clocks and numbers --------------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "label", "rate_unit"),
    [
        ([], "number of the reading", "reading"),
        ([0, 1, 2], "number of the reading", "reading"),
        ([0, 60, 120], "time", "unit of time"),
        ([5e6, 5e6 + 3], "time since 5000000", "unit of time"),
        ([BEGIN, BEGIN + 60], "seconds since 2026-05-28 20:26 UTC", "hour"),
        ([BEGIN, BEGIN + 9e4], "hours since 2026-05-28 20:26 UTC", "hour"),
        ([BEGIN, BEGIN + 9e5], "days since 2026-05-28 20:26 UTC", "hour"),
    ],
)
def test_clock_suits_the_times(t, label, rate_unit):
    clock = Clock.of(np.array(t, dtype=float))
    assert (clock.label, clock.rate_unit) == (label, rate_unit)


def test_drift_rate_of_time_stamps_is_per_hour():
    opt = stamped()
    rate = opt.result().drift_rate * 3600
    assert rate == pytest.approx(1.0, rel=0.2)  # 0.05 per reading, 20 readings an hour
    text = view(opt).drift_rate()
    assert text.endswith(" per hour")
    assert float(text.split(" ±")[0]) == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize("value", [3.14159e-30, -0.0271828, 0.0, 12345.678, 9.9e99])
@pytest.mark.parametrize("error", [1e-40, 0.00123, 4.56, 7.8e5, 1e98])
def test_rounding_stays_within_the_error(value, error):
    text = with_error(value, error)
    power = float("1" + text.partition(")")[2]) if text.startswith("(") else 1.0
    shown, _, std = text.partition(")")[0].strip("(").partition(" ± ")
    assert float(shown) * power == pytest.approx(value, abs=0.06 * error, rel=1e-11)
    assert float(std) * power == pytest.approx(error, rel=0.06, abs=1e-12 * power)
