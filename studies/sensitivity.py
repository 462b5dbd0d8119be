"""The command that says what drives a ranking: what to measure, negotiate or leave alone."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decision.options import add_question_options
from decision.output import add_output_options, show, status_of, write_json
from model.command import command
from studies.execution.options import add_execution_options, execution_of

if TYPE_CHECKING:
    from decision.inputs import Inputs
    from priors.draws import Draws
    from studies.drivers.study import Plan

STUDY = "sensitivity"
"""What the provenance calls results of this command."""

METHODS = ("auto", "sobol", "shapley", "both")

EXAMPLES = """\
examples:
  python -m studies.sensitivity --evidence none
      elicited ranges alone, independent: Sobol indices
  python -m studies.sensitivity
      the posterior under the published evidence: Shapley effects
  python -m studies.sensitivity --run runs/board-meeting
      adds drivers.csv, drivers.json and figures to a finished run
  python -m studies.sensitivity --parameter-draws draws.csv --groups groups.yaml
"""

WITH_RUN = (
    "run",
    "method",
    "samples",
    "scrambles",
    "groups",
    "engine",
    "jobs",
    "scheduler",
    "resume",
    "force",
    "accept_unconverged",
    "format",
    "quiet",
)
"""Options that go with a finished run."""


def build_parser() -> argparse.ArgumentParser:
    """Options of the command: those of a question and its own."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.sensitivity",
        description="Says which uncertain parameters decide who ranks first, where the "
        "recommendation flips, and where each option ranks first; writes drivers.csv and figures.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_question_options(parser)
    add = parser.add_argument
    add(
        "--run",
        metavar="DIR",
        type=Path,
        help="study a finished run and add the results to it, instead of the options of its inputs "
        "(e.g. --run runs/board-meeting)",
    )
    add(
        "--method",
        choices=METHODS,
        default="auto",
        help="sobol needs independent parameters; shapley follows how draws depend on each other; "
        "auto: sobol for priors alone, else shapley (e.g. --method both)",
    )
    add(
        "--samples",
        type=_samples,
        metavar="N",
        help="base points of each Sobol scramble, a power of two, default 4096; with shapley the "
        "draws it redraws around, default 2000 (e.g. --samples 8192)",
    )
    add(
        "--scrambles",
        type=_samples,
        default=8,
        metavar="N",
        help="independent scrambles behind each interval; fewer than 8 use a bootstrap, which is "
        "too wide (e.g. --scrambles 16)",
    )
    add(
        "--groups",
        metavar="FILE",
        help="YAML of group names, each with a list of parameters, beside single parameters; "
        "default: compute, network, recovery (e.g. --groups groups.yaml)",
    )
    add(
        "--out",
        metavar="DIR",
        type=Path,
        help="directory of the study, default below runs/ (e.g. --out runs/drivers)",
    )
    add(
        "--force",
        action="store_true",
        help="recompute, and replace an older study (e.g. --run runs/x --force)",
    )
    add_output_options(parser, query=".answers", file="drivers.txt", marked="study")
    add_execution_options(parser)
    return parser


def _samples(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= 2**20:
        message = f"got {text!r}, allowed is an integer from 1 to {2**20}"
        raise argparse.ArgumentTypeError(message)
    return value


def require_no_input_options(options: argparse.Namespace) -> None:
    """Refuse options of inputs beside ``--run``, which has its own.

    Raises
    ------
    InputError
        Naming them.
    """
    from model.errors import InputError, Problem

    defaults = vars(build_parser().parse_args([]))
    given = [
        name
        for name, value in vars(options).items()
        if value != defaults[name] and name not in WITH_RUN
    ]
    if given:
        raise InputError(
            Problem(
                source=f"--{name.replace('_', '-')}",
                message="a finished run has its inputs and its place already",
                remedy="leave out this option or --run",
            )
            for name in given
        )


def plan_of(options: argparse.Namespace, source: str, paths: Sequence[str], *, seed: int) -> "Plan":
    """What to do, from the options and the kind of draws.

    Raises
    ------
    InputError
        If the samples are no power of two for Sobol, or groups do not fit.
    """
    from studies.drivers.factors import built_in_groups, read_groups
    from studies.drivers.sobol import require_power_of_two
    from studies.drivers.study import POINTS, REDRAWN, Plan

    auto = ("sobol",) if source == "prior" else ("shapley",)
    methods = {"auto": auto, "both": ("sobol", "shapley")}.get(options.method, (options.method,))
    if "sobol" in methods and options.samples is not None:
        require_power_of_two(options.samples)
    groups = read_groups(options.groups, paths) if options.groups else built_in_groups(paths)
    return Plan(
        methods=methods,
        groups=groups,
        points=options.samples or POINTS,
        redrawn=max(2, options.samples or REDRAWN),
        scrambles=options.scrambles,
        seed=seed,
    )


def digest_of(inputs: "Inputs", options: argparse.Namespace, source: str) -> str:
    """One digest of inputs, options, code and versions of a study."""
    import hashlib
    import json

    from decision.origin import code_digest

    groups = Path(options.groups).read_bytes() if options.groups else b""
    content = [
        inputs.digest,
        source,
        {name: str(getattr(options, name)) for name in ("method", "samples", "scrambles")},
        hashlib.sha256(groups).hexdigest(),
        code_digest(),
        salib_version(),
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def salib_version() -> str:
    """Version of SALib, whose designs the numbers rest on."""
    from importlib.metadata import version

    return version("SALib")


def draw_for(
    options: argparse.Namespace, say: Callable[[str], None]
) -> "tuple[Inputs, Draws, str, list[str]]":
    """Inputs, draws, their source, and why the posterior did not converge if it did not."""
    from decision.inputs import gather
    from decision.options import request_of
    from decision.rank import draw

    if options.run is not None:
        from studies.drivers.past_run import read_run, sampler_reasons

        require_no_input_options(options)
        inputs, draws, source = read_run(options.run)
        return inputs, draws, source, sampler_reasons(options.run)
    inputs = gather(request_of(options))
    draws, _, posterior = draw(inputs, say)
    reasons = list(posterior.diagnostics.reasons) if posterior is not None else []
    return inputs, draws, inputs.source, reasons


def provenance_of(inputs: "Inputs", digest: str) -> dict[str, Any]:
    """What made the study."""
    from decision.origin import git_commit, versions

    return {
        "study": STUDY,
        "digest": digest,
        "inputs": inputs.digest,
        "versions": {**versions(), "SALib": salib_version()},
        "git_commit": git_commit(),
    }


def keep(
    content: Mapping[str, Any],
    directory: Path,
    options: argparse.Namespace,
    draw_figures: Callable[[Mapping[str, Any], Path], None],
) -> None:
    """Write a study beside its run or into a directory of its own."""
    from studies.drivers import place
    from studies.drivers.summary import write_csv
    from studies.output import PROVENANCE, results

    def write(target: Path) -> None:
        write_csv(target / place.DRIVERS_CSV, content["answers"])
        write_json(target / place.DRIVERS_JSON, content)
        draw_figures(content, target / place.FIGURES)

    if options.run is not None:
        place.add_to_run(directory, write)
        return
    with results(directory, force=options.force) as target:
        write(target)
        write_json(target / PROVENANCE, content["provenance"])


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0, 2 for bad input, 3 for a posterior that did not converge, 130 when interrupted.
    """
    options = build_parser().parse_args(argv)

    from decision.place import below_runs
    from decision.progress import Progress
    from reports.driver_figures import write_driver_figures
    from studies.drivers.copula import split_constant
    from studies.drivers.place import find_study, require_free
    from studies.drivers.regimes import answers_of, study_all
    from studies.drivers.summary import content_of
    from studies.drivers.words import render
    from studies.execution.store import unfinished
    from studies.output import check_place

    execution = execution_of(options)
    with Progress(quiet=options.quiet) as progress:
        inputs, draws, source, reasons = draw_for(options, progress.say)
        varying, _ = split_constant(draws.columns)
        plan = plan_of(options, source, list(varying), seed=inputs.request.seed)
        digest = digest_of(inputs, options, source)
        directory: Path | None = options.run or options.out
        directory = directory or below_runs(inputs.scenario.name, digest, kind="drivers")
        content = find_study(directory, digest)
        if content is None or options.force:
            if options.run is not None:
                require_free(directory, force=options.force)
            else:
                check_place(directory, STUDY, digest, force=options.force)
            outcome = study_all(
                inputs,
                draws,
                plan,
                unfinished(directory.with_name(f"{directory.name}.drivers")),
                study=STUDY,
                source=source,
                digest=digest,
                execution=execution,
                progress=progress,
            )
            with outcome.placing():
                content = content_of(
                    inputs,
                    draws,
                    answers_of(outcome),
                    source=source,
                    reasons=reasons,
                    provenance=provenance_of(inputs, digest),
                )
                keep(content, directory, options, write_driver_figures)
    show(content, lambda: render(content), form=options.format, place=f"Study: {directory}")
    return status_of(reasons, accepted=options.accept_unconverged, what="study", place=directory)


if __name__ == "__main__":
    sys.exit(main())
