"""What the tests of priors share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from model.scenario_file import read_scenario
from priors.catalogue import read_catalogue
from priors.conditioning import condition
from priors.evidence import read_evidence


@pytest.fixture(scope="session", autouse=True)
def cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep posteriors of tests away from the user's cache."""
    directory = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUNDWORTHY_CACHE", str(directory))
        yield directory


@pytest.fixture(scope="session")
def default_posterior():
    """The published evidence on the published priors."""
    return condition(
        read_catalogue(),
        read_evidence(["published"]),
        read_scenario("reference_405b_16k").scenario,
        draws=2002,
        seed=1,
    )
