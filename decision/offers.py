"""Studies that could be made before deciding, against what they cost."""

from collections.abc import Mapping, Sequence

import numpy as np

from decision.economics import Economics, Estimate, Offer
from decision.learning import Stake, StudyWorth, value_study
from decision.outcomes import Question, baseline_of
from decision.planned_studies import PlannedStudy
from decision.precision import Layout
from decision.study_data import Target
from decision.utility import pools_of
from priors.catalogue import Catalogue


def with_studies(
    economics: Economics,
    question: Question,
    columns: Mapping[str, np.ndarray],
    studies: Sequence[PlannedStudy],
    *,
    catalogue: Catalogue,
    price_per_accelerator: float | None,
    chain: np.ndarray | None,
    seed: int,
) -> Economics:
    """The decision, to measure first where a study is worth more than it costs.

    Parameters
    ----------
    economics
        The decision without studies.
    question, columns
        What was asked, of which draws.
    studies
        On offer; those without a cost are not.
    catalogue
        Priors of the scenario's parameters.
    price_per_accelerator
        Currency of a fully-loaded accelerator over the horizon; None without one.
    chain
        Chain of each draw, None for independent draws.
    seed
        Of the simulated data.
    """
    found = economics.utilities
    values = found.values[:, found.admissible]
    means = values.mean(axis=0)
    best = int(found.admissible[means.argmax()])
    pools = pools_of(question, columns, values.shape[0])
    left = (found.budget - found.costs[:, best])[:, np.newaxis]
    regime = question.regime
    target = Target(
        scenario=baseline_of(question, {}),
        known=frozenset(regime.overrides) if regime else frozenset(),
        catalogue=catalogue,
        columns=columns,
        seed=seed,
        forms=question.forms,
    )
    stake = Stake(
        horizon_days=found.horizon_days,
        advantage=float(means.max() - found.values[:, 0].mean()),
        price_of=lambda accelerators: float(
            means.max() - pools.value(best, left - accelerators).mean()
        ),
        price_per_accelerator=price_per_accelerator,
    )
    layout = Layout.of(chain, values.shape[0])
    for study in studies:
        if study.cost is not None:
            economics = economics.with_offer(
                _offer(value_study(study, values, target, layout, stake))
            )
    return economics


def _offer(worth: StudyWorth) -> Offer | None:
    """The study at its best size; None where no size is worth its cost."""
    size = worth.best
    if size is None:
        return None
    information = size.information
    return Offer(
        study=worth.study.name,
        size=size.size,
        unit=worth.study.unit,
        value=Estimate(
            value=size.remaining * information.value, mcse=size.remaining * information.error
        ),
        cost=float(size.cost_productive or 0.0),
    )
