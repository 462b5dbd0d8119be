import csv
import functools
import hashlib
import json

import numpy as np
import pytest
from scipy import stats

from decision import rank
from priors.catalogue import read_catalogue
from priors.draws import prior_draws
from studies import sensitivity
from studies.drivers import regimes
from studies.drivers.summary import COLUMNS

ONLY = "reliability_2x,fast_checkpoint,fast_restart"
SMALL = ["--only", ONLY, "--draws", "600", "--quiet"]
PRIORS = [*SMALL, "--evidence", "none"]
FIGURES = {
    "drivers_bars.png",
    "drivers_heatmap.png",
    "drivers_interactions.png",
    "drivers_switching.png",
    "drivers_tree.png",
}


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def digests(directory):
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.rglob("*")
        if path.is_file()
    }


def write_draws(path, columns):
    names = list(columns)
    lines = [",".join(names)]
    lines += [",".join(map(repr, map(float, row))) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def correlated_draws(path, count=500):
    columns = dict(prior_draws(read_catalogue(), count, 1).columns)
    detect = columns["reliability.detect_time_s"]
    noise = columns["reliability.restart_time_s"]
    columns["reliability.restart_time_s"] = 60 + 1.5 * (detect - 30) + 0.3 * (noise - 60)
    return write_draws(path, columns)


@pytest.fixture(scope="module", autouse=True)
def one_state_of_the_code():
    """Digests as of one moment: a file edited while the tests run is no other study."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("decision.inputs.code_digest", lambda: "code")
        yield


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("study") / "drivers"
    assert sensitivity.main([*PRIORS, "--samples", "64", "--out", str(directory)]) == 0
    return directory


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run") / "run"
    assert rank.main([*PRIORS, "--out", str(directory)]) == 0
    return directory


def test_study_directory_is_whole(study):
    assert {path.name for path in study.iterdir()} == {
        "drivers.csv",
        "drivers.json",
        "figures",
        "provenance.json",
    }
    assert {path.name for path in (study / "figures").iterdir()} == FIGURES
    provenance = json.loads((study / "provenance.json").read_text())
    assert provenance["study"] == "sensitivity"
    assert provenance["versions"]["SALib"].startswith("1.")


def test_drivers_table_has_every_target_and_factor(study):
    rows = rows_of(study / "drivers.csv")
    assert tuple(rows[0]) == COLUMNS
    targets = {row["target"] for row in rows}
    assert {
        "winner",
        "in_scope",
        "winner_in_scope",
        "gain:fast_restart",
        "first:do_nothing",
    } <= targets
    assert sum(target.startswith("margin:") for target in targets) == 2
    parameters = {row["parameter"] for row in rows}
    assert {"compute", "network", "recovery", "reliability.detect_time_s"} <= parameters
    winner = [row for row in rows if row["target"] == "winner"]
    assert all(row["method"] == "sobol" and row["shapley"] == "" for row in winner)
    assert all(float(row["total_se"]) >= 0 for row in winner)
    # Doing nothing never ranks first: no index, rather than zero.
    assert {row["total"] for row in rows if row["target"] == "first:do_nothing"} == {""}


def test_parameters_without_effect_on_the_options_have_exactly_none(study):
    rows = rows_of(study / "drivers.csv")
    [row] = [
        row
        for row in rows
        if row["target"] == "winner" and row["parameter"] == "parallelism.overlap_cp"
    ]
    assert float(row["total"]) == 0.0


def test_study_is_found_again_without_computing(study, capsys, monkeypatch):
    def stop(*args, **options):
        raise AssertionError

    monkeypatch.setattr(regimes, "study_all", stop)
    before = digests(study)
    assert sensitivity.main([*PRIORS, "--samples", "64", "--out", str(study)]) == 0
    text = capsys.readouterr().out
    assert "What decides who ranks first" in text
    assert "Switching values" in text
    assert max(map(len, text.splitlines())) < 160
    assert digests(study) == before


def test_study_repeats_byte_for_byte(study, tmp_path):
    again = tmp_path / "again"
    assert sensitivity.main([*PRIORS, "--samples", "64", "--out", str(again)]) == 0
    assert digests(again) == digests(study)


def test_study_of_other_options_is_not_overwritten(study, capsys):
    before = digests(study)
    assert sensitivity.main([*PRIORS, "--samples", "128", "--out", str(study)]) == 2
    assert "--force" in capsys.readouterr().err
    assert digests(study) == before


def test_run_gains_drivers_and_nothing_else_changes(run):
    before = digests(run)
    own = ["--run", str(run), "--samples", "64", "--quiet"]
    assert sensitivity.main(own) == 0
    after = digests(run)
    assert {name: after[name] for name in before} == before
    added = set(after) - set(before)
    assert added == {"drivers.csv", "drivers.json", *(f"figures/{name}" for name in FIGURES)}
    assert not [path for path in run.iterdir() if path.name.startswith(".")]
    assert sensitivity.main([*own[:-2], "128", "--quiet"]) == 2
    assert sensitivity.main([*own[:-2], "128", "--quiet", "--force"]) == 0
    # The run is still the run of its inputs.
    assert rank.main([*PRIORS, "--out", str(run)]) == 0


def test_run_gives_the_numbers_of_its_inputs(run, study):
    assert sensitivity.main(["--run", str(run), "--samples", "64", "--quiet", "--force"]) == 0
    assert (run / "drivers.csv").read_text() == (study / "drivers.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", ONLY], "a finished run has its inputs"),
        (["--seed", "2"], "--seed"),
        (["--out", "x"], "--out"),
    ],
)
def test_run_refuses_options_of_inputs(run, capsys, arguments, words):
    assert sensitivity.main(["--run", str(run), "--quiet", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_run_that_is_none_is_refused(tmp_path, capsys):
    assert sensitivity.main(["--run", str(tmp_path), "--quiet"]) == 2
    assert "this is not a finished run" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_run_of_another_model_is_refused(run, tmp_path, capsys):
    import shutil

    import pandas as pd

    other = tmp_path / "run"
    shutil.copytree(run, other)
    table = pd.read_parquet(other / "outcomes.parquet")
    table["gain_fast_restart"] += 1.0
    table.to_parquet(other / "outcomes.parquet")
    assert sensitivity.main(["--run", str(other), "--quiet", "--force"]) == 2
    assert "no longer gives this run's results" in capsys.readouterr().err


def test_samples_that_are_no_power_of_two_name_the_nearest(capsys, tmp_path):
    out = tmp_path / "x"
    assert sensitivity.main([*PRIORS, "--samples", "1000", "--out", str(out)]) == 2
    assert "the nearest are 512 and 1,024" in capsys.readouterr().err
    assert not out.exists()


def test_sobol_on_correlated_draws_is_refused(capsys, tmp_path):
    file = correlated_draws(tmp_path / "draws.csv")
    base = ["--only", ONLY, "--quiet", "--parameter-draws", str(file)]
    assert sensitivity.main([*base, "--method", "sobol", "--samples", "64"]) == 2
    error = capsys.readouterr().err
    table = np.genfromtxt(file, delimiter=",", names=True, deletechars="")
    measured = stats.spearmanr(
        table["reliability.detect_time_s"], table["reliability.restart_time_s"]
    ).statistic
    named = "reliability.detect_time_s and reliability.restart_time_s"
    assert f"{named}: {measured:+.2f}" in error
    assert "--method shapley" in error


def test_shapley_on_draws_of_a_file(capsys, tmp_path):
    file = correlated_draws(tmp_path / "draws.csv")
    out = tmp_path / "study"
    groups = tmp_path / "groups.yaml"
    groups.write_text("outage: [reliability.detect_time_s, reliability.restart_time_s]\n")
    base = ["--only", ONLY, "--quiet", "--parameter-draws", str(file), "--samples", "100"]
    assert sensitivity.main([*base, "--groups", str(groups), "--out", str(out)]) == 0
    rows = rows_of(out / "drivers.csv")
    winner = [row for row in rows if row["target"] == "winner"]
    assert {row["method"] for row in winner} <= {"shapley", "shapley_neighbours"}
    grouped = {row["parameter"]: float(row["shapley"]) for row in winner[-2:]}
    assert set(grouped) == {"outage", "rest"}
    assert sum(grouped.values()) == pytest.approx(1.0, abs=1e-9)
    assert "Shapley" in capsys.readouterr().out


def test_groups_that_do_not_fit_are_named_together(capsys, tmp_path):
    groups = tmp_path / "groups.yaml"
    groups.write_text(
        "one: [reliability.detect_time]\ntwo: []\nthree: [kernel.kernel_efficiency]\n"
        "four: [kernel.kernel_efficiency]\n"
    )
    assert sensitivity.main([*PRIORS, "--groups", str(groups)]) == 2
    error = capsys.readouterr().err
    assert "did you mean 'reliability.detect_time_s'?" in error
    assert "a list of dotted paths is needed" in error
    assert "already in 'three'" in error


def test_nothing_uncertain_is_an_error(capsys, tmp_path):
    catalogue = read_catalogue()
    settings = [
        part
        for path, entry in catalogue.entries.items()
        for part in ("--set", f"{path}={entry.prior.median!r}")
    ]
    assert sensitivity.main([*PRIORS, *settings, "--out", str(tmp_path / "x")]) == 2
    assert "no parameter is uncertain" in capsys.readouterr().err


def test_known_parameters_are_named_and_no_driver(capsys, tmp_path):
    arguments = [*PRIORS, "--samples", "64", "--set", "reliability.detect_time_s=100"]
    out = tmp_path / "x"
    assert sensitivity.main([*arguments, "--out", str(out)]) == 0
    assert "Known, so drivers of nothing: reliability.detect_time_s (100)" in (
        capsys.readouterr().out
    )
    names = {row["parameter"] for row in rows_of(out / "drivers.csv")}
    assert "reliability.detect_time_s" not in names
    assert rank.main([*arguments[:-4], *arguments[-2:], "--out", str(tmp_path / "run")]) == 0
    assert sensitivity.main(["--run", str(tmp_path / "run"), "--samples", "64", "--quiet"]) == 0


def test_regimes_have_a_column_of_their_own(tmp_path):
    out = tmp_path / "x"
    arguments = [*PRIORS, "--regime", "all", "--samples", "64", "--out", str(out)]
    assert sensitivity.main(arguments) == 0
    rows = rows_of(out / "drivers.csv")
    regimes = list(dict.fromkeys(row["regime"] for row in rows))
    assert len(regimes) == 5
    # A regime that sets the failure rate leaves it nothing to decide.
    [row] = [
        row
        for row in rows
        if row["regime"] == "reliable_flat"
        and row["target"] == "winner"
        and row["parameter"] == "reliability.failure_rate_per_node_day"
    ]
    assert float(row["total"]) == 0.0


def test_json_holds_what_is_printed(study, capsys):
    arguments = [*PRIORS, "--samples", "64", "--out", str(study), "--format", "json"]
    assert sensitivity.main(arguments) == 0
    content = json.loads(capsys.readouterr().out)
    assert content == json.loads((study / "drivers.json").read_text())
    [answer] = content["answers"]
    values = [driver["value"] for driver in answer["winner"]]
    assert values == sorted(values, reverse=True)


def test_both_methods_agree_on_independent_parameters(tmp_path):
    out = tmp_path / "x"
    arguments = [*PRIORS, "--method", "both", "--samples", "512", "--out", str(out)]
    assert sensitivity.main(arguments) == 0
    rows = [row for row in rows_of(out / "drivers.csv") if row["target"] == "winner"]
    by_method = {
        method: {row["parameter"]: row for row in rows if row["method"] == method}
        for method in ("sobol", "shapley")
    }
    for parameter, row in by_method["sobol"].items():
        other = by_method["shapley"][parameter]
        error = np.hypot(float(row["total_se"]), float(other["total_se"]))
        assert abs(float(row["total"]) - float(other["total"])) <= 4 * error + 1e-9


@pytest.mark.slow
def test_interrupted_study_of_regimes_goes_on_over_processes(tmp_path, monkeypatch, capsys):
    arguments = ["--only", ONLY, "--draws", "200", "--evidence", "none", "--samples", "16"]
    arguments += ["--regime", "all", "--out"]
    here, there = tmp_path / "here", tmp_path / "there"
    assert sensitivity.main([*arguments, str(here)]) == 0
    whole, calls = regimes.study_regime, []

    @functools.wraps(whole)
    def interrupted(**given):
        calls.append(given["regime"])
        if len(calls) > 2:
            raise KeyboardInterrupt
        return whole(**given)

    with monkeypatch.context() as patched:
        patched.setattr(regimes, "study_regime", interrupted)
        assert sensitivity.main([*arguments, str(there)]) == 130
    assert "2 of 5 tasks are finished and kept" in capsys.readouterr().err
    assert sensitivity.main([*arguments, str(there), "--jobs", "2"]) == 0
    assert "going on with 2 of 5 tasks" in capsys.readouterr().err
    assert digests(here) == digests(there)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "there"]
