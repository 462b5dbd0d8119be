"""The console script ``fundworthy``: one name for every command of the project."""

import importlib
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A subcommand: the module whose ``main`` runs it, and what it does in one line."""

    module: str
    summary: str


COMMANDS = {
    "rank": Command(
        module="decision.rank",
        summary="rank the interventions on a scenario and write the run with its memo",
    ),
    "information": Command(
        module="decision.information",
        summary="say what it is worth to measure before deciding, and which study to order",
    ),
    "portfolio": Command(
        module="decision.portfolio",
        summary="choose the program of interventions and accelerators for a budget",
    ),
    "memo": Command(
        module="reports.memo",
        summary="write the memo of a finished run again: PDF, HTML, Markdown, figures",
    ),
    "page": Command(
        module="reports.page",
        summary="write one HTML page on which the costs and prices of a run can be moved",
    ),
    "compare": Command(
        module="studies.compare",
        summary="say what changed since an earlier run, and which input moved the results",
    ),
    "posterior": Command(
        module="priors.posterior",
        summary="condition the priors on evidence and write posterior draws",
    ),
    "read": Command(
        module="priors.read",
        summary="read your own logs and tables and write what they say as evidence",
    ),
    "fields": Command(
        module="decision.fields",
        summary="list every field of a scenario file with unit, range and default",
    ),
    "benchmark": Command(
        module="studies.benchmark",
        summary="measure the performance figures the project claims",
    ),
    "refinements": Command(
        module="studies.refinements",
        summary="say what each refinement of the published formulas does to the study's numbers",
    ),
    "reproduce": Command(
        module="studies.reproduce",
        summary="regenerate the published study, with a verdict on each of its claims",
    ),
    "validation": Command(
        module="studies.validation",
        summary="predict published systems and say how far the model can be believed",
    ),
    "decision-map": Command(
        module="studies.decision_map",
        summary="map who ranks first over regimes, how surely, and where that changes",
    ),
    "sensitivity": Command(
        module="studies.sensitivity",
        summary="say which parameters decide who ranks first, and where that flips",
    ),
}


def usage() -> str:
    """Return the help text: every command with its summary."""
    width = max(map(len, COMMANDS))
    return "\n".join(
        [
            "usage: fundworthy [-h] [--version] COMMAND ...",
            "",
            "Which infrastructure investment for a large AI-training cluster is worth funding,",
            "how sure that is, and what to measure before signing.",
            "",
            "commands:",
            *(f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()),
            "",
            "`fundworthy COMMAND --help` describes a command.",
        ]
    )


def main(argv: list[str] | None = None) -> int:
    """Run the command named first in `argv` with the arguments after it.

    Parameters
    ----------
    argv
        Arguments without the program's name; by default those of the process.

    Returns
    -------
    int
        The command's exit status; 2 where no valid command is named.
    """
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments:
        print(usage(), file=sys.stderr)
        return 2
    name, *rest = arguments
    if name in {"-h", "--help"}:
        print(usage())
        return 0
    if name == "--version":
        from importlib.metadata import version

        print(f"fundworthy {version('fundworthy')}")
        return 0
    if name not in COMMANDS:
        import difflib

        [nearest] = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.0)
        print(
            f"fundworthy: no command {name!r}; the nearest is {nearest!r}"
            " (`fundworthy --help` lists them)",
            file=sys.stderr,
        )
        return 2
    # Only the module of the chosen command is imported, so that the rest starts at once.
    status: int = importlib.import_module(COMMANDS[name].module).main(rest)
    return status


if __name__ == "__main__":
    sys.exit(main())
