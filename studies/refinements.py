"""The command that says what each refinement does to the numbers of the published study."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from decision.output import add_format_option, as_json
from model.command import command

if TYPE_CHECKING:
    from model.scenario import Scenario

SCALES = (16_384, 65_536)

OPTIONS = ("bandwidth_2x", "reliability_2x", "fast_checkpoint", "straggler_control")

TOGETHER, ALL = "refined form", "all of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Reference numbers under some formulas.

    Parameters
    ----------
    name
        Of the refinement, or of a set.
    refinements
        What is on.
    step_s
        The healthy step.
    ucf, ettr, discarded
        Shares of the reference's ledger.
    ucf_at
        UCF by scale.
    predicted_tflops
        Throughput predicted at 16,384 accelerators after calibration at 8,192, per accelerator.
    sea
        Accelerators of the baseline that options are worth; infinite where they cannot be bought.
    first
        The intervention that gains most.
    """

    name: str
    refinements: tuple[str, ...]
    step_s: float
    ucf: float
    ettr: float
    discarded: float
    ucf_at: Mapping[int, float]
    predicted_tflops: float
    sea: Mapping[str, float]
    first: str


def effects(scenario: "Scenario") -> Iterator[Effect]:
    """Each refinement alone on a scenario, then those of the refined form, then all.

    The first is the published model.
    """
    from model.forms import NAMES, PUBLISHED, REFINED, read_forms

    yield effect(PUBLISHED, scenario, ())
    for name in NAMES:
        yield effect(name, scenario, (name,))
    yield effect(TOGETHER, scenario, read_forms()[REFINED].refinements)
    yield effect(ALL, scenario, NAMES)


def effect(name: str, scenario: "Scenario", refinements: tuple[str, ...]) -> Effect:
    """Reference numbers of a scenario under some refinements."""
    import numpy as np

    from decision.outcomes import Question, evaluate
    from model.interventions import read_interventions
    from model.ledger import account
    from model.scaling import at_scale
    from model.scenario import substitute

    refined = substitute(scenario, {"refinements": refinements})
    ledger = account(refined)
    interventions = read_interventions("published").interventions
    outcomes = evaluate(Question(scenario=refined, interventions=interventions), {})
    worth = dict(zip(outcomes.options, outcomes.sea[0].tolist(), strict=True))
    return Effect(
        name=name,
        refinements=refinements,
        step_s=float(ledger.step.total_s),
        ucf=float(ledger.ucf),
        ettr=float(ledger.ettr),
        discarded=float(ledger.fates["discarded"]),
        ucf_at={
            scale: float(np.squeeze(account(at_scale(refined, scale, source=name)).ucf))
            for scale in SCALES
        },
        predicted_tflops=predicted_tflops(refinements),
        sea={option: worth[option] for option in OPTIONS},
        first=outcomes.options[int(outcomes.gain[0].argmax())],
    )


def predicted_tflops(refinements: tuple[str, ...]) -> float:
    """Claim 11 under refinements: TFLOP/s at 16,384, kernel efficiency from those at 8,192."""
    import numpy as np
    from scipy import optimize

    from model.ledger import achieved_flops_per_accelerator
    from model.scenario import substitute
    from model.scenario_file import read_scenario
    from model.step import healthy_step
    from studies.calibration import KERNEL_EFFICIENCY, TFLOPS_AT_8192

    small, large = (
        substitute(read_scenario(name).scenario, {"refinements": refinements})
        for name in ("llama3_405b_8k", "llama3_405b_16k")
    )

    def achieved(twin: "Scenario", efficiency: float) -> float:
        known = substitute(twin, {KERNEL_EFFICIENCY: efficiency})
        return float(np.squeeze(achieved_flops_per_accelerator(known, healthy_step(known)))) / 1e12

    def miss(efficiency: float) -> float:
        return achieved(small, efficiency) - TFLOPS_AT_8192

    return achieved(large, float(optimize.brentq(miss, 0.1, 1.0)))


def rows_of(found: Sequence[Effect]) -> list[list[str]]:
    """Cells of the table, the published numbers first."""
    return [
        [
            one.name,
            f"{one.step_s:.3f}",
            f"{one.ucf:.4f}",
            f"{one.ettr:.4f}",
            f"{one.discarded:.1%}",
            *(f"{one.ucf_at[scale]:.3f}" for scale in SCALES[1:]),
            f"{one.predicted_tflops:.1f}",
            *(f"{one.sea[option]:,.0f}" for option in OPTIONS),
            one.first,
        ]
        for one in found
    ]


HEADS = (
    "formulas",
    "step s",
    "UCF",
    "ETTR",
    "discarded",
    *(f"UCF at {scale:,}" for scale in SCALES[1:]),
    "TFLOP/s at 16,384",
    *(f"SEA {option}" for option in OPTIONS),
    "gains most",
)


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.refinements",
        description="Evaluates a scenario with each refinement of the published formulas alone, "
        "with those of the refined form, and with all: step, ledger, the prediction of claim 11, "
        "what interventions are worth.",
        epilog="example: python -m studies.refinements --list",
    )
    add = parser.add_argument
    add(
        "--scenario",
        default="reference_405b_16k",
        metavar="NAME|FILE",
        help="shipped scenario or YAML file (e.g. --scenario mine.yaml)",
    )
    add(
        "--list",
        action="store_true",
        help="say what each refinement computes, from where, and where it changes nothing",
    )
    add_format_option(parser, ".effects")
    return parser


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0, or 2 for bad input."""
    options = build_parser().parse_args(argv)

    from model.forms import REFINEMENTS
    from model.scenario_file import read_scenario

    if options.list:
        if options.format == "json":
            print(as_json([asdict(one) for one in REFINEMENTS]), end="")
            return 0
        for one in REFINEMENTS:
            reads = f"\n    reads: {', '.join(one.parameters)}" if one.parameters else ""
            unread = f"\n    does not read: {', '.join(one.replaces)}" if one.replaces else ""
            print(f"{one.name}: {one.changes}")
            print(f"    from: {one.source}\n    as published at: {one.limit}{reads}{unread}")
        return 0
    found = list(effects(read_scenario(options.scenario).scenario))
    if options.format == "json":
        # JSON has no infinity: what cannot be bought is null.
        plain = [
            {**asdict(one), "sea": {k: v if v < float("inf") else None for k, v in one.sea.items()}}
            for one in found
        ]
        print(as_json({"effects": plain}), end="")
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, head in enumerate(HEADS):
        table.add_column(head, justify="left" if index in (0, len(HEADS) - 1) else "right")
    for row in rows_of(found):
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
