"""Reading a prior: from its parameters, or from an interval somebody is so sure of.

A prior is written as one mapping from a family to its parameters, or as an elicited interval::

    uniform: {low: 0.45, high: 0.70}
    interval: {low: 1.0e-3, high: 2.0e-2, mass: 0.9, family: lognormal}
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from model.errors import InputError, Problem, nearest, unknown_keys
from priors.distributions import OUTSIDE_MASS, Prior, Range
from priors.families import FAMILIES, Family, resolve_interval

INTERVAL_FAMILIES = ("uniform", "normal", "lognormal", "beta", "gamma")
"""Families that an interval determines, having two parameters."""


def read_prior(
    content: Mapping[str, object],
    *,
    path: str,
    allowed: Range,
    source: str,
    documentation: Mapping[str, str] | None = None,
) -> Prior:
    """Read a prior from its mapping of one family to parameters.

    Parameters
    ----------
    content
        One key: a family, or ``interval``; its value maps parameters to numbers.
    path
        Dotted path or name, for messages and as the prior's own.
    allowed
        Range the quantity is confined to.
    source
        File, for messages.
    documentation
        Basis, source, rationale, owner.

    Raises
    ------
    InputError
        With every problem found.
    """
    known = [*FAMILIES, "interval"]
    if len(content) != 1:
        raise InputError.single(
            message=f"got {len(content)} families ({', '.join(map(str, content)) or 'none'}), "
            "exactly one is needed",
            source=source,
            path=path,
            remedy="families: " + ", ".join(known),
        )
    [(family, given)] = content.items()
    if family not in known:
        raise InputError.single(
            message=f"unknown family {family!r}",
            source=source,
            path=path,
            remedy=nearest(str(family), known),
        )
    where = f"{path}.{family}"
    if not isinstance(given, Mapping):
        raise InputError.single(
            message=f"got {given!r}, a mapping of parameters is needed", source=source, path=where
        )
    elicited = None
    if family == "interval":
        elicited = MappingProxyType(dict(given))
        family, parameters = _read_interval(given, where=where, source=source)
    else:
        parameters = _read_parameters(FAMILIES[family], given, where=where, source=source)
    prior = Prior(
        path=path,
        family=family,
        parameters=MappingProxyType(parameters),
        allowed=allowed,
        elicited=elicited,
        **(documentation or {}),
    )
    _check_range(prior, where=where, source=source)
    return prior


def fixed_prior(prior: Prior, value: float, *, source: str) -> Prior:
    """The same quantity, known to be ``value``.

    Raises
    ------
    InputError
        If the value is outside the allowed range.
    """
    return read_prior(
        {"fixed": {"value": value}},
        path=prior.path,
        allowed=prior.allowed,
        source=source,
        documentation={
            "basis": "assumed",
            "source": source,
            "rationale": "stated as known",
            "owner": prior.owner,
        },
    )


def number(value: object) -> float | None:
    """A finite or infinite number, also one written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | np.number):
        return None
    try:
        result = float(value)
    except (ValueError, OverflowError):
        return None
    return None if np.isnan(result) else result


def _numbers(
    names: tuple[str, ...],
    given: Mapping[str, object],
    *,
    where: str,
    source: str,
    may_be_infinite: tuple[str, ...] = (),
) -> tuple[dict[str, float], list[Problem]]:
    """Named numbers, and what is missing, unknown or not a number."""
    problems = unknown_keys(given, names, source=source, where=where)
    values = {}
    for name in names:
        at = f"{where}.{name}"
        if name not in given:
            problems.append(
                Problem(
                    source=source,
                    path=at,
                    message="this parameter is missing",
                    remedy="needed are " + ", ".join(names),
                )
            )
            continue
        value = number(given[name])
        if value is None or (np.isinf(value) and name not in may_be_infinite):
            problems.append(
                Problem(
                    source=source,
                    path=at,
                    message=f"got {given[name]!r}, allowed is a finite number",
                )
            )
        else:
            values[name] = value
    return values, problems


def _read_parameters(
    family: Family, given: Mapping[str, object], *, where: str, source: str
) -> dict[str, float]:
    infinite = ("low", "high") if "mean" in family.parameters else ()
    values, problems = _numbers(
        family.parameters, given, where=where, source=source, may_be_infinite=infinite
    )
    problems += [
        Problem(
            source=source,
            path=f"{where}.{name}",
            message=f"got {values[name]:g}, allowed is a finite number above 0",
        )
        for name in family.positive
        if name in values and values[name] <= 0
    ]
    order = [values[name] for name in family.ascending if name in values]
    if len(order) == len(family.ascending) > 0 and not (
        order == sorted(order) and order[0] < order[-1]
    ):
        problems.append(
            Problem(
                source=source,
                path=where,
                message="got " + ", ".join(f"{n} = {values[n]:g}" for n in family.ascending),
                remedy="needed is " + " <= ".join(family.ascending) + ", not all equal",
            )
        )
    if not problems and "mean" in values and "low" in values:
        first, last = ((values[name] - values["mean"]) / values["sd"] for name in ("low", "high"))
        if first > _FAR_SD or last < -_FAR_SD:
            problems.append(
                Problem(
                    source=source,
                    path=where,
                    message=f"the bounds are more than {_FAR_SD:g} sd away from the mean",
                    remedy="move the mean towards the bounds, or choose another family",
                )
            )
    if problems:
        raise InputError(problems)
    return values


_FAR_SD = 30.0
"""Beyond this the normal tail is too small for its quantiles to be computed."""


def _read_interval(
    given: Mapping[str, object], *, where: str, source: str
) -> tuple[str, dict[str, float]]:
    rest = {key: value for key, value in given.items() if key != "family"}
    values, problems = _numbers(("low", "high", "mass"), rest, where=where, source=source)
    family = given.get("family")
    if family not in INTERVAL_FAMILIES:
        problems.append(
            Problem(
                source=source,
                path=f"{where}.family",
                message=f"got {family!r}",
                remedy=nearest(str(family), INTERVAL_FAMILIES),
            )
        )
    if "mass" in values and not 0.0 < values["mass"] < 1.0:
        problems.append(
            Problem(
                source=source,
                path=f"{where}.mass",
                message=f"got {values['mass']:g}, allowed is a number inside (0, 1)",
            )
        )
    if {"low", "high"} <= values.keys():
        bottom, top = _INTERVAL_BOUNDS.get(str(family), (-np.inf, np.inf))
        if not bottom < values["low"] < values["high"] < top:
            problems.append(
                Problem(
                    source=source,
                    path=where,
                    message=f"got low = {values['low']:g}, high = {values['high']:g}",
                    remedy=f"needed is {bottom:g} < low < high < {top:g}",
                )
            )
    if problems:
        raise InputError(problems)
    try:
        return str(family), resolve_interval(str(family), **values)
    except ValueError as error:
        raise InputError.single(
            message=f"no {family} distribution has a share {values['mass']:g} in "
            f"[{values['low']:g}, {values['high']:g}] ({error})",
            source=source,
            path=where,
            remedy="widen the interval or choose another family",
        ) from None


_INTERVAL_BOUNDS = {
    "beta": (0.0, 1.0),
    "gamma": (0.0, np.inf),
    "lognormal": (0.0, np.inf),
}


def _check_range(prior: Prior, *, where: str, source: str) -> None:
    """Refuse a prior that can leave the range of its quantity."""
    allowed = prior.allowed
    low, high = prior.support
    outside = 0.0
    if low < allowed.lower:
        outside += float(prior.cdf(allowed.lower))
    if high > allowed.upper:
        outside += float(1.0 - prior.cdf(allowed.upper))
    at_open_bound = allowed.lower_open and high <= allowed.lower
    if prior.is_fixed:
        at_open_bound = at_open_bound or (allowed.lower_open and low <= allowed.lower)
        outside = float(low < allowed.lower or high > allowed.upper)
    if outside <= OUTSIDE_MASS and not at_open_bound:
        return
    if prior.is_fixed:
        message, remedy = f"got {low:g}, allowed is {allowed.text}", ""
    else:
        message = (
            f"{prior.describe()} reaches [{low:g}, {high:g}] with probability "
            f"{outside:.2g} outside; allowed is {allowed.text}"
        )
        remedy = "use truncated_normal, or other bounds"
    raise InputError.single(message, source=source, path=where, remedy=remedy)
