"""ETTR of published jobs under the population of fleets that they do not belong to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from model.recovery import recover
from model.scenario import Scenario, substitute
from priors.catalogue import Catalogue
from studies.fleets.population import Hyper, resample, take
from studies.fleets.rows import PER_NODE, EttrRow

type Floats = NDArray[np.float64]

RECOVERY = (
    "reliability.detect_time_s",
    "reliability.restart_time_s",
    "reliability.checkpoint_write_s",
)
"""Times of recovery, each with the ranking's prior."""

RATE, RATE_OF_JOB = "reliability.failure_rate_per_node_day", "reliability.failure_rate_per_job_day"


@dataclass(frozen=True, slots=True, kw_only=True)
class EttrPrediction:
    """Prediction of one job's ETTR.

    Parameters
    ----------
    item
        The row.
    draws
        Shape (draws,).
    """

    item: EttrRow
    draws: Floats

    @property
    def chance(self) -> float:
        """Probability of the stated bound; of a value, that of one at least as far from the median.

        A small probability says that the row is a surprise.
        """
        if self.item.bound == "at_least":
            return float((self.draws >= self.item.value).mean())
        if self.item.bound == "at_most":
            return float((self.draws <= self.item.value).mean())
        below = float((self.draws <= self.item.value).mean())
        return 2.0 * min(below, 1.0 - below)


def foretell_ettr(
    rows: Sequence[EttrRow],
    hyper: Hyper,
    logs: Mapping[str, Floats],
    *,
    catalogue: Catalogue,
    template: Scenario,
    refinements: Sequence[str],
    draws: int,
    seed: int,
) -> list[EttrPrediction]:
    """Predict the ETTR of jobs.

    Parameters
    ----------
    rows
        The jobs.
    hyper, logs
        Points of the population and the likelihood of each group there; the job's own is left out.
    catalogue
        Priors of the times of recovery.
    template
        A scenario for what rows do not state: spares, repair, blocking share, window.
    refinements
        Form of the recovery.
    draws, seed
        Same seed, same draws.
    """
    total = np.asarray(sum(logs.values()))
    z = special.ndtri(stats.qmc.Sobol(4, rng=np.random.default_rng(seed)).random(draws))
    results = []
    for item in rows:
        others = total - logs.get(item.row.group, np.zeros_like(total))
        some = take(hyper, resample(others, draws, seed))
        values = {
            path: catalogue.entries[path].prior.quantile(special.ndtr(z[:, place]))
            for place, path in enumerate(RECOVERY)
        }
        values[RATE] = np.exp(some.location + some.spread * z[:, 3])
        values[RATE_OF_JOB] = some.per_job_day
        nodes = max(1, round(item.accelerators / PER_NODE))
        plan = {
            "parallelism.tp": 1,
            "parallelism.pp": 1,
            "parallelism.cp": 1,
            "parallelism.dp": nodes * PER_NODE,
            "accelerator.accelerators_per_node": PER_NODE,
            "n_pool": None,
            "refinements": tuple(refinements),
            "window_days": item.row.numbers.get("days", template.window_days),
        }
        ettr = recover(substitute(template, {**plan, **values})).ettr
        results.append(EttrPrediction(item=item, draws=np.asarray(ettr)))
    return results
