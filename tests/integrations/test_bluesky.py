"""The optimizer for bluesky's plans: its protocols, and runs in a real RunEngine."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from tobyqa import Optimizer
from tobyqa.integrations.bluesky import TobyqaOptimizer

LIMITS = {"slit": (-2.0, 2.0), "mirror": (-2.0, 2.0)}
PROTOCOLS = (
    *("Optimizer", "CanRegisterSuggestions", "TrialFaultAware"),
    *("SupportsStoppingCriteria", "Checkpointable"),
)


def flux(point, t):
    """Highest at (0.5, -0.3), with a drift."""
    off = (point["slit"] - 0.5) ** 2 + 2 * (point["mirror"] + 0.3) ** 2
    return 3.0 - off - 0.05 * t


def optimizer_of(**arguments):
    arguments = {"maximize": True, "noise": 0.01} | arguments
    return TobyqaOptimizer(LIMITS, "flux", {"slit": 1.0}, **arguments)


def outcomes(points, begin):
    return [
        {"_id": point["_id"], "flux": flux(point, t), "time": float(t)}
        for t, point in enumerate(points, begin)
    ]


@pytest.mark.parametrize("package", ["bluesky_adaptive", "blop"])
def test_it_has_all_protocols(package):
    reason = f"needs {package.replace('_', '-')}"
    pytest.importorskip(package, reason=reason)
    protocols = importlib.import_module(f"{package}.protocols")
    for name in PROTOCOLS:
        protocol = getattr(protocols, name)
        if name == "Optimizer":  # it cannot be asked at run time
            for method in ("suggest", "ingest", "get_best_points"):
                assert callable(getattr(protocol, method))
                assert callable(getattr(TobyqaOptimizer, method))
        else:
            assert isinstance(optimizer_of(), protocol)


@pytest.mark.parametrize("at_once", [1, 4])
def test_outcomes_in_another_order_lead_to_the_best_place(at_once):
    optimizer = optimizer_of()
    for begin in range(0, 60, at_once):
        optimizer.ingest(outcomes(optimizer.suggest(at_once), begin)[::-1])
    ((key, point, best),) = optimizer.get_best_points()
    assert key is None
    assert point["slit"] == pytest.approx(0.5, abs=0.05)
    assert point["mirror"] == pytest.approx(-0.3, abs=0.05)
    now = optimizer.optimizer.result().t
    assert best["flux"] == pytest.approx(3.0 - 0.05 * now, abs=0.05)


def test_one_number_is_the_default_and_there_is_no_best_point_at_first():
    optimizer = optimizer_of()
    assert optimizer.get_best_points() == []
    assert optimizer.suggest() == [{"slit": 1.0, "mirror": 0.0, "_id": 0}]


def test_failures_are_failed_measurements():
    optimizer = optimizer_of()
    points = optimizer.suggest(3)
    optimizer.register_failures(points[:2])
    optimizer.ingest(outcomes(points[2:], 0))
    assert (optimizer.optimizer.nfev, optimizer.optimizer.result().nfail) == (3, 2)


def test_points_of_ones_own_are_registered_and_told():
    optimizer = optimizer_of()
    own = [{"slit": 0.1, "mirror": 0.2}, {"slit": 0.3, "mirror": 0.4}]
    registered = optimizer.register_suggestions(own)
    registered += optimizer.register_suggestions(own[:1])
    suggested = optimizer.suggest(2)
    assert len({each["_id"] for each in [*registered, *suggested]}) == 5
    optimizer.register_failures(registered[2:])
    optimizer.ingest(outcomes([*registered[:2], *suggested], 0))
    history = optimizer.optimizer.result().history
    assert history.asked.tolist() == [False, False, True, True]
    assert history.x[:2].tolist() == [[0.1, 0.2], [0.3, 0.4]]
    with pytest.raises(ValueError, match="is of no suggestion that is out"):
        optimizer.ingest(outcomes(registered[:1], 4))


def test_it_says_when_to_stop():
    optimizer = optimizer_of(maxfev=10)
    assert optimizer.should_stop() == (False, None)
    for t in range(10):
        optimizer.ingest(outcomes(optimizer.suggest(), t))
    stops, reason = optimizer.should_stop()
    assert stops
    assert "maxfev" in reason


def test_a_checkpoint_is_the_run(tmp_path):
    path = tmp_path / "run.jsonl"
    optimizer = optimizer_of(checkpoint_path=path, clock=None)
    optimizer.ingest(outcomes(optimizer.suggest(3), 0))
    optimizer.checkpoint()
    optimizer.ingest(outcomes(optimizer.suggest(3), 3))
    optimizer.checkpoint()
    assert Optimizer.load(path).nfev == 6
    with pytest.raises(ValueError, match="checkpoint_path or journal is needed"):
        optimizer_of().checkpoint()


def test_with_a_journal_there_is_nothing_to_save(tmp_path):
    path = tmp_path / "run.jsonl"
    optimizer = optimizer_of(journal=path)
    optimizer.ingest(outcomes(optimizer.suggest(3), 0))
    before = path.read_bytes()
    optimizer.checkpoint()
    assert path.read_bytes() == before
    assert optimizer.optimizer.nfev == 3
    optimizer.optimizer.close()


def test_a_start_without_bounds_is_an_error():
    with pytest.raises(ValueError, match=r"x0 names \['lens'\]"):
        TobyqaOptimizer(LIMITS, "flux", {"lens": 1.0})


def test_it_is_solved_without_noise_to_many_digits():
    optimizer = TobyqaOptimizer({"x": (-1.0, 2.0)}, "f", noise=0.0)
    for t in range(25):
        (point,) = optimizer.suggest()
        row = {"_id": point["_id"], "f": (point["x"] - 0.7) ** 2, "time": t}
        optimizer.ingest([row])
    np.testing.assert_allclose(optimizer.optimizer.result().x, 0.7, atol=1e-5)
