"""Which interventions go together: exclusions and prerequisites, as data.

A document of rules::

    exclusions:
      - [bandwidth_2x, bandwidth_4x]        # at most one of a list
    prerequisites:
      fast_restart: [fast_detection]        # needs all of a list

Programs are numbered by bitmask: intervention i of a list is bit i, program 0 is nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from pathlib import Path
from types import MappingProxyType

import numpy as np

from model.documents import read_document
from model.errors import InputError, Problem, nearest, unknown_keys
from model.interventions import Intervention, bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules between interventions.

    Parameters
    ----------
    exclusions
        At most one of each set is in a program.
    prerequisites
        By intervention, those that must be in the program with it.
    source, text
        What messages call the document, and the document.
    """

    exclusions: tuple[frozenset[str], ...] = ()
    prerequisites: Mapping[str, frozenset[str]] = MappingProxyType({})
    source: str = ""
    text: str = ""

    def needed(self, name: str) -> frozenset[str]:
        """Everything an intervention needs, directly or not, itself included."""
        found, open_ = {name}, [name]
        while open_:
            for other in self.prerequisites.get(open_.pop(), ()):
                if other not in found:
                    found.add(other)
                    open_.append(other)
        return frozenset(found)


def read_rules(name: str | Path, known: Sequence[str]) -> Rules:
    """Read rules from a file, or shipped ones by their stem.

    Parameters
    ----------
    name
        The document.
    known
        Names of interventions that it may use.

    Raises
    ------
    InputError
        With every problem: unknown names and keys, circular prerequisites, an intervention that
        needs what it excludes.
    """
    document = read_document(name, package="decision.data.rules", kind="list of rules")
    content, source = document.content, document.source
    problems = unknown_keys(content, ["exclusions", "prerequisites"], source=source)

    def names(raw: object, where: str, fewest: int) -> frozenset[str]:
        if not isinstance(raw, list) or len(raw) < fewest:
            message = f"got {raw!r}, a list of at least {fewest} interventions is needed"
            problems.append(Problem(source=source, path=where, message=message))
            return frozenset()
        problems.extend(
            Problem(
                source=source,
                path=where,
                message=f"there is no intervention {one!r}",
                remedy=nearest(str(one), known),
            )
            for one in raw
            if one not in known
        )
        return frozenset(map(str, raw))

    exclusions = content.get("exclusions") or []
    if not isinstance(exclusions, list):
        message = f"got {exclusions!r}, a list of lists is needed"
        problems.append(Problem(source=source, path="exclusions", message=message))
        exclusions = []
    prerequisites = content.get("prerequisites") or {}
    if not isinstance(prerequisites, Mapping):
        message = f"got {prerequisites!r}, a mapping of interventions to lists is needed"
        problems.append(Problem(source=source, path="prerequisites", message=message))
        prerequisites = {}
    for one in prerequisites:
        names([one], f"prerequisites.{one}", 1)
    rules = Rules(
        exclusions=tuple(
            names(raw, f"exclusions[{index + 1}]", 2) for index, raw in enumerate(exclusions)
        ),
        prerequisites=MappingProxyType(
            {str(one): names(raw, f"prerequisites.{one}", 1) for one, raw in prerequisites.items()}
        ),
        source=source,
        text=document.text,
    )
    problems += contradictions(rules)
    if problems:
        raise InputError(problems)
    return rules


def contradictions(rules: Rules) -> list[Problem]:
    """Circular prerequisites, and interventions that need what they exclude."""
    problems = []
    reported: set[str] = set()
    for name in rules.prerequisites:
        cycle = [] if name in reported else _cycle(rules, name)
        if cycle:
            reported.update(cycle)
            problems.append(
                Problem(
                    source=rules.source,
                    path=f"prerequisites.{name}",
                    message="circular: " + " needs ".join([*cycle, name]),
                    remedy="take one of them back, or make them one intervention",
                )
            )
        problems += [
            Problem(
                source=rules.source,
                path=f"prerequisites.{name}",
                message="needs "
                + " and ".join(sorted(rules.needed(name) & excluded))
                + ", which exclude each other: it is in no program",
                remedy="take one of the rules back",
            )
            for excluded in rules.exclusions
            if len(rules.needed(name) & excluded) > 1
        ]
    return problems


def _cycle(rules: Rules, start: str) -> list[str]:
    """Interventions from one back to itself along prerequisites; empty where there is no way."""
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        path = paths.pop()
        for other in sorted(rules.prerequisites.get(path[-1], ())):
            if other == start:
                return path
            if other not in seen:
                seen.add(other)
                paths.append([*path, other])
    return []


def for_members(rules: Rules, members: Sequence[Intervention]) -> Rules:
    """The rules that bear on some interventions, with those that their targets impose.

    Two that set one field to different targets exclude each other. An intervention whose
    prerequisite is not among the members is in no program.

    Raises
    ------
    InputError
        If an intervention needs one that is not among the members.
    """
    names = [member.name for member in members]
    problems = [
        Problem(
            source=rules.source,
            path=f"prerequisites.{name}",
            message="needs "
            + ", ".join(sorted(rules.needed(name) - set(names)))
            + ", which is not among the options",
            remedy="add it by --only, or leave this one out",
        )
        for name in names
        if rules.needed(name) - set(names)
    ]
    if problems:
        raise InputError(problems)
    imposed = [
        frozenset({one.name, other.name})
        for one, other in combinations(members, 2)
        if _contradict(one, other)
    ]
    kept = [common for one in rules.exclusions if len(common := one & set(names)) > 1]
    return Rules(
        exclusions=tuple(dict.fromkeys([*kept, *imposed])),
        prerequisites={
            name: needed for name, needed in rules.prerequisites.items() if name in names
        },
        source=rules.source,
        text=rules.text,
    )


def _contradict(one: Intervention, other: Intervention) -> bool:
    try:
        bundle("pair", [one, other], source="")
    except InputError:
        return True
    return False


def is_allowed(rules: Rules, names: frozenset[str]) -> bool:
    """Whether interventions may be one program."""
    return all(len(names & excluded) < 2 for excluded in rules.exclusions) and all(  # noqa: PLR2004
        rules.prerequisites.get(name, frozenset()) <= names for name in names
    )


def allowed_programs(rules: Rules, names: Sequence[str]) -> np.ndarray:
    """Whether each program of some interventions is allowed, by bitmask; (2^k,)."""
    masks = np.arange(1 << len(names))
    bit = {name: 1 << index for index, name in enumerate(names)}
    allowed = np.ones(masks.size, dtype=bool)
    for excluded in rules.exclusions:
        together = sum(bit.get(name, 0) for name in excluded)
        allowed &= np.bitwise_count(masks & together) < 2  # noqa: PLR2004 - at most one of them
    for name, needed in rules.prerequisites.items():
        if name in bit:
            wanted = sum(bit[other] for other in needed)
            allowed &= ((masks & bit[name]) == 0) | ((masks & wanted) == wanted)
    return allowed


def few_programs(rules: Rules, names: Sequence[str]) -> np.ndarray:
    """Nothing, and each intervention and each two, with what they need, where allowed; bitmasks."""
    bit = {name: 1 << index for index, name in enumerate(names)}
    masks = {0}
    for one, other in combinations_with_replacement(names, 2):
        chosen = rules.needed(one) | rules.needed(other)
        if is_allowed(rules, chosen):
            masks.add(sum(bit[name] for name in chosen))
    return np.array(sorted(masks))
