"""Reading scenarios: the published schema in, every kind of bad input named."""

from pathlib import Path

import pytest

from model.checks import suspicions
from model.errors import InputError
from model.forms import unread_fields
from model.parameters import FIELDS
from model.scenario import to_values, with_values
from model.scenario_file import read_scenario, scenario_from_mapping
from tests.oracles.scenarios import REFERENCE as DOCUMENT
from tests.reference import REFERENCE

PUBLISHED_STYLE = """
# a comment
name: mine
model: {n_layers: 126, hidden: 16384, n_params: 4.05e11, seq_len: 8192, vocab: 128256,
        n_heads: 128, n_kv_heads: 8, ffn_multiplier: 3.25}
accelerator: {peak_flops_bf16: "9.895e14", memory_gb: 80, scaleup_bw_gbps: 3600, nic_bw_gbps: 400,
              accelerators_per_node: 8.0}
topology: {scaleup_domain: 8, pod_size: 3072, oversubscription: 7.0, alpha_scaleup_us: 2,
           alpha_pod_us: 6, alpha_xpod_us: 15, net_efficiency: 0.85}
parallelism: {tp: 8, pp: 16, cp: 1, dp: 128, micro_batch: 1, global_batch_seqs: 2048,
              zero_stage: 1, interleave_factor: 8, sequence_parallel: true,
              recompute: selective, overlap_dp: 0.85, overlap_tp: 0.1, overlap_pp: 0.7,
              overlap_cp: 0.3, grad_bytes: 4, act_bytes: 2}
"""


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def changed(**values: object) -> dict[str, object]:
    """The reference document with fields set by ``section__key``; ``...`` removes one."""
    document = {k: dict(v) if isinstance(v, dict) else v for k, v in DOCUMENT.items()}
    for path, value in values.items():
        *section, key = path.split("__")
        target = document[section[0]] if section else document
        if value is ...:
            del target[key]
        else:
            target[key] = value
    return document


def problems_of(document: dict[str, object]) -> list[str]:
    with pytest.raises(InputError) as caught:
        scenario_from_mapping(document, source="mine.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_scenario_reads_numbers_as_published_and_defaults_optional_sections(
    tmp_path: Path,
) -> None:
    read = read_scenario(write(tmp_path, PUBLISHED_STYLE))
    assert read.scenario.model.n_params == 4.05e11
    assert read.scenario.accelerator.peak_flops_bf16 == 9.895e14
    assert read.scenario.accelerator.accelerators_per_node == 8
    assert read.scenario.reliability.checkpoint_interval_s is None
    assert "reliability.detect_time_s" in read.defaulted
    assert "kernel.kernel_efficiency" in read.defaulted
    assert "parallelism.tp" not in read.defaulted


@pytest.mark.parametrize("name", ["reference_405b_16k", "llama3_405b_8k", "llama3_405b_16k"])
def test_shipped_scenarios_are_complete_and_unsuspicious(name: str) -> None:
    read = read_scenario(name)
    assert set(read.defaulted) <= {"n_pool", "notes", "refinements", *unread_fields(())}
    assert suspicions(to_values(read.scenario)) == []


def test_document_of_the_oracle_is_the_shipped_reference() -> None:
    scenario, _ = scenario_from_mapping(DOCUMENT, source="oracle")
    ours, theirs = to_values(REFERENCE), to_values(scenario)
    names = {"name", "stack", "fleet", "notes", "model.name", "accelerator.name"}
    assert {k: v for k, v in ours.items() if k not in names} == {
        k: v for k, v in theirs.items() if k not in names
    }


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"kernel__kernel_efficiency": 1.2}, "kernel.kernel_efficiency", "1.2, allowed is"),
        ({"kernel__kernel_efficiency": 0.0}, "kernel.kernel_efficiency", "(0, 1]"),
        ({"topology__net_efficiency": 1.01}, "topology.net_efficiency", "(0, 1]"),
        ({"parallelism__overlap_dp": -0.1}, "parallelism.overlap_dp", "[0, 1]"),
        ({"parallelism__overlap_tp": 1.5}, "parallelism.overlap_tp", "[0, 1]"),
        ({"parallelism__dp": 0}, "parallelism.dp", "0, allowed is an integer in [1,"),
        ({"parallelism__tp": -8}, "parallelism.tp", "-8"),
        ({"parallelism__pp": 1.5}, "parallelism.pp", "1.5"),
        ({"model__n_layers": True}, "model.n_layers", "True"),
        ({"topology__oversubscription": 0.5}, "topology.oversubscription", "[1,"),
        ({"reliability__detect_time_s": float("nan")}, "reliability.detect_time_s", "nan"),
        ({"reliability__restart_time_s": float("inf")}, "reliability.restart_time_s", "inf"),
        ({"reliability__restart_time_s": "fast"}, "reliability.restart_time_s", "'fast'"),
        ({"reliability__restart_time_s": [1, 2]}, "reliability.restart_time_s", "[1, 2]"),
        ({"reliability__spare_fraction": None}, "reliability.spare_fraction", "null"),
        ({"parallelism__recompute": "some"}, "parallelism.recompute", "none, selective, full"),
        ({"scaling_mode": "wide"}, "scaling_mode", "strong, weak"),
        ({"model__n_heads": 127}, "model.n_heads", "does not divide model.hidden"),
        ({"model__n_kv_heads": 7}, "model.n_kv_heads", "does not divide model.n_heads"),
        ({"parallelism__tp": 3}, "parallelism.tp", "does not divide model.n_heads"),
        ({"parallelism__pp": 200}, "parallelism.pp", "at most model.n_layers"),
        ({"n_pool": 16_000}, "n_pool", "set n_pool to at least 16876"),
        ({"n_pool": 16_500}, "n_pool", "16876"),
        ({"parallelism__dp": 100_000_000}, "parallelism", "12800000000"),
        ({"parallelism__global_batch_seqs": 127}, "parallelism.global_batch_seqs", "127"),
        ({"parallelism__ttp": 8}, "parallelism.ttp", "did you mean 'tp'?"),
        ({"parallelisms": {}}, "parallelisms", "did you mean 'parallelism'?"),
        ({"topology": ...}, "topology", "this section is missing"),
        ({"topology": 5}, "topology", "a section of names and values is needed"),
        ({"parallelism__dp": ...}, "parallelism.dp", "this field is missing"),
    ],
)
def test_bad_field_is_named_with_value_and_range(
    change: dict[str, object], path: str, words: str
) -> None:
    problems = problems_of(changed(**change))
    named = [problem for problem in problems if problem.startswith(f"mine.yaml: {path}: ")]
    assert len(named) == 1
    assert words in named[0]


def test_problems_are_reported_together() -> None:
    problems = problems_of(
        changed(kernel__kernel_efficiency=2, parallelism__ttp=8, reliability__detect_time_s=-1)
    )
    assert len(problems) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("# only a comment\n", "the file is empty"),
        ("- 1\n- 2\n", "a mapping of names to values is needed"),
        ("model: {n_layers: 1\n", "not valid YAML in line"),
        ("name: a\nname: b\n", "not valid YAML"),
        (b"\xff\xfe\x00\x01", "not a UTF-8 text"),
        (b"name: a\x00b\n", "binary file"),
        ("5: 3\n", "the key 5 is not a text"),
    ],
)
def test_unusable_file_is_refused(tmp_path: Path, text: str | bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_scenario(write(tmp_path, text))


def test_missing_file_names_the_nearest_shipped_scenario() -> None:
    with pytest.raises(InputError, match="did you mean 'reference_405b_16k'"):
        read_scenario("reference_405b_16")


def test_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a directory"):
        read_scenario(tmp_path)


def test_with_values_checks_what_it_sets() -> None:
    with pytest.raises(InputError, match=r"did you mean 'parallelism\.tp'"):
        with_values(REFERENCE, {"parallelism.tpp": 8}, source="--set")
    with pytest.raises(InputError, match=r"--set: topology.net_efficiency: got 1.5"):
        with_values(REFERENCE, {"topology.net_efficiency": 1.5}, source="--set")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model.n_params": 7e10}, "the shape gives"),
        ({"parallelism.tp": 16, "parallelism.dp": 64}, "beyond the scale-up domain"),
        ({"accelerator.memory_gb": 10.0}, "need at least 19 GB"),
        ({"n_pool": 30_000}, "room for dp = 227"),
    ],
)
def test_odd_configuration_is_questioned_and_accepted(
    change: dict[str, object], words: str
) -> None:
    found = suspicions(to_values(with_values(REFERENCE, change, source="test")))
    assert len(found) == 1
    assert words in found[0]


def test_memory_of_another_device_is_questioned_where_it_is_read() -> None:
    # An A100's peak beside the default, which is an H100's memory.
    change = {"accelerator.peak_flops_bf16": 3.12e14}
    published = with_values(REFERENCE, change, source="test")
    assert suspicions(to_values(published)) == []
    refined = with_values(published, {"refinements": ["memory_traffic"]}, source="test")
    [said] = suspicions(to_values(refined))
    assert "93 FLOPs a byte" in said
    known = with_values(refined, {"accelerator.memory_bw_tb_s": 2.039}, source="test")
    assert suspicions(to_values(known)) == []


def test_every_field_documents_itself() -> None:
    assert all(field.meaning and field.allowed for field in FIELDS)
