"""The command that values information, its files and figures."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from decision.information import main
from decision.rank import main as rank
from reports.information_figures import (
    information_values,
    setting_of,
    study_benefits,
    write_information_figures,
)
from reports.information_tables import render_information

QUICK = ("--quiet", "--evidence", "none", "--draws", "400")


def information(*arguments: object) -> int:
    return main([str(argument) for argument in (*QUICK, *arguments)])


def summary_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    assert information("--format", "json", *arguments) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    path = tmp_path / "costs.yaml"
    path.write_text(
        "decision_horizon_days: 1000\n"
        "interventions: {fast_restart: {uniform: {low: 300, high: 900}}, fast_checkpoint: 900}\n"
    )
    return path


@pytest.fixture
def studies(tmp_path: Path) -> Path:
    path = tmp_path / "studies.yaml"
    path.write_text(
        "studies:\n"
        "  - name: timed_restarts\n"
        "    measures: durations\n"
        "    quantity: restart\n"
        "    sizes: [1, 5, 25]\n"
        "    cost: {unit: accelerators, fixed: 2, per_unit: 0.5, days: 1}\n"
        "  - name: dear\n"
        "    measures: durations\n"
        "    quantity: restart\n"
        "    sizes: [5]\n"
        "    cost: {unit: accelerators, fixed: 5000}\n"
    )
    return path


ONLY = ("--only", "fast_restart,fast_checkpoint")


def test_answer_names_what_is_worth_knowing(capsys, costs, studies):
    summary = summary_of(capsys, *ONLY, "--costs", costs, "--studies", studies)
    [answer] = summary["answers"]
    assert answer["horizon_days"] == 1000.0
    assert answer["budget"] == 900.0
    assert answer["options"] == ["do_nothing", "fast_restart", "fast_checkpoint"]
    names = [one["name"] for one in answer["parameters"]]
    assert "cost.fast_restart" in names
    assert names[0].startswith("reliability.")
    worths = [one["value"] for one in answer["parameters"]]
    assert worths == sorted(worths, reverse=True)
    assert {one["name"] for one in answer["groups"]} == {"healthy step", "failures and recovery"}
    first, dear = answer["studies"]
    assert first["best"] in (1, 5, 25)
    assert dear["best"] is None
    for size in (*first["sizes"], *dear["sizes"]):
        net = size["remaining"] * size["value"] - size["cost_productive"]
        assert size["net_benefit"] == pytest.approx(net)
    # An accelerator brings less than a productive one.
    assert 0.0 < dear["sizes"][0]["cost_productive"] < 5000.0


def test_table_says_what_json_says(capsys, costs, studies):
    assert information(*ONLY, "--costs", costs, "--studies", studies) == 0
    text = capsys.readouterr().out
    assert "Knowing everything before deciding is worth" in " ".join(text.split())
    assert "dear: costs more than it is worth at every size." in text
    assert "timed_restarts: best at" in text
    assert max(map(len, text.splitlines())) <= 100


def test_same_seed_gives_the_same_answer(capsys):
    first = summary_of(capsys, *ONLY)
    assert summary_of(capsys, *ONLY) == first
    other = summary_of(capsys, *ONLY, "--seed", 2)
    assert other["answers"][0]["perfect"] != first["answers"][0]["perfect"]


def test_nested_stands_beside_regression(capsys):
    path = "reliability.restart_time_s"
    summary = summary_of(capsys, *ONLY, "--nested", "--group", f"restart={path}")
    [answer] = summary["answers"]
    one = next(one for one in answer["parameters"] if one["name"] == path)
    error = np.hypot(one["error"], one["nested"]["error"])
    assert abs(one["value"] - one["nested"]["value"]) <= 3 * error
    assert answer["groups"][0]["value"] == one["value"]


def test_every_regime_has_an_answer(capsys):
    summary = summary_of(capsys, *ONLY, "--regime", "all")
    assert len(summary["answers"]) == 5
    for answer in summary["answers"]:
        rate = next(
            one
            for one in answer["parameters"]
            if one["name"] == "reliability.failure_rate_per_node_day"
        )
        # A regime that sets the rate leaves nothing to learn about it.
        assert (rate["value"] == 0.0) == (answer["regime"] != "typical")


def test_results_go_into_a_new_directory(tmp_path, capsys):
    out = tmp_path / "information"
    assert information(*ONLY, "--out", out) == 0
    capsys.readouterr()
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert {
        "information.csv",
        "information.json",
        "provenance.json",
        "figures/information_values.png",
        "figures/study_benefits.png",
        "inputs/scenario.yaml",
    } <= names
    with (out / "information.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = {row["kind"] for row in rows}
    assert kinds == {"perfect", "parameter", "group", "study", "study with endless data"}
    perfect = next(row for row in rows if row["kind"] == "perfect")
    assert all(
        float(row["value"]) <= float(perfect["value"]) + 4 * float(row["error"]) for row in rows
    )


def test_results_go_into_the_run_of_the_same_inputs(tmp_path, capsys):
    out = tmp_path / "run"
    assert rank([*QUICK, *ONLY, "--out", str(out)]) == 0
    ranking = (out / "ranking.csv").read_bytes()
    assert information(*ONLY, "--out", out) == 0
    assert (out / "information.csv").is_file()
    assert (out / "figures" / "information_values.png").is_file()
    assert (out / "figures" / "sea_intervals.png").is_file()
    assert (out / "ranking.csv").read_bytes() == ranking
    capsys.readouterr()
    # Another seed is another run: nothing is touched.
    before = (out / "information.csv").read_bytes()
    assert information(*ONLY, "--seed", "9", "--out", out) == 2
    assert "other inputs" in capsys.readouterr().err
    assert (out / "information.csv").read_bytes() == before


def test_foreign_directory_is_left_alone(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert information(*ONLY, "--out", tmp_path) == 2
    assert "not a run of this program" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--studies", "nowhere.yaml"), "nowhere.yaml: there is no such list of studies"),
        (("--group", "x=reliability.detect_tim_s"), "did you mean 'reliability.detect_time_s'"),
        (("--group", "x=accelerator.memory_gb"), "no uncertain parameter here"),
        (("--costs", "nowhere.yaml"), "there is no such file of costs"),
        (("--scenario", "nowhere"), "there is no such scenario"),
    ],
)
def test_bad_input_is_one_clear_block(capsys, arguments, message):
    assert information(*arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    "arguments", [("--budget", "-1"), ("--budget", "nan"), ("--group", "x"), ("--group", "=a")]
)
def test_bad_option_is_refused(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        information(*arguments)
    assert caught.value.code == 2
    assert f"got '{arguments[1]}'" in capsys.readouterr().err


def test_known_parameters_are_not_valued(capsys):
    summary = summary_of(capsys, *ONLY, "--set", "reliability.restart_time_s=300")
    names = [one["name"] for one in summary["answers"][0]["parameters"]]
    assert "reliability.restart_time_s" not in names
    restarts = next(
        one for one in summary["answers"][0]["studies"] if one["name"] == "timed_restarts"
    )
    assert restarts["limit"]["value"] == 0.0


def test_draws_from_a_file_are_valued(tmp_path, capsys):
    rng = np.random.default_rng(1)
    path = tmp_path / "draws.csv"
    pd.DataFrame(
        {
            "kernel.kernel_efficiency": rng.uniform(0.45, 0.7, 300),
            "topology.net_efficiency": rng.uniform(0.7, 0.95, 300),
            "parallelism.overlap_dp": rng.uniform(0.6, 0.95, 300),
            "parallelism.overlap_tp": rng.uniform(0.0, 0.35, 300),
            "reliability.failure_rate_per_node_day": rng.uniform(1.5e-3, 1.5e-2, 300),
            "reliability.detect_time_s": rng.uniform(30, 400, 300),
            "reliability.restart_time_s": rng.uniform(60, 900, 300),
            "reliability.checkpoint_write_s": rng.uniform(5, 90, 300),
            "reliability.straggler_cv": rng.uniform(0.0, 0.05, 300),
        }
    ).to_csv(path, index=False)
    assert main(["--quiet", "--parameter-draws", str(path), "--format", "json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["question"]["source"] == "file"
    assert len(summary["answers"][0]["parameters"]) == 9


# Pictures and text, from plain data.


def learnable(name: str, value: float, floor: float = 0.1) -> dict:
    return {
        "name": name,
        "paths": [name],
        "value": value,
        "error": 1.0,
        "noise_floor": floor,
        "is_noise": value <= floor,
        "nested": None,
    }


def plain_summary(**changes: object) -> dict:
    size = {"size": 5, "value": 30.0, "error": 2.0, "shrunk": 29.0, "remaining": 1.0}
    priced = {"cost_accelerators": 4.0, "cost_productive": 2.0, "net_benefit": 28.0}
    study = {
        "name": "timed_restarts",
        "description": "",
        "unit": "timings",
        "paths": ["reliability.restart_time_s"],
        "limit": learnable("limit", 40.0),
        "sizes": [size | priced, size | priced | {"size": 50, "net_benefit": 20.0}],
        "best": 5,
        "near_best": [5, 5],
    }
    unpriced = study | {
        "name": "log",
        "sizes": [size | dict.fromkeys(priced)],
        "best": None,
        "near_best": None,
    }
    answer = {
        "regime": "",
        "budget": 800.0,
        "horizon_days": 1095.0,
        "options": ["do_nothing", "a"],
        "best": "a",
        "perfect": learnable("perfect", 60.0, 0.0),
        "parameters": [learnable("reliability.restart_time_s", 40.0), learnable("idle", 0.0)],
        "groups": [learnable("failures and recovery", 55.0)],
        "studies": [study, unpriced],
    }
    return {
        "question": {
            "scenario": "reference",
            "scale": None,
            "draws": 5000,
            "source": "posterior",
            "costs": None,
        },
        "notes": ["A note."],
        "warnings": [],
        "answers": [answer | changes],
    }


def words_of(figure) -> str:
    parts = [text.get_text() for text in figure.findobj(match=lambda a: hasattr(a, "get_text"))]
    return " ".join(" ".join(parts).split())


def test_figure_of_values_shows_worth_floor_and_limit():
    summary = plain_summary()
    [answer] = summary["answers"]
    figure = information_values(answer, setting_of(summary, answer))
    words = words_of(figure)
    assert "Knowing everything is worth 60 ± 1 productive accelerators" in words
    assert "restart_time_s alone 40" in words
    assert "budget 800 accelerators" in words
    [axes] = figure.axes
    assert sorted(bar.get_width() for bar in axes.patches) == [0.0, 40.0, 55.0]
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert dashed[0].get_xdata()[0] == 60.0
    floors = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    assert 0.1 in floors


def test_figure_of_studies_names_the_best():
    summary = plain_summary()
    [answer] = summary["answers"]
    figure = study_benefits(answer, setting_of(summary, answer))
    words = words_of(figure)
    assert "5 timings of timed_restarts are worth 28 productive accelerators more" in words
    priced = figure.axes[0]
    assert [28.0, 20.0] in [list(line.get_ydata()) for line in priced.lines]


def test_figure_without_prices_says_what_a_study_could_be_worth():
    summary = plain_summary()
    [answer] = summary["answers"]
    answer["studies"] = answer["studies"][1:]
    words = words_of(study_benefits(answer, setting_of(summary, answer)))
    assert "log could be worth up to 40 productive accelerators" in words


def test_unconverged_draws_are_marked_on_figures_and_in_text():
    summary = plain_summary()
    summary["warnings"] = ["The posterior did not converge: do not act on this."]
    [answer] = summary["answers"]
    assert "NOT CONVERGED" in words_of(information_values(answer, setting_of(summary, answer)))
    assert "did not converge" in render_information(summary)


def test_figures_of_the_same_summary_are_the_same_bytes(tmp_path):
    first = write_information_figures(plain_summary(), tmp_path / "a")
    second = write_information_figures(plain_summary(), tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_answer_without_studies_has_no_figure_of_them(tmp_path):
    paths = write_information_figures(plain_summary(studies=[]), tmp_path)
    assert [path.name for path in paths] == ["information_values.png"]
    assert "study" not in render_information(plain_summary(studies=[])).split("Note")[0].replace(
        "no study that", ""
    )


def test_text_tells_noise_from_worth():
    text = render_information(plain_summary())
    idle = next(line for line in text.splitlines() if line.startswith("idle"))
    assert "none" in idle
    assert "timed_restarts: best at 5 timings; as good within 5%: 5." in text
