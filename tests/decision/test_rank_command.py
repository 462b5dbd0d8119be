"""The command as a user runs it: results, run directory, and every bad input in one clear block."""

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
import pytest

from decision.rank import main
from tests.decision.test_outcomes import RANGES, study_draws
from tests.reference import INTERVENTIONS, TABLES, needs_tables

ROOT = Path(__file__).resolve().parents[2]
RANKING_COLUMNS = [
    "option",
    *("p_first", "p_first_mcse", "p_first_in_scope", "p_first_prior", "p_tied"),
    *("sea_p10", "sea_p10_mcse", "sea_p50", "sea_p50_mcse", "sea_p90", "sea_p90_mcse"),
    *("p_unattainable", "p_positive", "gain_mean", "gain_mcse"),
    *("expected_regret", "expected_regret_mcse"),
]


def rank(*arguments: object) -> int:
    return main([str(argument) for argument in ("--quiet", *arguments)])


def rows_of(directory: Path) -> list[dict[str, str]]:
    with (directory / "ranking.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def prior_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "prior"
    assert rank("--evidence", "none", "--draws", 500, "--out", directory) == 0
    return directory


@pytest.fixture
def draws_file(tmp_path: Path) -> Path:
    path = tmp_path / "draws.csv"
    pd.DataFrame(study_draws(50)).to_csv(path, index=False)
    return path


def test_run_directory_is_whole(prior_run: Path) -> None:
    names = {str(path.relative_to(prior_run)) for path in prior_run.rglob("*") if path.is_file()}
    assert {
        "ranking.csv",
        "outcomes.parquet",
        "memo.md",
        "memo.html",
        "memo.pdf",
        "figures/sea_intervals.svg",
        "summary.json",
        "provenance.json",
        "inputs/scenario.yaml",
        "inputs/interventions.yaml",
        "inputs/priors.yaml",
    } <= names
    assert len([name for name in names if name.startswith("figures/")]) >= 4
    assert not [path for path in prior_run.parent.iterdir() if path.name.startswith(".")]


def test_ranking_table_has_one_row_an_option(prior_run: Path) -> None:
    rows = rows_of(prior_run)
    assert list(rows[0]) == RANKING_COLUMNS
    assert {row["option"] for row in rows} == {"do_nothing", *INTERVENTIONS}
    assert sum(float(row["p_first"]) for row in rows) == pytest.approx(1.0)
    shares = [float(row["p_first"]) for row in rows]
    assert shares == sorted(shares, reverse=True)


def test_outcomes_are_what_the_ranking_says(prior_run: Path) -> None:
    """Everything in ranking.csv follows from outcomes.parquet by the words of its columns."""
    table = pd.read_parquet(prior_run / "outcomes.parquet")
    assert len(table) == 500
    assert set(RANGES) <= set(table.columns)
    gains = table[[column for column in table if column.startswith("gain_")]]
    best = gains.max(axis=1)
    for row in rows_of(prior_run):
        option = row["option"]
        sea, gain = table[f"sea_{option}"], table[f"gain_{option}"]
        first = (gain >= best - 1e-9) / (gains.ge(best - 1e-9, axis=0)).sum(axis=1)
        assert float(row["p_first"]) == pytest.approx(first.mean())
        assert float(row["expected_regret"]) == pytest.approx((best - gain).mean())
        assert float(row["p_unattainable"]) == pytest.approx(np.isposinf(sea).mean())
        assert float(row["sea_p50"]) == np.quantile(sea, 0.5, method="inverted_cdf")
        assert float(row["p_positive"]) == pytest.approx((gain > 0).mean())
    winner = table["winner"].astype(str)
    for option, share in winner[~table["tied"]].value_counts().items():
        assert (table.loc[(winner == option) & ~table["tied"], f"gain_{option}"] > 0).all() or (
            option == "do_nothing"
        )
        assert share > 0


def test_drivers_are_named_for_the_winner_and_each_option(
    prior_run: Path, draws_file: Path, tmp_path: Path
) -> None:
    drivers = json.loads((prior_run / "summary.json").read_text())["answers"][0]["drivers"]
    assert drivers["method"] == "sobol"
    assert set(drivers["options"]) == {"do_nothing", *INTERVENTIONS}
    # Its own gain is proportional to the jitter it halves, and nothing else comes close.
    assert drivers["options"]["straggler_control"]["factor"] == "reliability.straggler_cv"
    # Fifty draws are too few to say.
    assert rank("--parameter-draws", draws_file, "--out", tmp_path / "run") == 0
    few = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert few["answers"][0]["drivers"] is None


def test_provenance_names_versions_inputs_and_seed(prior_run: Path) -> None:
    provenance = json.loads((prior_run / "provenance.json").read_text())
    assert provenance["seed"] == 1
    assert provenance["draws"] == 500
    assert {"python", "numpy", "scipy", "pymc"} <= set(provenance["versions"])
    assert {"scenario.yaml", "interventions.yaml", "priors.yaml", "code", "options"} <= set(
        provenance["digests"]
    )
    assert provenance["wall_time_s"] > 0


def test_same_request_is_answered_from_the_run(
    prior_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (prior_run / "outcomes.parquet").stat().st_mtime_ns
    assert rank("--evidence", "none", "--draws", 500, "--out", prior_run) == 0
    assert "ranks first" in capsys.readouterr().out
    assert (prior_run / "outcomes.parquet").stat().st_mtime_ns == before


def test_other_request_does_not_replace_a_run_unless_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ("--evidence", "none", "--out", tmp_path / "run")
    assert rank(*common, "--draws", 20) == 0
    assert rank(*common, "--draws", 21) == 2
    assert "--force to replace the run" in capsys.readouterr().err
    assert rank(*common, "--draws", 21, "--force") == 0
    assert len(pd.read_parquet(tmp_path / "run" / "outcomes.parquet")) == 21


def test_foreign_directory_is_never_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    arguments = ("--evidence", "none", "--draws", 20, "--out", tmp_path, "--force")
    assert rank(*arguments) == 2
    assert "is not a run of this program" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("options", [("--chunk", 7), ("--jobs", 2), ("--chunk", 64, "--jobs", 2)])
def test_bytes_do_not_depend_on_chunks_and_cores(
    prior_run: Path, tmp_path: Path, options: tuple[object, ...]
) -> None:
    again = tmp_path / "again"
    assert rank("--evidence", "none", "--draws", 500, "--out", again, *options) == 0
    for name in ("ranking.csv", "outcomes.parquet", "memo.md", "figures/sea_intervals.png"):
        assert (again / name).read_bytes() == (prior_run / name).read_bytes()


def test_other_seed_gives_other_draws(prior_run: Path, tmp_path: Path) -> None:
    assert rank("--evidence", "none", "--draws", 500, "--seed", 2, "--out", tmp_path / "r") == 0
    first, second = (
        pd.read_parquet(directory / "outcomes.parquet") for directory in (prior_run, tmp_path / "r")
    )
    column = "kernel.kernel_efficiency"
    assert not np.intersect1d(first[column], second[column]).size


@needs_tables
def test_published_study_through_parameter_draws(tmp_path: Path) -> None:
    """Claim 6 as a user would check it: the 400 published draws in, the published shares out."""
    out = tmp_path / "run"
    status = rank(
        "--parameter-draws", TABLES / "e7_uncertainty.csv", "--at-scale", 16_384,
        "--solver", "published", "--out", out,
    )  # fmt: skip
    assert status == 0
    shares = {row["option"]: float(row["p_first_in_scope"]) for row in rows_of(out)}
    assert {name: round(100 * share, 1) for name, share in shares.items() if share} == {
        "fast_checkpoint": 45.8,
        "reliability_2x": 29.1,
        "straggler_control": 15.8,
        "fast_restart": 8.7,
        "bandwidth_4x": 0.6,
    }
    table = pd.read_parquet(out / "outcomes.parquet")
    with (TABLES / "e7_uncertainty.csv").open(newline="") as file:
        published = pd.DataFrame(list(csv.DictReader(file)))
    assert table["in_scope"].sum() == 323
    assert np.allclose(
        table["sea_reliability_2x"],
        published["sea_reliability_2x"].astype(float),
        rtol=1e-9,
        atol=1e-9,
    )
    assert np.array_equal(
        table["kernel.kernel_efficiency"], published["kernel.kernel_efficiency"].astype(float)
    )
    notes = " ".join(json.loads((out / "summary.json").read_text())["notes"])
    assert "winner_sea" in notes
    assert "parallelism.overlap_pp" in notes


def test_any_real_field_may_come_from_a_file(tmp_path: Path, draws_file: Path) -> None:
    table = pd.read_csv(draws_file)
    table["reliability.repair_time_s"] = np.linspace(600, 7200, len(table))
    table["reliability.spare_fraction"] = np.linspace(0.0, 0.06, len(table))
    table.to_parquet(tmp_path / "draws.parquet")
    assert rank("--parameter-draws", tmp_path / "draws.parquet", "--out", tmp_path / "run") == 0
    outcomes = pd.read_parquet(tmp_path / "run" / "outcomes.parquet")
    assert np.array_equal(outcomes["reliability.repair_time_s"], table["reliability.repair_time_s"])


def test_all_regimes_answer_side_by_side(
    tmp_path: Path, draws_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert rank("--parameter-draws", draws_file, "--regime", "all", "--out", out) == 0
    rows = rows_of(out)
    assert next(iter(rows[0])) == "regime"
    assert len(rows) == 5 * 11
    printed = capsys.readouterr().out
    assert all(regime in printed for regime in {row["regime"] for row in rows})
    assert len(pd.read_parquet(out / "outcomes.parquet")) == 5 * 50


def test_bundle_only_set_and_scale_are_honoured(tmp_path: Path, draws_file: Path) -> None:
    out = tmp_path / "run"
    status = rank(
        "--parameter-draws", draws_file, "--only", "fast_restart,flat_fabric",
        "--bundle", "both=fast_restart+fast_detection", "--set", "reliability.repair_time_s=60",
        "--at-scale", 8192, "--out", out,
    )  # fmt: skip
    assert status == 0
    assert {row["option"] for row in rows_of(out)} == {
        "do_nothing", "fast_restart", "flat_fabric", "both",
    }  # fmt: skip
    baseline = json.loads((out / "summary.json").read_text())["answers"][0]["baseline"]
    assert baseline["accelerators"] == 8192


def test_json_is_printed_whole(
    tmp_path: Path, draws_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    arguments = ("--parameter-draws", draws_file, "--at-scale", 131_072, "--out", out)
    assert rank(*arguments, "--format", "json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((out / "summary.json").read_text())
    statuses = {option["sea"]["p50"]["status"] for option in printed["answers"][0]["options"]}
    assert "unattainable" in statuses


COSTS = """
interventions:
  bandwidth_2x: 120
  fast_restart: {uniform: {low: 50, high: 150}}
  reliability_2x: 800
shared:
  telemetry: {cost: 50, needed_by: [fast_restart]}
"""
THREE = "bandwidth_2x,fast_restart,reliability_2x"
UNCERTAIN = """
interventions:
  - name: faster
    multipliers: {accelerator.nic_bw_gbps: {triangular: {low: 1.6, mode: 2.0, high: 2.0}}}
    probability_of_delivery: 0.7
    effective_from_day: {uniform: {low: 100, high: 400}}
  - name: sure
    overrides: {reliability.restart_time_s: 60}
"""


def costs_file(tmp_path: Path, text: str = COSTS) -> Path:
    path = tmp_path / "costs.yaml"
    path.write_text(text)
    return path


def test_costs_end_in_a_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    arguments = ("--evidence", "none", "--draws", 200, "--only", THREE, "--out", out)
    assert rank(*arguments, "--costs", costs_file(tmp_path), "--budget", 1000) == 0
    printed = capsys.readouterr().out
    assert "Decision: Fund " in printed
    rows = {row["option"]: row for row in rows_of(out)}
    added = ["cost", "p_pays", "p_pays_mcse", "break_even_50", "break_even_80", "break_even_95"]
    added += ["net_value", "net_value_mcse", "p_best", "p_best_mcse"]
    added += ["expected_loss", "expected_loss_mcse"]
    assert list(rows["do_nothing"]) == [*RANKING_COLUMNS, *added]
    assert float(rows["fast_restart"]["cost"]) == pytest.approx(150.0)
    assert rows["do_nothing"]["p_pays"] == ""
    table = pd.read_parquet(out / "outcomes.parquet")
    drawn = table["cost.fast_restart"] + 50.0
    assert float(rows["fast_restart"]["p_pays"]) == pytest.approx(
        (drawn < table["sea_fast_restart"]).mean()
    )
    utility = {name: table[f"utility_{name}"] for name in rows}
    best = pd.DataFrame(utility).max(axis=1)
    for name, row in rows.items():
        net = utility[name] - utility["do_nothing"]
        assert float(row["net_value"]) == pytest.approx(net.mean(), abs=1e-9)
        assert float(row["expected_loss"]) == pytest.approx((best - utility[name]).mean())
    economics = json.loads((out / "summary.json").read_text())["answers"][0]["economics"]
    assert economics["decision"]["option"] == max(rows, key=lambda name: utility[name].mean())
    assert (out / "inputs" / "costs.yaml").read_text() == COSTS
    assert "Pays at its cost" in (out / "memo.md").read_text()
    assert (out / "figures" / "acceptability.png").is_file()
    options = json.loads((out / "provenance.json").read_text())["options"]
    assert options["budget"] == 1000.0


def test_other_costs_or_budget_are_another_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--evidence", "none", "--draws", 20, "--only", THREE, "--out", tmp_path / "run")
    costs = ("--costs", costs_file(tmp_path))
    assert rank(*arguments, *costs) == 0
    assert rank(*arguments, *costs) == 0
    assert rank(*arguments, *costs, "--budget", 900) == 2
    assert rank(*arguments, *costs, "--risk-tolerance", 900) == 2
    assert rank(*arguments) == 2
    costs_file(tmp_path, COSTS.replace("120", "121"))
    assert rank(*arguments, *costs) == 2
    assert "other inputs" in capsys.readouterr().err


def test_run_without_costs_has_nothing_of_them(prior_run: Path) -> None:
    summary = json.loads((prior_run / "summary.json").read_text())
    assert "economics" not in summary["answers"][0]
    columns = pd.read_parquet(prior_run / "outcomes.parquet").columns
    assert not [name for name in columns if name.startswith(("cost.", "utility_"))]
    assert "costs" not in json.loads((prior_run / "provenance.json").read_text())["options"]


def test_bytes_with_costs_do_not_depend_on_chunks_and_cores(tmp_path: Path) -> None:
    common = ("--evidence", "none", "--draws", 150, "--only", THREE)
    costs = ("--costs", costs_file(tmp_path))
    for name, options in (("a", ()), ("b", ("--chunk", 7, "--jobs", 2))):
        assert rank(*common, *costs, *options, "--out", tmp_path / name) == 0
    for name in ("ranking.csv", "outcomes.parquet", "memo.md", "figures/acceptability.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_study_that_is_worth_its_cost_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    studies = tmp_path / "studies.yaml"
    text = """
studies:
  - name: timed_restarts
    measures: durations
    quantity: restart
    sizes: [10]
    cost: {unit: accelerators, fixed: %s, per_unit: 0}
"""
    common = ("--evidence", "none", "--draws", 400, "--only", THREE)
    common += ("--costs", costs_file(tmp_path), "--studies", studies)
    studies.write_text(text % 1)
    assert rank(*common, "--out", tmp_path / "cheap") == 0
    assert "Decision: Measure first: timed_restarts, 10 " in " ".join(
        capsys.readouterr().out.split()
    )
    studies.write_text(text % 5000)
    assert rank(*common, "--out", tmp_path / "dear") == 0
    assert "Decision: Fund" in capsys.readouterr().out


def test_uncertain_interventions_are_parameters_like_any_other(tmp_path: Path) -> None:
    options = tmp_path / "options.yaml"
    options.write_text(UNCERTAIN)
    out = tmp_path / "run"
    arguments = ("--evidence", "none", "--draws", 300, "--interventions", options)
    assert rank(*arguments, "--bundle", "both=faster+sure", "--out", out) == 0
    table = pd.read_parquet(out / "outcomes.parquet")
    names = ["accelerator.nic_bw_gbps", "effective_from_day", "delivered"]
    columns = [f"intervention.faster.{name}" for name in names]
    assert set(columns) <= set(table.columns)
    delivered = table["intervention.faster.delivered"] == 1
    assert 0.6 < delivered.mean() < 0.8
    assert (table.loc[~delivered, "gain_faster"] == 0).all()
    assert (table.loc[delivered, "gain_faster"] > 0).all()
    # Where it is not delivered the bundle is what is left of it.
    assert np.allclose(table.loc[~delivered, "gain_both"], table.loc[~delivered, "gain_sure"])
    listed = json.loads((out / "summary.json").read_text())["parameters"]
    rows = {row["path"]: row for row in listed}
    assert rows[columns[0]]["meaning"] == "faster: factor on accelerator.nic_bw_gbps"
    assert rows[columns[1]]["unit"] == "days"
    assert "interventions.yaml" in {path.name for path in (out / "inputs").iterdir()}


def test_uncertain_interventions_go_with_draws_of_a_file(tmp_path: Path, draws_file: Path) -> None:
    options = tmp_path / "options.yaml"
    options.write_text(UNCERTAIN)
    arguments = ("--parameter-draws", draws_file, "--interventions", options)
    assert rank(*arguments, "--out", tmp_path / "run") == 0
    table = pd.read_parquet(tmp_path / "run" / "outcomes.parquet")
    assert len(table) == 50
    assert table["intervention.faster.delivered"].isin([0.0, 1.0]).all()


def test_late_and_undelivered_interventions_are_pointed_out(tmp_path: Path) -> None:
    options = tmp_path / "options.yaml"
    options.write_text(
        "interventions:\n"
        "  - {name: late, multipliers: {accelerator.nic_bw_gbps: 2}, effective_from_day: 1095}\n"
        "  - {name: never, multipliers: {accelerator.nic_bw_gbps: 2}, probability_of_delivery: 0}\n"
    )
    out = tmp_path / "run"
    arguments = ("--evidence", "none", "--draws", 20, "--interventions", options, "--out", out)
    assert rank(*arguments) == 0
    warnings = " ".join(json.loads((out / "summary.json").read_text())["warnings"])
    assert "late takes effect on day 1095, after the decision horizon of 1095 days" in warnings
    assert "never is never delivered" in warnings
    assert {row["gain_mean"] for row in rows_of(out)} == {"0.0"}


def bad(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


NINE = ",".join(RANGES)
ROW = "0.57,0.85,0.85,0.1,5e-3,120,300,20,0.02"


@pytest.mark.parametrize(
    ("arguments", "files", "words"),
    [
        (("--scenario", "nowhere.yaml"), {}, "there is no such scenario"),
        (("--scenario", "{}/empty.yaml"), {"empty.yaml": ""}, "the file is empty"),
        (("--scenario", "{}"), {}, "this is a directory"),
        (("--scenario", "{}/b.yaml"), {"b.yaml": b"\x00\xff\xfe"}, "not a UTF-8 text"),
        (("--set", "parallelism.tpp=8"), {}, "did you mean 'parallelism.tp'"),
        (("--set", "kernel.kernel_efficiency=1.5"), {}, "allowed is a finite number in (0, 1]"),
        (("--set", "parallelism.tp=7"), {}, "does not divide model.n_heads"),
        (("--set", "parallelism.dp=0"), {}, "allowed is an integer in [1,"),
        (("--set", "n_pool=100"), {}, "set n_pool to at least"),
        (("--at-scale", "64"), {}, "holds no replica"),
        (("--at-scale", "100000000"), {}, "fewer than one microbatch"),
        (("--only", "bandwith_2x"), {}, "did you mean 'bandwidth_2x'"),
        (("--bundle", "x=fast_restart+nothing"), {}, "there is no such intervention"),
        (("--bundle", "x=fast_restart+fast_restart2"), {}, "there is no such intervention"),
        (("--regime", "typcal"), {}, "did you mean 'typical'"),
        (("--interventions", "{}/i.yaml"), {"i.yaml": "interventions: []"}, "the list is empty"),
        (("--priors", "{}/p.yaml"), {"p.yaml": "[]"}, "a mapping"),
        (("--costs", "{}/c.yaml"), {"c.yaml": ""}, "the file is empty"),
        (("--costs", "nowhere.yaml"), {}, "there is no such file of costs"),
        (
            ("--costs", "{}/c.yaml"),
            {"c.yaml": "interventions: {fast_restart: 9}\n"},
            "c.yaml: interventions.bandwidth_2x: this cost is missing",
        ),
        (
            ("--costs", "{}/c.yaml", "--only", "fast_restart"),
            {"c.yaml": "interventions: {fast_restart: -9}\n"},
            "got -9, allowed is a finite number of at least 0",
        ),
        (
            (
                "--costs",
                "{}/c.yaml",
                "--bundle",
                "b=fast_restart+flat_fabric",
                "--only",
                "fast_restart",
            ),
            {"c.yaml": "interventions: {fast_restart: 9}\n"},
            "interventions.flat_fabric: this cost is missing",
        ),
        (("--budget", "5"), {}, "--budget: without costs there is nothing to spend it on"),
        (("--risk-tolerance", "5"), {}, "--risk-tolerance: without costs there is no decision"),
        (("--studies", "common"), {}, "--studies: without costs there is no decision"),
        (
            ("--interventions", "{}/i.yaml"),
            {"i.yaml": "interventions: [{name: a, probability_of_delivery: 2}]"},
            "probability_of_delivery: got 2.0, allowed is a finite number in [0, 1]",
        ),
        (
            ("--interventions", "{}/i.yaml", "--bundle", "c=a+b"),
            {
                "i.yaml": "interventions: [{name: a, overrides: {topology.pod_size: 8}},"
                " {name: b, overrides: {topology.pod_size: 16}}]"
            },
            "two parts of the bundle set this field to different targets",
        ),
        (("--evidence", "{}/e.yaml"), {"e.yaml": ""}, "the file is empty"),
        (("--parameter-draws", "{}/d.csv"), {"d.csv": ""}, "d.csv"),
        (("--parameter-draws", "{}/d.csv"), {"d.csv": f"{NINE}\n{ROW}\n"}, "at least 2 are needed"),
        (
            ("--parameter-draws", "{}/d.csv"),
            {"d.csv": f"{NINE}\n{ROW}\n{ROW.replace('0.57', 'nan')}\n"},
            "kernel.kernel_efficiency",
        ),
        (
            ("--parameter-draws", "{}/d.csv"),
            {"d.csv": f"{NINE}\n{ROW}\n{ROW.replace('0.57', 'high')}\n"},
            "kernel.kernel_efficiency",
        ),
        (
            ("--parameter-draws", "{}/d.csv"),
            {"d.csv": f"{NINE}\n{ROW}\n{ROW.replace('0.57', '1.57')}\n"},
            "kernel.kernel_efficiency",
        ),
        (
            ("--parameter-draws", "{}/d.csv"),
            {"d.csv": f"{NINE[NINE.index(',') + 1 :]}\n{ROW[5:]}\n{ROW[5:]}\n"},
            "kernel.kernel_efficiency",
        ),
        (("--parameter-draws", "{}/d.csv"), {"d.csv": b"\x00\x01\x02\xff"}, "d.csv"),
        (("--parameter-draws", "{}"), {}, "directory"),
    ],
)
def test_bad_input_is_one_clear_block(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    files: dict[str, str | bytes],
    words: str,
) -> None:
    for name, content in files.items():
        bad(tmp_path, name, content)
    given = [argument.replace("{}", str(tmp_path)) for argument in arguments]
    source = () if "--evidence" in given or "--parameter-draws" in given else ("--evidence", "none")
    out = tmp_path / "run"
    assert rank(*given, *source, "--out", out) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert words in printed.err
    assert "Traceback" not in printed.err
    assert not out.exists()


@pytest.mark.parametrize(
    "option",
    [
        ("--draws", "0"),
        ("--draws", "many"),
        ("--seed", "-1"),
        ("--set", "x"),
        ("--bundle", "x"),
        ("--solver", "best"),
        ("--budget", "-1"),
        ("--budget", "nan"),
        ("--risk-tolerance", "0"),
        ("--risk-tolerance", "inf"),
    ],
)
def test_bad_option_exits_2(option: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        rank(*option)
    assert stopped.value.code == 2
    assert option[0] in capsys.readouterr().err


def test_two_bad_files_are_reported_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad(tmp_path, "i.yaml", "interventions: []")
    status = rank("--scenario", "nowhere", "--interventions", tmp_path / "i.yaml")
    assert status == 2
    printed = capsys.readouterr().err
    assert "there is no such scenario" in printed
    assert "the list is empty" in printed


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place nobody may write to")
def test_unwritable_directory_is_named_before_anything_is_computed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*_: object, **__: object) -> NoReturn:
        pytest.fail("something was computed")

    monkeypatch.setattr("priors.conditioning.condition", computed)
    monkeypatch.setattr("priors.draws.prior_draws", computed)
    assert rank("--out", "/proc/fundworthy/run") == 2
    assert "cannot be written" in capsys.readouterr().err


def test_place_below_a_file_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    out = tmp_path / "file" / "run"
    assert rank("--evidence", "none", "--draws", 20, "--out", out) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "run"
    child = subprocess.Popen(
        [sys.executable, "-m", "decision.rank", "--evidence", "none", "--draws", "3000000",
         "--out", str(out)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert child.stderr is not None
    assert "ranking" in child.stderr.readline()
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    printed, error = child.communicate(timeout=60)
    assert child.returncode == 130
    assert printed == ""
    assert "Traceback" not in error
    assert "interrupted" in error
    assert not out.exists()
    assert not (out.parent.exists() and list(out.parent.iterdir()))


def test_unconverged_posterior_is_marked_and_exits_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sampler is stood in for: what is tested is what the command makes of its diagnostics."""
    from priors import conditioning
    from priors.conditioned import Posterior
    from priors.diagnostics import Diagnostics
    from priors.draws import prior_draws

    class Saved(Posterior):
        def write_netcdf(self, path: Path) -> None:
            path.write_bytes(b"stand-in")

    def condition(catalogue: object, *_: object, draws: int, seed: int, **__: object) -> Saved:
        return Saved(
            draws=prior_draws(catalogue, draws, seed),
            diagnostics=Diagnostics(
                rows=(), divergences=7, chains=4, chain_draws=100, reasons=("7 divergences",)
            ),
            summary=(),
            digest="",
            notes=(),
            netcdf=None,
            build=None,
        )

    monkeypatch.setattr(conditioning, "condition", condition)
    out = tmp_path / "run"
    assert rank("--draws", 40, "--out", out) == 3
    assert "did not converge: 7 divergences" in capsys.readouterr().err
    memo = (out / "memo.md").read_text(encoding="utf-8")
    assert "NOT CONVERGED" in memo.split("**Ask.**")[0]
    assert rank("--draws", 40, "--out", out, "--accept-unconverged") == 0


def test_help_needs_no_heavy_import() -> None:
    code = (
        "import sys\nfrom decision.rank import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'pandas', 'pymc', 'matplotlib', 'arviz'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
