"""The command that regenerates every published number and figure, with a verdict each."""

import argparse
import hashlib
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.command import command
from model.errors import InputError, nearest
from studies.execution.options import add_execution_options, execution_of

if TYPE_CHECKING:
    import pandas as pd

    from studies.claims import Judgement
    from studies.execution.study import Outcome
    from studies.execution.tasks import Task

STUDY = "studies.reproduce"
EXIT_FAILED = 1

EXAMPLES = """\
examples:
  python -m studies.reproduce
      everything, into runs/reproduce-<digest>
  python -m studies.reproduce --only e3,e7 --out map
      the decision map and the uncertainty study, and the claims that rest on them

exit status: 0 where every claim holds, 1 where one does not, 2 for bad input, 130 when interrupted
"""


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.reproduce",
        description="Regenerates the tables, figures and claims of the published study and says\n"
        "which claims hold. Beside each stands what it would be without the study's conventions.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only",
        metavar="NAMES",
        help="experiments to run, separated by commas: e1 … e9, validation (e.g. e3,e7)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="directory of the results (default: runs/reproduce-<digest of inputs and code>)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace other results of this command in that directory",
    )
    parser.add_argument("--no-figures", action="store_true", help="leave the figures out")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    add_execution_options(parser)
    return parser


def chosen_experiments(only: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """Names of the experiments asked for, in the order of the study.

    Raises
    ------
    InputError
        For a name that is none.
    """
    if only is None:
        return tuple(known)
    asked = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in asked if name not in known]
    if unknown or not asked:
        name = unknown[0] if unknown else only
        raise InputError.single(
            message=f"no experiment {name!r}", source="--only", remedy=nearest(name, list(known))
        )
    return tuple(name for name in known if name in asked)


def table_tasks(experiments: Sequence[str]) -> "list[Task]":
    """A task for each part of every table of some experiments."""
    from studies.execution.tasks import Task
    from studies.experiments.catalogue import TABLES

    return [
        Task(
            name=f"{table.key} ({part + 1} of {len(table.parts)})",
            function=table.function,
            arguments=arguments,
            table=table.key.replace(" ", "_"),
        )
        for table in TABLES
        if table.experiment in experiments
        for part, arguments in enumerate(table.parts)
    ]


def tables_of(outcome: "Outcome", experiments: Sequence[str]) -> "dict[str, pd.DataFrame]":
    """Every table of some experiments, by its key."""
    from studies.experiments.catalogue import TABLES

    return {
        table.key: outcome.frame(table.key.replace(" ", "_"))
        for table in TABLES
        if table.experiment in experiments
    }


def write_results(
    directory: Path,
    tables: "Mapping[str, pd.DataFrame]",
    judgements: "Sequence[Judgement]",
    common: Mapping[str, Any],
) -> None:
    """Write tables, claims and provenance into a directory."""
    from studies.claims import claims_table, quantities_table
    from studies.experiments.catalogue import TABLES
    from studies.output import write_provenance, write_table

    written = {
        table.path: write_table(directory, table.path, tables[table.key])
        for table in TABLES
        if table.key in tables
    }
    if judgements:
        for path, table in (
            ("claims.csv", claims_table(judgements)),
            ("claim_quantities.csv", quantities_table(judgements)),
        ):
            written[path] = write_table(directory, path, table)
    write_provenance(directory, common, written)


def shown(judgements: "Sequence[Judgement]", width: int) -> str:
    """The claims as text: verdict, published, computed, and refined where that differs."""
    import textwrap

    from studies.claims import claims_table

    lines = []
    for row in claims_table(judgements).to_dict("records"):
        lines.append(f"{row['number']:>2}  {row['verdict']:<14} {row['claim']}")
        parts = [("published", row["published"]), ("computed", row["computed"])]
        if row["refined"]:
            parts.append(("refined", f"{row['refined']} ({row['refined_by']})"))
        lines += [
            textwrap.fill(
                f"{name:<10} {text}",
                width,
                initial_indent=" " * 4,
                subsequent_indent=" " * 15,
                break_on_hyphens=False,
            )
            for name, text in parts
        ]
    return "\n".join(lines)


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0, 1 where a claim does not hold, 2 for bad input, 130 when interrupted.
    """
    options = build_parser().parse_args(argv)
    started = time.monotonic()

    from decision.origin import code_digest
    from decision.output import terminal_width
    from decision.progress import Progress
    from studies.claims import FAILS, Findings, judge
    from studies.execution.store import unfinished
    from studies.execution.study import run_study
    from studies.experiments.catalogue import EXPERIMENTS
    from studies.experiments.inputs import SEED, published_inputs
    from studies.output import check_place, results
    from studies.published_claims import CLAIMS

    execution = execution_of(options)
    experiments = chosen_experiments(options.only, tuple(EXPERIMENTS))
    inputs = published_inputs()
    stated = {
        "study": STUDY,
        "experiments": list(experiments),
        "figures": not options.no_figures,
        "seed": SEED,
        "inputs": dict(inputs.digests),
        "code": code_digest(),
    }
    digest = hashlib.sha256(repr(sorted(stated.items())).encode()).hexdigest()
    directory = options.out or Path("runs") / f"reproduce-{digest[:12]}"
    check_place(directory, STUDY, digest, force=options.force)
    with Progress(quiet=options.quiet) as progress:
        outcome = run_study(
            table_tasks(experiments),
            unfinished(directory),
            study=STUDY,
            shared={"inputs": inputs},
            facts={"experiments": list(experiments)},
            execution=execution,
            progress=progress,
        )
        with outcome.placing(), results(directory, force=options.force) as partial:
            tables = tables_of(outcome, experiments)
            judgements = judge(CLAIMS, Findings(inputs=inputs, tables=tables))
            if not options.no_figures:
                from reports.study_figures import write_study_figures

                progress.say("drawing")
                write_study_figures(tables, partial / "figures")
            common = {
                "digest": digest,
                **stated,
                "wall_time_s": round(time.monotonic() - started, 3),
            }
            write_results(partial, tables, judgements, common)
    if judgements:
        print(shown(judgements, terminal_width()))
    failed = [judgement for judgement in judgements if judgement.verdict == FAILS]
    held = len(judgements) - len(failed)
    print(f"\n{held} of {len(judgements)} claims hold. Results: {directory}")
    return EXIT_FAILED if failed else 0


if __name__ == "__main__":
    sys.exit(main())
