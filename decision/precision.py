"""Monte Carlo standard errors from the effective sample size.

Shapes: samples are (n,) or (n, K), axis 0 the draw. Draws without chains are independent: their
effective sample size is n. Draws of a sampler are grouped by chain and go through ArviZ.
"""

from dataclasses import dataclass

import numpy as np

ONE_SIGMA = 0.158655253931457
"""Normal probability below −1: the quantile error is half the width between ±1."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How draws fall into chains.

    Parameters
    ----------
    chains
        Row indices of each chain, shape (chains, length); None for independent draws.
    draws
        Number of draws in all.
    """

    chains: np.ndarray | None
    draws: int

    @classmethod
    def of(cls, chain: np.ndarray | None, draws: int) -> "Layout":
        """Group draws by their chain id; chains are cut to the shortest for the estimate."""
        if chain is None:
            return cls(None, draws)
        members = [np.flatnonzero(chain == name) for name in np.unique(chain)]
        length = min(rows.size for rows in members)
        if length < 4:  # noqa: PLR2004 - the estimate splits a chain and needs two draws a half
            return cls(None, draws)
        return cls(np.stack([rows[:length] for rows in members]), draws)

    def effective(self, samples: np.ndarray) -> np.ndarray:
        """Effective sample size of the mean of each column, shape (K,) or ()."""
        columns = samples.reshape(self.draws, -1)
        result = np.full(columns.shape[1], float(self.draws))
        if self.chains is not None:
            from arviz_stats.base.array import array_stats

            varying = np.flatnonzero(np.ptp(columns, axis=0) > 0)
            if varying.size:
                arranged = np.moveaxis(columns[self.chains][:, :, varying], 2, 0)
                estimate = array_stats.ess(  # type: ignore[no-untyped-call]
                    arranged, chain_axis=1, draw_axis=2, method="mean"
                )
                result[varying] = estimate * (self.draws / self.chains.size)
        return result.reshape(samples.shape[1:])


def mean_error(samples: np.ndarray, layout: Layout) -> np.ndarray:
    """Standard error of the mean of each column: sd/√ESS."""
    return np.asarray(np.std(samples, axis=0) / np.sqrt(layout.effective(samples)))


def quantile(samples: np.ndarray, probability: float) -> np.ndarray:
    """Quantile by the inverse of the empirical distribution: defined with infinite samples too."""
    return np.asarray(np.quantile(samples, probability, axis=0, method="inverted_cdf"))


def quantile_error(samples: np.ndarray, probability: float, layout: Layout) -> np.ndarray:
    """Standard error of a quantile of each column.

    Half the distance between the order statistics at the ±1 sigma quantiles of a
    Beta(ESS·p + 1, ESS·(1 − p) + 1), the ESS being that of the indicator of lying below the
    quantile. NaN where both order statistics are infinite: there is no scale to state an error on;
    infinite where one of them is.

    References
    ----------
    Vehtari et al. 2021, "Rank-normalization, folding, and localization", section 4.3.
    """
    from scipy import stats

    below = (samples <= quantile(samples, probability)).astype(np.float64)
    effective = layout.effective(below)
    ordered = np.sort(samples, axis=0)
    ends = []
    for tail in (ONE_SIGMA, 1.0 - ONE_SIGMA):
        share = stats.beta.ppf(
            tail, effective * probability + 1.0, effective * (1.0 - probability) + 1.0
        )
        index = np.clip(np.floor(share * layout.draws), 0, layout.draws - 1).astype(np.int64)
        ends.append(np.take_along_axis(ordered, index[np.newaxis], axis=0)[0])
    low, high = ends
    both = np.isinf(low) & np.isinf(high)
    width = np.subtract(high, low, out=np.full(np.shape(low), np.nan), where=~both)
    return np.asarray(width / 2.0)


def paired_share_error(first: float, second: float, effective: float) -> float:
    """Standard error of the difference of two shares of the same draws.

    √((p1 + p2 − (p1 − p2)²)/ESS): the shares exclude each other, so their errors add up.
    """
    difference = first - second
    return float(np.sqrt(max(0.0, first + second - difference**2) / effective))
