"""What a request chooses from its documents: values, interventions, regimes."""

from collections.abc import Mapping, Sequence

from model.errors import InputError, Problem, nearest
from model.interventions import Intervention, InterventionFile, Regime, bundle
from model.numerics import Value
from model.parameters import BY_PATH

ALL_REGIMES = "all"


def parse_settings(settings: Mapping[str, str]) -> dict[str, Value]:
    """Values of ``--set path=value``, read as YAML would read them.

    Raises
    ------
    InputError
        If a path is no field.
    """
    problems = []
    values: dict[str, Value] = {}
    for path, text in settings.items():
        field = BY_PATH.get(path)
        if field is None:
            problems.append(
                Problem(
                    source="--set",
                    path=path,
                    message="unknown field",
                    remedy=nearest(path, list(BY_PATH)),
                )
            )
        elif text.strip().lower() in ("null", "~", ""):
            values[path] = None
        elif field.kind == "flag" and text.strip().lower() in ("true", "false"):
            values[path] = text.strip().lower() == "true"
        else:
            values[path] = text.strip()
    if problems:
        raise InputError(problems)
    return values


def choose_options(
    document: InterventionFile, only: Sequence[str], bundles: Mapping[str, Sequence[str]]
) -> tuple[Intervention, ...]:
    """The interventions to rank: those of ``--only``, or all, and the bundles.

    Raises
    ------
    InputError
        If a name is not in the file, is taken, or a bundle contradicts itself.
    """
    by_name = {intervention.name: intervention for intervention in document.interventions}
    problems = [
        Problem(
            source="--only",
            path=name,
            message="there is no such intervention",
            remedy=nearest(name, list(by_name)),
        )
        for name in only
        if name not in by_name
    ]
    joined = []
    for name, parts in bundles.items():
        source = f"--bundle {name}"
        problems.extend(
            Problem(
                source=source,
                path=part,
                message="there is no such intervention",
                remedy=nearest(part, list(by_name)),
            )
            for part in parts
            if part not in by_name
        )
        if name in by_name:
            problems.append(Problem(source=source, message="an intervention has this name"))
        if not problems:
            joined.append(bundle(name, [by_name[part] for part in parts], source=source))
    if problems:
        raise InputError(problems)
    chosen = [i for i in document.interventions if not only or i.name in only]
    return (*chosen, *joined)


def choose_regimes(document: InterventionFile, name: str | None) -> tuple[Regime | None, ...]:
    """The regimes to answer for: none, one by name, or all of the file.

    Raises
    ------
    InputError
        If there is no regime of that name.
    """
    if name is None:
        return (None,)
    if name == ALL_REGIMES and document.regimes:
        # The scenario as it is comes first: it is what the others are compared with.
        return tuple(sorted(document.regimes, key=lambda regime: bool(regime.overrides)))
    chosen = tuple(regime for regime in document.regimes if regime.name == name)
    if not chosen:
        raise InputError.single(
            message="there is no such regime",
            source="--regime",
            path=name,
            remedy=nearest(name, [*(regime.name for regime in document.regimes), ALL_REGIMES]),
        )
    return chosen
