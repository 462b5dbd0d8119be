"""Options of commands that ask about a scenario, and the request they make."""

import argparse
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decision.inputs import Request

DEFAULT_DRAWS = 5000


def add_question_options(parser: argparse.ArgumentParser) -> None:
    """What is asked: scenario, interventions, priors, evidence, regime, solver, draws, seed."""
    add = parser.add_argument
    what = "name of a shipped one or a YAML file"
    add(
        "--scenario",
        default="reference_405b_16k",
        metavar="NAME|FILE",
        help=f"the cluster, job and window: {what} (e.g. --scenario mine.yaml)",
    )
    add(
        "--at-scale",
        type=count,
        metavar="N",
        help="re-plan the job to N accelerators (e.g. --at-scale 65536)",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        type=_assignment,
        help="a field of the scenario, taken as known; repeatable "
        "(e.g. --set reliability.spare_fraction=0.05)",
    )
    add(
        "--form",
        choices=("published", "refined", "mixed"),
        help="formulas: the published ones, the refined ones that published systems speak for, or "
        "each draw with its own by their weights; default: as the scenario says, else published "
        "(e.g. --form refined)",
    )
    add(
        "--interventions",
        default="published",
        metavar="NAME|FILE",
        help=f"what could be funded: {what} (e.g. --interventions options.yaml)",
    )
    add(
        "--only",
        type=_names,
        default=[],
        metavar="A,B",
        help="rank these interventions only (e.g. --only bandwidth_2x,fast_restart)",
    )
    add(
        "--bundle",
        action="append",
        default=[],
        metavar="NAME=A+B",
        type=_bundle,
        help="several interventions as one more option; repeatable "
        "(e.g. --bundle recovery=fast_detection+fast_restart)",
    )
    add(
        "--priors",
        default="published",
        metavar="NAME|FILE",
        help=f"what is believed before measuring: {what} (e.g. --priors ours.yaml)",
    )
    add(
        "--evidence",
        action="append",
        metavar="NAME|FILE|none",
        help=f"what was measured: {what}; repeatable; default published; none: priors alone "
        "(e.g. --evidence published --evidence ours.yaml)",
    )
    add(
        "--parameter-draws",
        metavar="FILE",
        help="CSV or Parquet of joint draws, columns named by dotted path, instead of priors and "
        "evidence (e.g. --parameter-draws draws.csv)",
    )
    add(
        "--regime",
        metavar="NAME|all",
        help="shift the scenario to a regime of the intervention file, or answer for each "
        "(e.g. --regime unreliable_flat)",
    )
    add(
        "--solver",
        choices=("exact", "published"),
        default="exact",
        help="how accelerators bought are counted: between adjacent pools, or on the published "
        "study's grid with losses as 0 (e.g. --solver published)",
    )
    add(
        "--draws",
        type=count,
        metavar="N",
        help=f"draws to keep, default {DEFAULT_DRAWS}, with a file all of it (e.g. --draws 20000)",
    )
    add(
        "--seed",
        type=_seed,
        default=1,
        metavar="N",
        help="same seed, same bytes; default 1 (e.g. --seed 7)",
    )


def add_cost_options(parser: argparse.ArgumentParser) -> None:
    """What options cost: file, budget, risk tolerance, studies on offer."""
    add = parser.add_argument
    add(
        "--costs",
        metavar="FILE",
        help="YAML of what each intervention costs, in fully-loaded accelerators or in a currency "
        "with your own price of one; then a decision is made (e.g. --costs costs.yaml)",
    )
    add(
        "--budget",
        type=amount,
        metavar="N",
        help="accelerators that are spent, on an option and the rest on the pool; default the "
        "largest expected cost (e.g. --budget 800)",
    )
    add(
        "--risk-tolerance",
        type=_tolerance,
        metavar="N",
        help="productive accelerators: the stake at which winning it, against losing half of it, "
        "at even odds is just acceptable; then the certainty equivalent decides "
        "(e.g. --risk-tolerance 500)",
    )

    add(
        "--studies",
        dest="studies_on_offer",
        metavar="NAME|FILE",
        help="YAML of studies with their costs: one that is worth more than it costs is made "
        "before anything is funded (e.g. --studies ours.yaml)",
    )


def add_free_or_costs_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--costs`` to a command that answers without costs too."""
    parser.add_argument(
        "--costs",
        metavar="FILE",
        help="YAML of what each intervention costs; without it all are free "
        "(e.g. --costs costs.yaml)",
    )


def amount(text: str) -> float:
    """A finite number of at least zero."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        message = f"got {text!r}, allowed is a finite number of at least 0"
        raise argparse.ArgumentTypeError(message)
    return value


def _tolerance(text: str) -> float:
    value = amount(text)
    if value == 0.0:
        message = f"got {text!r}, allowed is a finite number above 0"
        raise argparse.ArgumentTypeError(message)
    return value


def count(text: str) -> int:
    """A whole number of at least one."""
    value = _whole(text)
    if not 1 <= value <= 1_000_000_000:  # noqa: PLR2004 - beyond it nothing fits in memory
        message = f"got {text!r}, allowed is an integer from 1 to 1000000000"
        raise argparse.ArgumentTypeError(message)
    return value


def _seed(text: str) -> int:
    value = _whole(text)
    if not 0 <= value < 2**32:
        message = f"got {text!r}, allowed is an integer from 0 to 4294967295"
        raise argparse.ArgumentTypeError(message)
    return value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        message = f"got {text!r}, an integer is needed"
        raise argparse.ArgumentTypeError(message) from None


def _assignment(text: str) -> tuple[str, str]:
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        message = f"got {text!r}, PATH=VALUE is needed"
        raise argparse.ArgumentTypeError(message)
    return path.strip(), value


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        message = f"got {text!r}, names separated by commas are needed"
        raise argparse.ArgumentTypeError(message)
    return names


def _bundle(text: str) -> tuple[str, list[str]]:
    name, sign, joined = text.partition("=")
    parts = [part.strip() for part in joined.split("+")]
    if not sign or not name.strip() or not all(parts) or len(parts) < 2:  # noqa: PLR2004
        message = f"got {text!r}, NAME=A+B is needed"
        raise argparse.ArgumentTypeError(message)
    return name.strip(), parts


def request_of(options: argparse.Namespace) -> "Request":
    """The options as a request.

    Raises
    ------
    InputError
        If a name is given twice.
    """
    from decision.inputs import Request
    from model.errors import InputError, Problem

    problems = [
        Problem(source=option, path=name, message="given twice", remedy="keep one")
        for option, pairs in (("--set", options.set), ("--bundle", options.bundle))
        for name in {name for name, _ in pairs}
        if sum(name == other for other, _ in pairs) > 1
    ]
    if options.parameter_draws is not None and options.evidence is not None:
        problems.append(
            Problem(
                source="--evidence",
                message="draws from a file cannot be conditioned any further",
                remedy="leave out --parameter-draws or --evidence",
            )
        )
    studies_on_offer = getattr(options, "studies_on_offer", None)
    problems += [
        Problem(
            source=option,
            message="without costs there is no decision to make",
            remedy="state what the interventions cost: --costs FILE",
        )
        for option, value in (
            ("--risk-tolerance", getattr(options, "risk_tolerance", None)),
            ("--studies", studies_on_offer),
        )
        if value is not None and options.costs is None
    ]
    if problems:
        raise InputError(problems)
    draws = options.draws
    if draws is None and options.parameter_draws is None:
        draws = DEFAULT_DRAWS
    return Request(
        scenario=options.scenario,
        at_scale=options.at_scale,
        settings=dict(options.set),
        interventions=options.interventions,
        only=options.only,
        bundles=dict(options.bundle),
        priors=options.priors,
        evidence=options.evidence or (["published"] if options.parameter_draws is None else []),
        parameter_draws=options.parameter_draws,
        regime=options.regime,
        solver=options.solver,
        draws=draws,
        seed=options.seed,
        costs=getattr(options, "costs", None),
        budget=getattr(options, "budget", None),
        risk_tolerance=getattr(options, "risk_tolerance", None),
        studies_on_offer=studies_on_offer,
        form=options.form,
        refits=getattr(options, "refits", True),
    )
