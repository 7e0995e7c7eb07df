"""What the command says is true; docs/index.md shows what it prints, and is tested."""

from __future__ import annotations

from tobyqa import demo


def test_demo_beats_scipy_a_hundredfold_under_drift():
    *others, ours = demo.run()
    assert ours.solver == "tobyqa"
    assert 100 * ours.median < min(row.median for row in others)
