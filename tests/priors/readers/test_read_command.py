"""The command that turns files into evidence, and evidence read from files directly."""

import subprocess
import sys
from pathlib import Path

import pytest

from model.errors import InputError
from priors.evidence import read_evidence
from priors.observations import Interruptions, LinkEfficiency, StepTimes
from priors.read import FORMATS, main
from priors.readers.registry import readers
from tests.priors.readers.files import NCCL_16, NCCL_24, REFERENCE, SACCT, megatron

ROOT = Path(__file__).parents[3]
VALUES = [5000.0, 5020.0, 4990.0, 5010.0, 4980.0, 5000.0]


@pytest.fixture
def files(tmp_path):
    texts = {
        "nccl.txt": NCCL_24,
        "train.log": megatron(VALUES, batch=2048),
        "jobs.txt": SACCT,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in texts]


def test_formats_of_the_command_are_the_readers():
    assert set(FORMATS) == set(readers())


def test_three_files_become_evidence_that_reads_back(tmp_path, files, capsys):
    out = tmp_path / "evidence.yaml"
    assert main([*files, "--scenario", REFERENCE, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    evidence = read_evidence([out])
    assert [type(item) for item in evidence.observations] == [
        LinkEfficiency,
        StepTimes,
        Interruptions,
    ]
    assert all(item.id in shown for item in evidence.observations)
    assert "# " in out.read_text()


def test_evidence_says_its_files_rules_and_what_was_left_out(tmp_path, files):
    out = tmp_path / "evidence.yaml"
    main([*files, "--scenario", REFERENCE, "--out", str(out)])
    text = out.read_text()
    assert "in-place halves cut by other output" in text
    assert "NODE_FAIL" in text
    assert all(file in text for file in files)


def test_existing_file_is_replaced_only_by_force(tmp_path, files, capsys):
    out = tmp_path / "evidence.yaml"
    out.write_text("mine")
    command = [*files, "--scenario", REFERENCE, "--out", str(out)]
    assert main(command) == 2
    assert "--force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main([*command, "--force"]) == 0


def test_scenario_file_is_named_from_where_the_evidence_lies(tmp_path, files, monkeypatch):
    shipped = (ROOT / "model/data/scenarios/reference_405b_16k.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(shipped)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["train.log", "--scenario", "mine.yaml", "--out", "out/e.yaml"]) == 0
    monkeypatch.chdir("/")
    [item] = read_evidence([tmp_path / "out/e.yaml"]).observations
    assert item.setting.scenario.stack == "llama3"


def test_stack_and_fleet_are_the_planners_to_name(tmp_path, files):
    out = tmp_path / "e.yaml"
    main([*files, "--scenario", REFERENCE, "--stack", "ours", "--fleet", "old", "--out", str(out)])
    link, steps, count = read_evidence([out]).observations
    assert (link.stack, steps.stack, steps.fleet, count.fleet) == ("ours", "ours", "old", "old")


def test_problems_of_all_files_come_together_and_nothing_is_written(tmp_path, files, capsys):
    (tmp_path / "a.txt").write_text("nothing\n")
    out = tmp_path / "e.yaml"
    status = main([*files, str(tmp_path / "a.txt"), str(tmp_path / "no"), "--out", str(out)])
    errors = capsys.readouterr().err
    assert status == 2
    assert "a.txt" in errors
    assert "no such file" in errors
    assert not out.exists()


def test_nothing_to_write_is_an_error(tmp_path, capsys):
    (tmp_path / "n.txt").write_text(NCCL_16)
    arguments = [str(tmp_path / "n.txt"), "--nic-gbps", "400", "--gpus-per-node", "8"]
    assert main(arguments) == 0
    assert "1.218" in capsys.readouterr().out
    assert main([*arguments, "--out", str(tmp_path / "e.yaml")]) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["--counts-states", "NODE_FALL"],
        ["--columns", "nod=x"],
        ["--flops", "half"],
        ["--out", "/no/x"],
    ],
)
def test_names_that_do_not_exist_are_refused(files, arguments, capsys):
    assert main([*files, *arguments]) == 2
    assert capsys.readouterr().err


def test_standard_input_is_read_as_a_named_format(tmp_path):
    command = [sys.executable, "-m", "priors.read", "-", "--as", "sacct"]
    done = subprocess.run(
        command, input=SACCT, capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert "4159.25" in done.stdout


def test_evidence_takes_a_log_beside_documents(files):
    evidence = read_evidence(["published", files[1]], scenario=REFERENCE)
    assert evidence.observations[-1].id == "train_step_times"
    # The run directory keeps what was read of the log, not the log.
    document = evidence.texts[files[1]]
    assert "train_step_times" in document
    assert "iteration" not in document.partition("observations:")[2]


def test_evidence_needs_no_scenario_for_what_does_not_depend_on_one(files):
    [item] = read_evidence([files[2]]).observations
    assert (item.fleet, item.events) == ("mine", 4)


def test_log_without_an_observation_is_refused_with_the_reason(files):
    with pytest.raises(InputError, match="--scenario"):
        read_evidence([files[1]])


def test_same_log_gives_the_same_digest(files):
    first = read_evidence([files[2]])
    assert first.digest == read_evidence([files[2]]).digest


def test_files_of_one_name_keep_apart(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "jobs.txt").write_text(SACCT)
    out = tmp_path / "e.yaml"
    assert main([str(tmp_path / "?" / "jobs.txt"), "--out", str(out)]) == 0
    ids = [item.id for item in read_evidence([out]).observations]
    assert ids == ["jobs_interruptions", "jobs_interruptions_2"]
