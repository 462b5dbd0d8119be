"""The command that says what changed since the last run, and which input moved the results."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from decision.output import add_output_options, as_json, show
from model.command import command

COMPARISON = "comparison.json"

EXAMPLES = """\
examples:
  python -m studies.compare runs/this-quarter runs/last-quarter
      writes runs/this-quarter/comparison.json, for the memo, and prints it
  python -m studies.compare runs/a runs/b --format json | jq .inputs
"""


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.compare",
        description="Says what changed since another run of the same question - inputs, ranking,"
        " values, decision - and why, by swapping one input at a time.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("run", metavar="RUN", type=Path, help="directory of the newer run")
    add("other", metavar="OTHER_RUN", type=Path, help="directory of the older run")
    add(
        "--out",
        metavar="FILE",
        type=Path,
        help=f"where it is written, default {COMPARISON} in RUN (e.g. --out change.json)",
    )
    add_output_options(parser, query=".notes", file="change.txt")
    return parser


def compare(
    run: Path, other: Path, *, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """What changed from an older run to a newer one and why, as plain data.

    Parameters
    ----------
    run, other
        Directories of the newer and of the older run.
    say
        Told what is being done.

    Returns
    -------
    dict
        Inputs that differ field by field; by regime the decisions and, for each option, every
        quantity before and after with the part of its change that each input has. The parts sum
        to the change.

    Raises
    ------
    InputError
        If one is no run, or they answer different questions.
    """
    from decision.finished import read_past
    from studies.comparing.comparison import compare_past

    after, before = read_past(run, "RUN"), read_past(other, "OTHER_RUN")
    return compare_past(before, after, say=say)


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0, 2 for runs that cannot be compared, 130 when interrupted.
    """
    options = build_parser().parse_args(argv)

    from decision.place import write_file
    from decision.progress import Progress
    from studies.comparing.words import render

    with Progress(quiet=options.quiet) as progress:
        content = compare(options.run, options.other, say=progress.say)
    file: Path = options.out or options.run / COMPARISON
    write_file(file, as_json(content))
    show(content, lambda: render(content), form=options.format, place=f"Comparison: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
