import json
import re
from pathlib import Path

import pandas as pd
import pytest

from model.forms import PUBLISHED, REFINED, read_forms
from priors.evidence import read_evidence
from reports.validation_figures import write_validation_figures
from reports.validation_page import page, terminal
from reports.validation_words import calibration, verdict
from studies.systems.cases import judge
from studies.systems.refinements import STEP_REFINEMENTS
from studies.systems.rows import shipped_rows
from studies.validation import forms_to_judge, main
from tests.studies.validation.tables import FLEET, ROW, write

DOCS = Path(__file__).resolve().parents[3] / "docs"
SUMMARY = json.loads((DOCS / "validation" / "summary.json").read_text(encoding="utf-8"))


def test_page_in_the_docs_is_what_the_command_writes():
    assert (DOCS / "validation.md").read_text(encoding="utf-8") == page(SUMMARY)


def test_page_shows_every_row_and_every_exclusion():
    text = page(SUMMARY)
    cases, excluded = judge(shipped_rows())
    for name in [*(case.row.name for case in cases), *(item.row.name for item in excluded)]:
        assert name in text
    for figure in re.findall(r"\]\((validation/\w+\.png)\)", text):
        assert (DOCS / figure).is_file()


def test_page_says_what_the_numbers_say():
    """The headline figures of the page, taken from the table of rows it was made from."""
    refined = [row["forms"]["refined"]["error"] for row in SUMMARY["rows"]]
    median = pd.Series(refined).abs().median()
    found = SUMMARY["forms"][1]["scores"]
    assert found["median_absolute_error"]["value"] == pytest.approx(median, abs=1e-3)
    inside = [
        row["forms"]["refined"]["lower_s"]
        <= row["measured_s"]
        <= row["forms"]["refined"]["upper_s"]
        for row in SUMMARY["rows"]
    ]
    assert found["coverage"]["80"]["value"] == pytest.approx(sum(inside) / len(inside), abs=1e-3)


def test_shipped_forms_are_those_that_were_judged():
    forms = read_forms()
    assert SUMMARY["forms"][0]["name"] == PUBLISHED
    assert SUMMARY["forms"][1]["refinements"] == list(forms[REFINED].refinements)
    weight = min(SUMMARY["stacking_weight"], SUMMARY["next_system"])
    assert forms[REFINED].weight == pytest.approx(weight, abs=0.005)


def test_refined_form_improves_by_more_than_twice_the_error():
    """Acceptance: log predictive density and interval score; coverage within its error."""
    gain, scores = SUMMARY["gain"], SUMMARY["forms"][1]["scores"]
    assert gain["log_density"]["value"] > 2 * gain["log_density"]["error"]
    assert gain["interval_score"]["value"] < -2 * gain["interval_score"]["error"]
    for level, found in scores["coverage"].items():
        nominal = int(level) / 100
        # Where all systems agree their bootstrap has no spread: rows alone have this much.
        binomial = (nominal * (1 - nominal) / scores["rows"]) ** 0.5
        assert abs(found["value"] - nominal) <= 2 * max(found["error"], binomial)


def test_verdict_follows_the_errors():
    def said(density, score):
        gain = {
            "log_density": dict(zip(("value", "error"), density, strict=True)),
            "interval_score": dict(zip(("value", "error"), score, strict=True)),
        }
        return verdict({"gain": gain})

    assert "more than twice the error" in said((0.3, 0.1), (-0.3, 0.1))
    assert "not by twice" in said((0.15, 0.1), (-0.15, 0.1))
    assert "worse" in said((-0.3, 0.1), (0.3, 0.1))
    assert "cannot be told apart" in said((0.05, 0.1), (-0.3, 0.1))
    assert "no error" in said((0.05, None), (-0.3, None))


@pytest.mark.parametrize(
    ("share", "error", "said"),
    [(0.85, 0.05, "as often as they say"), (0.98, 0.05, "the 80% intervals in 98 ± 5%")],
)
def test_calibration_is_judged_by_twice_the_error(share, error, said):
    stated = {level: {"value": int(level) / 100, "error": 0.0} for level in ("50", "90", "95")}
    scores = {"rows": 34, "coverage": {**stated, "80": {"value": share, "error": error}}}
    assert said in calibration(scores)


def test_calibration_allows_for_rows_where_systems_agree():
    """All of 34 rows inside a 95% interval happens once in six times; of 400 it does not."""
    stated = {level: {"value": int(level) / 100, "error": 0.0} for level in ("50", "80", "90")}
    coverage = {**stated, "95": {"value": 1.0, "error": 0.0}}
    assert "as often" in calibration({"rows": 34, "coverage": coverage})
    assert "the 95% intervals" in calibration({"rows": 400, "coverage": coverage})


def test_figures_are_drawn_of_the_summary(tmp_path):
    write_validation_figures(SUMMARY, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "predicted.png",
        "coverage.png",
        "series.png",
    }


def test_terminal_summary_fits_a_terminal():
    assert max(map(len, terminal(SUMMARY).splitlines())) <= 110


def test_every_refinement_of_the_step_is_weighed_alone_and_last():
    forms = forms_to_judge(refinements=True)
    for name in STEP_REFINEMENTS:
        assert forms[f"alone {name}"] == (name,)
        assert (f"without {name}" in forms) != (f"with {name}" in forms)
    weighed = {entry["name"]: entry for entry in SUMMARY["refinements"]}
    for name in STEP_REFINEMENTS:
        assert weighed[name]["alone"]
        assert weighed[name]["last"]


def test_evidence_of_systems_is_the_rows_that_were_judged():
    cases, _ = judge(shipped_rows())
    seconds = {case.row.name: case.seconds for case in cases}
    scenarios = {case.row.name: case.scenario for case in cases}
    observations = read_evidence(["systems"]).observations
    assert len(observations) == 21
    for item in observations:
        [name] = [name for name in seconds if f"; {name}, " in item.source]
        scenario = item.setting.scenario
        tokens = scenario.parallelism.global_batch_seqs * scenario.model.seq_len
        assert tokens / item.value == pytest.approx(seconds[name], rel=1e-5)
        for section in ("model", "parallelism"):
            for field in ("hidden", "n_params", "n_heads", "tp", "pp", "dp", "micro_batch"):
                if hasattr(getattr(scenario, section), field):
                    path = f"{section}.{field}"
                    assert scenario.value(path) == scenarios[name].value(path), (name, path)


def test_columns_are_printed(capsys):
    assert main(["--columns"]) == 0
    assert "seconds_per_step" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--throughput", "--reliability"])
def test_file_that_is_not_there_ends_with_2(option, tmp_path, capsys):
    assert main([option, str(tmp_path / "none.csv"), "--quiet"]) == 2
    assert "none.csv" in capsys.readouterr().err


@pytest.mark.slow
def test_command_predicts_further_rows_and_names_what_it_leaves_out(tmp_path, capsys):
    rows = write(tmp_path / "more.csv", [ROW, {**ROW, "system": "Broken 1B", "hidden": "wide"}])
    fleets = write(tmp_path / "fleets.csv", [FLEET, {**FLEET, "fleet_id": "x", "days": ""}])
    out = tmp_path / "out"
    arguments = ["--throughput", str(rows), "--reliability", str(fleets), "--out", str(out)]
    assert main([*arguments, "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "Broken 1B (step time): hidden is 'wide'" in text
    assert "without its exposure" in text
    content = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert content["forms"][1]["further"]["rows"] == 1
    assert page(content) == (out / "validation.md").read_text(encoding="utf-8")
    table = pd.read_csv(out / "predictions.csv")
    assert len(table) == 2 * 35
    parquet = pd.read_parquet(out / "predictions.parquet")
    assert list(parquet.columns) == list(table.columns)
    provenance = json.loads((out / "provenance.json").read_text(encoding="utf-8"))
    assert set(provenance["inputs"]) == {"more.csv", "fleets.csv"}


@pytest.mark.slow
def test_command_finds_what_the_page_states(tmp_path):
    """The two forms anew: numbers of the docs to the digits that other libraries may move."""
    out = tmp_path / "out"
    assert main(["--out", str(out), "--quiet", "--no-figures"]) == 0
    content = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    for row, stated in zip(content["rows"], SUMMARY["rows"], strict=True):
        assert row["system"] == stated["system"]
        for form in ("published", "refined"):
            found, printed = (one["forms"][form]["predicted_s"] for one in (row, stated))
            assert found == pytest.approx(printed, rel=5e-3)
    for name in ("log_density", "interval_score"):
        found, printed = (one["gain"][name]["value"] for one in (content, SUMMARY))
        assert found == pytest.approx(printed, abs=0.01)
