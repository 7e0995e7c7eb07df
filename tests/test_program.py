"""The program protocol: garbage is a failed trial, never a wrong number."""

from __future__ import annotations

import json
import math
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tobyqa import Trial
from tobyqa.program import Program, ProgramError
from tobyqa.protocol import parse_output

TRIAL = Trial(7, np.array([0.5, -1.0]))
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
DECIMAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def shell(script, **kwargs):
    return Program(("sh", "-c", script), ("a", "b"), **kwargs)


@given(st.binary())
def test_any_bytes_give_a_finite_decimal_number_or_a_value_error(output):
    try:
        reading = parse_output(output)
    except ValueError:
        return
    last = [line for line in output.splitlines() if line.strip()][-1]
    assert math.isfinite(reading.value)
    assert DECIMAL.fullmatch(last.strip())
    assert reading.value == float(last)


@given(st.text(alphabet='0123456789+-.eE_xnaif,{}[]": \n٣'))
def test_near_numbers_are_taken_exactly_or_not_at_all(text):
    try:
        reading = parse_output(text.encode())
    except ValueError:
        return
    last = [line for line in text.encode().splitlines() if line.strip()][-1]
    assert DECIMAL.fullmatch(last.strip())
    assert reading.value == float(last)


@given(
    st.dictionaries(
        st.sampled_from(["value", "t", "sigma", "x"]) | st.text(), JSON_VALUES
    )
)
def test_any_json_object_gives_its_own_numbers_or_a_value_error(fields):
    try:
        reading = parse_output(json.dumps(fields).encode())
    except ValueError:
        return
    for key in ("value", "t", "sigma"):
        taken, given_ = getattr(reading, key), fields.get(key)
        assert taken == given_ or (key == "value" and taken == float(given_))
        assert not isinstance(given_, bool)
    assert math.isfinite(reading.value)


@given(FINITE, st.none() | FINITE, st.none() | st.floats(0.0, 1e99), JSON_VALUES)
def test_sound_readings_come_through_bit_by_bit(value, t, sigma, extra):
    fields = {"other": extra, "value": value, "t": t, "sigma": sigma}
    try:
        line = json.dumps(fields, allow_nan=False).encode()
    except ValueError:  # the other field holds NaN
        return
    reading = parse_output(b"noise\n\xff\n" + line + b"\n\n  \r\n")
    assert (reading.value, reading.t, reading.sigma) == (value, t, sigma)
    assert parse_output(repr(value).encode()).value == value


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        (b"", "printed nothing"),
        (b" \n\t\r\n", "printed nothing"),
        (b"1.5\nbye", "'bye' is not a number"),
        (b"1\x00", "is not a number"),
        (b"\xff\xfe", "no text"),
        (b"nan", "is not a number"),
        (b"Infinity", "is not a number"),
        (b"1e999", "must be finite"),
        (b"1_000", "is not a number"),
        (b"1,5", "is not a number"),
        ("٣".encode(), "is not a number"),
        (b"0x10", "is not a number"),
        (b"true", "is not a number"),
        (b"[1.5]", "is not a number"),
        (b"1.5 2.5", "is not a number"),
        (b"7" * 10**6, "longer than"),
        (b"{", "no sound JSON"),
        (b"{}", "no 'value'"),
        (b'{"value": null}', "but is null"),
        (b'{"value": "1.5"}', "'value' must be a number, but is '1.5'"),
        (b'{"value": true}', "'value' must be a number, but is True"),
        (b'{"value": [1.5]}', "'value' must be a number, but is list"),
        (b'{"value": {"value": 1}}', "'value' must be a number, but is dict"),
        (b'{"value": NaN}', "NaN is not a number"),
        (b'{"value": -Infinity}', "-Infinity is not a number"),
        (b'{"value": 1e999}', "'value' must be finite"),
        (b'{"value": 1' + b"0" * 400 + b"}", "'value' is too large"),
        (b'{"value": 1' + b"0" * 9000 + b"}", "no sound JSON|too large"),
        (b'{"value": 1, "value": 2}', "a key occurs twice"),
        (b'{"value": 1} trailing', "no sound JSON"),
        (b'{"value": 1, "sigma": -1}', "'sigma' must be >= 0"),
        (b'{"value": 1, "sigma": "0.1"}', "'sigma' must be a number"),
        (b'{"value": 1, "t": "now"}', "'t' must be a number"),
        (b'{"value": 1, "t": 1e999}', "'t' must be finite"),
        (b'{"value": 1, "x": ' + b"[" * 50000, "no sound JSON"),
    ],
)
def test_garbage_is_named(output, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_output(output)


def test_the_point_arrives_in_all_three_ways():
    script = (
        "import json, os, sys; e = os.environ;"
        "assert json.load(sys.stdin) == {'lens gap': 0.5, 'b': -1.0};"
        "assert json.loads(e['TOBYQA_X']) == [0.5, -1.0] == json.loads(sys.argv[1]);"
        "assert e['TOBYQA_LENS_GAP'] == '0.5' and e['TOBYQA_B'] == '-1.0';"
        "assert e['TOBYQA_INDEX'] == '7';"
        "assert sys.argv[2:] == ['--gap=0.5', '-1.0/7', '{} ${c} {{b}} {0}'], sys.argv;"
        "print(2)"
    )
    arguments = ("{x}", "--gap={lens gap}", "{b}/{index}", "{} ${c} {{b}} {0}")
    command = (sys.executable, "-S", "-E", "-c", script, *arguments)
    assert Program(command, ("lens gap", "b")).measure(TRIAL).value == 2.0


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (
            "echo 1; echo beam lost >&2; exit 3",
            "exit code 3; standard error: beam lost",
        ),
        ("kill -9 $$", "ended by SIGKILL"),
        ("echo hello", "'hello' is not a number"),
        ("head -c 300000 /dev/zero | tr '\\0' 7", "longer than"),
        ("head -c 300000 /dev/zero | tr '\\0' 7; yes '' | head -n 90000", "nothing"),
    ],
)
def test_failures_are_named(script, complaint):
    with pytest.raises(ProgramError, match=complaint):
        shell(script).measure(TRIAL)


def test_only_the_end_of_long_output_counts():
    noisy = "yes chatter | head -c 1000000; echo; echo 3.25"
    assert shell(noisy).measure(TRIAL).value == 3.25


def test_only_the_tail_of_standard_error_is_kept():
    with pytest.raises(ProgramError) as caught:
        shell("yes blah | head -c 1000000 >&2; echo the cause >&2; exit 1").measure(
            TRIAL
        )
    assert str(caught.value) == "exit code 1; standard error: blah\nblah\nthe cause"


@pytest.mark.parametrize(
    ("lines", "kept"), [(0, ""), (1, "; standard error: 3"), (9, None)]
)
def test_how_much_of_standard_error_is_kept_is_a_setting(lines, kept):
    script = "for k in 1 2 '' 3; do echo $k >&2; done; exit 1"
    with pytest.raises(ProgramError) as caught:
        shell(script, stderr_lines=lines).measure(TRIAL)
    expected = "; standard error: 1\n2\n3" if kept is None else kept
    assert str(caught.value) == f"exit code 1{expected}"
    with pytest.raises(ProgramError) as caught:
        shell("yes | tr -d '\n' | head -c 9000 >&2; exit 1").measure(TRIAL)
    assert len(str(caught.value)) < 600


def test_what_a_program_leaves_running_does_not_hold_up_its_reading():
    assert shell("sleep 5 & echo 4").measure(TRIAL).value == 4.0


@pytest.mark.parametrize("argument", ["{nope}", "--gain={A}", "{{a}} {c} {b}", "{_}"])
def test_placeholders_that_name_no_variable_are_errors(argument):
    with pytest.raises(ValueError, match="names no variable; there are x, index, a"):
        Program(("echo", argument), ("a", "b"))


@given(st.text(alphabet="ab{}$ \\"))
def test_arguments_without_names_in_braces_are_left_alone(text):
    try:
        command = Program(("echo", text), ("x1", "x2"))._job(TRIAL).command
    except ValueError:
        assert re.search(r"\{[ab]+\}", text)
        return
    assert command[1] == re.sub(r"(?<!\$)\{(\{[ab]+\})\}", r"\1", text)


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (("x", "y"), "'x' here: TOBYQA_X is the whole point"),
        (("Index", "y"), "TOBYQA_INDEX"),
        (("a b", "a-b"), "'a-b' here: TOBYQA_A_B is the variable 'a b'"),
    ],
)
def test_names_that_would_hide_each_other_are_errors(names, complaint):
    with pytest.raises(ValueError, match=complaint):
        Program(("true",), names)
