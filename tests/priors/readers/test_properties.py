"""What must not change what a file says: order of ranks, prefixes, endings, a torn end."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.errors import InputError
from tests.priors.readers.files import (
    MEGATRON_MS,
    NCCL_24,
    REFERENCE,
    SACCT,
    megatron_row,
    reading,
    titan_row,
    values_of,
)

PREFIXES = [
    "",
    "0: ",
    "  7: ",
    "[rank0]: ",
    "[default7]:",
    "[1,0]<stdout>:",
    "node-12: ",
    "\x1b[36m",
]
PREFIXES += ["node12: 3: [rank3]:", "(Worker pid=7) ", "[0m", "2025-01-01T10:00:00.1Z [rank3]: "]


def nemo_row(n, ms):
    return (
        f"Training epoch 0, iteration {n}/249 | global_step: {n} | reduced_train_loss: 1.3 |"
        f" train_step_timing in s: {ms / 1e3:.3f} | consumed_samples: 16"
    )


def maxtext_row(n, ms):
    return f"completed step: {n}, seconds: {ms / 1e3:.3f}, TFLOP/s/device: 40.1, loss: 9.1"


def deepspeed_row(n, ms):
    return (
        f"[t] epoch=0/global_step={n}, RunningAvgSamplesPerSec=1.0, CurrSamplesPerSec={ms:.4f}, M=1"
    )


def fork_row(n, ms):
    return f"iteration {n}/ 900 | TFLOPs: 228.1 | elapsed time per iteration (ms): {ms:.1f}"


LOGS = {
    "megatron": lambda n, ms: megatron_row(n, ms, tflops=228.1),
    "fork": fork_row,
    "torchtitan": lambda n, ms: titan_row(n, int(ms)),
    "nemo": nemo_row,
    "maxtext": maxtext_row,
    "deepspeed": deepspeed_row,
}
TEXTS = {
    name: "\n".join(row(n, ms) for n, ms in enumerate(MEGATRON_MS, 1)) for name, row in LOGS.items()
}
TEXTS |= {"nccl": NCCL_24.rstrip("\n"), "sacct": SACCT.rstrip("\n")}

no_check = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60
)


def said(tmp_path, text):
    return values_of(reading(tmp_path, text, scenario=REFERENCE))


def close(one, two):
    return one.keys() == two.keys() and all(two[k] == pytest.approx(v) for k, v in one.items())


@st.composite
def interleavings(draw) -> Iterator[list[tuple[int, int]]]:
    """Rank and place in its rows, in an order that keeps each rank's own."""
    counts = [len(MEGATRON_MS)] * draw(st.integers(2, 4))
    order = draw(st.permutations([rank for rank, count in enumerate(counts) for _ in range(count)]))
    places = [0] * len(counts)
    result = []
    for rank in order:
        result.append((rank, places[rank]))
        places[rank] += 1
    return result


@pytest.mark.parametrize("name", ["megatron", "torchtitan", "nemo"])
@no_check
@given(order=interleavings())
def test_order_of_interleaved_ranks_does_not_matter(tmp_path, name, order):
    def line(rank, place):
        text = LOGS[name](place + 1, MEGATRON_MS[place] * (1 + rank / 1000))
        return f"[rank{rank}]: " + text.replace("[rank0]:", "")

    mixed = "\n".join(line(rank, place) for rank, place in order) + "\n"
    alone = "\n".join(line(0, place) for place in range(len(MEGATRON_MS))) + "\n"
    assert close(said(tmp_path, alone), said(tmp_path, mixed))


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "sacct"])
@no_check
@given(prefix=st.sampled_from(PREFIXES))
def test_prefix_does_not_matter(tmp_path, name, prefix):
    lines = TEXTS[name].split("\n")
    text = "".join(f"{prefix}{line}\n" for line in lines)
    assert close(said(tmp_path, TEXTS[name] + "\n"), said(tmp_path, text))


@pytest.mark.parametrize("name", TEXTS)
@no_check
@given(ending=st.sampled_from(["\n", "\r\n", "\r", "\r\r\n"]), last=st.booleans())
def test_line_ending_does_not_matter(tmp_path, name, ending, last):
    text = ending.join(TEXTS[name].split("\n")) + (ending if last else "")
    assert close(said(tmp_path, TEXTS[name] + "\n"), said(tmp_path, text))


@pytest.mark.parametrize("name", TEXTS)
def test_torn_last_line_changes_nothing_or_is_told(tmp_path, name):
    whole = TEXTS[name]
    last = len(whole.rsplit("\n", 1)[-1])
    full = said(tmp_path, whole + "\n")
    without = said(tmp_path, whole[: -last - 1] + "\n")
    for cut in range(1, last):
        found = reading(tmp_path, whole[:-cut], scenario=REFERENCE)
        got = values_of(found)
        if close(full, got):
            continue
        # Either the row is out and told, or one field of it is.
        assert found.skipped.reasons or any("may be cut" in note for note in found.notes), cut
        if name == "sacct":
            continue
        for key, value in got.items():
            known = [source[key] for source in (full, without) if key in source]
            assert any(value == pytest.approx(item) for item in known), (cut, key)


@no_check
@given(count=st.integers(0, 12))
def test_any_beginning_of_a_log_is_read_or_refused(tmp_path, count):
    lines = TEXTS["megatron"].split("\n")[:count]
    text = "\n".join(["settings", *lines]) + "\n"
    if count == 0:
        with pytest.raises(InputError):
            said(tmp_path, text)
    else:
        values = [ms / 1e3 for ms in MEGATRON_MS[:count]]
        assert said(tmp_path, text)["step_mean_s"] == pytest.approx(sum(values) / len(values))
