"""The paper's results hold where their premises do, and failures are reported."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tobyqa import cli, theory
from tobyqa.methods.paper import Paper
from tobyqa.theory import covariance, reliable
from tobyqa.theory.check import Check, Effort, Row, at_most, fact
from tobyqa.theory.counts import accuracies, counts
from tobyqa.theory.drift import eightfold
from tobyqa.theory.growth import accuracy_constant, by_landscape, evaluations
from tobyqa.theory.landscapes import LANDSCAPES
from tobyqa.theory.output import as_markdown, as_text, tables
from tobyqa.theory.reduction import residues
from tobyqa.theory.runs import CHANNELS, Run, drift, kinds
from tobyqa.theory.trace import gaussian, run, two_valued

SMALL = Effort(n=3, seeds=2, readings=300, draws=400, states=15)
PAGE = Path(__file__).parents[1] / "docs" / "theory.md"


@pytest.fixture(scope="module")
def runs():
    return kinds(SMALL)


@pytest.fixture(scope="module")
def every(runs):
    return [one for kind in runs for one in kind.runs]


@pytest.fixture(scope="module")
def found():
    return theory.checks(SMALL)


points = st.lists(st.floats(-5, 5), min_size=3, max_size=3).map(np.array)


@pytest.mark.parametrize("make", LANDSCAPES)
@given(x=points, y=points)
def test_landscapes_are_what_they_say(make, x, y):
    f = make(3, seed=4)
    assert f(x) >= 0.0 == f(np.zeros(3))
    h = 1e-6
    slopes = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(f.gradient(x), slopes, atol=1e-6)
    apart = np.linalg.norm(f.gradient(x) - f.gradient(y))
    assert apart <= f.lipschitz * np.linalg.norm(x - y) * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("make", LANDSCAPES)
def test_the_lipschitz_constants_are_attained(make):
    f = make(3)
    axis = np.linspace(-2.0, 2.0, 4001)
    slopes = np.array([f.gradient(f.rotation.T @ np.full(3, a)) for a in axis])
    curvatures = np.abs(np.diff(slopes @ f.rotation.T, axis=0)) / (axis[1] - axis[0])
    assert curvatures.max() == pytest.approx(f.lipschitz, rel=1e-3)


def test_a_trace_tells_what_the_method_did(every):
    """Its Ared and noise give the very decisions of the method: (noise-gate)."""
    method = Paper()
    for one in every:
        column = one.trace.column
        gate = -0.5 * method.kappa_tol * math.sqrt(2.0) * one.noise
        np.testing.assert_array_equal(column("achieved") >= gate, column("accepted"))


def test_the_weight_telescopes(every):
    """log sigma_K = log sigma_0 - N_1 log gamma_1 + U log gamma_2, Proposition 4.9."""
    method = Paper()
    for one in every:
        column = one.trace.column
        rejected = len(one.trace.steps) - column("accepted").sum()
        expected = math.log(one.trace.sigma_0) + rejected * math.log(method.gamma_2)
        expected -= column("good").sum() * math.log(method.gamma_1)
        assert math.log(one.trace.last_sigma) == pytest.approx(expected, abs=1e-9)


def test_unsuccessful_iterations_are_bounded_where_sigma_is_confined(every):
    confined = 0
    for one in every:
        for accuracy in accuracies(one):
            c = counts(one, accuracy)
            if c.sigma <= 1.0:
                confined += 1
                assert c.rejected <= c.bound
    assert confined > len(every)


def test_the_bound_on_rejections_can_fail_beyond_confinement():
    """A weight that only grows rejects more than any bound with sigma_max allows."""
    f = LANDSCAPES[0](2)
    trace = run(f, noise=0.0, drift=lambda t: 1e3 * t**2, readings=80)
    c = counts(Run(f, "none", 0.0, trace), 0.1)
    assert c.sigma > 1.0
    assert c.rejected > c.bound


@pytest.mark.parametrize("rate", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("make", LANDSCAPES)
def test_what_is_left_of_an_affine_drift_is_gamma_stat_dt(make, rate):
    """Proposition 3.10, at every iteration of a noisy run."""
    f = make(3, seed=1)
    trace = run(f, noise=0.01, drift=lambda t: rate * t, readings=100, seed=2)
    three, affine = residues(trace)
    rounding = 1e-13 * rate * 100
    assert three <= rounding
    assert affine <= 10 * rounding
    assert np.abs(trace.column("gamma_stat")).max() > 1e3 * rounding  # not trivial


def test_a_curved_drift_leaves_more_than_gamma_stat_dt():
    f = LANDSCAPES[0](3)
    trace = run(f, noise=0.0, drift=lambda t: 0.1 * t**2, readings=60)
    assert residues(trace)[1] > 0.01


def test_the_biases_of_a_curved_drift_keep_to_their_bounds():
    for seed in range(20):
        for bias in eightfold(seed)[::7]:
            assert 0.0 < bias.rate <= bias.rate_bound
            assert 0.0 < bias.gradient <= bias.gradient_bound


def test_the_bounds_of_a_curved_drift_grow_as_the_theorem_says():
    first, *_, last = eightfold()
    assert last.rate_bound == pytest.approx(8.0 * first.rate_bound, rel=1e-9)
    assert last.gradient_bound == pytest.approx(64.0 * first.gradient_bound, rel=1e-9)


def test_descent_in_the_regime_of_lemma_4_5(every):
    met, violated = np.sum([reliable.descent_violations(one) for one in every], axis=0)
    assert met > 100
    assert violated == 0


@pytest.mark.parametrize("kappa", reliable.KAPPAS)
@pytest.mark.parametrize("stage", reliable.STAGES, ids=lambda stage: stage[0])
def test_rejections_in_the_regime_of_lemma_4_7(kappa, stage):
    _, errors, compensated = stage
    rates = reliable.rejection_rates(kappa, SMALL, errors, compensated)
    assert rates.worst <= reliable.bound(kappa)


def test_the_bound_on_rejections_is_that_of_the_paper():
    assert reliable.bound(math.sqrt(8.0 * math.log(2.0))) == pytest.approx(0.5)
    assert reliable.bound(3.0) == pytest.approx(0.3247, abs=1e-4)


def test_without_a_reduction_rejections_are_those_of_the_noise_alone():
    """A step of no length: normal noise falls below the gate with Phi(-kappa / 2)."""
    rng = np.random.default_rng(5)
    place = next(reliable.staged(2.4, rng, gaussian, 3, compensated=False))
    memory = replace(place.state.memory, step=np.zeros(3))
    still = replace(place, state=replace(place.state, memory=memory))
    share = reliable.rejections(still, 2000, gaussian, rng) / 2000
    assert share == pytest.approx(0.1151, abs=4 * math.sqrt(0.1151 * 0.8849 / 2000))
    share = reliable.rejections(still, 2000, two_valued, rng) / 2000
    assert share == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / 2000))


@pytest.mark.parametrize("tau", [0.0, 0.3, 1.0])
def test_the_covariance_of_the_gradient_is_right_under_its_premises(tau):
    samples = covariance.probe_set(3)
    scores = covariance.scores(samples, 0.1, tau, 1000, seed=3)
    for level in covariance.LEVELS:
        share = np.mean(scores <= covariance.quantile(level, 3))
        assert covariance.agrees(share, level, 1000)


def test_the_covariance_of_noise_alone_is_too_small_under_curvature():
    samples = covariance.sample_set(3, np.random.default_rng(0))
    scores = covariance.scores(samples, 0.01, 1.0, 300, seed=3)
    x = samples.points[0]
    Pi = covariance.fit(samples, x, 0.0, ridge=1e-4).recovery[1:4]
    full = 1e-4 * Pi @ Pi.T + Pi @ covariance.powell(samples.points - x) @ Pi.T
    assert np.linalg.eigvalsh(full - 1e-4 * Pi @ Pi.T).max() > 0.01
    assert np.mean(scores <= covariance.quantile(0.95, 3)) > 0.9


def test_chi_squared_quantiles():
    """From the tables: 5.991 and 7.815 at 95 %."""
    assert covariance.quantile(0.95, 2) == pytest.approx(5.991, abs=1e-3)
    assert covariance.quantile(0.95, 3) == pytest.approx(7.815, abs=1e-3)


def test_the_kernel_is_the_covariance_of_random_curvature():
    assert covariance.kernel_deviation(3, 4000) < 5.0


@settings(max_examples=30)
@given(n=st.integers(1, 12), radius=st.floats(1e-3, 1e3))
def test_the_first_points_determine_everything(n, radius):
    """Corollary 3.4."""
    samples = covariance.probe_set(n, radius)
    assert covariance.left_inverse_error(samples, 1e-6) <= 1e-8


def test_evaluations_are_counted_up_to_the_centre_that_is_good_enough(every):
    one = every[0]
    gradients = one.trace.column("true_gradient")
    k = int(np.flatnonzero(gradients <= 0.3 * one.first_gradient)[0])
    assert evaluations(one, 0.3 * one.first_gradient) == 2 * SMALL.n + 1 + k
    assert evaluations(one, 0.0) == math.inf
    assert evaluations(one, 2 * one.first_gradient) == 2 * SMALL.n + 1


def test_evaluations_grow_less_than_quadratically(runs):
    for kind in runs:
        for growth in by_landscape(kind.runs):
            assert growth.exponent <= 2.0
            assert (np.diff(growth.evaluations) >= 0).all()


def test_the_gradients_error_is_below_its_constant_as_often_as_asked(every):
    for one in every[::5]:
        delta = one.trace.column("radius")
        zeta = np.maximum(delta, one.noise / delta)
        kappa = accuracy_constant(one, p=0.2)
        error = one.trace.column("gradient_error")
        assert np.mean(error <= kappa * zeta * (1 + 1e-9)) >= 0.8 - 1 / len(error)


def test_channels_are_the_papers():
    affine, periodic = drift("affine", 2.0), drift("periodic", 2.0)
    assert affine(50.0) == pytest.approx(1.0)
    assert periodic(12.5) == pytest.approx(0.1)
    assert drift("static", 2.0)(7.0) == 0.0
    assert len(CHANNELS) == 3


# What is printed ---------------------------------------------------------------------


def test_what_is_exact_holds_whatever_the_effort(found):
    by_result = {check.result: check for check in found}
    for result in ("Theorem 3.5, section 5.3", "Theorem 3.7, section 5.3"):
        assert by_result[result].failures == 0
    assert by_result["Lemmas 4.5 and 4.7"].failures == 0


def test_assumptions_that_fail_are_marked_and_said(found):
    check = next(c for c in found if "Assumption 4.4" in c.result)
    assert check.failures > 0
    text = as_text([check])
    assert " NO" in text
    share = min(row.measured for row in check.rows if row.bound == 1.0)
    assert f"{share:.0%} to" in text


def test_figures_stand_beside_their_bounds():
    check = Check(
        "A title", "Theorem 1", "a < b", "a run",
        [fact("x", "a", 1.0), at_most("x", "b", 2.0, 3.0), at_most("y", "c", 4.0, 3.0)],
        "A finding.",
    )  # fmt: skip
    assert tables(check) == [
        [["", "a", "b"], ["x", "1", "2 / 3"]],
        [["", "c"], ["y", "4 / 3 NO"]],
    ]
    assert "| y | 4 / 3 NO |" in as_markdown([check])
    assert "1 of 2 figures keep to their bound, 1 do not" in as_text([check])


def test_a_table_keeps_bars_in_cells_apart():
    check = Check("t", "r", "c", "s", [Row("x", "|g|", 1.0)], "f")
    assert r"\|g\|" in as_markdown([check])


def test_the_page_is_made_by_the_command(found):
    """All that does not depend on the effort stands in docs/theory.md."""
    page = PAGE.read_text(encoding="utf-8")
    made = as_markdown(found)
    assert re.findall("^## .*$|^[^|].*Claim: .*$", made, re.M) == re.findall(
        "^## .*$|^[^|].*Claim: .*$", page, re.M
    )
    labels = [line.split(" | ")[0] for line in made.splitlines() if line[:2] == "| "]
    assert labels == [
        line.split(" | ")[0] for line in page.splitlines() if line[:2] == "| "
    ]


def test_the_command_prints_text_markdown_or_json(capsys):
    assert cli.main(["theory", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)
    rows = [row for check in checks for row in check["rows"]]
    assert {"case", "quantity", "measured", "bound", "holds"} == set(rows[0])
    page = PAGE.read_text(encoding="utf-8")
    failed = sum(row["holds"] is False for row in rows)
    assert f"{failed} do not." in page
    with pytest.raises(SystemExit) as end:
        cli.main(["theory", "--json", "--markdown"])
    assert end.value.code == 2
