"""The command that predicts published systems and says how far the model can be believed."""

import argparse
import hashlib
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.command import command
from model.errors import InputError

if TYPE_CHECKING:
    from decision.progress import Progress
    from studies.fleets.rows import Judged
    from studies.systems.cases import Case, Excluded
    from studies.systems.evaluation import Evaluation

STUDY = "validation"
FEWEST_SYSTEMS = 2

EXAMPLES = """\
examples:
  python -m studies.validation
      both forms on the published systems and fleets, each left out in turn
  python -m studies.validation --refinements
      also every refinement alone, and the form without it (some minutes)
  python -m studies.validation --throughput more.csv --reliability more_fleets.csv
      with further rows in the columns that --columns lists; unusable rows are named

exit status: 0, 2 for bad input, 130 when interrupted
"""


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.validation",
        description="Predicts step times and failures of published systems, each from the others,\n"
        "with the published formulas and with the refined ones, and scores the predictions.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--throughput",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="CSV of further step times; repeatable (e.g. --throughput more.csv)",
    )
    add(
        "--reliability",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="CSV of further fleets; repeatable (e.g. --reliability more_fleets.csv)",
    )
    add("--columns", action="store_true", help="print the columns of both files and stop")
    add(
        "--refinements",
        action="store_true",
        help="weigh every refinement alone, and the refined form without it",
    )
    add(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="processes to spread the forms over; -1 for every core (default: 1)",
    )
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="directory of the results (default: runs/validation-<digest of inputs and code>)",
    )
    add(
        "--force",
        action="store_true",
        help="replace other results of this command in the directory",
    )
    add("--no-figures", action="store_true", help="leave the figures out")
    add("--quiet", action="store_true", help="no progress on standard error")
    return parser


def read_rows(
    files: Sequence[Path],
) -> "tuple[list[Case], list[Excluded]]":
    """Step times that ship and those of files, judged.

    Raises
    ------
    InputError
        If a file is no table, or too few systems are left to leave one out.
    """
    from studies.systems.cases import Excluded, judge
    from studies.systems.rows import distinct, rows_of_file, shipped_rows

    rows = shipped_rows()
    for path in files:
        rows += rows_of_file(path)
    rows, repeated = distinct(rows)
    cases, excluded = judge(rows)
    excluded += [
        Excluded(row=row, reason=f"the same row stands in {place}") for row, place in repeated
    ]
    if len({case.group for case in cases}) < FEWEST_SYSTEMS:
        raise InputError.single(
            message="fewer than two systems can be predicted", source="--throughput"
        )
    return cases, excluded


def read_fleets(files: Sequence[Path]) -> "Judged":
    """Fleets that ship and those of files, judged.

    Raises
    ------
    InputError
        If a file is no table.
    """
    from dataclasses import replace

    from studies.fleets.rows import Excluded, distinct, judge, rows_of_file, shipped_rows

    rows = shipped_rows()
    for path in files:
        rows += rows_of_file(path)
    rows, repeated = distinct(rows)
    judged = judge(rows)
    again = [
        Excluded(row=row, what="failures", reason=f"the same row stands in {place}")
        for row, place in repeated
    ]
    return replace(judged, excluded=(*judged.excluded, *again))


def forms_to_judge(*, refinements: bool) -> dict[str, tuple[str, ...]]:
    """Names and refinements of the forms; with every refinement alone and left out if asked."""
    from model.forms import PUBLISHED, REFINED, read_forms
    from studies.systems.refinements import STEP_REFINEMENTS

    refined = read_forms()[REFINED].refinements
    forms: dict[str, tuple[str, ...]] = {PUBLISHED: (), REFINED: refined}
    if refinements:
        chosen = tuple(name for name in refined if name in STEP_REFINEMENTS)
        for name in STEP_REFINEMENTS:
            forms[f"alone {name}"] = (name,)
        for name in STEP_REFINEMENTS:
            if name in chosen:
                forms[f"without {name}"] = tuple(item for item in chosen if item != name)
            else:
                forms[f"with {name}"] = (*chosen, name)
        forms["all"] = STEP_REFINEMENTS
    return forms


def judge_forms(
    cases: "Sequence[Case]",
    forms: Mapping[str, tuple[str, ...]],
    *,
    jobs: int,
    progress: "Progress",
) -> "dict[str, Evaluation]":
    """Every form on every system left out."""
    from studies.execution.options import Execution
    from studies.execution.study import run_tasks
    from studies.execution.tasks import Task
    from studies.systems.evaluation import evaluate_shipped

    tasks = [
        Task(
            name=name,
            function=evaluate_shipped,
            arguments={"name": name, "refinements": list(refinements)},
        )
        for name, refinements in forms.items()
    ]
    found = run_tasks(
        tasks,
        shared={"cases": tuple(cases)},
        execution=Execution(engine="in-process" if jobs == 1 else "processes", jobs=jobs),
        progress=progress,
    )
    return dict(zip(forms, found, strict=True))


def summarise(
    cases: "Sequence[Case]",
    excluded: "Sequence[Excluded]",
    found: "Mapping[str, Evaluation]",
    fleets: "Judged",
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The summary, and tables of fleets by file name."""
    from model.forms import PUBLISHED, REFINED, read_forms
    from model.scenario_file import read_scenario
    from priors.catalogue import read_catalogue
    from studies import validation_summary as summary
    from studies.fleets import rows as fleet_rows
    from studies.fleets.evaluation import evaluate_fleets
    from studies.systems.batch_series import explain, find_series
    from studies.systems.cases import INCLUSION_RULE
    from studies.systems.evaluation import gain, next_system, stacking_weight
    from studies.systems.refinements import weighed

    catalogue = read_catalogue()
    published, refined = found[PUBLISHED], found[REFINED]
    template = read_scenario("reference_405b_16k").scenario
    populations = evaluate_fleets(
        fleets.failures, fleets.ettr, catalogue, template, refined.refinements
    )
    content = {
        "format": 1,
        "rule": " ".join(INCLUSION_RULE.split()),
        "fleet_rule": " ".join(fleet_rows.INCLUSION_RULE.split()),
        "systems": list(dict.fromkeys(case.group for case in cases)),
        "forms": [summary.form(published), summary.form(refined)],
        "shipped_weight": rounded_weight(read_forms()[REFINED].weight),
        "stacking_weight": rounded_weight(stacking_weight(refined, published)),
        "next_system": rounded_weight(next_system(refined, published)),
        "gain": summary.gain(gain(refined, published)),
        "rows": summary.rows([published, refined]),
        "excluded": summary.excluded(excluded),
        "refinements": weighed(found),
        "series": [
            summary.series(explain(series, catalogue, form=form.name, refinements=form.refinements))
            for series in find_series(cases)
            for form in (published, refined)
        ],
        "fleets": summary.fleets(populations),
        "fleets_excluded": summary.excluded(fleets.excluded),
    }
    tables = {
        "fleets.csv": [item.table for item in populations],
        "ettr.csv": [item.ettr for item in populations],
    }
    return content, tables


def rounded_weight(value: float) -> float:
    """A weight to three digits."""
    return round(value, 3)


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0, 2 for bad input, 130 when interrupted.
    """
    options = build_parser().parse_args(argv)
    started = time.monotonic()

    from studies.fleets import rows as fleet_rows
    from studies.systems import rows as system_rows

    if options.columns:
        print("--throughput: " + ", ".join(system_rows.COLUMNS))
        print("--reliability: " + ", ".join(fleet_rows.COLUMNS))
        return 0
    if options.jobs < 1 and options.jobs != -1:
        raise InputError.single(
            message=f"got {options.jobs}, allowed are counts from 1, and -1 for every core",
            source="--jobs",
        )

    import json

    import pandas as pd

    from decision.origin import code_digest
    from decision.progress import Progress
    from reports.validation_page import page, terminal
    from studies.output import check_place, results, write_provenance, write_table
    from studies.systems.evaluation import SEED

    cases, excluded = read_rows(options.throughput)
    fleets = read_fleets(options.reliability)
    forms = forms_to_judge(refinements=options.refinements)
    inputs = [*options.throughput, *options.reliability]
    stated = {
        "study": STUDY,
        "refinements": options.refinements,
        "figures": not options.no_figures,
        "seed": SEED,
        "inputs": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in inputs},
        "code": code_digest(),
    }
    digest = hashlib.sha256(repr(sorted(stated.items())).encode()).hexdigest()
    directory = options.out or Path("runs") / f"validation-{digest[:12]}"
    check_place(directory, STUDY, digest, force=options.force)
    with Progress(quiet=options.quiet) as progress:
        found = judge_forms(cases, forms, jobs=options.jobs, progress=progress)
        progress.say("predicting fleets, explaining batch series")
        content, tables = summarise(cases, excluded, found, fleets)
        with results(directory, force=options.force) as partial:
            predictions = pd.concat([item.table for item in found.values()], ignore_index=True)
            written = {"predictions.csv": write_table(partial, "predictions.csv", predictions)}
            for name, parts in tables.items():
                table = pd.concat(parts, ignore_index=True)
                written[name] = write_table(partial, name, table)
            predictions.to_parquet(partial / "predictions.parquet")
            text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
            (partial / "summary.json").write_text(f"{text}\n", encoding="utf-8")
            (partial / "validation.md").write_text(page(content), encoding="utf-8")
            if not options.no_figures:
                from reports.validation_figures import write_validation_figures

                progress.say("drawing")
                write_validation_figures(content, partial / "validation")
            common = {
                "digest": digest,
                **stated,
                "wall_time_s": round(time.monotonic() - started, 3),
            }
            write_provenance(partial, common, written)
    print(terminal(content))
    print(f"\nResults: {directory} (validation.md, predictions.csv, summary.json)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
