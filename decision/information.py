"""The command that values information: what it is worth to measure before deciding."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decision.options import add_free_or_costs_option, add_question_options, amount, request_of
from decision.output import add_output_options, show
from model.command import command

if TYPE_CHECKING:
    import numpy as np

    from decision.inputs import Inputs
    from decision.learning import Dependence, Learning
    from decision.planned_studies import StudyFile
    from decision.utility import Utilities
    from priors.draws import Draws


EXAMPLES = """\
examples:
  python -m decision.information
      every parameter, and the shipped studies, on the reference scenario
  python -m decision.information --costs costs.yaml --budget 800 --studies ours.yaml
      one's own costs and studies: what each study is worth against what it costs
  python -m decision.information --group network=topology.net_efficiency+parallelism.overlap_dp
  python -m decision.information --nested
      beside the regressions, the same by redrawing everything else
"""


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m decision.information",
        description="Says what it is worth, in productive accelerators, to know a parameter or to "
        "order a study before deciding.",
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
        help="accelerators that are spent whatever is chosen; default the largest expected cost "
        "(e.g. --budget 800)",
    )
    add(
        "--studies",
        default="common",
        metavar="NAME|FILE",
        help="studies on offer, a shipped list or a YAML file (e.g. --studies ours.yaml)",
    )
    add(
        "--group",
        action="append",
        default=[],
        metavar="NAME=PATH+PATH",
        type=_group,
        help="parameters valued together; repeatable; default by what they describe "
        "(e.g. --group recovery=reliability.detect_time_s+reliability.restart_time_s)",
    )
    add(
        "--nested",
        action="store_true",
        help="also by nested redraws, a check that takes seconds a parameter",
    )
    add(
        "--out",
        metavar="DIR",
        type=Path,
        help="where information.csv and figures go: a run of the same inputs, or a new directory "
        "(e.g. --out runs/board-meeting)",
    )
    add_output_options(parser, query=".answers", file="information.txt")
    return parser


def _group(text: str) -> tuple[str, list[str]]:
    name, sign, joined = text.partition("=")
    paths = [path.strip() for path in joined.split("+")]
    if not sign or not name.strip() or not all(paths):
        message = f"got {text!r}, NAME=PATH+PATH is needed"
        raise argparse.ArgumentTypeError(message)
    return name.strip(), paths


def varying_paths(columns: Mapping[str, "np.ndarray"]) -> list[str]:
    """Columns in which there is anything to learn."""
    return [path for path, column in columns.items() if (column != column[0]).any()]


def groups_of(
    asked: Sequence[tuple[str, Sequence[str]]], varying: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Groups asked for, or those by what parameters describe.

    Raises
    ------
    InputError
        If a group names something that is not uncertain.
    """
    from decision.learning import default_groups
    from model.errors import InputError, Problem, nearest

    problems = [
        Problem(
            source="--group",
            path=f"{name}: {path}",
            message="this is no uncertain parameter here",
            remedy=nearest(path, varying),
        )
        for name, paths in asked
        for path in paths
        if path not in varying
    ]
    if problems:
        raise InputError(problems)
    return {name: tuple(paths) for name, paths in asked} or default_groups(varying)


def columns_of(inputs: "Inputs", draws: "Draws") -> "dict[str, np.ndarray]":
    """Draws by column, uncertain costs beside the parameters; (n,) each."""
    columns = dict(draws.columns)
    if inputs.costs is not None:
        columns |= inputs.costs.draw(len(draws), inputs.request.seed)
    return columns


def value_information(
    inputs: "Inputs",
    columns: "Mapping[str, np.ndarray]",
    chain: "np.ndarray | None",
    question_index: int,
    studies: "StudyFile",
    *,
    parameters: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    dependence: "Dependence | None" = None,
    progress: Callable[[int], None] = lambda _: None,
) -> "tuple[Utilities, Learning]":
    """Value information on one question of a request.

    Parameters
    ----------
    inputs, columns, chain
        What was asked, the draws by column, and the chain of each; None for independent draws.
    question_index
        Which regime's question.
    studies
        Studies on offer.
    parameters, groups
        Parameters valued one by one, and together by name.
    dependence
        For nested estimates; None for none.
    progress
        Called after each parameter, group and study.
    """
    import numpy as np

    from decision.learning import Redraws, Stake, learn
    from decision.outcomes import baseline_of
    from decision.precision import Layout
    from decision.study_data import Target
    from decision.utility import best_index, pools_of, utilities

    _, question = inputs.questions[question_index]
    draws = len(next(iter(columns.values())))
    found = utilities(question, columns, inputs.costs, inputs.request.budget)
    admissible = found.admissible
    best = best_index(found.values, found.feasible)
    pools = pools_of(question, columns, draws)
    left = (found.budget - found.costs[:, best])[:, np.newaxis]
    means = found.values.mean(axis=0)

    def price_of(accelerators: float) -> float:
        return float(means[best] - pools.value(best, left - accelerators).mean())

    def evaluate(redrawn: Mapping[str, np.ndarray]) -> np.ndarray:
        again = utilities(question, redrawn, inputs.costs, found.budget)
        return again.values[:, admissible]

    regime = question.regime
    learning = learn(
        [found.options[k] for k in admissible],
        found.values[:, admissible],
        columns,
        Layout.of(chain, draws),
        parameters=parameters,
        groups=groups,
        studies=studies.studies,
        target=Target(
            scenario=baseline_of(question, {}),
            known=frozenset(regime.overrides) if regime else frozenset(),
            catalogue=inputs.scenario_catalogue,
            columns=columns,
            seed=inputs.request.seed,
            forms=question.forms,
        ),
        stake=Stake(
            horizon_days=found.horizon_days,
            advantage=float(means[best] - means[0]),
            price_of=price_of,
            price_per_accelerator=studies.price_per_accelerator,
        ),
        redraws=None if dependence is None else Redraws(dependence=dependence, evaluate=evaluate),
        progress=progress,
    )
    return found, learning


def studies_of(options: argparse.Namespace, inputs: "Inputs") -> "StudyFile":
    """Studies on offer, priced as the costs are where they state no price of their own."""
    from decision.planned_studies import read_studies

    costs, price = inputs.costs, None
    if costs is not None and costs.price_per_accelerator is not None:
        price = costs.price_per_accelerator * costs.horizon_days / costs.accelerator_life_days
    return read_studies(options.studies, price_per_accelerator=price)


def compute(
    options: argparse.Namespace,
    inputs: "Inputs",
    studies: "StudyFile",
    fit_dependence: "Callable[[Mapping[str, Any], bool], Dependence] | None",
) -> Mapping[str, Any]:
    """Draw, value and describe."""
    from decision.information_summary import describe
    from decision.progress import Progress
    from decision.rank import draw

    with Progress(quiet=options.quiet) as progress:
        draws, _, posterior = draw(inputs, progress.say)
        columns = columns_of(inputs, draws)
        varying = varying_paths(columns)
        groups = groups_of(options.group, varying)
        dependence = None
        if fit_dependence is not None:
            uncertain = {path: columns[path] for path in varying}
            dependence = fit_dependence(uncertain, inputs.source == "prior")
        count = len(varying) + len(groups) + len(studies.studies)
        progress.start("valuing information", count * len(inputs.questions))
        answers = [
            value_information(
                inputs,
                columns,
                draws.chain,
                index,
                studies,
                parameters=varying,
                groups=groups,
                dependence=dependence,
                progress=progress.advance,
            )
            for index in range(len(inputs.questions))
        ]
    return describe(inputs, draws, studies, answers, posterior)


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0, 2 for bad input, 130 when interrupted."""
    options = build_parser().parse_args(argv)

    from decision.inputs import gather

    inputs = gather(request_of(options))
    studies = studies_of(options, inputs)
    fit = None
    if options.nested:
        from studies.drivers.copula import fit_copula

        def fit(columns: Mapping[str, Any], independent: bool) -> "Dependence":
            return fit_copula(columns, independent=independent)

    summary = compute(options, inputs, studies, fit)
    if options.out is not None:
        from decision.further import add_results
        from decision.information_summary import write_csv
        from reports.information_figures import write_information_figures

        def write(folder: Path) -> None:
            write_csv(summary, folder / "information.csv")
            write_information_figures(summary, folder / "figures")

        add_results(options.out, inputs, "information", summary, write)
    from reports.information_tables import render_information

    place = "" if options.out is None else f"Written: {options.out}"
    show(summary, lambda: render_information(summary), form=options.format, place=place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
