"""The log of events: what a method is sent, what replays, and what breaks off."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from test_optimizer import assert_same, reading
from tobyqa import Adaptive, Optimizer, Paper, Status, Trial, lines
from tobyqa.counting import counting
from tobyqa.journal import read
from tobyqa.setup import restored
from tobyqa.state import Observation, Task, stepwise


@dataclass(frozen=True)
class Watched(Paper):
    """Method `paper` that shows what it is sent, and raises what it is told to."""

    seen: ClassVar[list[Observation]]
    raises: ClassVar[list[BaseException]]

    def absorb(self, state, observation):
        self.seen.append(observation)
        if self.raises and observation.value > 1e3:
            raise self.raises.pop()
        return super().absorb(state, observation)


@pytest.fixture
def watched():
    Watched.seen, Watched.raises = [], []
    return Watched()


def tell(opt, times=1):
    for _ in range(times):
        opt.tell(opt.ask(), reading(opt.ask().x, opt.nfev))


def test_an_observation_names_its_trial(watched):
    opt = Optimizer([0.0, 0.0], method=watched, noise=0.01)
    tell(opt)
    opt.tell([3.0, 3.0], 1.0)
    opt.tell_failed(opt.ask())
    assert [(o.trial, o.asked) for o in watched.seen] == [
        (0, True),
        (None, False),
        (1, True),
    ]
    assert [o.answers for o in watched.seen] == [True, False, True]


def test_a_trial_answers_the_proposal_only_while_it_is_in_force(watched):
    opt = Optimizer([0.0, 0.0], method=watched, noise=0.01)
    opt.ask()
    opt.tell([3.0, 3.0], 1.0)  # in the probe: the next point is the same one
    tell(opt)
    assert (watched.seen[-1].trial, watched.seen[-1].answers) == (0, True)
    tell(opt, 6)
    trial = opt.ask()
    opt.tell(trial.x + 0.01, 0.1)  # now there is another plan
    np.testing.assert_array_equal(opt.ask().x, trial.x)
    tell(opt)
    assert (watched.seen[-1].trial, watched.seen[-1].answers) == (7, False)
    tell(opt)
    assert watched.seen[-1].answers


def test_a_trial_at_another_place_than_proposed_is_no_answer(watched, tmp_path):
    """As in the journal of another version, whose method went elsewhere."""
    opt = Optimizer([0.0, 0.0], method=Paper(), noise=0.01, journal=tmp_path / "run")
    tell(opt, 5)
    opt.close()
    log = read(tmp_path / "run")
    events = [{**e, "x": np.array(e["x"])} if e.get("x") else e for e in log.events]
    events[6]["x"] = events[6]["x"] + [0.5, 0.0]  # the fourth trial
    events[8]["x"] = events[8]["x"] + [0.0, 1e-12]  # by rounding
    again = Optimizer([0.0, 0.0], method=watched, noise=0.01)
    for event in events:
        again._log.record(event)
    assert [o.answers for o in watched.seen] == [True, True, True, False, True]
    assert all(o.asked for o in watched.seen)


@pytest.mark.parametrize("method", [Paper(), Adaptive()], ids=str)
def test_a_method_begins_with_a_proposal_and_never_ends_by_itself(method):
    search = method.begin(Task(np.zeros(2), noise=0.0))
    proposal, state = next(search)
    for k in range(60):
        seen = Observation(proposal.x, float(k), 1.0, trial=k, answers=True)
        following, state = search.send(seen)
        assert following is not proposal
        proposal = following
    assert state.status is not Status.RUNNING or isinstance(method, Adaptive)
    assert np.isfinite(proposal.x).all()


def test_the_same_proposal_is_the_same_object():
    search = stepwise(Paper(), Paper().start(Task(np.zeros(2))))
    proposal, _ = next(search)
    guest = Observation(np.ones(2), 0.0, 1.0)
    assert search.send(guest)[0] is proposal
    probe, _ = search.send(Observation(proposal.x, 1.0, 1.0, trial=0, answers=True))
    failed = Observation(probe.x, 2.0, np.nan, trial=1, answers=True)
    nearer, state = search.send(failed)
    assert state.failures == 1
    assert nearer is not probe
    farther, state = search.send(None)  # it goes on: failures count no more
    assert state.failures == 0
    np.testing.assert_array_equal(farther.x, probe.x)


@pytest.mark.parametrize("journaled", [False, True])
def test_a_reading_that_a_method_cannot_take_in_is_withdrawn(
    watched, tmp_path, journaled
):
    path = tmp_path / "run" if journaled else None
    opt, straight = (
        Optimizer([0.0, 0.0], method=m, noise=0.01, journal=p)
        for m, p in ((watched, path), (Paper(), None))
    )
    for each in (opt, straight):
        tell(each, 7)
    Watched.raises = [np.linalg.LinAlgError("no luck")]
    trial = opt.ask()
    with pytest.raises(np.linalg.LinAlgError):
        opt.tell(trial, 1e6)
    assert [t.id for t in opt.pending] == [trial.id]
    for each in (opt, straight):
        tell(each, 3)
    np.testing.assert_array_equal(opt.ask().x, straight.ask().x)
    if journaled:
        kinds = [event["event"] for event in read(path).events]
        assert kinds.count("undo") == 1
        assert len(counting(read(path).events)) == len(kinds) - 2


def test_an_interrupted_reading_counts_with_the_next_call(watched, tmp_path):
    path = tmp_path / "run"
    opt = Optimizer([0.0, 0.0], method=watched, noise=0.01, journal=path)
    straight = Optimizer([0.0, 0.0], method=Paper(), noise=0.01)
    for each in (opt, straight):
        tell(each, 7)
    trial = opt.ask()
    Watched.raises = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        opt.tell(trial, 2e3)
    assert opt.nfev == len(opt.result().history) == 8
    straight.tell(straight.ask(), 2e3)
    with pytest.raises(ValueError, match=r"trial 7 at .* is not waiting"):
        opt.tell(trial, 2e3)  # it is in the log already
    np.testing.assert_array_equal(opt.ask().x, straight.ask().x)
    assert [e["event"] for e in read(path).events].count("tell") == 8
    assert len(opt.result().history) == 8


def test_a_failure_needs_a_trial_that_was_asked_for(tmp_path):
    opt = Optimizer([0.0], journal=tmp_path / "run")
    with pytest.raises(ValueError, match="not waiting"):
        opt.tell_failed(Trial(None, np.zeros(1)))
    with pytest.raises(ValueError, match="x must be finite"):
        opt.tell(Trial(None, np.array([np.nan])), 1.0)
    assert len(read(tmp_path / "run").events) == 0
    opt.tell(Trial(None, np.ones(1)), 1.0)
    assert len(opt.result().history) == 1


def test_a_budget_said_later_survives_files_and_undo(tmp_path):
    path, saved = tmp_path / "run", tmp_path / "saved"
    with Optimizer([0.0, 0.0], noise=0.01, rng=1, journal=path) as opt:
        tell(opt, 8)
    with Optimizer.resume(path, maxfev=9) as opt:
        opt.undo()  # the reading, not the budget
        assert (opt.maxfev, opt.setup["maxfev"], opt.nfev) == (9, 9, 7)
        opt.save(saved)
        again = Optimizer.load(saved)
        assert again.maxfev == 9
        # The search began without: what it does hangs on that.
        assert read(saved).header["maxfev"] is None
        for each in (opt, again):
            tell(each, 2)
            assert each.status is Status.MAXFEV
        assert_same(opt.result(), again.result())


GUEST = {"event": "tell", "id": None, "x": [1, 2], "t": 0, "value": 1.0, "sigma": None}


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({**GUEST, "id": 3}, "trial 3 was told but not asked for"),
        ({**GUEST, "id": "3"}, "id must be a whole number >= 0, but is '3'"),
        ({**GUEST, "id": True}, "id must be a whole number"),
        ({**GUEST, "x": [1.0]}, r"x must be of shape \(2,\)"),
        ({**GUEST, "x": [1.0, 1e51]}, r"x must be at most 1e\+50"),
        ({**GUEST, "t": 1e308}, "t must be at most 1e100"),
        ({**GUEST, "t": math.nan}, "t must be finite"),
        ({**GUEST, "value": "a"}, "value must be one real number"),
        ({**GUEST, "value": math.inf}, "value must be finite"),
        ({**GUEST, "value": 1e200}, "value must be finite and at most 1e.100"),
        ({**GUEST, "sigma": -1}, "sigma must be >= 0"),
        ({"event": "ask", "id": 0, "x": [1.0]}, r"x must be of shape \(2,\)"),
        ({"event": "ask", "id": 0, "x": [1.0, math.inf]}, "x must be finite"),
        ({"event": "ask", "id": -1, "x": [1.0, 2.0]}, "id must be a whole number"),
        ({"event": "ask", "id": 0}, "the field 'x' is missing"),
        ({"event": "tell", "id": None, "x": [1, 2]}, "the field 't' is missing"),
        ({"event": "fail", "id": 0, "t": 0, "reason": 7}, "reason must be a text"),
        ({"event": "stop", "status": "BORED"}, "status must be one of .*'BORED'"),
        ({"event": "stop", "status": ["STOPPED"]}, "status must be one of"),
        ({"event": "continue", "maxfev": 0}, "maxfev must be >= 1"),
        ({"event": "dance"}, "unknown event 'dance'"),
    ],
)
def test_records_that_make_no_run_are_named(tmp_path, event, message):
    """Their checksums are right: whoever wrote them was wrong."""
    path = tmp_path / "run"
    opt = Optimizer([0.0, 0.0])
    header = lines.full(opt.setup)
    data, end = lines.sealed([header, {"event": "saved"}], lines.End())
    sum_before = end.digest
    body = json.dumps(event).encode()
    digest = hashlib.blake2b(sum_before + body, digest_size=8).hexdigest()
    path.write_bytes(data + body[:-1] + f', "sum": "{digest}"}}\n'.encode())
    for way in (Optimizer.load, Optimizer.resume):
        with pytest.raises(ValueError, match=rf"run, line 3: {message}"):
            way(path)
    path.write_bytes(data)
    Optimizer.resume(path).close()  # it was not left locked


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": "abc"}, "seed must be a whole number >= 0, but is 'abc'"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"x0": []}, "x0 is empty"),
        ({"noise": -1.0}, "noise must be >= 0"),
        ({"method": "magic"}, "method must be one of .*'magic'"),
        ({"settings": 3}, "settings must be an object"),
        ({"names": ["a"]}, "names must have 2 entries"),
        ({"max_failures": None}, "max_failures"),
        ({"seed": None, "x0": None}, "x0 must hold real numbers"),
    ],
)
def test_headers_that_make_no_run_are_named(tmp_path, change, message):
    path = tmp_path / "run"
    header = lines.full(Optimizer([0.0, 0.0]).setup) | change
    path.write_bytes(lines.sealed([header], lines.End())[0])
    with pytest.raises(ValueError, match=rf"run, line 1: {message}"):
        Optimizer.load(path)
    header = lines.full(Optimizer([0.0, 0.0]).setup)
    for field in change:
        del header[field]
    path.write_bytes(lines.sealed([header], lines.End())[0])
    with pytest.raises(ValueError, match=r"line 1: the field '\w+' is missing"):
        Optimizer.load(path)


@dataclass(frozen=True)
class Former(Paper):
    """A method that had one more setting once."""

    RETIRED: ClassVar[frozenset[str]] = frozenset({"patience"})


def hand_made(path, **settings):
    """A journal with these settings besides the usual ones."""
    header = lines.full(Optimizer([0.0, 0.0], method=Paper(eta=0.5), rng=1).setup)
    header["settings"] |= settings
    rewrite(path, header)
    return header


def rewrite(path, header):
    path.write_bytes(lines.sealed([header], lines.End())[0])


def test_retired_settings_in_a_file_are_left_out_with_a_warning(tmp_path, caplog):
    hand_made(tmp_path / "run", patience=7)
    stored = read(tmp_path / "run").header["settings"]
    with caplog.at_level(logging.WARNING):
        assert restored(Former, stored) == Former(eta=0.5)
    assert "Former has these settings no more" in caplog.text
    assert "patience=7" in caplog.text
    with pytest.raises(TypeError, match="zeal"):
        restored(Former, {**stored, "zeal": 1})


def test_settings_that_never_were_are_an_error(tmp_path):
    path = tmp_path / "run"
    hand_made(path, zeal=1)
    with pytest.raises(ValueError, match=r"run, line 1: .*zeal"):
        Optimizer.load(path)
    with pytest.raises(ValueError, match="another problem: settings"):
        Optimizer.open(path, x0=[0.0, 0.0], method=Paper(eta=0.5))


def test_settings_that_a_file_does_not_know_yet_have_their_defaults(tmp_path):
    path = tmp_path / "run"
    header = hand_made(path)
    del header["settings"]["chi"]
    rewrite(path, header)
    assert Optimizer.load(path).method == Paper(eta=0.5)
    with Optimizer.open(path, x0=[0.0, 0.0], method=Paper(eta=0.5)) as opt:
        tell(opt)
    with pytest.raises(ValueError, match="another problem: settings"):
        Optimizer.open(path, x0=[0.0, 0.0], method=Paper(eta=0.5, chi=9))


@pytest.mark.parametrize("method", [Paper, Adaptive])
def test_no_setting_is_both_retired_and_in_use(method):
    in_use = {field.name for field in dataclasses.fields(method)}
    assert not in_use & method.RETIRED


def test_no_file_is_begun_for_readings_that_are_unsound(tmp_path):
    path = tmp_path / "run"
    for x, t, value, sigma in [
        ([[0.0], [1.0]], [0, 1], [1.0, 1e200], None),
        ([[0.0], [1.0]], [0, 1], [1.0, 2.0], [0.1, -1.0]),
        ([[0.0], [1.0]], [0, 1e200], [1.0, 2.0], None),
    ]:
        with pytest.raises(ValueError, match="must be"):
            Optimizer.from_data(x, t, value, sigma=sigma, journal=path)
        assert not path.exists()
    with Optimizer.from_data([[0.0], [1.0]], None, [1.0, 2.0], journal=path) as opt:
        expected = opt.result()
    assert_same(expected, Optimizer.load(path).result())
