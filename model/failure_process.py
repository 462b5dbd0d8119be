"""How failures come in a timeline: as published, or clustered, overdispersed, several at once."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from model.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureProcess:
    """How failures come. As it stands: independent exponential gaps, at the scenario's rates.

    Each departure keeps the mean rate at which nodes fail, so that what changes is due to the
    process and not to more failures.

    Parameters
    ----------
    weibull_shape
        Shape k of Weibull gaps of mean 1/λ, renewed by each restart; below 1 failures cluster
        after a restart, above 1 they come with age.
    rate_dispersion
        Squared coefficient of variation φ of the rate from one replicate to another: the rate is
        λ·G, G gamma of mean 1 and variance φ, for the whole window. Counts are then negative
        binomial with variance m + φm². None: the scenario's, which is 0 as published.
    nodes_per_failure
        Mean number of nodes that fail at once, geometric. One such event is one interruption of
        the job, so that nodes interrupt it at λ/mean; all of them need a spare at once, and
        where the free ones do not suffice the job waits for one repair. At 1 the wait is the
        published expectation, above it is drawn event by event.
    """

    weibull_shape: float = 1.0
    rate_dispersion: float | None = None
    nodes_per_failure: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is no process."""
        if not self.weibull_shape > 0:
            raise InputError.single(
                message=f"got {self.weibull_shape}, a shape is positive",
                source="failure process",
                path="weibull_shape",
            )
        if self.rate_dispersion is not None and not self.rate_dispersion >= 0:
            raise InputError.single(
                message=f"got {self.rate_dispersion}, a variance is at least 0",
                source="failure process",
                path="rate_dispersion",
            )
        if not self.nodes_per_failure >= 1:
            raise InputError.single(
                message=f"got {self.nodes_per_failure}, at least one node fails",
                source="failure process",
                path="nodes_per_failure",
            )


PUBLISHED_PROCESS = FailureProcess()


def standard_gaps(
    count: int, process: FailureProcess, generator: np.random.Generator
) -> np.ndarray:
    """Gaps of mean 1: exponential, or Weibull of the given shape."""
    if process.weibull_shape == 1.0:
        return np.asarray(generator.standard_exponential(count))
    mean = special.gamma(1.0 + 1.0 / process.weibull_shape)
    return np.asarray(generator.weibull(process.weibull_shape, count) / mean)
