"""A command with a study of random rows: what tests interrupt, kill and starve from outside."""

import argparse
import shutil
import sys
from pathlib import Path

from decision.place import beside, put_in_place
from decision.progress import Progress
from model.command import command
from studies.execution.options import add_execution_options, execution_of
from studies.execution.store import unfinished
from studies.execution.study import run_study
from tests.studies.execution.work import row_tasks

RESULT = "rows.parquet"


@command
def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wait", type=float, default=0.1)
    parser.add_argument("--marks", type=Path)
    add_execution_options(parser)
    options = parser.parse_args()
    with Progress(quiet=False) as progress:
        outcome = run_study(
            row_tasks(options.tasks, seed=options.seed, wait_s=options.wait, marks=options.marks),
            unfinished(options.out),
            study="test",
            facts={"seed": options.seed},
            execution=execution_of(options),
            progress=progress,
        )
        with outcome.placing(), beside(options.out) as partial:
            shutil.copyfile(outcome.table(), partial / RESULT)
            put_in_place(partial, options.out)
    sys.stdout.write(f"repeated {outcome.repeated}, resumed {outcome.resumed}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
