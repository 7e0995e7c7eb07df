"""What the commands print is true."""

from __future__ import annotations

from tobyqa import cli, demo


def test_demo_beats_scipy_a_hundredfold_under_drift(capsys):
    assert cli.main(["demo"]) == 0
    assert "times closer" in capsys.readouterr().out
    *others, ours = demo.run()
    assert ours.solver == "tobyqa"
    assert 100 * ours.median < min(row.median for row in others)
