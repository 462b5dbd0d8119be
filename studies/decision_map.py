"""The command that maps who ranks first over regimes, how surely, and where that changes."""

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from decision.options import add_question_options, count
from decision.output import add_output_options, show, status_of, terminal_width
from model.command import command
from studies.execution.options import add_execution_options, execution_of

if TYPE_CHECKING:
    from studies.mapping.request import MapRequest

MOST_REFINE = 6

EXAMPLES = """\
examples:
  python -m studies.decision_map
      the 144 regimes of the published map, with the uncertainty
  python -m studies.decision_map --point-values
      the same at the scenario's own values, as published
  python -m studies.decision_map --x topology.oversubscription=1:16:16 \\
      --y reliability.failure_rate_per_node_day=1e-3:3e-2:24:log --scale 16384,65536 --jobs 2
  python -m studies.decision_map --x reliability.checkpoint_write_s=5:90:18 \\
      --y reliability.straggler_cv=0:0.05:11 --facet parallelism.recompute=none,selective
  python -m studies.decision_map --scenarios fleet/*.yaml --scale 4096,16384,65536

An axis pins its parameter: in each cell every draw holds the axis value instead of its own and
keeps its other parameters. With :shift the draws move so that their median is the axis value.
"""


def build_parser() -> argparse.ArgumentParser:
    """Options of the command: those of a question, of the map and of the execution."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.decision_map",
        description="Maps which intervention ranks first over a grid of regimes, how surely, and "
        "where one winner gives way to another; writes tables and a figure.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_question_options(parser)
    group = parser.add_argument_group("map", "what varies from cell to cell")
    add = group.add_argument
    axis = "PATH=lo:hi:n[:log]"
    add(
        "--x",
        metavar=axis,
        help="what varies over the columns, a range or values that rise; with neither axis nor "
        "scenarios the published map's (e.g. --x topology.oversubscription=1,2,4,7)",
    )
    add(
        "--y",
        metavar=axis,
        help="what varies over the rows "
        "(e.g. --y reliability.failure_rate_per_node_day=1e-3:3e-2:12:log)",
    )
    add(
        "--facet",
        action="append",
        default=[],
        metavar=axis,
        help="what varies from panel to panel; repeatable "
        "(e.g. --facet reliability.spare_fraction=0.01,0.03)",
    )
    add(
        "--scale",
        type=_scales,
        default=[],
        metavar="N,N",
        help="accelerators that the job is re-planned to, a panel each (e.g. --scale 16384,65536)",
    )
    add(
        "--scenarios",
        nargs="+",
        default=[],
        metavar="FILE",
        help="scenario files, a row each (e.g. --scenarios fleet/*.yaml --scale 4096,16384)",
    )
    add(
        "--refine",
        type=_doublings,
        metavar="K",
        help="how often a cell's draws may double while its winner is not separated; default 2 "
        "with priors alone, 1 with a posterior, which is sampled again each time, 0 with a file "
        "(e.g. --refine 3)",
    )
    add(
        "--point-values",
        action="store_true",
        help="the scenario's own values instead of draws (e.g. --point-values --solver published)",
    )
    add = parser.add_argument
    add(
        "--out",
        metavar="DIR",
        type=Path,
        help="directory of the map, default below runs/ (e.g. --out runs/map)",
    )
    add("--force", action="store_true", help="recompute, and replace an older map")
    add_output_options(parser, query=".panels", file="map.txt", marked="map")
    add_execution_options(parser)
    return parser


def _scales(text: str) -> list[int]:
    values = [count(part) for part in text.split(",")]
    if any(after <= before for before, after in pairwise(values)):
        message = f"got {text!r}, sizes must rise"
        raise argparse.ArgumentTypeError(message)
    return values


def _doublings(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not 0 <= value <= MOST_REFINE:
        message = f"got {text!r}, allowed is an integer from 0 to {MOST_REFINE}"
        raise argparse.ArgumentTypeError(message)
    return value


def map_request(options: argparse.Namespace) -> "MapRequest":
    """The options as a request.

    Raises
    ------
    InputError
        If two of them say the same thing twice, or contradict each other.
    """
    from decision.options import request_of
    from model.errors import InputError, Problem
    from studies.mapping.request import MapRequest

    problems = []
    default = build_parser().get_default("scenario")
    if options.scenarios and options.scenario != default:
        problems.append(
            Problem(
                source="--scenario",
                message="given beside --scenarios",
                remedy="add the file to --scenarios",
            )
        )
    if options.at_scale is not None and options.scale:
        problems.append(
            Problem(source="--at-scale", message="given beside --scale", remedy="keep --scale")
        )
    if options.point_values:
        problems += [
            Problem(
                source=f"--{name.replace('_', '-')}",
                message="draws are of no use to --point-values",
                remedy="leave out one of them",
            )
            for name in ("parameter_draws", "draws", "evidence", "refine")
            if getattr(options, name) is not None
        ]
    if problems:
        raise InputError(problems)
    scales = options.scale or ([] if options.at_scale is None else [options.at_scale])
    options.at_scale = None
    if options.point_values:
        options.evidence = ["none"]
    return MapRequest(
        question=request_of(options),
        x=options.x,
        y=options.y,
        facets=options.facet,
        scales=scales,
        scenarios=options.scenarios,
        refine=options.refine,
        point_values=options.point_values,
    )


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0, 2 for bad input or failed tasks, 3 for a posterior that did not converge, 130 when
        interrupted.
    """
    options = build_parser().parse_args(argv)

    from contextlib import suppress

    from decision.place import below_runs, check_writable
    from decision.progress import Progress
    from reports.map_figures import write_map_figures
    from reports.map_text import render
    from studies.execution.store import unfinished
    from studies.mapping.request import ground_of, read_map
    from studies.mapping.study import (
        STUDY,
        compute,
        digest_of,
        finished,
        provenance_of,
        write_map,
    )
    from studies.mapping.summary import describe_map
    from studies.output import check_place, results

    execution = execution_of(options)
    found = read_map(map_request(options))
    digest = digest_of(found)
    directory: Path = options.out or below_runs(found.first.scenario.name, digest, kind="map")
    content = None if options.force else finished(directory, digest)
    if content is None:
        check_place(directory, STUDY, digest, force=options.force)
        check_writable(directory)
        place = unfinished(directory)
        with Progress(quiet=options.quiet) as progress:
            ground, reasons = ground_of(found, progress.say)
            ranked, traced = compute(
                found, ground, place, digest=digest, execution=execution, progress=progress
            )
            with (
                ranked.placing(),
                traced.placing(),
                results(directory, force=options.force) as target,
            ):
                content = describe_map(
                    found,
                    ranked.frame("cells"),
                    traced.frame("boundaries") if traced.total else None,
                    reasons=reasons,
                    provenance=provenance_of(found, digest),
                )
                progress.say("drawing")
                write_map(
                    target,
                    found,
                    ranked=ranked,
                    traced=traced,
                    content=content,
                    draw=write_map_figures,
                )
            with suppress(OSError):
                place.rmdir()
    show(
        content,
        lambda: render(content, width=terminal_width()),
        form=options.format,
        place=f"Map: {directory}",
    )
    return status_of(
        content["unconverged"], accepted=options.accept_unconverged, what="map", place=directory
    )


if __name__ == "__main__":
    sys.exit(main())
