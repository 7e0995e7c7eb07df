"""Knobs through the command: flags, run files and tables say what arguments say."""

from __future__ import annotations

import csv
import json
import sys

import numpy as np
import pytest

from tobyqa import Optimizer
from tobyqa.cli import main
from tobyqa.lines import full, plain

NAMES, UNITS = ["temp", "gap", "angle", "shift"], ["K", "mm", "deg", "mm"]
X0 = [295.0, 1.0, -3.0, 0.25]
LABELS = [
    *(word for name in NAMES for word in ("--name", name)),
    *(word for unit in UNITS for word in ("--unit", unit)),
]
KNOBS = [
    *("--bound", "temp=280:320", "--bound", "gap=0.1:2", "--bound", "angle=-10:"),
    *("--constraint", "gap + 0.2*angle <= 1.5"),
    *("--scale", "temp=4", "--scale", "gap=0.2"),
    *("--resolution", "gap=0.01", "--fix", "shift=0.5", "--maximize"),
    *("--radius", "1", "--seed", "3", "--clock", "index", "--maxfev", "18"),
]
SEARCH = ["--x0", "295,1,-3,0.25", *LABELS, *KNOBS]
SAID = {
    "names": NAMES,
    "units": UNITS,
    "bounds": [(280, 320), (0.1, 2), (-10, None), None],
    "constraints": "gap + 0.2*angle <= 1.5",
    "x_scale": [4, 0.2, 1, 1],
    "resolution": [None, 0.01, None, None],
    "fixed": {"shift": 0.5},
    "maximize": True,
    "initial_radius": 1.0,
    "rng": 3,
    "maxfev": 18,
}
RUN_FILE = """\
x0 = [295, 1, -3, 0.25]
names = ["temp", "gap", "angle", "shift"]
units = ["K", "mm", "deg", "mm"]
bounds = {temp = [280, 320], gap = [0.1, 2], angle = [-10, inf]}
constraints = ["gap + 0.2*angle <= 1.5"]
x_scale = {temp = 4, gap = 0.2}
resolution = {gap = 0.01}
fixed = {shift = 0.5}
maximize = true
radius = 1
seed = 3
clock = "index"
maxfev = 18
"""
LISTS = """\
x0 = [295, 1, -3, 0.25]
names = ["temp", "gap", "angle", "shift"]
units = ["K", "mm", "deg", "mm"]
bounds = [[280, 320], [0.1, 2], [-10, inf], [-inf, inf]]
constraints = "gap + 0.2*angle <= 1.5"
x_scale = [4, 0.2, 1, 1]
radius = [4, 0.2, 1, 1]
fixed = {shift = 0.5}
maximize = true
seed = 3
clock = "index"
maxfev = 18
"""
PROGRAM = [sys.executable, "-S", "-E", "-c"]
BEAM = (
    "import json, sys; p = json.load(sys.stdin);"
    "print(10 - ((p['temp'] - 304) / 8) ** 2 - (p['gap'] - 0.4) ** 2"
    " - ((p['angle'] - 9) / 3) ** 2 - 0.01 * p['shift'])"
)


@pytest.fixture
def tobyqa(capsys):
    """Run a command; gives the exit code, what it printed and what it complained."""

    def run(*arguments):
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as exit_:
            code = exit_.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def brightness(x):
    """The same as `BEAM`, bit by bit: largest at a limit of gap and angle."""
    temp, gap, angle, shift = map(float, x)
    bright = 10 - ((temp - 304) / 8) ** 2 - (gap - 0.4) ** 2 - ((angle - 9) / 3) ** 2
    return bright - 0.01 * shift


def assert_allowed(x):
    assert 280 <= x[0] <= 320
    assert 0.1 <= x[1] <= 2
    assert x[1] == float(f"{x[1]:.2f}")
    assert x[2] >= -10
    assert x[1] + 0.2 * x[2] <= 1.5
    assert x[3] == 0.5


def by_python():
    opt = Optimizer(X0, **SAID)
    while not opt.done:
        trial = opt.ask()
        opt.tell(trial, brightness(trial.x))
    return opt


def same(a, b):
    """Whether two runs have the same points, answer and setup, the clock apart."""
    for key in ("x", "x_std", "fun", "drift_rate", "fun_best_observed"):
        np.testing.assert_array_equal(a.result()[key], b.result()[key])
    np.testing.assert_array_equal(a.result().history.x, b.result().history.x)
    assert a.setup["space"] == b.setup["space"]


# -- every door ----------------------------------------------------------------------


def test_by_hand_every_flag_is_the_argument(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    assert tobyqa("init", path, *SEARCH)[0] == 0
    whys = []
    for _ in range(18):
        asked = json.loads(tobyqa("ask", path, "--json")[1])
        assert_allowed(asked["x"])
        whys.append(asked["why"])
        assert tobyqa("tell", path, repr(brightness(asked["x"])))[0] == 0
    opt = by_python()
    same(Optimizer.load(path), opt)
    assert whys[:5] == ["start", *["first"] * 3, "start_again"]  # of three variables
    assert set(whys[5:]) <= {"step", "exploration", "comparison"}
    out = tobyqa("status", path)[1]
    for line in (
        "wanted  the largest value",
        "limits  280 <= temp <= 320 K",
        "        0.1 <= gap <= 2 mm in steps of 0.01 mm",
        "        -10 <= angle deg",
        "        shift = 0.5 mm, fixed",
        "        gap + 0.2*angle <= 1.5",
        "        shift = 0.5 mm",
    ):
        assert line in out.splitlines()
    facts = json.loads(tobyqa("status", path, "--json")[1])
    assert facts["maximize"] is True
    assert facts["fixed"] == {"shift": 0.5}
    assert facts["fun_best_observed"] == max(opt.result().history.value) > 0
    assert facts["active"] == opt.result().active


@pytest.mark.parametrize("door", ["flags", "tables"])
def test_a_program_sees_the_same_points(tmp_path, tobyqa, door):
    path, file = tmp_path / "run.jsonl", tmp_path / "run.toml"
    file.write_text(RUN_FILE)
    said = SEARCH if door == "flags" else [file]
    code, out, err = tobyqa(
        "run", *said, "--journal", path, "--quiet", "--json", "--", *PROGRAM, BEAM
    )
    assert (code, err) == (0, "")
    opt = by_python()
    same(Optimizer.load(path), opt)
    assert json.loads(out)["fun"] == opt.result().fun > 0
    for x in opt.result().history.x:
        assert_allowed(x)


def test_lists_and_a_radius_for_each_variable_do_as_well(tmp_path, tobyqa):
    path, file = tmp_path / "run.jsonl", tmp_path / "run.toml"
    file.write_text(LISTS)
    assert tobyqa("run", file, "--journal", path, "--", *PROGRAM, BEAM)[0] == 0
    flags = [word for word in SEARCH if word not in ("--resolution", "gap=0.01")]
    flags[flags.index("--radius") + 1] = "4,0.2,1,1"
    other = tmp_path / "other.jsonl"
    assert tobyqa("run", *flags, "--journal", other, "--", *PROGRAM, BEAM)[0] == 0
    same(Optimizer.load(path), Optimizer.load(other))


def test_radius_of_each_variable_is_in_its_unit(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    flags = ["--x0", "300,1", "--radius", "5,0.5", "--clock", "index", "--seed", "0"]
    assert tobyqa("init", path, *flags)[0] == 0
    seen = set()
    for _ in range(4):
        x = json.loads(tobyqa("ask", path, "--json")[1])["x"]
        seen.add((abs(x[0] - 300), abs(x[1] - 1)))
        tobyqa("tell", path, "1")
    assert seen == {(0, 0), (5, 0), (0, 0.5)}


def test_flags_add_to_a_file_and_override_it(tmp_path, tobyqa):
    path, file = tmp_path / "run.jsonl", tmp_path / "run.toml"
    file.write_text(RUN_FILE)
    more = ["--bound", "gap=0.5:1.5", "--constraint", "temp >= 290", "--maxfev", "1"]
    code, _, _ = tobyqa("run", file, *more, "--journal", path, "--", *PROGRAM, BEAM)
    assert code == 0
    out = tobyqa("status", path)[1]
    assert "280 <= temp <= 320 K" in out  # of the file
    assert "0.5 <= gap <= 1.5 mm in steps of 0.01 mm" in out
    assert "gap + 0.2*angle <= 1.5" in out
    assert "temp >= 290" in out


def test_old_readings_begin_a_bounded_search_for_the_largest(tmp_path, tobyqa):
    table, path = tmp_path / "old.csv", tmp_path / "run.jsonl"
    table.write_text("temp,gap,t,value\n290,1,0,5\n310,0.5,1,7\n350,0.2,2,6\n")
    flags = ["--data", table, "--name", "temp", "--name", "gap", "--clock", "index"]
    knobs = ["--bound", "temp=280:320", "--bound", "gap=0.1:2", "--maximize"]
    code, _, err = tobyqa("init", path, *flags, *knobs)
    assert code == 0
    assert "columns not used: t" in err
    assert tobyqa("ask", path)[1].startswith("trial 0: temp = 310.0, gap = 0.5\n")
    assert tobyqa("tell", path, "7.1")[0] == 0
    assert json.loads(tobyqa("status", path, "--json")[1])["fun_best_observed"] == 7.1
    exported = list(csv.DictReader(tobyqa("export", path)[1].splitlines()))
    assert [row["value"] for row in exported] == ["5.0", "7.0", "6.0", "7.1"]
    assert exported[2]["temp"] == "350.0"  # measured outside, kept as it is


def test_a_start_outside_is_moved_and_said(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    code, _, err = tobyqa("init", path, "--x0", "330,1", "--bound", "x0=280:320")
    assert code == 0
    assert err == (
        "tobyqa: x0 = [330.0, 1.0] does not meet x0 <= 320; the search starts at the "
        "nearest point that does, [320.0, 1.0]\n"
    )
    assert tobyqa("ask", path)[1].startswith("trial 0: x0 = 320.0, x1 = 1.0\n")


# -- what is wrong is named before anything is done ----------------------------------


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ("--bound temp", "--bound: 'temp' is not of the form NAME=LOWER:UPPER"),
        ("--bound temp=:", "--bound: 'temp=:' is not of the form NAME=LOWER:UPPER"),
        ("--bound temp=a:2", "--bound: 'a' is not a number (in 'temp=a:2')"),
        ("--bound temp=nan:2", "--bound: 'nan' is not a number (in 'temp=nan:2')"),
        ("--bound temp=320:280", "bounds of 'temp': there is no number between 320"),
        ("--bound foo=1:2", "bounds: there is no variable 'foo'; there are temp, gap"),
        ("--bound gap=1:2 --bound gap=0:2", "bounds of 'gap' is given twice"),
        ("--constraint gap+temp", "constraint 'gap+temp': it must have one relation"),
        ("--constraint gap*temp<=1", "two variables are multiplied; it must be linear"),
        ("--constraint foo<=1", "'foo' is not one of the variables"),
        ("--bound gap=0:1 --constraint gap>=2", "contradict each other: gap <= 1, gap"),
        ("--scale temp", "--scale: 'temp' is not of the form NAME=NUMBER"),
        ("--scale temp=0", "x_scale of 'temp' must be > 0, but is 0.0"),
        ("--scale foo=1", "x_scale: there is no variable 'foo'; there are temp, gap"),
        ("--resolution gap=-1", "resolution of 'gap' must be > 0, but is -1.0"),
        ("--resolution gap=5 --bound gap=1:2", "no point on the grid of `resolution`"),
        ("--fix gap", "--fix: 'gap' is not of the form NAME=NUMBER"),
        ("--fix foo=1", "fixed: there is no variable 'foo'; there are temp, gap"),
        ("--fix gap=3 --bound gap=0:2", "fixed['gap'] must be within its bounds, 0 to"),
        ("--fix gap=1 --fix temp=300", "leave nothing to search"),
        ("--radius 1,2,3", "initial_radius must have 2 entries, but has 3"),
        ("--radius 0", "initial_radius must be > 0, but is 0.0"),
        ("--radius 1,x", "--radius: 'x' is not a number"),
    ],
)
def test_bad_flags_are_one_line(tmp_path, tobyqa, flags, complaint):
    path, log = tmp_path / "run.jsonl", tmp_path / "log"
    begin = ["--x0", "300,1", "--name", "temp", "--name", "gap", *flags.split()]
    program = ["--", "sh", "-c", f"echo 1 >> {log}; echo 1"]
    for command in (["init", path, *begin], ["run", *begin, *program]):
        code, out, err = tobyqa(*command)
        assert (code, out) == (2, "")
        assert complaint in err
        assert err.count("\n") == 1
    assert not path.exists()
    assert not log.exists()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("bounds = 3", "bounds must be a table such as {gap = [0, 2]}, or a list"),
        ("bounds = {gap = 3}", "bounds of 'gap' must be [lower, upper], either"),
        ("bounds = [[0, 1]]", "bounds must have 2 entries, one for each variable"),
        ("constraints = [3]", "constraints must be a list of texts such as"),
        ("x_scale = {temp = 'a'}", "x_scale of 'temp' must be a number, but is 'a'"),
        ("resolution = {gap = 0}", "resolution of 'gap' must be > 0, but is 0"),
        ("fixed = {gap = true}", "fixed of 'gap' must be a number, but is True"),
        ("maximize = 1", "maximize must be True or False, but is 1"),
        ("maximise = true", "unknown key 'maximise'; allowed are x0, names"),
    ],
)
def test_bad_keys_are_one_line(tmp_path, tobyqa, line, complaint):
    file, log = tmp_path / "run.toml", tmp_path / "log"
    file.write_text(f'x0 = [300, 1]\nnames = ["temp", "gap"]\n{line}\n')
    code, out, err = tobyqa("run", file, "--", "sh", "-c", f"echo 1 >> {log}; echo 1")
    assert (code, out) == (2, "")
    assert complaint in err
    assert not log.exists()


def test_help_says_what_the_first_radius_is(tobyqa):
    for command in ("init", "run"):
        text = " ".join(tobyqa(command, "--help")[1].split())
        assert "15 % of the range between bounds" in text
        assert "in its unit" in text
        for flag in ("bound", "constraint", "scale", "resolution", "fix", "maximize"):
            assert f"--{flag} " in text


# -- what is shown -------------------------------------------------------------------


def test_ask_prints_the_digits_that_matter(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    flags = ["--name", "temp", "--name", "gap", "--clock", "index", "--seed", "1"]
    knobs = [
        "--bound",
        "temp=280:320",
        "--bound",
        "gap=0.1:2",
        "--resolution",
        "gap=.01",
    ]
    tobyqa("init", path, "--x0", "300.123456789,0.777777", *flags, *knobs)
    opt = Optimizer.load(path)
    line, full = tobyqa("ask", path)[1], tobyqa("ask", path, "--full")[1]
    assert line.startswith("trial 0: temp = 300.123, gap = 0.78\n")  # radius 4
    assert full.startswith("trial 0: temp = 300.123456789, gap = 0.78\n")
    for _ in range(14):
        shown, full = (tobyqa("ask", path, *more)[1] for more in ([], ["--full"]))
        exact = json.loads(tobyqa("ask", path, "--json")[1])["x"]
        assert f"temp = {exact[0]!r}, gap = {exact[1]!r}\n" in full
        temp, gap = (
            float(part.split()[2]) for part in shown.splitlines()[0][9:].split(",")
        )
        assert 280 <= temp <= 320
        assert temp == pytest.approx(exact[0], abs=0.006)
        assert gap == exact[1]
        # What was shown may be told: it is the trial.
        assert tobyqa("tell", path, temp / 100, "--x", f"{temp!r},{gap!r}")[0] == 0
    history = Optimizer.load(path).result().history
    assert history.asked.all()
    assert opt.nfev == 0


def test_rounding_never_leaves_what_is_allowed(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    limits = ["--bound", "a=0.1234567:1", "--constraint", "a + b <= 1.3333333"]
    names = ["--name", "a", "--name", "b", "--clock", "index"]
    tobyqa("init", path, "--x0", "0.2,0.2", *names, *limits)
    for _ in range(25):
        text = tobyqa("ask", path)[1].splitlines()[0].partition(": ")[2]
        a, b = (float(part.split()[2]) for part in text.split(","))
        assert 0.1234567 <= a <= 1
        assert a + b <= 1.3333333
        tobyqa("tell", path, 5 * a - 3 * b)  # to the corner


def test_ask_says_what_the_point_is_for(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    tobyqa("init", path, "--x0", "0,0", "--noise", "0.01", "--clock", "index")
    said = []
    for k in range(45):
        point, why = tobyqa("ask", path)[1].splitlines()
        assert point.startswith(f"trial {k}: x0 = ")
        said.append(why.strip())
        if k == 2:
            tobyqa("fail", path)
            continue
        x = Optimizer.load(path).pending[0].x
        tobyqa("tell", path, repr(float((x - [3, 1]) @ (x - [3, 1]))))
    assert said[0] == "the start"
    assert said[1] == "one of the first points around the start"
    assert said[3] == "one of the first points around the start, nearer after a failure"
    assert said[4] == "the start again: what has changed there is drift"
    kinds = {text.split()[1].strip(",:") for text in said[5:]}
    assert kinds == {"step", "exploration", "comparison"}
    pending = tobyqa("ask", path)[1].splitlines()
    rows = tobyqa("status", path)[1].splitlines()
    at = next(k for k, row in enumerate(rows) if row.startswith("pending"))
    assert rows[at].split(maxsplit=1)[1] == pending[0]
    assert rows[at + 1].strip() == pending[1].strip()


def test_searches_from_elsewhere_are_said():
    opt = Optimizer([0.5], noise=0.01, maxfev=150, restarts=True, rng=0)
    whys = []
    while not opt.done:
        trial = opt.ask()
        whys.append(trial.why.name)
        opt.tell(trial, float(trial.x[0] ** 2))
    assert whys[0] == "START"
    assert whys.count("START") == 1
    assert "ELSEWHERE" in whys


def test_a_journal_that_does_not_say_why_is_asked_all_the_same(tmp_path, tobyqa):
    """Format 1, which has no checksums, of an earlier version."""
    path = tmp_path / "old.jsonl"
    header = {**full(Optimizer([1.0, 2.0]).setup), "format_version": 1}
    asked = {"event": "ask", "id": 0, "x": [1.0, 2.0]}
    path.write_bytes(plain(header) + b"\n" + plain(asked) + b"\n")
    code, out, _ = tobyqa("ask", path)
    assert (code, out) == (0, "trial 0: x0 = 1.0, x1 = 2.0\n")
    assert json.loads(tobyqa("ask", path, "--json")[1])["why"] is None


# -- whether to stop -----------------------------------------------------------------


def test_status_says_whether_stopping_is_sensible(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    flags = ["--x0", "0,0", "--bound", "x0=-2:2", "--bound", "x1=-2:0.5", "--maxfev"]
    tobyqa("init", path, *flags, "60", "--clock", "index", "--seed", "2")
    rng = np.random.default_rng(0)
    said = {}
    for k in range(60):
        if k in (0, 1, 3, 59):
            said[k] = " ".join(tobyqa("status", path)[1].split())
        x = json.loads(tobyqa("ask", path, "--json")[1])["x"]
        noise = 0.02 * rng.normal()
        value = (x[0] - 1) ** 2 + (x[1] - 1) ** 2 + 0.01 * k + noise  # at a limit
        tobyqa("tell", path, repr(float(value)))
    assert "Measure at the starting point and tell the reading." in said[0]
    assert (
        "Too early to stop: it takes 3 more readings until there is a model" in said[1]
    )
    assert "it takes 1 more reading until" in said[3]
    assert "Stopping is sensible" in said[59]
    assert f"tobyqa ask {path}" in said[59]
    assert "x1 <= 0.5" in said[59]


def test_advice_after_a_budget_below_the_first_points(tmp_path, tobyqa):
    path = tmp_path / "run.jsonl"
    names = [word for name in "abcd" for word in ("--name", name)]
    flags = [*names, "--fix", "d=1", "--maxfev", "3", "--clock", "index"]
    tobyqa("init", path, "--x0", "0,0,0,0", *flags)
    for _ in range(3):
        tobyqa("ask", path)
        tobyqa("tell", path, "1.5")
    text = " ".join(tobyqa("status", path)[1].split())
    assert "too small for a model of 3 variables: that takes 5 readings" in text
    assert "--maxfev 25" in text
    advice = json.loads(tobyqa("status", path, "--json")[1])["advice"]
    assert "that takes 5 readings" in advice
