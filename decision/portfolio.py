"""The command that chooses a program: which interventions, and how many accelerators besides."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decision.options import (
    add_free_or_costs_option,
    add_question_options,
    amount,
    count,
    request_of,
)
from decision.output import add_output_options, show
from model.command import command

if TYPE_CHECKING:
    from decision.inputs import Inputs
    from decision.program_choice import Chooser
    from decision.rules import Rules
    from model.interventions import Intervention
    from priors.draws import Draws


DEFAULT_POINTS = 21

EXAMPLES = """\
examples:
  python -m decision.portfolio --budget 800 --costs costs.yaml
      what to spend 800 accelerators on: interventions, and accelerators for the rest
  python -m decision.portfolio --budget 800 --costs costs.yaml --rules ours.yaml
      with what excludes what, and what needs what
  python -m decision.portfolio --only fast_detection,fast_restart,fast_checkpoint
      what they are worth together and apart, whatever they cost
"""


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m decision.portfolio",
        description="Chooses the program of interventions that makes the most of a budget, of "
        "which buying accelerators takes the rest, and says how interventions work together.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_question_options(parser)
    add_free_or_costs_option(parser)
    add = parser.add_argument
    add(
        "--budget",
        type=amount,
        metavar="N",
        help="accelerators that are spent; default what all interventions cost together "
        "(e.g. --budget 800)",
    )
    add(
        "--rules",
        metavar="NAME|FILE",
        help="which interventions exclude or need each other; default the shipped rules for the "
        "shipped interventions (e.g. --rules ours.yaml)",
    )
    add(
        "--points",
        type=count,
        default=DEFAULT_POINTS,
        metavar="N",
        help=f"budgets of the frontier, default {DEFAULT_POINTS} (e.g. --points 41)",
    )
    add(
        "--out",
        metavar="DIR",
        type=Path,
        help="where programs.csv and the figure go: a run of the same inputs, or a new directory "
        "(e.g. --out runs/board-meeting)",
    )
    add_output_options(parser, query=".answers", file="programs.txt")
    return parser


def members_of(inputs: "Inputs") -> "tuple[Intervention, ...]":
    """The single interventions that are asked about; bundles are programs anyway."""
    _, question = inputs.questions[0]
    return tuple(one for one in question.interventions if not one.parts)


def rules_of(
    options: argparse.Namespace, inputs: "Inputs", members: "Sequence[Intervention]"
) -> "Rules":
    """Rules between the interventions, with those that their targets impose."""
    from decision.rules import Rules, for_members, read_rules

    name = options.rules
    if name is None and options.interventions == "published":
        name = "published"
    known = [one.name for one in inputs.intervention_file.interventions]
    return for_members(Rules() if name is None else read_rules(name, known), members)


def chooser_of(
    inputs: "Inputs",
    draws: "Draws",
    question_index: int,
    members: "Sequence[Intervention]",
    rules: "Rules",
) -> "Chooser":
    """Programs of one regime, their costs, and which are allowed.

    Beyond twelve interventions only nothing, single ones and pairs are listed as allowed; programs
    are then searched.
    """
    import numpy as np

    from decision.information import columns_of
    from decision.precision import Layout
    from decision.program_choice import Chooser, price_programs
    from decision.program_search import ENUMERATED
    from decision.programs import combine
    from decision.rules import allowed_programs, few_programs

    _, question = inputs.questions[question_index]
    names = [member.name for member in members]
    columns = columns_of(inputs, draws)
    if len(members) > ENUMERATED:
        masks = few_programs(rules, names)
    else:
        masks = np.flatnonzero(allowed_programs(rules, names))
    return Chooser(
        programs=combine(question, columns, members, len(draws)),
        costs=price_programs(inputs.costs, names, columns),
        masks=masks,
        layout=Layout.of(draws.chain, len(draws)),
    )


def compute(
    options: argparse.Namespace,
    inputs: "Inputs",
    members: "Sequence[Intervention]",
    rules: "Rules",
) -> Mapping[str, Any]:
    """Draw, choose and describe."""
    import numpy as np

    from decision.portfolio_summary import Portfolio, describe
    from decision.program_choice import attribute, pair_up
    from decision.program_search import ENUMERATED, search_along
    from decision.progress import Progress
    from decision.rank import draw

    searched = len(members) > ENUMERATED
    with Progress(quiet=options.quiet) as progress:
        draws, _, posterior = draw(inputs, progress.say)
        progress.start("choosing programs", options.points * len(inputs.questions))
        answers = []
        for index in range(len(inputs.questions)):
            chooser = chooser_of(inputs, draws, index, members, rules)
            budget = inputs.request.budget
            if budget is None:
                budget = chooser.costs.expected((1 << len(members)) - 1)
            budgets = np.unique(np.linspace(0.0, budget, options.points)).tolist()
            gap = None
            if searched:
                chooser, gap = search_along(
                    chooser, rules, budgets, seed=inputs.request.seed, progress=progress.advance
                )
                progress_of: Callable[[int], None] = _silent
            else:
                progress_of = progress.advance
            answers.append(
                Portfolio(
                    chooser=chooser,
                    frontier=chooser.frontier(budgets, progress_of),
                    at_budget=(point := chooser.at(budget)),
                    pairs=pair_up(chooser.programs, chooser.masks, chooser.layout),
                    shares=attribute(chooser.programs, point.best.mask, chooser.layout),
                    gap=gap,
                )
            )
    return describe(inputs, draws, rules, answers, posterior)


def _silent(_: int) -> None:
    """Progress that was already told."""


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0, 2 for bad input, 130 when interrupted."""
    options = build_parser().parse_args(argv)

    from decision.inputs import gather

    inputs = gather(request_of(options))
    members = members_of(inputs)
    summary = compute(options, inputs, members, rules_of(options, inputs, members))
    if options.out is not None:
        from decision.further import add_results
        from decision.portfolio_summary import write_csv
        from reports.information_figures import write_portfolio_figures

        def write(folder: Path) -> None:
            write_csv(summary, folder / "programs.csv")
            write_portfolio_figures(summary, folder / "figures")

        add_results(options.out, inputs, "portfolio", summary, write)
    from reports.information_tables import render_portfolio

    place = "" if options.out is None else f"Written: {options.out}"
    show(summary, lambda: render_portfolio(summary), form=options.format, place=place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
