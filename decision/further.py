"""Further results of a run: added to the run of the same inputs, or a directory of their own."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decision.inputs import Inputs
from decision.origin import git_commit, versions
from decision.output import write_json
from decision.place import beside, put_in_place
from decision.run import PROVENANCE, find_run

if TYPE_CHECKING:
    from priors.conditioned import Posterior
    from priors.draws import Draws


def summary_of(
    inputs: Inputs,
    draws: "Draws",
    posterior: "Posterior | None",
    *,
    particulars: Mapping[str, Any],
    notes: Sequence[str],
    answers: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Further results as plain data: what was asked, what a reader should know, the answers.

    Parameters
    ----------
    inputs, draws, posterior
        What was asked, of which draws, and what they are of; None for priors alone or a file.
    particulars
        What was asked besides.
    notes
        Besides those of the inputs.
    answers
        One a regime.
    """
    converged = posterior is None or posterior.diagnostics.converged
    return {
        "format": 1,
        "question": {
            "scenario": inputs.scenario.name,
            "scale": inputs.request.at_scale,
            "draws": len(draws),
            "seed": inputs.request.seed,
            "source": inputs.source,
            "form": inputs.form.name,
            "refinements": list(inputs.form.refinements),
            "costs": inputs.request.costs,
            **particulars,
            "digest": inputs.digest,
        },
        "notes": [*inputs.notes, *notes],
        "warnings": [
            *inputs.warnings,
            *([] if converged else ["The posterior did not converge: do not act on this."]),
        ],
        "answers": list(answers),
    }


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
