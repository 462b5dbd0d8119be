"""What correlation between successive times does to their spread and to their number.

Steps are taken as an autoregressive series of order one: the correlation of steps k apart is a^k.

References
----------
Priestley 1981, Spectral Analysis and Time Series, section 5.3.
"""

_TOLERANCE = 1e-12


def independent_share(correlation: float) -> float:
    """Independent times over times, for an estimate of the variance: (1 − ρ²)/(1 + ρ²)."""
    square = correlation * correlation
    return (1.0 - square) / (1.0 + square)


def averaging_factor(correlation: float, interval: float) -> float:
    """Variance of single steps over the variance of means of m successive steps.

    m where steps are independent; m²(1 − a)²/(m(1 − a²) − 2a(1 − a^m)) where those k apart are
    correlated a^k. Here a is found from the correlation of successive means,
    a(1 − a^m)²/(m(1 − a²) − 2a(1 − a^m)).

    Parameters
    ----------
    correlation
        Of successive means, below 1; negative counts as none.
    interval
        m, at least 1.
    """
    if correlation <= 0.0 or interval <= 1.0:
        return interval
    low, high = 0.0, 1.0
    while high - low > _TOLERANCE:
        middle = 0.5 * (low + high)
        if _of_means(middle, interval) < correlation:
            low = middle
        else:
            high = middle
    return float(interval**2 * (1.0 - low) ** 2 / _spread(low, interval))


def _of_means(a: float, m: float) -> float:
    """Correlation of successive means of m steps."""
    spread = _spread(a, m)
    # Close to 1 both parts vanish: means are then all alike.
    return a * (1.0 - float(a**m)) ** 2 / spread if spread > _TOLERANCE else 1.0


def _spread(a: float, m: float) -> float:
    return m * (1.0 - a * a) - 2.0 * a * (1.0 - float(a**m))
