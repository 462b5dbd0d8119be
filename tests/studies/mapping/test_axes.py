"""Axes: what they hold, where places lie, and every way their text can be wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import InputError
from studies.mapping.axes import Axis, parse_axes

RATE = "reliability.failure_rate_per_node_day"
OVERSUBSCRIPTION = "topology.oversubscription"


def axis(text: str) -> Axis:
    [found] = parse_axes([("--x", text)])
    return found


def test_linear_axis_holds_both_ends():
    found = axis(f"{OVERSUBSCRIPTION}=1:16:6")
    assert found.values == (1.0, 4.0, 7.0, 10.0, 13.0, 16.0)
    assert (found.numeric, found.whole, found.shifts) == (True, False, False)


def test_log_axis_is_geometric():
    values = np.array(axis(f"{RATE}=1e-3:3e-2:12:log").values)
    np.testing.assert_allclose(values[1:] / values[:-1], 30 ** (1 / 11), rtol=1e-12)
    assert (values[0], values[-1]) == (1e-3, 3e-2)


def test_listed_axis_holds_what_is_listed():
    assert axis(f"{OVERSUBSCRIPTION}=1,2,4, 7").values == (1.0, 2.0, 4.0, 7.0)


def test_integer_axis_holds_integers():
    found = axis("model.seq_len=1024:8192:4:log")
    assert found.values == (1024, 2048, 4096, 8192)
    assert all(type(value) is int for value in found.values)


def test_choice_axis_holds_names():
    found = axis("parallelism.recompute=none,full")
    assert (found.values, found.numeric) == (("none", "full"), False)


def test_shift_is_read_from_the_end():
    assert axis(f"{RATE}=1e-3:3e-2:12:log:shift").shifts
    assert axis(f"{OVERSUBSCRIPTION}=1,2:shift").values == (1.0, 2.0)


@given(
    share=st.floats(0.0, 1.0),
    spacing=st.sampled_from(("log", "linear")),
    index=st.integers(0, 2),
)
def test_place_and_value_are_inverse(share, spacing, index):
    found = Axis(path=RATE, values=(1e-3, 2e-3, 1e-2, 3e-2), spacing=spacing, numeric=True)
    value = found.value_at(index + share)
    assert found.place(value, index) == pytest.approx(index + share, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("topology.oversubscripton=1:2:3", "did you mean 'topology.oversubscription'?"),
        ("nonsense=1:2:3", "unknown field; valid names:"),
        (f"{OVERSUBSCRIPTION}", "is needed"),
        ("=1:2:3", "is needed"),
        (f"{OVERSUBSCRIPTION}=", "is needed"),
        (f"{OVERSUBSCRIPTION}=1:2", "is needed"),
        (f"{OVERSUBSCRIPTION}=1:2:3:lgo", "is needed"),
        (f"{OVERSUBSCRIPTION}=1:2:3:log:4", "is needed"),
        (f"{OVERSUBSCRIPTION}=2:1:3", "lo must be below hi"),
        (f"{OVERSUBSCRIPTION}=2:2:3", "lo must be below hi"),
        (f"{OVERSUBSCRIPTION}=1:2:1", "got n = 1, allowed is an integer from 2 to 1000"),
        (f"{OVERSUBSCRIPTION}=1:2:1001", "allowed is an integer from 2 to 1000"),
        (f"{OVERSUBSCRIPTION}=1:2:2.5", "got n = 2.5"),
        (f"{OVERSUBSCRIPTION}=1:nan:3", "got 'nan', a finite number is needed"),
        (f"{OVERSUBSCRIPTION}=1:inf:3", "got 'inf', a finite number is needed"),
        (f"{OVERSUBSCRIPTION}=a,b", "got 'a', a finite number is needed"),
        (f"{OVERSUBSCRIPTION}=4,2", "values must rise"),
        (f"{OVERSUBSCRIPTION}=4", "a single value is set with --set"),
        ("reliability.straggler_cv=0:0.1:3:log", "a log axis needs lo above 0"),
        ("reliability.spare_fraction=0:3:4", "got 2.0, allowed is a finite number in [0, 1]"),
        (f"{RATE}=-1:1:3", "allowed is a finite number"),
        ("model.seq_len=1000:2000:4", "an integer is needed (2 of 4 values are none)"),
        ("model.seq_len=1024:2048:2:shift", "only a real field has draws that could shift"),
        ("parallelism.recompute=none,ful", "got 'ful', allowed is one of"),
        ("parallelism.recompute=none,none", "at least 2 different values"),
        ("parallelism.sequence_parallel=true,false", "kind flag cannot be an axis"),
        ("name=1:2:2", "kind text cannot be an axis"),
        ("n_pool=1:3:3", "use the axis scale"),
        ("scale=0,8", "got 0, allowed is an integer of at least 1"),
    ],
)
def test_unusable_axis_says_what_is_wrong(text, words):
    with pytest.raises(InputError) as caught:
        axis(text)
    assert words in str(caught.value)
    assert str(caught.value).startswith("--x: ")


def test_problems_of_all_axes_are_told_at_once():
    with pytest.raises(InputError) as caught:
        parse_axes([("--x", "nonsense=1:2:3"), ("--y", f"{RATE}=2:1:3")])
    assert [problem.source for problem in caught.value.problems] == ["--x", "--y"]


def test_one_path_on_two_axes_is_refused():
    with pytest.raises(InputError, match="stands on two axes"):
        parse_axes([("--x", f"{RATE}=1e-3:1e-2:3"), ("--y", f"{RATE}=1e-3:1e-2:3:log")])


def test_replicas_cannot_vary_beside_the_size_of_the_job():
    with pytest.raises(InputError, match="cannot stand beside scale"):
        parse_axes([("--x", "parallelism.dp=64,128"), ("--scale", "scale=8192,16384")])
