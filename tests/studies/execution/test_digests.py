"""A digest by value: equal values agree, values that differ in anything do not."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import InputError
from studies.execution.digests import digest_of
from studies.experiments.inputs import published_inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    x: float
    y: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    x: float
    y: tuple[int, ...] = ()


class Kind(Enum):
    A = 1
    B = 1.5


def of(value: object) -> str:
    return digest_of(value, source="test")


# Each differs from every other, most in what a careless digest would overlook.
DISTINCT: tuple[Any, ...] = (
    None,
    False,
    0,
    0.0,
    -0.0,
    "0",
    b"0",
    "",
    Path("0"),
    (),
    (0,),
    ((), ()),
    ((),),
    ("ab", "c"),
    ("a", "bc"),
    {},
    {"a": 1},
    {"a": 1.0},
    {"b": 1, "a": 1},
    frozenset({1, 2}),
    Record(x=1.0),
    Other(x=1.0),
    Record(x=1.0, y=(1,)),
    Kind.A,
    Kind.B,
    np.zeros(2),
    np.zeros((1, 2)),
    np.zeros(2, dtype=np.float32),
    np.zeros(2, dtype=np.int64),
    np.array(["ab", "c"]),
    np.array(["a", "bc"], dtype=object),
    np.random.SeedSequence(1),
    np.random.SeedSequence(1, spawn_key=(0,)),
    pd.DataFrame({"x": [1.0]}),
    pd.DataFrame({"x": [1]}),
    pd.DataFrame({"y": [1.0]}),
    pd.Series([1.0], name="x"),
    pa.table({"x": [1.0]}),
    of,
    digest_of,
    complex(0, 1),
)


def test_digests_of_values_that_differ_differ() -> None:
    assert len({of(value) for value in DISTINCT}) == len(DISTINCT)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(plain, plain)
def test_digest_tells_plain_data_apart_as_its_text_does(a: object, b: object) -> None:
    # repr of plain data is one to one, and minds the order of keys.
    assert (of(a) == of(b)) == (repr(a) == repr(b))


def test_digest_does_not_mind_what_is_the_same_object() -> None:
    one = (1.5, "text")
    shared: Mapping[str, Any] = {"a": one, "b": one}
    apart = {"a": (1.5, "text"), "b": (1.5, "".join(["te", "xt"]))}
    assert of(shared) == of(apart)
    column = np.arange(6.0).reshape(2, 3)
    assert of(column[:, ::2]) == of(column[:, ::2].copy())
    assert of(column.astype(">f8")) == of(column)


def test_digest_is_the_same_in_another_process() -> None:
    code = (
        "from studies.execution.digests import digest_of\n"
        "from studies.experiments.inputs import published_inputs\n"
        "print(digest_of((published_inputs(), {1, 'b', 2.5}), source='test'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.strip() == of((published_inputs(), {1, "b", 2.5}))


@pytest.mark.parametrize("value", [object(), np.random.default_rng(1), iter([])])
def test_digest_of_what_is_no_plain_data_is_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"task 3: inner\[1\]: a .* cannot be told from another"):
        digest_of({"inner": [1, value]}, source="task 3")
