"""The command ``python -m priors.posterior``."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from priors.diagnostics import Thresholds
from priors.posterior import main
from tests.priors.examples import write_yaml

KERNEL = "kernel.kernel_efficiency"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def files(tmp_path):
    """A catalogue of one parameter and its evidence, as files."""
    documented = {"basis": "assumed", "source": "x", "rationale": "x", "owner": "x"}
    priors = write_yaml(
        tmp_path / "p.yaml",
        {
            "parameters": {
                KERNEL: {
                    "uniform": {"low": 0.45, "high": 0.70},
                    "shared_by": "stack",
                    **documented,
                }
            }
        },
    )
    evidence = write_yaml(
        tmp_path / "e.yaml",
        {
            "observations": [
                {
                    "kind": "throughput",
                    "id": "own_speed",
                    "source": "our log",
                    "scenario": "llama3_405b_8k",
                    "value": 430,
                    "unit": "tflops_per_accelerator",
                    "relative_error": 0.03,
                }
            ]
        },
    )
    return [
        "--priors",
        str(priors),
        "--evidence",
        str(evidence),
        "--scenario",
        "llama3_405b_8k",
        "--draws",
        "400",
    ]


def test_command_prints_evidence_parameters_and_diagnostics(files, capsys, tmp_path):
    status = main([*files, "--out", str(tmp_path / "p.nc")])
    out = capsys.readouterr().out

    assert status == 0
    for fragment in ("own_speed", "our log", KERNEL, "0.475 / 0.575 / 0.675", "converged"):
        assert fragment in out
    assert (tmp_path / "p.nc").is_file()


def test_command_exits_3_unless_an_unconverged_sample_is_accepted(files, capsys, monkeypatch):
    monkeypatch.setattr(
        "priors.conditioning.Thresholds", lambda: Thresholds(ess_min=1e9, rhat_max=1.0)
    )

    assert main(files) == 3
    assert "NOT CONVERGED" in capsys.readouterr().out
    assert main([*files, "--accept-unconverged"]) == 0


def test_command_takes_known_values(capsys):
    status = main(["--evidence", "none", "--draws", "20", "--set", f"{KERNEL}=0.5"])

    assert status == 0
    assert "0.5 / 0.5 / 0.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["--scenario", "absent"], "there is no such scenario"),
        (["--priors", "absent"], "there is no such catalogue"),
        (["--evidence", "publised"], "published"),
        (["--evidence", "none", "--draws", "0"], "draws: got 0"),
        (["--evidence", "none", "--set", "kernel"], "write path=value"),
        (["--evidence", "none", "--set", f"{KERNEL}=1.5"], "(0, 1]"),
        (["--evidence", "none", "--set", "kernel.speed=1"], "unknown field"),
        (["--evidence", "none", "--out", "absent/p.nc"], "there is no such directory"),
        (["--evidence", "none", "--out", "."], "this is a directory"),
    ],
)
def test_command_reports_bad_input_and_exits_2(arguments, fragment, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert fragment in captured.err
    assert captured.out == ""


def test_compile_directory_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    environment = os.environ | {
        "PYTENSOR_FLAGS": f"base_compiledir={tmp_path / 'file' / 'x'}",
        "FUNDWORTHY_CACHE": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "priors.posterior", "--draws", "4"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "base_compiledir=DIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_interrupt_ends_the_command_without_a_traceback(tmp_path):
    environment = os.environ | {"FUNDWORTHY_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(
        [sys.executable, "-m", "priors.posterior", "--draws", "40000", "--seed", "99"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert "compiling" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert err.strip().endswith("interrupted: nothing was written")
    assert "Traceback" not in err
    assert out == ""
    assert [*tmp_path.glob("cache/posteriors/*")] == []
