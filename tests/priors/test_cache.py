"""Posteriors on disk: the same bytes, complete or absent."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from model.errors import InputError
from model.scenario_file import read_scenario
from priors import cache
from priors.catalogue import read_catalogue
from priors.conditioning import condition
from priors.observations import Evidence
from tests.priors.examples import cut, published

KERNEL = "kernel.kernel_efficiency"
REFERENCE = read_scenario("reference_405b_16k").scenario
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def quick():
    """A posterior that the compile cache makes quick: that of one parameter."""
    return {
        "catalogue": cut(read_catalogue(), KERNEL),
        "evidence": published("llama3_throughput_8192"),
        "scenario": read_scenario("llama3_405b_8k").scenario,
        "draws": 400,
    }


def test_same_seed_gives_the_same_bytes_and_another_seed_others(quick):
    first, second, other = (condition(**quick, seed=s, cache=False) for s in (7, 7, 8))

    assert first.draws.columns[KERNEL].tobytes() == second.draws.columns[KERNEL].tobytes()
    assert first.digest == second.digest != other.digest
    assert not np.array_equal(first.draws.columns[KERNEL], other.draws.columns[KERNEL])


def test_cached_posterior_is_the_one_that_was_sampled(quick, tmp_path, monkeypatch):
    monkeypatch.setenv("FUNDWORTHY_CACHE", str(tmp_path / "new" / "cache"))
    told = []
    first = condition(**quick, seed=3, progress=told.append)
    steps = len(told)
    second = condition(**quick, seed=3, progress=told.append)

    assert steps > 2
    assert len(told) == steps
    np.testing.assert_array_equal(first.draws.columns[KERNEL], second.draws.columns[KERNEL])
    np.testing.assert_array_equal(first.draws.chain, second.draws.chain)
    assert first.summary == second.summary
    assert first.diagnostics == second.diagnostics
    assert first.draws.source == second.draws.source
    [entry] = (tmp_path / "new" / "cache" / "posteriors").iterdir()
    assert entry.name == first.digest


@pytest.mark.parametrize("damage", ["truncate", "remove"])
def test_damaged_cache_entry_is_recomputed_with_a_note(quick, tmp_path, monkeypatch, damage):
    monkeypatch.setenv("FUNDWORTHY_CACHE", str(tmp_path))
    first = condition(**quick, seed=3)
    file = tmp_path / "posteriors" / first.digest / cache.DRAWS_FILE
    if damage == "truncate":
        file.write_bytes(file.read_bytes()[:700])
    else:
        file.unlink()
    second = condition(**quick, seed=3)
    third = condition(**quick, seed=3)

    np.testing.assert_array_equal(first.draws.columns[KERNEL], second.draws.columns[KERNEL])
    assert any("recomputed" in note and "damaged" in note for note in second.notes)
    np.testing.assert_array_equal(first.draws.columns[KERNEL], third.draws.columns[KERNEL])


def test_interrupted_write_leaves_no_entry(quick, tmp_path, monkeypatch):
    monkeypatch.setenv("FUNDWORTHY_CACHE", str(tmp_path))

    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(cache, "write_arrays", interrupt)
    with pytest.raises(KeyboardInterrupt):
        condition(**quick, seed=3)

    assert list((tmp_path / "posteriors").iterdir()) == []


def test_digest_depends_on_everything_that_moves_draws(quick):
    def digest(**changes):
        return condition(
            **(quick | {"seed": 1, "draws": 2, "cache": False, **none} | changes)
        ).digest

    none = {"evidence": Evidence(sources=(), observations=(), texts={})}
    base = digest()
    assert base == digest()
    others = [
        digest(seed=2),
        digest(draws=3),
        digest(scenario=REFERENCE),
        digest(catalogue=read_catalogue()),
        digest(catalogue=quick["catalogue"].with_fixed({KERNEL: 0.5})),
    ]
    assert len({base, *others}) == 6


def test_cache_directory_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("FUNDWORTHY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_directory() == tmp_path / "fundworthy"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache.cache_directory() == Path("/home/someone/.cache/fundworthy")


def test_cache_directory_that_cannot_be_written_is_one_clear_error(quick, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FUNDWORTHY_CACHE", str(tmp_path / "file"))

    with pytest.raises(InputError, match="set FUNDWORTHY_CACHE to a directory") as caught:
        condition(**quick, seed=3)
    assert len(caught.value.problems) == 1


def test_cached_posterior_is_loaded_without_pymc(default_posterior):
    code = (
        "import json, sys\n"
        "from model.scenario_file import read_scenario\n"
        "from priors.catalogue import read_catalogue\n"
        "from priors.evidence import read_evidence\n"
        "from priors.conditioning import condition\n"
        "scenario = read_scenario('reference_405b_16k').scenario\n"
        "evidence = read_evidence(['published'])\n"
        "found = condition(read_catalogue(), evidence, scenario, draws=2002, seed=1)\n"
        "slow = ('pymc', 'pytensor', 'xarray', 'arviz', 'pandas')\n"
        "heavy = [name for name in slow if name in sys.modules]\n"
        "print(json.dumps([found.digest, heavy]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    digest, heavy = json.loads(done.stdout)

    assert digest == default_posterior.digest
    assert heavy == []
