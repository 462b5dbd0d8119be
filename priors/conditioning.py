"""Priors conditioned on evidence: sampled, diagnosed, and kept on disk."""

from collections.abc import Callable, Sequence
from functools import cache as once
from typing import TYPE_CHECKING

from model.errors import InputError
from model.scenario import Scenario
from priors import cache as store
from priors.catalogue import Catalogue
from priors.conditioned import Posterior
from priors.diagnostics import Diagnostics, Thresholds, diagnose, summarise
from priors.draws import make_draws
from priors.entry import keep, look_up
from priors.forms import catalogue_in_form, evidence_in_form
from priors.hypotheses import verdicts
from priors.left_out import leave_out_each
from priors.likelihood import Likelihood
from priors.likelihoods import likelihoods_of, population_of
from priors.observations import Evidence
from priors.population import Population, draw_values
from priors.predictive_check import check_predictions
from priors.touched import touched_paths

if TYPE_CHECKING:
    import xarray as xr

type Progress = Callable[[str], None]
"""Told in one line what is being done."""


def condition(
    catalogue: Catalogue,
    evidence: Evidence,
    scenario: Scenario,
    *,
    draws: int,
    seed: int,
    forms: Sequence[Sequence[str]] = (),
    cache: bool = True,
    progress: Progress | None = None,
    thresholds: Thresholds | None = None,
) -> Posterior:
    """Condition the priors of a scenario's stack and fleet on evidence.

    Parameters
    ----------
    catalogue
        Documented priors; known values of the target are ``fixed`` in it.
    evidence
        Observations. Without any, the draws are the prior's and nothing is sampled.
    scenario
        The target: its stack and fleet are what is learnt about, in its form of the model.
    draws
        How many to keep, exactly.
    seed
        Not negative. Same inputs and seed, same draws.
    forms
        Sets of refinements that the draws are for besides the scenario's: fields that one of them
        reads keep their priors.
    cache
        Whether to look for the posterior on disk, and to keep it there.
    progress
        Told what is being done.
    thresholds
        What the sample must reach to count as converged.

    Returns
    -------
    Posterior
        Whether it converged is in its diagnostics.

    Raises
    ------
    InputError
        If fewer draws than one or a negative seed are asked for, or the cache or the compile
        directory cannot be written.
    """
    if draws < 1 or seed < 0:
        key, value, low = ("draws", draws, 1) if draws < 1 else ("seed", seed, 0)
        raise InputError.single(
            message=f"got {value}, allowed is an integer of at least {low}", source=key
        )
    tell = progress or (lambda _: None)
    thresholds = thresholds or Thresholds()
    catalogue = catalogue_in_form(catalogue, scenario.refinements, *forms)
    evidence = evidence_in_form(evidence, scenario.refinements)
    population = population_of(catalogue, evidence, scenario)
    likelihoods = likelihoods_of(evidence, population)
    digest = store.digest_of(
        {
            "priors": catalogue.digest,
            "evidence": evidence.digest,
            "stack": scenario.stack,
            "fleet": scenario.fleet,
            "refinements": list(scenario.refinements),
            "seed": seed,
            "draws": draws,
            "thresholds": repr(thresholds),
        }
    )
    notes = _notes(catalogue, evidence)
    if not likelihoods:
        return _prior_only(population, evidence, draws=draws, seed=seed, digest=digest, notes=notes)
    entry = store.cache_directory() / "posteriors" / digest
    if cache:
        try:
            found = look_up(entry)
        except ValueError as error:
            notes = (*notes, f"recomputed: the cached posterior {error}")
            store.discard(entry)
        else:
            if found is not None:
                return found
        store.prepare(entry.parent)
    fresh = _sample(
        evidence,
        population,
        likelihoods,
        scenario,
        source=_source(catalogue, evidence),
        draws=draws,
        seed=seed,
        digest=digest,
        notes=notes,
        thresholds=thresholds,
        tell=tell,
    )
    if not cache:
        return fresh
    tell("writing the posterior")
    return keep(fresh, entry)


def _sample(
    evidence: Evidence,
    population: Population,
    likelihoods: Sequence[Likelihood],
    scenario: Scenario,
    *,
    source: str,
    draws: int,
    seed: int,
    digest: str,
    notes: tuple[str, ...],
    thresholds: Thresholds,
    tell: Progress,
) -> Posterior:
    """Sample a posterior, check its chains, and weigh it without each observation."""
    from priors import sampling

    tell("compiling the posterior")
    compiled = sampling.compile_posterior(population, likelihoods)
    chain_draws = sampling.chain_draws_for(draws)
    tell(f"sampling {sampling.CHAINS} chains of {chain_draws} draws")
    sampled = sampling.sample(compiled, population, chain_draws=chain_draws, seed=seed)
    tell("checking the chains")
    names = population.names
    diagnostics = diagnose(
        sampled.values, names, divergences=sampled.divergences, thresholds=thresholds
    )
    positions = sampling.kept_positions(draws, chain_draws)
    thinned = sampled.values[:, positions]
    kept, chain = sampling.keep(thinned, draws)
    deviations, _ = sampling.keep(sampled.deviations[:, positions], draws)
    prior = draw_values(population, thinned.shape[0] * thinned.shape[1], seed)
    notes = (*notes, *verdicts(population, scenario, prior, kept))
    if not diagnostics.converged:
        notes = (*notes, "the sampler did not converge: " + "; ".join(diagnostics.reasons))

    @once
    def build() -> "xr.DataTree":
        from priors.inference_data import build_tree

        return build_tree(
            population=population,
            likelihoods=likelihoods,
            posterior=thinned,
            prior=prior[None],
            sampled=sampled,
            seed=seed,
            attributes={
                "digest": digest,
                "seed": seed,
                "kept_draws": draws,
                "chain_draws": chain_draws,
                "converged": int(diagnostics.converged),
                "source": source,
            },
        )

    tell("leaving out each observation")
    return Posterior(
        draws=make_draws(
            {
                path: kept[:, i]
                for i, path in enumerate(names)
                if path in population.catalogue.entries
            },
            chain=chain,
            source=source,
            notes=notes,
        ),
        diagnostics=diagnostics,
        summary=summarise(population, prior, kept),
        digest=digest,
        notes=notes,
        netcdf=None,
        build=build,
        left_out=leave_out_each(
            evidence, population, likelihoods, values=kept, deviations=deviations, seed=seed
        ),
        checks=check_predictions(build()),
    )


def _prior_only(
    population: Population,
    evidence: Evidence,
    *,
    draws: int,
    seed: int,
    digest: str,
    notes: tuple[str, ...],
) -> Posterior:
    """Prior draws in the form of a posterior."""
    catalogue = population.catalogue
    values = draw_values(population, draws, seed)
    paths = list(catalogue.entries)

    def build() -> "xr.DataTree":
        from priors.inference_data import build_tree

        return build_tree(
            population=population,
            likelihoods=(),
            posterior=values[None],
            prior=values[None],
            sampled=None,
            seed=seed,
            attributes={"digest": digest, "seed": seed, "source": f"prior {catalogue.source}"},
        )

    if evidence.observations:
        notes = (*notes, "no observation says anything about the priors: these are prior draws")
    return Posterior(
        draws=make_draws(
            {path: values[:, i] for i, path in enumerate(paths)},
            source=f"prior {catalogue.source}",
            notes=notes,
        ),
        diagnostics=Diagnostics(rows=(), divergences=0, chains=0, chain_draws=0, reasons=()),
        summary=summarise(population, values, values),
        digest=digest,
        notes=notes,
        netcdf=None,
        build=build,
    )


def _source(catalogue: Catalogue, evidence: Evidence) -> str:
    return f"posterior of {catalogue.source} given {', '.join(evidence.sources)}"


def _notes(catalogue: Catalogue, evidence: Evidence) -> tuple[str, ...]:
    """Observations that say nothing, because nothing they touch has a prior."""
    silent = [
        observation.id
        for observation in evidence.observations
        if not any(path in catalogue.entries for path in touched_paths(observation))
    ]
    if not silent:
        return ()
    return ("observations without effect, their fields have no prior: " + ", ".join(silent),)
