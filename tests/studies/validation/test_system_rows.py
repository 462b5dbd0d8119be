from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.errors import InputError
from studies.systems.cases import group_of, interleaves, judge, micro_batches
from studies.systems.devices import accelerator_type
from studies.systems.flop_counts import seconds_of
from studies.systems.rows import NUMBERS, distinct, rows_of_file, shipped_rows
from studies.systems.tables import number_in
from tests.studies.validation.tables import ROW, write

CSV = Path(__file__).resolve().parents[4] / "shared" / "reference" / "published_throughput.csv"


def rows(tmp_path, *changes):
    return rows_of_file(write(tmp_path / "rows.csv", [{**ROW, **change} for change in changes]))


def reason(tmp_path, **change):
    cases, excluded = judge(rows(tmp_path, change))
    assert len(cases) + len(excluded) == 1
    return excluded[0].reason if excluded else ""


@pytest.mark.skipif(not CSV.is_file(), reason="no published table beside the repo")
def test_shipped_rows_say_what_the_published_table_says():
    published, shipped = rows_of_file(CSV), shipped_rows()
    assert [row.name for row in shipped] == [row.name for row in published]
    for row, other in zip(shipped, published, strict=True):
        assert row.texts == other.texts
        # Pods of Llama 3 and what attention keeps on chip stand in the papers, not in the table.
        assert {k: v for k, v in row.numbers.items() if k in other.numbers} == other.numbers
        extra = row.numbers.keys() - other.numbers.keys()
        assert extra <= {"pod_size", "oversubscription", "n_kv_heads", "fused_attention"}


@pytest.mark.skipif(not CSV.is_file(), reason="no published table beside the repo")
def test_rows_that_ship_are_not_counted_twice():
    once, repeated = distinct([*shipped_rows(), *rows_of_file(CSV)])
    assert len(once) == len(repeated) == len(shipped_rows())


def test_every_shipped_row_is_predicted_or_left_out_by_name():
    cases, excluded = judge(shipped_rows())
    assert len(cases) == 34
    assert [item.row.name for item in excluded] == ["Llama 3 405B 16384 long context"]
    assert "convention not stated" in excluded[0].reason


def test_seconds_follow_from_the_reported_rate_under_its_convention():
    """Seconds the papers' own formulas give, worked out beside the reports: to their digits."""
    for row in shipped_rows():
        stated = row.number("seconds_per_step")
        if stated is None or row.texts["reported_unit"] == "s per step":
            continue
        bare = type(row)(
            place=row.place,
            texts=row.texts,
            numbers={k: v for k, v in row.numbers.items() if k != "seconds_per_step"},
            doubted=row.doubted,
            problems=(),
        )
        values = seconds_of(bare).values
        # BLOOM's printed rate and seconds differ by 0.4% among themselves.
        assert min(abs(value / stated - 1) for value in values.values()) < 5e-3, row.name


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("s per step", 14.0),
        ("ms per iteration", 14_000.0),
        ("tokens per second per accelerator", 512 * 2048 / 14 / 64),
        ("tokens/s", 512 * 2048 / 14),
        ("sequences per second", 512 / 14),
    ],
)
def test_units_give_the_same_seconds(tmp_path, unit, value):
    [row] = rows(tmp_path, {"seconds_per_step": "", "reported": value, "reported_unit": unit})
    assert list(seconds_of(row).values.values()) == pytest.approx([14.0])


def test_flops_are_counted_by_the_stated_convention(tmp_path):
    tokens, attention = 512 * 2048, 12 * 44 * 2048 * 6144
    flops = {
        "6N": 6 * 20e9,
        "6N + causal attention": 6 * 20e9 + attention / 2,
        "non-causal attention plus logits": 72 * 44 * 6144**2 + attention + 6 * 6144 * 51200,
        "hardware FLOPs incl. recompute: 96 B s L h^2 (1 + s/6h + V/16Lh)": 96
        * 44
        * 6144**2
        * (1 + 2048 / 6 / 6144 + 51200 / 16 / 44 / 6144),
    }
    for text, count in flops.items():
        change = {"seconds_per_step": "", "reported": 140, "flop_convention": text}
        [row] = rows(tmp_path, {**change, "reported_unit": "TFLOP/s per accelerator"})
        [seconds] = seconds_of(row).values.values()
        assert seconds == pytest.approx(count * tokens / 140e12 / 64, rel=1e-12), text


def test_unstated_convention_keeps_a_row_only_where_it_hardly_matters(tmp_path):
    change = {
        "seconds_per_step": "",
        "reported": 140,
        "reported_unit": "TFLOP/s per accelerator",
        "flop_convention": "model FLOPs, 6N + attention (convention not stated)",
    }
    cases, _ = judge(rows(tmp_path, change))
    offsets = {item.log_offset for item in cases[0].configurations["full"]}
    assert len(offsets) == 2
    assert "differ by" in reason(tmp_path, **{**change, "seq_len": 65536})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden": "wide"}, "hidden is 'wide'"),
        ({"tp": -4}, "above 0"),
        ({"pp": 2.5}, "whole number"),
        ({"tp": "", "dp": ""}, "not stated: tp"),
        ({"n_accelerators": 65}, "is not its 65 accelerators"),
        ({"accelerator": "TPU v9", "peak_tflops_bf16": ""}, "peak is neither stated nor known"),
        ({"n_params": 2e12}, "times those of a dense decoder"),
        ({"system": "Acme 20B FP8"}, "16-bit"),
        ({"seconds_per_step": 0.5}, "less than"),
        ({"seconds_per_step": "", "reported": ""}, "neither seconds nor a reported rate"),
        ({"seconds_per_step": "", "reported_unit": "furlongs"}, "none that gives seconds"),
        ({"global_batch_seqs": 4}, "microbatch"),
        ({"n_heads": 7}, "divide"),
        ({"recompute": "some"}, "recompute is 'some'"),
        ({"fused_attention": "1.5"}, "from 0 to 1"),
        ({"seconds_per_step": "inf"}, "a number is needed"),
        ({"n_accelerators": 64, "dp": "", "tp": 3, "n_heads": 96}, "whole replicas"),
    ],
)
def test_row_that_cannot_be_predicted_is_left_out_with_its_reason(tmp_path, change, said):
    assert said in reason(tmp_path, **change)


@pytest.mark.parametrize(
    ("stated", "bandwidth", "fused", "open_"),
    [
        # Data sheets; stacks for Hopper came after fused attention, on Ampere either may be.
        ({"accelerator": "H100 SXM"}, 3.35, 1.0, set()),
        ({"accelerator": "A100-80 SXM"}, 2.039, 0.5, {"kernel.fused_attention"}),
        ({"memory_bw_tb_s": 1.555, "fused_attention": 0}, 1.555, 0.0, set()),
        (
            {
                "accelerator": "Newcomer X1",
                "peak_tflops_bf16": 1000,
                "scaleup_gbps": 4000,
                "seconds_per_step": 5.0,
            },
            8**0.5,
            0.5,
            {"accelerator.memory_bw_tb_s", "kernel.fused_attention"},
        ),
    ],
)
def test_memory_and_attention_are_stated_known_or_open(tmp_path, stated, bandwidth, fused, open_):
    row = ROW | stated
    [case], _ = judge(rows_of_file(write(tmp_path / "one.csv", [row])))
    assert case.scenario.accelerator.memory_bw_tb_s == pytest.approx(bandwidth)
    assert case.scenario.kernel.fused_attention == fused
    assert case.open_paths == open_


def test_row_with_few_columns_is_completed_by_priors_not_by_guesses(tmp_path):
    gone = ("dp", "cp", "nic_gbps", "micro_batch", "interleave_factor", "recompute", "vocab")
    bare = {name: value for name, value in ROW.items() if name not in gone}
    [case], _ = judge(rows_of_file(write(tmp_path / "bare.csv", [bare])))
    assert case.open_paths == {"accelerator.nic_bw_gbps", "kernel.fused_attention"}
    assert set(case.configurations) == {"none", "selective", "full"}
    for configurations in case.configurations.values():
        assert sum(item.weight for item in configurations) == pytest.approx(1.0)
    plans = {
        (item.scenario.parallelism.micro_batch, item.scenario.parallelism.interleave_factor)
        for item in case.configurations["full"]
    }
    assert plans == {(size, v) for size in (1, 2, 4, 8) for v in (1, 2, 11, 22)}
    assert case.scenario.parallelism.dp == 8


def test_unstated_microbatch_fits_into_memory(tmp_path):
    [row] = rows(tmp_path, {"micro_batch": "", "accelerator": "A100-40 SXM", "recompute": ""})
    # 44 layers keep 34·2048·6144/4 bytes each a sequence: 4.7 GB; states take 18.75 GB.
    assert set(micro_batches(row, "none")) == {1, 2, 4}
    assert set(micro_batches(row, "full")) == {1, 2, 4, 8}


def test_doubted_values_count_as_unknown(tmp_path):
    [row] = rows(tmp_path, {"derived": "interleave assumed; seconds from reported TFLOP/s"})
    assert row.number("interleave_factor") is None
    assert set(interleaves(row)) == {1, 2, 11, 22}


def test_groups_are_stacks_on_a_type_of_accelerator(tmp_path):
    found = rows(
        tmp_path,
        {"system": "Acme v2 20B", "source": "Another paper"},
        {"system": "Acme 7B", "accelerator": "H100 SXM"},
        {"system": "175B on many", "source": "Paper"},
        {"group": "stated"},
    )
    assert [group_of(row) for row in found] == [
        "Acme, A100",
        "Acme, H100",
        "Paper, A100",
        "stated, A100",
    ]
    assert accelerator_type("NVIDIA A100-80 SXM") == "A100"
    assert accelerator_type("TPU v4") == "TPU V4"
    assert accelerator_type("MI250X") == "MI250X"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_tables_are_read_whatever_separates_their_cells(tmp_path, delimiter):
    path = write(tmp_path / "rows.csv", [ROW, {**ROW, "system": "B, 2"}], delimiter=delimiter)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert [row.name for row in rows_of_file(path)] == ["Acme 20B", "B, 2"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no column is known"),
        (b"a,b\n1,2\n", "no column is known"),
        (b"system,system\nA,B\n", "stands twice"),
        (b"system\0,tp\n", "binary"),
    ],
)
def test_file_that_is_no_table_is_refused(tmp_path, content, said):
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        rows_of_file(path)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        rows_of_file(tmp_path / "none.csv")


@settings(max_examples=40)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from((*NUMBERS, "system", "recompute", "reported_unit", "accelerator")),
            st.one_of(
                st.sampled_from(["", "none", "1e400", "-1", "0", "1,024", "~5", "nan", "3.5"]),
                st.text(max_size=12),
            ),
            max_size=6,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_no_cell_makes_the_reader_crash(tmp_path_factory, changes):
    path = tmp_path_factory.mktemp("hostile") / "rows.csv"
    table = [
        {**ROW, **{key: value.replace("\0", "") for key, value in change.items()}}
        for change in changes
    ]
    write(path, [{k: str(v).replace('"', "'") for k, v in row.items()} for row in table])
    try:
        found = rows_of_file(path)
    except InputError:
        return
    cases, excluded = judge(found)
    assert len(cases) + len(excluded) == len(found)
    assert all(item.reason for item in excluded)


def test_numbers_are_read_as_people_write_them():
    assert number_in("1,024") == 1024
    assert number_in("4.05e11") == 4.05e11
    assert number_in("1_000") == 1000
    assert number_in("1,5") is None
    assert number_in("~430") is None
    assert number_in("inf") is None
