"""The command that conditions the priors on evidence and says what they become."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from model.command import EXIT_UNCONVERGED, command

if TYPE_CHECKING:
    from model.scenario import Scenario
    from priors.catalogue import Catalogue
    from priors.conditioned import Posterior
    from priors.observations import Evidence

WIDE = 160
"""Columns of a report that goes to a file."""


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
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


def gather(options: argparse.Namespace) -> "tuple[Scenario, Catalogue, Evidence]":
    """What is asked: the target, its priors with known values fixed, and the evidence.

    Raises
    ------
    InputError
        If one of them cannot be used.
    """
    from model.errors import InputError
    from model.forms import read_forms
    from model.scenario import substitute, with_values
    from model.scenario_file import read_scenario
    from priors.catalogue import read_catalogue
    from priors.evidence import DEFAULT, read_evidence
    from priors.forms import catalogue_in_form
    from priors.hypotheses import with_hypotheses

    scenario = read_scenario(options.scenario).scenario
    changes = changes_of(options.set)
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
    catalogue = catalogue.with_fixed(
        {path: float(scenario.value(path)) for path in changes if path in catalogue.entries}
    )
    evidence = read_evidence(options.evidence or [DEFAULT], scenario=options.scenario)
    catalogue = with_hypotheses(catalogue, evidence, fleet=scenario.fleet).with_fixed(
        {path: float(scenario.value(path)) for path in changes if path in catalogue.hypotheses}
    )
    return scenario, catalogue, evidence


def changes_of(settings: Sequence[str]) -> dict[str, str]:
    """Values by dotted path out of ``path=value``.

    Raises
    ------
    InputError
        If a setting is not of that form.
    """
    from model.errors import InputError

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


def check_out(out: Path) -> None:
    """Find out that the netCDF file cannot be written before anything is sampled.

    Raises
    ------
    InputError
        If its place is a directory, or is in none.
    """
    from model.errors import InputError

    if out.is_dir() or not out.parent.is_dir():
        raise InputError.single(
            message="this is a directory" if out.is_dir() else "there is no such directory",
            source=str(out if out.is_dir() else out.parent),
            path="--out",
            remedy="give the path of a new netCDF file",
        )


def save(found: "Posterior", out: Path) -> None:
    """Write the posterior as netCDF.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    from model.errors import InputError

    try:
        found.write_netcdf(out)
    except OSError as error:
        raise InputError.unwritable(
            error,
            source=str(out),
            path="--out",
        ) from None


def show(
    found: "Posterior", scenario: "Scenario", catalogue: "Catalogue", evidence: "Evidence"
) -> None:
    """Print prior against posterior."""
    from rich.console import Console

    from model.forms import form_name
    from priors.report import render

    # Elsewhere than on a terminal nothing is cut to the width of one.
    console = Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)
    if scenario.refinements:
        named = ", ".join(scenario.refinements)
        console.print(f"Formulas: {form_name(scenario.refinements)} ({named})\n")
    for part in render(found, catalogue, evidence, scenario):
        console.print(part)


def tell(text: str) -> None:
    """Say on standard error what is being done."""
    print(f"{text} ...", file=sys.stderr)


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Condition the priors on evidence and print what came of it.

    Returns
    -------
    int
        0; 2 for unusable input; 3 where the sampler did not converge; 130 if interrupted.
    """
    options = build_parser().parse_args(argv)

    from priors.conditioning import condition

    scenario, catalogue, evidence = gather(options)
    out: Path | None = options.out
    if out is not None:
        check_out(out)
    found = condition(
        catalogue, evidence, scenario, draws=options.draws, seed=options.seed, progress=tell
    )
    if out is not None:
        save(found, out)
    show(found, scenario, catalogue, evidence)
    converged = found.diagnostics.converged
    return 0 if converged or options.accept_unconverged else EXIT_UNCONVERGED


if __name__ == "__main__":
    sys.exit(main())
