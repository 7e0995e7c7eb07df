"""The default method asks for the points that it asked for when they were last kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden import FILE, POINTS, RUNS, key, trajectory

KEPT = json.loads(FILE.read_text())


@pytest.mark.parametrize("plain", [False, True], ids=["complete", "plain"])
@pytest.mark.parametrize("name", RUNS)
def test_golden_trajectory(name, plain):
    expected = np.array(KEPT[key(name, plain)])
    assert len(expected) >= 30
    asked = trajectory(name, POINTS, plain=plain)
    np.testing.assert_allclose(asked, expected, rtol=1e-6, atol=1e-6)
