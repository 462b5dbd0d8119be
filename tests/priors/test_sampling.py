"""When chains run once more: where transitions diverged, and only with room for smaller steps."""

import numpy as np
import pytest

from priors import sampling
from priors.catalogue import read_catalogue
from priors.evidence import read_evidence
from priors.sampling import CAREFUL_ACCEPT, TARGET_ACCEPT, Sample, sample
from tests.priors.examples import assemble

POPULATION, _ = assemble(read_catalogue(), read_evidence(["published"]))


def chains(divergences: int) -> Sample:
    diverging = np.zeros((4, 10), dtype=bool)
    diverging[0, :divergences] = True
    return Sample(
        values=np.zeros((4, 10, 1)),
        deviations=np.zeros((4, 10, 0)),
        statistics={"diverging": diverging},
    )


@pytest.mark.parametrize(
    ("divergences", "steps"),
    [
        ([0], [TARGET_ACCEPT]),
        ([2, 0], [TARGET_ACCEPT, CAREFUL_ACCEPT]),
        ([2, 1], [TARGET_ACCEPT, CAREFUL_ACCEPT]),
    ],
)
def test_chains_that_diverge_are_run_once_more_with_smaller_steps(monkeypatch, divergences, steps):
    taken, coming = [], iter(divergences)

    def run(*_, settings, **__):
        taken.append(settings["target_accept"])
        return chains(next(coming))

    monkeypatch.setattr(sampling, "_run", run)
    found = sample(None, POPULATION, chain_draws=10, seed=1)
    assert taken == steps
    assert found.divergences == divergences[-1]
