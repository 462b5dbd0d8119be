"""What an effect is assigned to: one uncertain parameter, or several that move together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model.documents import read_document
from model.errors import InputError, Problem, nearest

REST = "rest"
"""Name of the factor that holds the parameters nothing else holds."""

COMPUTE = (
    "kernel.",
    "accelerator.peak_flops_bf16",
    "reliability.straggler_cv",
    "reliability.failslow_",
)
NETWORK = ("topology.", "parallelism.overlap_", "accelerator.")
RECOVERY = ("reliability.",)
INTERVENTIONS = ("intervention.",)

BUILT_IN = {
    "compute": COMPUTE,
    "network": NETWORK,
    "recovery": RECOVERY,
    "interventions": INTERVENTIONS,
}
"""Beginnings of the paths of each group, the first that matches counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """Parameters that are redrawn together.

    Parameters
    ----------
    name
        Dotted path of the one parameter, or the name of a group.
    paths
        Its parameters.
    """

    name: str
    paths: tuple[str, ...]


def singles(paths: Sequence[str]) -> tuple[Factor, ...]:
    """Each parameter on its own."""
    return tuple(Factor(name=path, paths=(path,)) for path in paths)


def built_in_groups(paths: Sequence[str]) -> tuple[Factor, ...]:
    """Compute, network, recovery and interventions; what belongs to none of them is the rest."""
    found: dict[str, list[str]] = {name: [] for name in (*BUILT_IN, REST)}
    for path in paths:
        name = next((n for n, starts in BUILT_IN.items() if path.startswith(starts)), REST)
        found[name].append(path)
    return _factors(found)


def read_groups(file: str | Path, paths: Sequence[str]) -> tuple[Factor, ...]:
    """Groups of a YAML file that maps a name to a list of dotted paths.

    Parameters
    ----------
    file
        The file.
    paths
        The uncertain parameters; those that no group names are the rest.

    Raises
    ------
    InputError
        With every problem: a path that is not uncertain here, one in two groups, an empty group.
    """
    document = read_document(file, kind="file of groups")
    problems: list[Problem] = []
    found: dict[str, list[str]] = {}
    owner: dict[str, str] = {}
    for name, members in document.content.items():
        if not isinstance(members, list) or not members or name == REST:
            message = (
                f"'{REST}' is the name of what no group holds"
                if name == REST
                else "a list of dotted paths is needed"
            )
            problems.append(Problem(source=document.source, path=name, message=message))
            continue
        for path in map(str, members):
            if path not in paths:
                problems.append(
                    Problem(
                        source=document.source,
                        path=name,
                        message=f"'{path}' is no uncertain parameter here",
                        remedy=nearest(path, paths),
                    )
                )
            elif path in owner:
                problems.append(
                    Problem(
                        source=document.source,
                        path=name,
                        message=f"'{path}' is already in '{owner[path]}'",
                        remedy="a parameter belongs to one group",
                    )
                )
            else:
                owner[path] = name
                found.setdefault(name, []).append(path)
    if problems:
        raise InputError(problems)
    found[REST] = [path for path in paths if path not in owner]
    return _factors(found)


def _factors(found: Mapping[str, Sequence[str]]) -> tuple[Factor, ...]:
    return tuple(Factor(name=name, paths=tuple(held)) for name, held in found.items() if held)


def membership(factors: Sequence[Factor], paths: Sequence[str]) -> np.ndarray:
    """Which parameters a factor holds, shape (F, D).

    Raises
    ------
    InputError
        If a parameter is held by no factor or by several.
    """
    held = np.array([[path in factor.paths for path in paths] for factor in factors], dtype=bool)
    wrong = [path for path, count in zip(paths, held.sum(axis=0), strict=True) if count != 1]
    if wrong:
        raise InputError.single(
            message=f"in no group or in several: {', '.join(wrong)}", source="groups"
        )
    return held
