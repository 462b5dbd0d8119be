"""Small finished runs, without memo, figures and drivers."""

from pathlib import Path

from decision import rank
from decision.inputs import gather
from decision.options import request_of


def rank_into(directory: Path, *arguments: str) -> Path:
    """A run of the command, on the priors alone unless evidence or draws are named."""
    given = {"--evidence", "--parameter-draws"} & set(arguments)
    source = () if given else ("--evidence", "none")
    options = rank.build_parser().parse_args([*source, *arguments, "--quiet"])
    inputs = gather(request_of(options))
    rank.compute(options, inputs, directory, lambda *_: None, lambda *_: None)
    return directory
