"""Numbers as plain data: JSON has no infinity and no NaN.

A SEA that cannot be bought is null with ``"unattainable"`` beside it, a figure that does not exist
is null.
"""

import numpy as np

from decision.precision import quantile
from decision.ranking import QUANTILES


def finite(value: float) -> float | None:
    """The value, or None where JSON has no word for it."""
    return float(value) if np.isfinite(value) else None


def spread(samples: np.ndarray) -> dict[str, float | None]:
    """Mean and the 10th, 50th and 90th percentile; nulls where no sample is finite."""
    known = samples[~np.isnan(samples)]
    if not known.size:
        return {"mean": None, "p10": None, "p50": None, "p90": None}
    low, middle, high = (float(quantile(known, p)) for p in QUANTILES)
    return {
        "mean": finite(float(known.mean())),
        "p10": finite(low),
        "p50": finite(middle),
        "p90": finite(high),
    }


def sea_status(sea: float) -> str:
    """Whether a SEA is a number, or the words for its not being one."""
    if np.isfinite(sea):
        return "attainable"
    return "unattainable" if sea > 0 else "unattainable downward"
