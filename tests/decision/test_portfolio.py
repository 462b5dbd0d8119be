"""The command that chooses a program, its files and its figure."""

import csv
import json
from pathlib import Path

import pytest

from decision.portfolio import main
from reports.information_figures import budget_frontier, setting_of
from reports.information_tables import render_portfolio

QUICK = ("--quiet", "--evidence", "none", "--draws", "300", "--points", "4")
TRIO = ("--only", "fast_detection,fast_restart,fast_checkpoint")


def portfolio(*arguments: object) -> int:
    return main([str(argument) for argument in (*QUICK, *arguments)])


def answer_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    assert portfolio("--format", "json", *arguments) == 0
    [answer] = json.loads(capsys.readouterr().out)["answers"]
    return answer


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    path = tmp_path / "costs.yaml"
    path.write_text(
        "interventions:\n"
        "  fast_detection: 60\n"
        "  fast_restart: {triangular: {low: 200, mode: 300, high: 600}}\n"
        "  fast_checkpoint: 400\n"
        "shared: {telemetry: {cost: 90, needed_by: [fast_detection, fast_restart]}}\n"
    )
    return path


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(
        "exclusions: [[fast_restart, fast_checkpoint]]\n"
        "prerequisites: {fast_restart: [fast_detection]}\n"
    )
    return path


def test_program_keeps_to_the_budget_and_buys_the_rest(capsys, costs):
    answer = answer_of(capsys, *TRIO, "--costs", costs, "--budget", 700)
    assert [point["budget"] for point in answer["frontier"]] == pytest.approx(
        [0.0, 700 / 3, 1400 / 3, 700.0]
    )
    for one in answer["programs"]:
        assert one["cost"] <= 700.0
        assert one["cost"] + one["bought"] == pytest.approx(700.0)
    assert answer["frontier"][0]["best"]["program"] == []
    # 60 + 90 + 366.7 expected, without the 400 of the checkpoint.
    both = next(
        one for one in answer["programs"] if one["program"] == ["fast_detection", "fast_restart"]
    )
    assert both["cost"] == pytest.approx(60 + 90 + 1100 / 3, rel=1e-3)
    assert sum(one["shapley"] for one in answer["shares"]) > 0.0
    assert answer["optimality_gap"] is None


def test_budget_defaults_to_what_everything_costs(capsys, costs):
    answer = answer_of(capsys, *TRIO, "--costs", costs)
    assert answer["budget"] == pytest.approx(60 + 90 + 1100 / 3 + 400, rel=1e-3)
    assert answer["considered"] == 8


def test_without_costs_the_trio_is_free_and_complementary(capsys):
    answer = answer_of(capsys, *TRIO)
    assert answer["budget"] == 0.0
    assert answer["programs"][0]["program"] == ["fast_detection", "fast_restart", "fast_checkpoint"]
    assert {pair["kind"] for pair in answer["pairs"]} == {"complements"}


def test_rules_are_kept(capsys, costs, rules):
    answer = answer_of(capsys, *TRIO, "--costs", costs, "--rules", rules)
    assert answer["considered"] == 5
    for one in answer["programs"]:
        assert "fast_restart" not in one["program"] or "fast_detection" in one["program"]
        assert not {"fast_restart", "fast_checkpoint"} <= set(one["program"])


def test_shipped_rules_hold_for_the_shipped_interventions_only(capsys, tmp_path):
    answer = answer_of(capsys, "--only", "bandwidth_2x,bandwidth_4x")
    assert answer["considered"] == 3
    path = tmp_path / "mine.yaml"
    path.write_text(
        "interventions:\n"
        "  - {name: bandwidth_2x, multipliers: {accelerator.nic_bw_gbps: 2}}\n"
        "  - {name: bandwidth_4x, multipliers: {accelerator.nic_bw_gbps: 4}}\n"
    )
    assert answer_of(capsys, "--interventions", path)["considered"] == 4


def test_bundles_are_programs_anyway(capsys):
    answer = answer_of(capsys, *TRIO, "--bundle", "both=fast_detection+fast_restart")
    assert answer["interventions"] == ["fast_detection", "fast_restart", "fast_checkpoint"]


def test_more_than_twelve_are_searched_and_the_gap_is_stated(capsys, tmp_path):
    interventions, costs = ["interventions:"], ["interventions:"]
    for index in range(13):
        path = ("reliability.detect_time_s", "reliability.restart_time_s", "topology.alpha_pod_us")[
            index % 3
        ]
        share = round(0.9 - 0.03 * index, 2)
        interventions.append(f"  - {{name: i{index}, multipliers: {{{path}: {share}}}}}")
        costs.append(f"  i{index}: {20 + 7 * index}")
    (tmp_path / "i.yaml").write_text("\n".join(interventions))
    (tmp_path / "c.yaml").write_text("\n".join(costs))
    arguments = ("--interventions", tmp_path / "i.yaml", "--costs", tmp_path / "c.yaml")
    answer = answer_of(capsys, *arguments, "--budget", 200)
    assert 0.0 <= answer["optimality_gap"] < 0.05
    best = answer["programs"][0]
    assert len(best["program"]) > 1
    assert best["cost"] <= 200.0
    assert best["gain"] > 0.0
    assert portfolio(*arguments, "--budget", 200) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "13 interventions are too many to try all programs" in text


def test_results_are_written(capsys, tmp_path, costs):
    out = tmp_path / "programs"
    assert portfolio(*TRIO, "--costs", costs, "--out", out) == 0
    assert "Best program for" in capsys.readouterr().out
    with (out / "programs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 3
    assert {row["criterion"] for row in rows} == {"best", "careful", "buying"}
    assert (out / "figures" / "budget_frontier.png").is_file()
    assert (out / "inputs" / "costs.yaml").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rules", "nowhere.yaml"), "nowhere.yaml: there is no such list of rules"),
        (("--costs", "nowhere.yaml"), "there is no such file of costs"),
        (("--only", "nothing"), "nothing"),
    ],
)
def test_bad_input_is_one_clear_block(capsys, arguments, message):
    assert portfolio(*arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error


def test_circular_prerequisites_are_one_clear_block(capsys, tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(
        "prerequisites: {fast_restart: [fast_detection], fast_detection: [fast_restart]}"
    )
    assert portfolio("--rules", path) == 2
    assert "fast_restart needs fast_detection needs fast_restart" in capsys.readouterr().err


@pytest.mark.parametrize("cost", ["-1", ".nan", ".inf", "null"])
def test_impossible_costs_are_refused(capsys, tmp_path, cost):
    path = tmp_path / "costs.yaml"
    path.write_text(f"interventions: {{fast_detection: {cost}}}")
    assert portfolio("--only", "fast_detection", "--costs", path) == 2
    assert "fast_detection" in capsys.readouterr().err


def test_missing_cost_is_named(capsys, tmp_path):
    path = tmp_path / "costs.yaml"
    path.write_text("interventions: {fast_detection: 3}")
    assert portfolio(*TRIO, "--costs", path) == 2
    error = capsys.readouterr().err
    assert "interventions.fast_restart: this cost is missing" in error
    assert "interventions.fast_checkpoint: this cost is missing" in error


@pytest.mark.parametrize("budget", ["-5", "nan", "inf", "much"])
def test_impossible_budget_is_refused(capsys, budget):
    with pytest.raises(SystemExit) as caught:
        portfolio("--budget", budget)
    assert caught.value.code == 2
    assert f"got '{budget}'" in capsys.readouterr().err


# Picture and text, from plain data.


def program(names: list[str], expected: float, gain: float) -> dict:
    return {
        "program": names,
        "cost": 100.0 * len(names),
        "bought": 500.0 - 100.0 * len(names),
        "expected": expected,
        "expected_error": 5.0,
        "gain": gain,
        "gain_error": 2.0,
        "p_beats": 0.9,
        "tail": expected - 900.0,
        "tail_error": 9.0,
    }


def plain_summary() -> dict:
    steps = [[], ["a"], ["a", "b"]]
    frontier = [
        {
            "budget": 250.0 * index,
            "considered": 4,
            "best": program(names, 9000.0 + 100 * index, 50.0 * index),
            "careful": program(names, 9000.0 + 90 * index, 40.0 * index),
            "buying": program([], 9000.0 + 50 * index, 0.0),
        }
        for index, names in enumerate(steps)
    ]
    answer = {
        "regime": "",
        "horizon_days": 1095.0,
        "budget": 500.0,
        "interventions": ["a", "b"],
        "considered": 4,
        "optimality_gap": None,
        "programs": [frontier[-1]["best"], frontier[1]["best"]],
        "careful": program(["b"], 9050.0, 30.0),
        "buying": frontier[-1]["buying"],
        "frontier": frontier,
        "pairs": [],
        "shares": [],
    }
    return {
        "question": {
            "scenario": "reference",
            "scale": None,
            "draws": 5000,
            "source": "prior",
            "costs": "costs.yaml",
        },
        "notes": [],
        "warnings": [],
        "answers": [answer],
    }


def test_figure_numbers_the_programs_along_the_frontier():
    summary = plain_summary()
    [answer] = summary["answers"]
    figure = budget_frontier(answer, setting_of(summary, answer))
    axes, legend = figure.axes
    assert [text.get_text() for text in axes.texts] == ["1", "2", "3"]
    assert [text.get_text() for text in legend.texts] == [
        "1  accelerators only",
        "2  a",
        "3  a + b",
    ]
    expected = next(line for line in axes.lines if line.get_label() == "best program, expected")
    assert list(expected.get_ydata()) == [9000.0, 9100.0, 9200.0]
    title = " ".join(figure.get_suptitle().split())
    assert title.startswith("500 accelerators are best spent on 2 interventions and 300")


def test_figure_says_where_nothing_beats_buying():
    summary = plain_summary()
    [answer] = summary["answers"]
    answer["programs"] = [answer["buying"]]
    figure = budget_frontier(answer, setting_of(summary, answer))
    assert "nothing beats buying accelerators" in " ".join(figure.get_suptitle().split())


def test_text_names_the_careful_program_where_it_differs():
    summary = plain_summary()
    text = " ".join(render_portfolio(summary).split())
    assert "Best program for 500 accelerators: a + b; the rest buys 300 accelerators." in text
    assert "In the worst tenth of draws another is best: b" in text
    summary["answers"][0]["careful"] = summary["answers"][0]["programs"][0]
    assert "another is best" not in render_portfolio(summary)
