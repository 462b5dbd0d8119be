"""The command that ranks interventions: which is worth funding, and how sure is that."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decision.options import add_cost_options, add_question_options, count, request_of
from decision.output import add_output_options, show, status_of, terminal_width
from model.command import command

if TYPE_CHECKING:
    import numpy as np

    from decision.inputs import Inputs
    from decision.omissions import Omissions
    from decision.outcomes import Question
    from decision.summary import Answer
    from priors.catalogue import Catalogue
    from priors.conditioned import Posterior
    from priors.draws import Draws

FEWEST_FOR_DRIVERS = 100
"""With fewer draws it cannot be said which parameter decides anything."""

EXAMPLES = """\
examples:
  python -m decision.rank --draws 5000
      the shipped reference scenario under the published evidence
  python -m decision.rank --scenario mine.yaml --evidence published --evidence mine-evidence.yaml
      one's own cluster, with one's own measurements beside the published ones
  python -m decision.rank --at-scale 65536 --only reliability_2x,fast_checkpoint \\
      --bundle both=reliability_2x+fast_checkpoint
  python -m decision.rank --parameter-draws draws.csv --solver published
  python -m decision.rank --costs costs.yaml --budget 800
      with what each option costs: whether it pays, and what to do
"""


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m decision.rank",
        description="Ranks infrastructure interventions for a training cluster by what they are "
        "worth, with the uncertainty, and writes a run directory with a funding memo.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_question_options(parser)
    add_cost_options(parser)
    add = parser.add_argument
    add(
        "--chunk",
        type=count,
        metavar="N",
        help="draws evaluated at once; changes no result (e.g. --chunk 512)",
    )
    add(
        "--jobs",
        type=count,
        default=1,
        metavar="N",
        help="threads; changes no result; default 1 (e.g. --jobs 2)",
    )
    add(
        "--no-refits",
        dest="refits",
        action="store_false",
        help="do not sample anew without those of your observations that weights cannot leave out: "
        "what they do to the ranking stays unsaid, half a minute each is saved (e.g. --no-refits)",
    )
    add(
        "--out",
        metavar="DIR",
        type=Path,
        help="the run directory, default below runs/ (e.g. --out runs/board-meeting)",
    )
    add(
        "--force",
        action="store_true",
        help="recompute, and replace an older run in the directory (e.g. --out runs/x --force)",
    )
    add_output_options(parser, query=".answers", file="ranking.txt", marked="run")
    return parser


def draw(
    inputs: "Inputs", say: Callable[[str], None]
) -> tuple["Draws", "Draws | None", "Posterior | None"]:
    """Draws to rank on, prior draws to compare them with, and the posterior they came from.

    What is uncertain about interventions is drawn beside the parameters: no evidence bears on it.
    """
    from decision.terms import draws_with_terms
    from priors.draws import prior_draws

    seed = inputs.request.seed
    if inputs.file_draws is not None:
        return draws_with_terms(inputs.file_draws, inputs.terms, seed), None, None
    prior = prior_draws(inputs.catalogue, inputs.draws, seed)
    if inputs.source == "prior":
        return prior, prior, None
    posterior = conditioned(inputs, prior.columns, say)
    return draws_with_terms(posterior.draws, inputs.terms, seed), prior, posterior


def conditioned(
    inputs: "Inputs", prior: "Mapping[str, np.ndarray]", say: Callable[[str], None]
) -> "Posterior":
    """The posterior in the form that was asked for: of a mixture each form's on its own draws."""
    from decision.forms import FORM, ORDER, mixture
    from model.scenario import substitute
    from priors.conditioning import condition

    def in_form(refinements: Sequence[str]) -> "Posterior":
        return condition(
            inputs.scenario_catalogue,
            inputs.evidence,
            substitute(inputs.scenario, {"refinements": refinements}),
            forms=inputs.form.mixture,
            draws=inputs.draws,
            seed=inputs.request.seed,
            progress=say,
        )

    if not inputs.form.mixture:
        return in_form(inputs.scenario.refinements)
    each = dict(zip(ORDER, map(in_form, inputs.form.mixture), strict=True))
    return mixture(each, prior[FORM])


def answer_all(
    inputs: "Inputs",
    draws: "Draws",
    prior: "Draws | None",
    *,
    chunk: int | None,
    jobs: int,
    advance: Callable[[int], None],
    find_drivers: "Callable[[Question, Draws, Catalogue | None], Mapping[str, Any]]",
    omissions: "Omissions | None",
) -> "list[Answer]":
    """Rank under every regime asked for."""
    from dataclasses import replace

    from decision.outcomes import CHUNK, evaluate
    from decision.ranking import first_place_credit, rank_options
    from decision.summary import Answer

    answers = []
    costs: dict[str, np.ndarray] = {}
    if inputs.costs is not None:
        costs = inputs.costs.draw(len(draws), inputs.request.seed)
    for regime, question in inputs.questions:
        options: dict[str, Any] = {"chunk": chunk or CHUNK, "jobs": jobs, "progress": advance}
        outcomes = evaluate(question, draws.columns, **options)
        ranking = rank_options(outcomes, draws.chain)
        shares: dict[str, float] = {}
        if prior is draws:
            shares = {standing.option: standing.p_first for standing in ranking.standings}
        elif prior is not None:
            before = evaluate(question, prior.columns, **options)
            means = first_place_credit(before).mean(axis=0)
            shares = dict(zip(before.options, map(float, means), strict=True))
        economics = None
        if inputs.costs is not None:
            from decision.economics import appraise

            economics = appraise(
                question,
                {**draws.columns, **costs},
                outcomes,
                inputs.costs,
                budget=inputs.request.budget,
                risk_tolerance=inputs.request.risk_tolerance,
                chain=draws.chain,
                seed=inputs.request.seed,
            )
            if inputs.studies is not None:
                from decision.offers import with_studies

                economics = with_studies(
                    economics,
                    question,
                    {**draws.columns, **costs},
                    inputs.studies.studies,
                    catalogue=inputs.scenario_catalogue,
                    price_per_accelerator=inputs.studies.price_per_accelerator,
                    chain=draws.chain,
                    seed=inputs.request.seed,
                )
        drivers = None
        if len(draws) >= FEWEST_FOR_DRIVERS:
            independent = inputs.catalogue if prior is draws else None
            drivers = find_drivers(question, draws, independent)
        answer = Answer(
            regime=regime,
            question=question,
            outcomes=outcomes,
            ranking=ranking,
            prior_shares=shares,
            economics=economics,
            costs=costs,
            drivers=drivers,
            influence=None
            if omissions is None
            else omissions.influences(question, outcomes, economics),
        )
        others = compare_forms(inputs, answer, draws, chunk=chunk or CHUNK, jobs=jobs)
        answers.append(replace(answer, forms=others))
    return answers


def compare_forms(
    inputs: "Inputs", answer: "Answer", draws: "Draws", *, chunk: int, jobs: int
) -> "Mapping[str, Any]":
    """What the formulas that are not used would have said."""
    from decision.forms import describe_forms, other_forms
    from decision.outcomes import Outcomes, evaluate

    def decide(asked: "Question", columns: "Mapping[str, np.ndarray]", _: Outcomes) -> str | None:
        if inputs.costs is None:
            return None
        from decision.economics import choose

        request = inputs.request
        return choose(asked, columns, inputs.costs, request.budget, request.risk_tolerance)

    ranking, economics = answer.ranking, answer.economics
    others = other_forms(
        answer.question,
        {**draws.columns, **answer.costs},
        draws.chain,
        used=inputs.form.name,
        outcomes=answer.outcomes,
        evaluate=lambda asked, columns: evaluate(asked, columns, chunk=chunk, jobs=jobs),
        decide=decide,
    )
    return describe_forms(
        others,
        used=inputs.form.name,
        source=inputs.source,
        leader=ranking.leader.option,
        recommended=ranking.recommended.option,
        decision=None if economics is None else economics.chosen,
    )


def compute(
    options: argparse.Namespace,
    inputs: "Inputs",
    directory: Path,
    render: Callable[[Mapping[str, Any], Path], object],
    find_drivers: "Callable[[Question, Draws, Catalogue | None], Mapping[str, Any]]",
) -> Mapping[str, Any]:
    """Draw, rank and write the run; returns its summary."""
    import time

    from decision.progress import Progress
    from decision.run import write_run
    from decision.summary import describe

    started = time.monotonic()
    with Progress(quiet=options.quiet) as progress:
        draws, prior, posterior = draw(inputs, progress.say)
        total = inputs.draws * len(inputs.questions)
        compared = prior is not None and prior is not draws
        progress.start(f"ranking {inputs.draws:,} draws", total * (2 if compared else 1))
        omissions = None
        if posterior is not None and posterior.left_out:
            from decision.omissions import Omissions

            omissions = Omissions(inputs, draws, posterior.left_out, say=progress.say)
        answers = answer_all(
            inputs,
            draws,
            prior,
            chunk=options.chunk,
            jobs=options.jobs,
            advance=progress.advance,
            find_drivers=find_drivers,
            omissions=omissions,
        )
        progress.say("writing the run")
        summary = describe(inputs, answers, draws, prior, posterior)
        write_run(
            directory,
            inputs=inputs,
            answers=answers,
            draws=draws,
            summary=summary,
            posterior=posterior,
            wall_time_s=time.monotonic() - started,
            render=render,
        )
    return summary


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0, 2 for bad input, 3 for a posterior that did not converge, 130 when interrupted.
    """
    options = build_parser().parse_args(argv)

    from model.errors import InputError

    if options.budget is not None and options.costs is None:
        raise InputError.single(
            message="without costs there is nothing to spend it on",
            source="--budget",
            remedy="state what the interventions cost: --costs FILE",
        )
    from decision.inputs import gather
    from decision.place import check_writable
    from decision.run import default_directory, find_run

    inputs = gather(request_of(options))
    directory = options.out or default_directory(inputs)
    summary: Mapping[str, Any] | None
    summary = find_run(directory, inputs.digest, force=options.force)
    if summary is None:
        from reports.memo import write_memo

        def find_drivers(
            question: "Question", draws: "Draws", priors: "Catalogue | None"
        ) -> Mapping[str, Any]:
            from studies.drivers.quick import BUDGET, PRIOR_BUDGET, quick_drivers

            budget = BUDGET if priors is None else PRIOR_BUDGET
            return quick_drivers(question, draws, priors, seed=options.seed, budget=budget)

        check_writable(directory)
        summary = compute(options, inputs, directory, write_memo, find_drivers)

    def text() -> str:
        from reports.terminal import render

        return render(summary, width=terminal_width(), color=sys.stdout.isatty())

    show(summary, text, form=options.format, place=f"Run: {directory}")
    sampler = summary["sampler"]
    return status_of(
        [] if sampler is None else sampler["reasons"],
        accepted=options.accept_unconverged,
        what="run",
        place=directory,
    )


if __name__ == "__main__":
    sys.exit(main())
