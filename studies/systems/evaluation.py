"""A form of the model judged on systems it never saw."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.forms import BY_NAME, ordered, unread_fields
from model.step import microbatches
from priors.catalogue import Catalogue, read_catalogue
from priors.forms import catalogue_in_form
from studies.scoring import LEVELS, Estimate, central_intervals, interval_score, over_groups
from studies.systems.cases import Case
from studies.systems.posterior import Setup, condition, foretell
from studies.systems.unknowns import own_unknowns, shared_unknowns

type Floats = NDArray[np.float64]

DRAWS = 4000
SEED = 20261130
RESAMPLES = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Predictions of a form for every row, from the systems that the row does not belong to.

    Parameters
    ----------
    name
        Of the form or set of refinements.
    refinements
        What it refines.
    table
        One row a case, see :func:`table_of`.
    spreads
        Posterior means of the three spreads with every system in, by name.
    constants
        Posterior median of each shared constant, by dotted path.
    unconverged
        Largest weight of approximations without a mode, over the left-out posteriors.
    """

    name: str
    refinements: tuple[str, ...]
    table: pd.DataFrame
    spreads: dict[str, float]
    constants: dict[str, float]
    unconverged: float

    def column(self, name: str) -> Floats:
        """A column as an array."""
        values: Floats = self.table[name].to_numpy(dtype=float)
        return values

    @property
    def groups(self) -> list[str]:
        """System of each row."""
        return [str(group) for group in self.table["group"]]


def setup_of(cases: Sequence[Case], catalogue: Catalogue, refinements: Sequence[str]) -> Setup:
    """The rows with the unknowns that a set of refinements reads."""
    names = ordered(refinements)
    paths = frozenset(path for name in names for path in BY_NAME[name].parameters)
    unread = unread_fields(names)
    own = own_unknowns(catalogue_in_form(catalogue, names), cases)
    return Setup(
        cases=tuple(cases),
        own=tuple(unknown for unknown in own if unknown.path not in unread),
        shared=shared_unknowns(paths),
        settings={"refinements": names} if names else {},
    )


def evaluate(
    cases: Sequence[Case],
    catalogue: Catalogue,
    *,
    name: str,
    refinements: Sequence[str],
    draws: int = DRAWS,
    seed: int = SEED,
) -> Evaluation:
    """Predict every row with its system left out.

    Parameters
    ----------
    cases
        Rows of at least two systems.
    catalogue
        Priors of the unknowns.
    name, refinements
        The form.
    draws, seed
        Of the predictive distribution.
    """
    setup = setup_of(cases, catalogue, refinements)
    systems = list(dict.fromkeys(case.group for case in cases))
    posteriors = condition(setup, [frozenset([system]) for system in systems] + [frozenset()])
    everything = posteriors[-1]
    design = everything.parts[0].design
    log_seconds = np.empty((draws, len(design.cases)))
    log_density = np.empty(len(design.cases))
    for system, posterior in zip(systems, posteriors, strict=False):
        found = foretell(posterior, system, draws=draws, seed=seed)
        log_seconds[:, found.rows] = found.log_seconds
        log_density[list(found.rows)] = found.log_density
    return Evaluation(
        name=name,
        refinements=ordered(refinements),
        table=table_of(name, design.cases, log_seconds, log_density),
        spreads={
            label: everything.mean(name)
            for label, name in (
                ("between accelerators", "accelerators_sd"),
                ("between systems", "systems_sd"),
                ("of a row", "residual"),
            )
        },
        constants=everything.constants(),
        unconverged=max(posterior.unconverged for posterior in posteriors),
    )


def evaluate_shipped(cases: Sequence[Case], *, name: str, refinements: Sequence[str]) -> Evaluation:
    """The same with the shipped catalogue, as a task that can be sent to another process."""
    return evaluate(cases, read_catalogue(), name=name, refinements=refinements)


def table_of(
    form: str, cases: Sequence[Case], log_seconds: Floats, log_density: Floats
) -> pd.DataFrame:
    """Predictions beside what was measured.

    Returns
    -------
    DataFrame
        One row a case: what it is, ``measured_s``, ``predicted_s`` (the median), bounds of each
        central interval as ``lower_50`` …, ``error`` (predicted over measured, minus one),
        ``log_density`` and ``interval_score`` of log seconds (mean over the levels),
        ``inside_50`` ….
    """
    measured = np.log([case.seconds for case in cases])
    median = np.median(log_seconds, axis=0)
    intervals = central_intervals(log_seconds)
    scores = np.mean(
        [
            interval_score(low, high, measured, level)
            for level, (low, high) in zip(LEVELS, intervals, strict=True)
        ],
        axis=0,
    )
    table = pd.DataFrame(
        {
            "form": form,
            "group": [case.group for case in cases],
            "system": [case.row.name for case in cases],
            "source": [case.row.source for case in cases],
            "set": ["shipped" if case.row.is_shipped else case.row.place for case in cases],
            "accelerator": [case.accelerator for case in cases],
            "accelerators": [case.scenario.world for case in cases],
            "hidden": [case.scenario.model.hidden for case in cases],
            "pipeline_stages": [case.scenario.parallelism.pp for case in cases],
            "microbatches": [float(microbatches(case.scenario)) for case in cases],
            "recompute": [case.row.texts.get("recompute", "not stated") for case in cases],
            "measured_s": np.exp(measured),
            "predicted_s": np.exp(median),
            "error": np.expm1(median - measured),
            "log_density": log_density,
            "interval_score": scores,
        }
    )
    for level, (low, high) in zip(LEVELS, intervals, strict=True):
        label = f"{level * 100:.0f}"
        table[f"lower_{label}"], table[f"upper_{label}"] = np.exp(low), np.exp(high)
        table[f"inside_{label}"] = (low <= measured) & (measured <= high)
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What one form gains over another, a row on average.

    Parameters
    ----------
    log_density
        Gain in log predictive density; above 0 is better.
    interval_score
        Change of the interval score; below 0 is better.
    """

    log_density: Estimate
    interval_score: Estimate

    @property
    def wins(self) -> bool:
        """Whether the density gains more than its error."""
        return self.log_density.value > self.log_density.error


def gain(form: Evaluation, over: Evaluation) -> Gain:
    """Paired gain of a form over another on the same rows."""
    groups = form.groups
    return Gain(
        log_density=over_groups(form.column("log_density") - over.column("log_density"), groups),
        interval_score=over_groups(
            form.column("interval_score") - over.column("interval_score"), groups
        ),
    )


def stacking_weight(form: Evaluation, other: Evaluation, *, seed: int = SEED) -> float:
    """Weight of a form in the mixture with another that predicts systems left out best.

    max over w of Σ log(w·p_form + (1 − w)·p_other), concave in w, averaged over the Bayesian
    bootstrap of the systems: with few of them the best weight for these alone is too sure.

    References
    ----------
    Yao, Vehtari, Simpson and Gelman 2018, Using stacking to average Bayesian predictive
    distributions: stacking, and the Bayesian bootstrap of section 3.4.
    """
    ours, theirs = form.column("log_density"), other.column("log_density")
    weights = np.linspace(0.0, 1.0, 501)
    with np.errstate(divide="ignore"):
        log_w, log_rest = np.log(weights), np.log1p(-weights)
    mixed = np.logaddexp(ours[:, None] + log_w, theirs[:, None] + log_rest)
    systems, place = np.unique(form.groups, return_inverse=True)
    by_system = np.zeros((len(systems), len(weights)))
    np.add.at(by_system, place, mixed)
    shares = np.random.default_rng(seed).dirichlet(np.ones(len(systems)), size=RESAMPLES)
    return float(weights[np.argmax(shares @ by_system, axis=1)].mean())


def next_system(form: Evaluation, other: Evaluation) -> float:
    """Probability that a form predicts the next system better than another.

    (k + 1)/(n + 2) where it did so on k of n systems left out: Laplace's rule of succession.
    """
    difference = form.column("log_density") - other.column("log_density")
    systems = pd.Series(difference).groupby(form.groups).sum()
    return float(((systems > 0).sum() + 1) / (len(systems) + 2))
