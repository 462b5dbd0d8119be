"""The posterior: priors conditioned on evidence, with diagnostics, cached.

python -m priors.posterior --scenario reference_405b_16k --draws 5000
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from model.command import command
from model.errors import InputError
from model.scenario import Scenario
from priors import cache as store
from priors.catalogue import Catalogue
from priors.diagnostics import (
    Diagnostics,
    SummaryRow,
    Thresholds,
    diagnose,
    summarise,
)
from priors.draws import Draws, make_draws
from priors.entry import pack, unpack
from priors.forms import catalogue_in_form, evidence_in_form
from priors.hypotheses import verdicts, with_hypotheses
from priors.importance import LeftOut
from priors.left_out import leave_out_each
from priors.likelihood import Likelihood
from priors.likelihoods import auxiliary_of, likelihoods_of
from priors.observations import Evidence, touched_paths
from priors.population import Population, draw_values, plan_population
from priors.predictive_check import PredictiveCheck, check_predictions

if TYPE_CHECKING:
    import xarray as xr

type Floats = NDArray[np.float64]
type Progress = Callable[[str], None]
"""Told in one line what is being done."""

UNCONVERGED_STATUS = 3

WIDE = 160
"""Columns of a report that goes to a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Draws of the target system's parameters, given the evidence.

    Parameters
    ----------
    draws
        The kept draws, chain after chain.
    diagnostics
        Of the unthinned chains.
    summary
        Prior against posterior, the target's parameters first.
    digest
        Of everything that determines the draws.
    notes
        What a reader should be told, one sentence each.
    netcdf
        The whole posterior on disk, None where it is not cached.
    build
        Makes the tree where it is not on disk.
    left_out
        The draws weighted for the posterior without each observation.
    checks
        Of every observation against what the posterior predicts.
    """

    draws: Draws
    diagnostics: Diagnostics
    summary: tuple[SummaryRow, ...]
    digest: str
    notes: tuple[str, ...]
    netcdf: Path | None
    build: "Callable[[], xr.DataTree] | None"
    left_out: tuple[LeftOut, ...] = ()
    checks: tuple[PredictiveCheck, ...] = ()

    def tree(self) -> "xr.DataTree":
        """The ArviZ object: posterior, prior, predictive groups, data, sampler statistics."""
        import xarray as xr

        if self.netcdf is None:
            assert self.build is not None
            return self.build()
        with xr.open_datatree(self.netcdf, engine="h5netcdf") as tree:
            return tree.load()

    def write_netcdf(self, path: Path) -> None:
        """Save the ArviZ object as netCDF."""
        if self.netcdf is not None:
            shutil.copyfile(self.netcdf, path)
        else:
            self.tree().to_netcdf(path, engine="h5netcdf")


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
        If the cache or the compile directory cannot be written.
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
    population = plan_population(
        catalogue,
        evidence,
        stack=scenario.stack,
        fleet=scenario.fleet,
        auxiliary=auxiliary_of(evidence),
    )
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
            found = store.load(entry)
        except ValueError as error:
            notes = (*notes, f"recomputed: the cached posterior {error}")
            store.discard(entry)
        else:
            if found is not None:
                kept = unpack(*found)
                return Posterior(
                    draws=kept.draws,
                    diagnostics=kept.diagnostics,
                    summary=kept.summary,
                    digest=digest,
                    notes=kept.notes,
                    netcdf=entry / store.NETCDF_FILE,
                    build=None,
                    left_out=kept.left_out,
                    checks=kept.checks,
                )
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
    return _keep(fresh, entry, tell) if cache else fresh


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


def _keep(fresh: Posterior, entry: Path, tell: Progress) -> Posterior:
    """Write a posterior to the cache; what is returned reads its tree from there."""
    tell("writing the posterior")
    new = store.temporary_entry(entry.parent)
    try:
        fresh.write_netcdf(new / store.NETCDF_FILE)
        arrays, description = pack(
            fresh.draws,
            fresh.diagnostics,
            fresh.summary,
            notes=fresh.notes,
            left_out=fresh.left_out,
            checks=fresh.checks,
        )
        store.write_arrays(new, arrays, description)
        store.publish(new, entry)
    except OSError as error:
        raise InputError.single(
            message=f"cannot be written ({error.strerror or error})",
            source=str(entry.parent),
            path="cache directory",
            remedy="make room, or set FUNDWORTHY_CACHE to another directory",
        ) from None
    finally:
        store.discard(new)
    return replace(fresh, netcdf=entry / store.NETCDF_FILE, build=None)


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


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Condition the priors on evidence and print what came of it.

    Returns
    -------
    int
        0; 2 for unusable input; 3 where the sampler did not converge; 130 if interrupted.
    """
    return _run(_parser().parse_args(argv))


def _run(options: argparse.Namespace) -> int:
    from rich.console import Console

    from model.forms import form_name, read_forms
    from model.scenario import substitute, with_values
    from model.scenario_file import read_scenario
    from priors.catalogue import read_catalogue
    from priors.evidence import DEFAULT, read_evidence
    from priors.report import render

    scenario = read_scenario(options.scenario).scenario
    changes = _changes(options.set)
    if options.form is not None and "refinements" in changes:
        raise InputError.single(
            message="a form is a set of refinements, and --set states another",
            source="--form",
            path=options.form,
            remedy="leave out the one or the other",
        )
    scenario = with_values(scenario, changes, source="--set")
    if options.form is not None:
        refinements = read_forms()[options.form].refinements
        scenario = substitute(scenario, {"refinements": refinements})
    catalogue = catalogue_in_form(read_catalogue(options.priors), scenario.refinements)
    known = {path: float(scenario.value(path)) for path in changes if path in catalogue.entries}
    catalogue = catalogue.with_fixed(known)
    evidence = read_evidence(options.evidence or [DEFAULT], scenario=options.scenario)
    catalogue = with_hypotheses(catalogue, evidence, fleet=scenario.fleet).with_fixed(
        {path: float(scenario.value(path)) for path in changes if path in catalogue.hypotheses}
    )
    out: Path | None = options.out
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise InputError.single(
            message="this is a directory" if out.is_dir() else "there is no such directory",
            source=str(out if out.is_dir() else out.parent),
            path="--out",
            remedy="give the path of a new netCDF file",
        )
    found = condition(
        catalogue,
        evidence,
        scenario,
        draws=options.draws,
        seed=options.seed,
        progress=_tell,
    )
    if out is not None:
        try:
            found.write_netcdf(out)
        except OSError as error:
            raise InputError.single(
                message=f"cannot be written ({error.strerror or error})",
                source=str(out),
                path="--out",
            ) from None
    # Elsewhere than on a terminal nothing is cut to the width of one.
    console = Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)
    if scenario.refinements:
        named = ", ".join(scenario.refinements)
        console.print(f"Formulas: {form_name(scenario.refinements)} ({named})\n")
    for part in render(found, catalogue, evidence, scenario):
        console.print(part)
    converged = found.diagnostics.converged
    return 0 if converged or options.accept_unconverged else UNCONVERGED_STATUS


def _tell(text: str) -> None:
    print(f"{text} ...", file=sys.stderr)


def _changes(settings: Sequence[str]) -> dict[str, str]:
    """Values by dotted path out of ``path=value``."""
    changes: dict[str, str] = {}
    for setting in settings:
        path, equals, value = (part.strip() for part in setting.partition("="))
        if not (path and equals and value):
            raise InputError.single(
                message=f"got {setting!r}",
                source="--set",
                remedy="write path=value, for example kernel.kernel_efficiency=0.57",
            )
        changes[path] = value
    return changes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m priors.posterior",
        description="Condition the priors on evidence; print prior against posterior.",
        epilog="example: python -m priors.posterior --evidence published --evidence mine.yaml",
    )
    add = parser.add_argument
    add("--scenario", default="reference_405b_16k", help="scenario, a shipped name or a file")
    add("--priors", default="published", help="catalogue of priors, a shipped name or a file")
    add(
        "--evidence",
        action="append",
        metavar="NAME|FILE|none",
        help="evidence, repeatable; default: published; none: the prior",
    )
    add("--draws", type=int, default=5000, help="draws to keep (default 5000)")
    add("--seed", type=int, default=1, help="seed (default 1)")
    add(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="a value that is known, repeatable; evidence is conditioned on it",
    )
    add(
        "--form",
        choices=("published", "refined"),
        help="formulas that predict the evidence; default: as the scenario says",
    )
    add("--out", type=Path, metavar="FILE", help="also save the posterior as netCDF here")
    add(
        "--accept-unconverged",
        action="store_true",
        help="exit 0 although the sampler did not converge",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
