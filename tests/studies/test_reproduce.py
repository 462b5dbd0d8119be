"""The whole command, run once: every claim, every table row by row, every figure."""

import io
import json
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text
from scipy import stats

import studies.published_claims
import studies.reproduce
from reports.canvas import DPI, STYLE, WIDTH_IN, house_style
from reports.study_figures import FIGURES
from studies.experiments.catalogue import TABLES
from studies.reproduce import main
from tests.reference import TABLES as SHARED
from tests.reference import needs_tables
from tests.studies.published import differing, published

OPTIONS = (
    "bandwidth_2x",
    "bandwidth_4x",
    "flat_fabric",
    "scaleup_2x",
    "reliability_2x",
    "fast_detection",
    "fast_restart",
    "fast_checkpoint",
    "add_spares",
    "straggler_control",
)
SUBSTITUTION = (
    "intervention,baseline_pool,baseline_productive_accelerators,treated_productive_accelerators,"
    "delta_productive_accelerators,sea,sea_fraction_of_pool,attainable_by_scaling,"
    "best_throughput_by_scaling,naive_equivalent,baseline_ucf,treated_ucf"
)
COLUMNS = {
    "e3_decision_map": "failure_rate_per_node_day,oversubscription,n_accelerators,winner,"
    "winner_sea,recovery_pressure,within_validity_envelope,"
    + ",".join(f"sea_{name}" for name in OPTIONS),
    "e4_counterexamples": f"{SUBSTITUTION},case,n_accelerators,baseline_blocked_comm_share,"
    "baseline_failure_share,recovery_pressure,within_validity_envelope",
    "e5_naive_bias": "intervention,n_accelerators,failure_rate_per_node_day,sea,naive,"
    "ratio_naive_over_sea,baseline_ucf,ettr_times_step_efficiency,recovery_pressure,"
    "within_validity_envelope",
    "e6_attribution": "regime,n_accelerators,bundle,bundle_sea,sum_of_individual_sea,"
    "additivity_error,capped,recovery_pressure,within_validity_envelope,shapley_bandwidth_2x,"
    "shapley_flat_fabric,shapley_fast_detection,shapley_fast_restart,shapley_fast_checkpoint,"
    "shapley_reliability_2x",
    "e8_cross_fidelity": "n_accelerators,failure_rate_per_node_day,ucf_analytical,"
    "ucf_monte_carlo,rel_error_ucf,discarded_analytical,discarded_monte_carlo,"
    "failures_analytical,failures_monte_carlo,recovery_pressure,within_validity_envelope",
    "e9_scaling_curves": "oversubscription,failure_rate_per_node_day,n_pool,"
    "productive_accelerators,productive_per_pool",
}
ROWS = {
    "e3_decision_map": 144,
    "e4_counterexamples": 100,
    "e5_naive_bias": 150,
    "e6_attribution": 30,
    "e8_cross_fidelity": 16,
    "e9_scaling_curves": 516,
}


@dataclass(frozen=True, kw_only=True)
class Run:
    """The finished command."""

    status: int
    text: str
    directory: Path
    processor_s: float

    def table(self, path: str) -> pd.DataFrame:
        return pd.read_csv(self.directory / path)


def run(*arguments: str) -> tuple[int, str, str]:
    """Status, output and messages of the command."""
    output, messages = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(messages):
        status = main(["--quiet", *arguments])
    return status, output.getvalue(), messages.getvalue()


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    directory = tmp_path_factory.mktemp("reproduce") / "run"
    started = time.process_time()
    status, text, _ = run("--out", str(directory))
    return Run(
        status=status,
        text=text,
        directory=directory,
        processor_s=time.process_time() - started,
    )


def test_reproduce_finds_that_every_claim_holds(whole: Run) -> None:
    claims = whole.table("claims.csv")
    assert list(claims["number"]) == list(range(1, 20))
    assert set(claims["verdict"]) == {"holds"}
    assert whole.status == 0
    assert "19 of 19 claims hold" in whole.text


def test_reproduce_takes_less_than_twenty_seconds_of_processor(whole: Run) -> None:
    # The product's bound is wall-clock time of two cores; processor time of the one process in
    # use does not depend on what else the machine does. Imports, about 3 s, come on top.
    assert whole.processor_s < 17


def test_reproduce_refines_claims_beyond_the_published_conventions(whole: Run) -> None:
    numbers = whole.table("claim_quantities.csv").set_index(["number", "quantity"])["refined"]
    # All 400 draws, and every data-parallel size: stated in sections 5 and 6 of the definitions.
    assert numbers[6, "reliability_2x"] == pytest.approx(35.0, abs=0.05)
    assert numbers[6, "fast_checkpoint"] == pytest.approx(39.0, abs=0.05)
    assert numbers[9, "best by buying"] == pytest.approx(31_561, abs=0.5)
    assert numbers[9, "at pool ×"] == pytest.approx(1.234, abs=5e-4)
    assert numbers[11, "kernel efficiency"] == pytest.approx(0.519, abs=5e-4)


@needs_tables
@pytest.mark.parametrize(
    ("name", "large"),
    [
        ("e1_ledger_vs_scale.csv", "productive"),
        ("e2_sea_by_regime.csv", "baseline_pool"),
        ("e7_uncertainty.csv", "winner_sea"),
    ],
)
def test_reproduce_agrees_with_a_shared_table_row_by_row(whole: Run, name: str, large: str) -> None:
    theirs, ours = pd.read_csv(SHARED / name), whole.table(name)
    assert list(ours.columns) == list(theirs.columns)
    assert differing(ours, theirs) == {}
    # Negative control: a hundred-millionth in one cell is noticed.
    ours.loc[3, large] *= 1 + 1e-8
    assert differing(ours, theirs) == {large: 1}


@pytest.mark.parametrize("name", COLUMNS)
def test_reproduce_writes_the_columns_and_rows_of_a_table(whole: Run, name: str) -> None:
    table = whole.table(f"{name}.csv")
    assert ",".join(table.columns) == COLUMNS[name]
    assert len(table) == ROWS[name]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("e3_decision_map.csv", "e3_winners.csv"),
        ("e4_counterexamples.csv", "e4_sea.csv"),
        ("e5_naive_bias.csv", "e5_sea.csv"),
        ("e6_attribution.csv", "e6_attribution.csv"),
    ],
)
def test_reproduce_agrees_with_published_raw_results(whole: Run, ours: str, theirs: str) -> None:
    assert differing(whole.table(ours), published(theirs)) == {}


def test_reproduce_agrees_with_published_scaling_curves(whole: Run) -> None:
    samples = published("e9_samples.csv").set_index("row")
    assert differing(whole.table("e9_scaling_curves.csv").loc[samples.index], samples) == {}


def test_informal_figure_of_spares_is_the_published_one(whole: Run) -> None:
    # Published without re-planning: next to nothing, where e2 has 157 accelerators.
    table = whole.table("e5_naive_bias.csv")
    spares = table[table["intervention"] == "add_spares"]["naive"].to_numpy()
    expected = np.zeros(15)
    expected[1], expected[2] = 1.9868214925130208e-11, 1.1381267765421926e-07
    np.testing.assert_allclose(spares, expected, rtol=0, atol=1e-9)


def test_cross_fidelity_agrees_within_standard_errors(whole: Run) -> None:
    ours, theirs = whole.table("e8_cross_fidelity.csv"), published("e8_cross_fidelity.csv")
    errors = whole.table("refined/e8_standard_errors.csv")
    analytical = theirs[[name for name in theirs if name.endswith("_analytical")]]
    assert differing(ours, analytical) == {}
    for name in ("ucf", "discarded", "failures"):
        column, error = f"{name}_monte_carlo", errors[f"{name}_monte_carlo_se"]
        # Against the expectation, and against the published replicates, as many as ours.
        own = (ours[column] - ours[f"{name}_analytical"]) / error
        other = (ours[column] - theirs[column]) / (np.sqrt(2) * error)
        for z in (own, other):
            # 16 scores: each of the six tests would fail for one seed in a thousand.
            assert stats.chi2.sf((z**2).sum(), z.size) > 1e-3
            assert np.abs(z).max() < stats.norm.isf(0.5e-3 / 16)


def test_many_replicates_confirm_the_published_agreement(whole: Run) -> None:
    fine = whole.table("refined/e8_more_replicates.csv")
    assert len(fine) == 16
    # The error asked for is 0.007%; a pilot of 300 knows it to a tenth or so.
    assert fine["rel_difference_ucf_se"].max() < 1e-4
    assert fine["rel_difference_ucf"].abs().max() < 2.5e-4
    z = fine["rel_difference_ucf"] / fine["rel_difference_ucf_se"]
    assert stats.chi2.sf((z**2).sum(), z.size) > 1e-3


def test_other_failure_processes_keep_the_rate_and_move_the_result(whole: Run) -> None:
    table = whole.table("refined/e8_other_failure_processes.csv")
    table = table[table["failure_rate_per_node_day"] == 1.5e-2].set_index("process")
    z = table["rel_difference"] / table["rel_difference_se"]
    assert abs(z["exponential, as published"]) < 4
    assert z["Weibull, shape 0.7"] > 4
    assert z["Weibull, shape 1.5"] < -4
    assert z["geometric, 8 nodes at once"] > 100


def test_reproduce_states_the_provenance_of_every_table(whole: Run) -> None:
    provenance = json.loads((whole.directory / "provenance.json").read_text())
    tables = sorted(str(p.relative_to(whole.directory)) for p in whole.directory.rglob("*.csv"))
    assert sorted(provenance["tables"]) == tables
    for path in tables:
        sidecar = json.loads((whole.directory / path).with_suffix(".meta.json").read_text())
        assert sidecar["sha256"] == sha256((whole.directory / path).read_bytes()).hexdigest()
        assert sidecar["rows"] == len(whole.table(path))
        assert sidecar["seed"] == 20260805
        assert sidecar["inputs"]["reference_405b_16k"]
        assert sidecar["versions"]["numpy"] == np.__version__


def test_reproduce_draws_every_figure_at_print_size(whole: Run) -> None:
    for name in FIGURES:
        image = imread(whole.directory / "figures" / f"{name}.png")
        assert image.shape[1] == round(WIDTH_IN * DPI)
    assert len(list((whole.directory / "figures").iterdir())) == len(FIGURES) == 7


def words_of(figure: Figure) -> list[Text]:
    """Everything that is written around the data: titles, labels, ticks in view, legends."""
    found = [figure._suptitle, figure._supxlabel]
    for axes in figure.axes:
        found += [axes.title, axes.xaxis.label, axes.yaxis.label]
        if axes.legend_:
            found += axes.legend_.get_texts()
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = axis.get_major_ticks()
            found += [tick.label1 for tick in ticks if low <= tick.get_loc() <= high]
    return [text for text in found if text.get_visible() and text.get_text().strip()]


@pytest.mark.parametrize("name", FIGURES)
def test_figure_keeps_its_words_legible_and_apart(whole: Run, name: str) -> None:
    tables = {
        table.key: whole.table(table.path) for table in TABLES if table.key in FIGURES[name].needs
    }
    with house_style():
        figure = FIGURES[name].draw(tables)
        figure.canvas.draw()
        words = words_of(figure)
        boxes = [text.get_window_extent() for text in words]
        inside = [text for axes in figure.axes for text in axes.texts]
        for text in [*words, *inside]:
            assert text.get_fontsize() >= STYLE["font.size"]
            low, high = text.get_window_extent().get_points()
            assert (low >= -1).all(), text
            assert (high <= figure.bbox.max + 1).all(), text
        for i, first in enumerate(boxes):
            for j, second in enumerate(boxes[:i]):
                assert not first.overlaps(second), (words[i], words[j])
        for axes in figure.axes:
            assert axes.get_xlabel() or axes.get_title()


@pytest.fixture
def ledger_run(tmp_path: Path) -> Iterator[Path]:
    """A run of the ledger only."""
    directory = tmp_path / "run"
    status, text, _ = run("--only", "e1", "--no-figures", "--out", str(directory))
    assert status == 0
    assert "2 of 2 claims hold" in text
    return directory


def test_reproduce_of_one_experiment_writes_its_tables_only(ledger_run: Path) -> None:
    names = sorted(path.name for path in ledger_run.glob("*.csv"))
    assert names == ["claim_quantities.csv", "claims.csv", "e1_ledger_vs_scale.csv"]


def test_reproduce_leaves_the_same_results_untouched(ledger_run: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in ledger_run.iterdir()}
    status, _, _ = run("--only", "e1", "--no-figures", "--out", str(ledger_run))
    assert status == 0
    assert {path: path.stat().st_mtime_ns for path in ledger_run.iterdir()} == before
    assert [path.name for path in ledger_run.parent.iterdir()] == ["run"]


def test_reproduce_refuses_to_overwrite_tables_that_differ(ledger_run: Path) -> None:
    table = ledger_run / "e1_ledger_vs_scale.csv"
    table.write_text(table.read_text().replace("0.", "1.", 1))
    edited = table.read_text()
    status, _, messages = run("--only", "e1", "--no-figures", "--out", str(ledger_run))
    assert status == 2
    assert "differ" in messages
    assert table.read_text() == edited
    status, _, _ = run("--only", "e1", "--no-figures", "--out", str(ledger_run), "--force")
    assert status == 0
    assert table.read_text() != edited


def test_reproduce_refuses_results_of_other_options_unless_forced(ledger_run: Path) -> None:
    other = ["--only", "e9", "--no-figures", "--out", str(ledger_run)]
    status, _, messages = run(*other)
    assert status == 2
    assert "--force" in messages
    assert run(*other, "--force")[0] == 0
    assert not (ledger_run / "e1_ledger_vs_scale.csv").exists()


def test_reproduce_leaves_a_directory_of_something_else_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for force in ([], ["--force"]):
        status, _, messages = run("--only", "e1", "--out", str(tmp_path), *force)
        assert status == 2
        assert "left alone" in messages
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "e11"], "no experiment 'e11'"),
        (["--only", ","], "no experiment"),
        (["--jobs", "0"], "--jobs"),
    ],
)
def test_reproduce_explains_bad_input(arguments: list[str], message: str, tmp_path: Path) -> None:
    status, _, messages = run(*arguments, "--out", str(tmp_path / "run"))
    assert status == 2
    assert message in messages
    assert not (tmp_path / "run").exists()


def test_reproduce_exits_1_where_a_claim_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *rest = studies.published_claims.CLAIMS
    wrong = replace(
        first, quantities=(replace(first.quantities[0], published=60.0), *first.quantities[1:])
    )
    monkeypatch.setattr(studies.published_claims, "CLAIMS", (wrong, *rest))
    directory = tmp_path / "run"
    status, text, _ = run("--only", "e1", "--no-figures", "--out", str(directory))
    assert status == 1
    assert "1 of 2 claims hold" in text
    assert list(pd.read_csv(directory / "claims.csv")["verdict"]) == ["does not hold", "holds"]


def test_reproduce_interrupted_keeps_what_is_computed_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledger_run: Path
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "other"
    arguments = ["--only", "e1", "--no-figures", "--out", str(out)]
    with monkeypatch.context() as patched:
        patched.setattr(studies.reproduce, "write_results", interrupt)
        status, _, messages = run(*arguments)
    assert status == 130
    assert "1 of 1 task is finished and kept" in messages
    assert not out.exists()
    # What goes on computes nothing: its functions are gone.
    monkeypatch.setattr("studies.execution.study.engine_of", None)
    assert run(*arguments)[0] == 0
    for path in ledger_run.glob("*.csv"):
        assert (out / path.name).read_bytes() == path.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "run"]


def test_reproduce_over_processes_gives_the_same_tables(ledger_run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run("--only", "e1", "--no-figures", "--jobs", "2", "--out", str(other))
    for path in ledger_run.glob("*.csv"):
        assert (other / path.name).read_bytes() == path.read_bytes()
