"""From raw files of a simulated fleet to its ranking: it moves as the simulation says."""

import csv

import numpy as np
import pytest

from decision.rank import main as rank
from priors.evidence import read_evidence
from priors.read import main as read
from tests.priors.readers.files import REFERENCE
from tests.priors.simulated_logs import Fleet, sacct, training_log

pytestmark = pytest.mark.slow

FLEETS = {
    "frequent failures": (Fleet(failures_per_node_day=2e-2), "reliability_2x"),
    "heavy jitter": (Fleet(jitter=0.045), "straggler_control"),
    "slow checkpoints": (Fleet(write_s=80.0), "fast_checkpoint"),
}
"""What each fleet is like, against a published one, and the option that answers it."""


@pytest.fixture(scope="module", autouse=True)
def cache_directory(tmp_path_factory):
    """Keep posteriors of tests away from the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUNDWORTHY_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Ranks a list of evidence; rows of ranking.csv by option."""

    def of(name, *evidence):
        directory = tmp_path_factory.mktemp("runs") / name.replace(" ", "_")
        given = [word for item in evidence for word in ("--evidence", str(item))]
        command = ["--quiet", "--no-refits", *given, "--draws", "5000", "--out", str(directory)]
        status = rank(command)
        with (directory / "ranking.csv").open(newline="") as file:
            return status, {row["option"]: row for row in csv.DictReader(file)}

    return of


@pytest.fixture(scope="module")
def published(run):
    return run("published", "published")[1]


def files_of(fleet, directory, seed):
    """Two days of a training log and forty of sacct."""
    rng = np.random.default_rng(seed)
    (directory / "train.log").write_text(training_log(fleet, 2, rng))
    (directory / "jobs.txt").write_text(sacct(fleet, [(2048, 40)], rng))
    return [directory / "train.log", directory / "jobs.txt"]


@pytest.mark.parametrize("name", FLEETS)
def test_ranking_of_a_fleet_differs_from_the_default_as_simulated(name, run, published, tmp_path):
    fleet, answer = FLEETS[name]
    out = tmp_path / "evidence.yaml"
    files = [str(path) for path in files_of(fleet, tmp_path, seed=31)]
    assert read([*files, "--scenario", REFERENCE, "--out", str(out)]) == 0

    status, own = run(name, "published", out)

    # The sampler converged, and the option that answers the fleet's trouble is worth more and
    # ranks first more often, beyond four standard errors of both.
    assert status == 0
    for figure in ("gain_mean", "p_first"):
        error = figure.replace("_mean", "") + "_mcse"
        gap = float(own[answer][figure]) - float(published[answer][figure])
        assert gap > 4 * np.hypot(float(own[answer][error]), float(published[answer][error])), (
            figure
        )
    # Control: what answers the other fleets' trouble does not gain as much.
    gains = {
        option: float(own[option]["gain_mean"]) / float(published[option]["gain_mean"])
        for _, option in FLEETS.values()
    }
    assert max(gains, key=gains.__getitem__) == answer


def test_rate_per_job_of_a_fleet_is_found_in_its_sacct(tmp_path):
    from model.scenario_file import read_scenario
    from priors.catalogue import read_catalogue
    from priors.conditioning import condition
    from priors.hypotheses import with_hypotheses
    from priors.touched import JOB_RATE, NODE_RATE
    from tests.priors.examples import cut

    fleet = Fleet(failures_per_node_day=4e-3, failures_per_job_day=0.6)
    path = tmp_path / "jobs.txt"
    jobs = [(1024, 30), (64, 200), (4, 400)]
    path.write_text(sacct(fleet, jobs, np.random.default_rng(7)))
    evidence = read_evidence([path], scenario=REFERENCE)
    catalogue = cut(with_hypotheses(read_catalogue(), evidence, fleet="mine"), NODE_RATE, JOB_RATE)

    found = condition(catalogue, evidence, read_scenario(REFERENCE).scenario, draws=1000, seed=1)

    for path_, truth in ((NODE_RATE, 4e-3), (JOB_RATE, 0.6)):
        low, high = np.quantile(found.draws.columns[path_], (0.01, 0.99))
        assert low < truth < high
    assert any("the data call for it" in note for note in found.notes)
    # Control: the same fleet without them is told so.
    path.write_text(sacct(Fleet(failures_per_node_day=4e-3), jobs, np.random.default_rng(7)))
    evidence = read_evidence([path], scenario=REFERENCE)
    found = condition(catalogue, evidence, read_scenario(REFERENCE).scenario, draws=1000, seed=1)
    assert any("the data reject it" in note or "lean against" in note for note in found.notes)
