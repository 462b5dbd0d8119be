"""The command: what it writes, the same bytes on every engine and after a kill, and refusals."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from priors.catalogue import read_catalogue
from priors.draws import prior_draws
from studies.decision_map import main
from studies.execution.store import unfinished
from tests.studies.mapping.cases import RATE

ROOT = Path(__file__).parents[3]

SMALL = (
    "--evidence",
    "none",
    "--draws",
    "40",
    "--refine",
    "1",
    "--x",
    "topology.oversubscription=1,16",
    "--y",
    f"{RATE}=1e-3:3e-2:4:log",
    "--scale",
    "16384,65536",
    "--quiet",
)
COMMAND = (sys.executable, "-m", "studies.decision_map")
TABLES = ("map.parquet", "map.csv", "boundaries.parquet", "boundaries.csv")


def tables(directory: Path) -> dict[str, object]:
    """What a map found, apart from what made it."""
    found: dict[str, object] = {name: (directory / name).read_bytes() for name in TABLES}
    return found | {"panels": json.loads((directory / "map.json").read_text())["panels"]}


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("maps") / "small"
    assert main([*SMALL, "--out", str(directory)]) == 0
    return directory


def test_map_writes_tables_summary_inputs_and_figure(small):
    table = pd.read_parquet(small / "map.parquet")
    assert len(table) == 16
    shares = table[[name for name in table if name.startswith("p_first.")]]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert (table["p_first"] == shares.max(axis=1)).all()
    content = json.loads((small / "map.json").read_text())
    cells = [cell for panel in content["panels"] for cell in panel["cells"]]
    assert [cell["winner"] for cell in cells] == table["winner"].tolist()
    assert content["question"]["doublings"] == 1
    assert (small / "inputs" / "scenario.yaml").is_file()
    assert imread(small / "figures" / "map.png").shape[1] == 1260
    assert not unfinished(small).exists()


def test_readable_table_has_every_column_of_a_cell_and_none_of_single_options(small):
    whole, readable = pd.read_parquet(small / "map.parquet"), pd.read_csv(small / "map.csv")
    assert {"p_first", "p_first_mcse", "expected_regret", "sea_p50"} <= set(readable)
    left_out = set(whole) - set(readable)
    assert len(left_out) == 8 * 11
    assert {name.partition(".")[2] for name in left_out} >= set(whole["winner"])


def test_map_marks_where_the_scenario_lies(small):
    panels = json.loads((small / "map.json").read_text())["panels"]
    # 5 failures per 1,000 node-days at 7 to 1, 16,384 accelerators.
    x, y = panels[0]["own"]
    assert x == pytest.approx((7 - 1) / 15)
    assert y == pytest.approx(3 * np.log(5) / np.log(30))
    assert panels[1]["own"] is None


def test_finished_map_is_read_and_not_computed_again(small, capsys, monkeypatch):
    monkeypatch.setattr("studies.mapping.study.compute", lambda *_, **__: pytest.fail("computed"))
    assert main([*SMALL, "--out", str(small)]) == 0
    printed = capsys.readouterr().out
    assert "ranks first in" in printed
    assert "16,384 accelerators" in printed


def test_other_map_does_not_replace_one_unasked(small, capsys):
    assert main([*SMALL, "--seed", "2", "--out", str(small)]) == 2
    assert "--force" in capsys.readouterr().err


def test_map_over_processes_has_the_same_bytes(small, tmp_path):
    assert main([*SMALL, "--out", str(tmp_path / "two"), "--jobs", "2"]) == 0
    assert tables(tmp_path / "two") == tables(small)


@pytest.mark.slow
def test_map_over_dask_has_the_same_bytes(small, tmp_path):
    pytest.importorskip("distributed")
    done = subprocess.run(
        [*COMMAND, *SMALL, "--out", str(tmp_path / "dask"), "--engine", "dask", "--jobs", "2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert tables(tmp_path / "dask") == tables(small)


def parts(place):
    """Names of what an unfinished map has kept."""
    return {path.name for path in unfinished(place).rglob("*.parquet")}


@pytest.mark.slow
def test_map_killed_at_random_moments_goes_on_to_the_same_bytes(tmp_path):
    asked = [*SMALL[:3], "4000", *SMALL[4:]]
    command = [*COMMAND, *asked, "--out"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    whole = tmp_path / "whole"
    subprocess.run([*command, str(whole)], cwd=ROOT, check=True, env=environment)
    place = tmp_path / "killed"
    generator = random.Random(20)
    kills, kept = 0, set()
    for jobs in ("1", "2", "1", "2"):
        child = subprocess.Popen(
            [*command, str(place), "--jobs", jobs],
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        # Anywhere after one more part has been kept, so that every kill has something to lose.
        while child.poll() is None and parts(place) <= kept:
            time.sleep(0.002)
        time.sleep(generator.uniform(0.0, 0.05))
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            kills += not place.exists()
        kept |= parts(place)
        if place.exists():
            break
    assert kills >= 1
    assert kept
    subprocess.run([*command, str(place)], cwd=ROOT, check=True, env=environment)
    assert tables(place) == tables(whole)
    assert not unfinished(place).exists()


def test_scenarios_are_rows_and_have_draws_of_their_own(tmp_path, capsys):
    source = (ROOT / "model/data/scenarios/reference_405b_16k.yaml").read_text()
    for name, oversubscription in (("flat", "1"), ("steep", "16")):
        text = source.replace("name: reference_405b_16k", f"name: {name}")
        text = text.replace("oversubscription: 7", f"oversubscription: {oversubscription}")
        (tmp_path / f"{name}.yaml").write_text(text)
    files = [str(tmp_path / f"{name}.yaml") for name in ("flat", "steep")]
    asked = ["--evidence", "none", "--draws", "80", "--refine", "0", "--quiet"]
    out = tmp_path / "fleet"
    assert main(["--scenarios", *files, "--scale", "64,65536", *asked, "--out", str(out)]) == 0
    table = pd.read_csv(out / "map.csv")
    assert table["scenario"].tolist() == ["flat", "flat", "steep", "steep"]
    assert table["status"].tolist() == ["impossible", "ranked"] * 2
    assert table["gain_difference"][1] != table["gain_difference"][3]
    printed = capsys.readouterr().out
    assert "impossible, 2 of the regimes" in printed


def test_map_of_impossible_regimes_says_so(tmp_path, capsys):
    asked = ["--point-values", "--x", "parallelism.tp=12,24", "--quiet"]
    assert main([*asked, "--out", str(tmp_path / "m")]) == 0
    printed = capsys.readouterr().out
    assert "No regime of this map is possible" in printed
    assert "got 12, which does not divide" in printed
    assert (tmp_path / "m" / "figures" / "map.png").is_file()
    assert not (tmp_path / "m" / "boundaries.csv").exists()


def test_axis_without_draws_cannot_shift(tmp_path, capsys):
    asked = ["--evidence", "none", "--draws", "20", "--x", "reliability.repair_time_s=1:2:2:shift"]
    assert main([*asked, "--quiet", "--out", str(tmp_path / "m")]) == 2
    assert "has no draws that could shift" in capsys.readouterr().err


def test_point_values_need_no_draws(tmp_path, capsys):
    asked = ["--point-values", "--x", f"{RATE}=1e-3,3e-2", "--quiet", "--out", str(tmp_path / "m")]
    assert main(asked) == 0
    table = pd.read_parquet(tmp_path / "m" / "map.parquet")
    assert table["draws"].tolist() == [1, 1]
    assert table["winner"].tolist() == ["straggler_control", "reliability_2x"]
    assert "at its own values" in capsys.readouterr().out


def test_draws_from_a_file_are_used_as_they_are(tmp_path, capsys):
    draws = prior_draws(read_catalogue("published"), 40, 3)
    pd.DataFrame(dict(draws.columns)).to_csv(tmp_path / "draws.csv", index=False)
    asked = [
        "--parameter-draws",
        str(tmp_path / "draws.csv"),
        "--x",
        f"{RATE}=1e-3,3e-2",
        "--quiet",
    ]
    assert main([*asked, "--out", str(tmp_path / "m")]) == 0
    assert pd.read_parquet(tmp_path / "m" / "map.parquet")["draws"].tolist() == [40, 40]
    assert main([*asked, "--refine", "2", "--out", str(tmp_path / "twice")]) == 0
    stages = pd.read_parquet(tmp_path / "twice" / "map.parquet")
    assert set(stages["draws"]) <= {10, 20, 40}
    assert main([*asked, "--refine", "4", "--out", str(tmp_path / "odd")]) == 2
    assert "40 draws are no multiple of 16" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--x", "parallelism.dp=64,128", "--scale", "16384"], "cannot vary beside --scale"),
        (
            ["--x", f"{RATE}=1e-3,1e-2", "--set", f"{RATE}=2e-3"],
            "stands on an axis and under --set",
        ),
        (["--regime", "unreliable_flat"], "sets this field in every cell"),
        (["--at-scale", "8192", "--scale", "16384"], "given beside --scale"),
        (["--point-values", "--draws", "7"], "draws are of no use to --point-values"),
        (["--scenarios", "a.yaml", "--scenario", "b.yaml"], "given beside --scenarios"),
        (["--scenarios", "nowhere.yaml"], "nowhere.yaml"),
        (
            ["--x", "model.hidden=128:1280:1000", "--y", f"{RATE}=1e-3:1e-2:1000"],
            "an integer is needed",
        ),
        (
            ["--x", f"{RATE}=1e-3:1e-2:1000", "--y", "topology.oversubscription=1:2:1000"],
            "1,000,000 cells, allowed are 100,000",
        ),
    ],
)
def test_contradicting_options_end_with_2(options, words, capsys, tmp_path):
    assert main([*options, "--quiet", "--out", str(tmp_path / "m")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_problems_of_axes_and_files_are_told_together(capsys, tmp_path):
    asked = ["--x", "nonsense=1:2:3", "--interventions", "nowhere.yaml"]
    assert main([*asked, "--quiet", "--out", str(tmp_path / "m")]) == 2
    told = capsys.readouterr().err
    assert "nonsense" in told
    assert "nowhere.yaml" in told


@pytest.mark.parametrize("text", ["-1", "7", "x"])
def test_doublings_out_of_range_are_refused(text, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--refine", text])
    assert "allowed is an integer from 0 to 6" in capsys.readouterr().err


def test_sizes_must_rise(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--scale", "65536,16384"])
    assert "sizes must rise" in capsys.readouterr().err
