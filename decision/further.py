"""Further results of a run: added to the run of the same inputs, or a directory of their own."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from decision.inputs import Inputs
from decision.origin import git_commit, versions
from decision.output import write_json
from decision.place import beside, put_in_place
from decision.run import PROVENANCE, find_run


def add_results(
    directory: Path,
    inputs: Inputs,
    name: str,
    summary: Mapping[str, Any],
    write: Callable[[Path], None],
) -> None:
    """Write further results, whole or not at all.

    Parameters
    ----------
    directory
        A finished run of the same inputs, to which the files are added, or a place for a new
        directory.
    inputs
        What was asked.
    name
        Of the results: the summary becomes ``<name>.json``.
    summary
        Results as plain data.
    write
        Writes the other files into a directory.

    Raises
    ------
    InputError
        If the directory holds something else or cannot be written.
    """
    run = find_run(directory, inputs.digest, force=False)
    with beside(directory) as partial:
        write_json(partial / f"{name}.json", summary)
        write(partial)
        if run is None:
            (partial / "inputs").mkdir()
            for title, text in inputs.documents.items():
                (partial / "inputs" / title).write_text(text, encoding="utf-8")
            write_json(
                partial / PROVENANCE,
                {
                    "digest": inputs.digest,
                    "digests": inputs.digests(),
                    "versions": versions(),
                    "git_commit": git_commit(),
                    "seed": inputs.request.seed,
                    "draws": inputs.draws,
                },
            )
            put_in_place(partial, directory)
            return
        for path in sorted(partial.rglob("*")):
            target = directory / path.relative_to(partial)
            if path.is_dir():
                target.mkdir(exist_ok=True)
            else:
                # One file system: each file is there whole or not at all.
                shutil.move(path, target)
