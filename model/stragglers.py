"""What waiting for the slowest rank costs a synchronous step.

Shapes: everything broadcasts; what depends on the plan alone stays in the plan's shape.
"""

from functools import cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy import special

from model.forms import EXACT_MAXIMUM, PERSISTENT_RANKS
from model.numerics import Value, log, sqrt
from model.scenario import Scenario

MOST_RANKS = 1e9
"""The fit of the expected maximum holds up to here, as many ranks as a scenario may have."""

DEGREE = 24
"""Degree of the fit: its error is below 1e-9 standard deviations."""


def asymptotic_maximum(ranks: Value) -> Value:
    """Published expected maximum of standard normals, sqrt(2 ln n)."""
    return sqrt(2.0 * log(ranks))


def expected_maximum(ranks: Value) -> Value:
    """Expected maximum of n standard normals, exactly: ∫ x·n·φ(x)·Φ(x)^(n − 1) dx.

    Evaluated as a Chebyshev series in sqrt(ln n), fitted to the quadrature of
    :func:`maximum_by_quadrature`; 0 at one rank, for n up to a billion.

    References
    ----------
    David & Nagaraja 2003, Order Statistics.
    """
    root = sqrt(log(ranks))
    scaled = root * (2.0 / np.sqrt(np.log(MOST_RANKS))) - 1.0
    last, before = 0.0, 0.0
    # Clenshaw's recurrence.
    for coefficient in _coefficients()[:0:-1]:
        last, before = coefficient + 2.0 * scaled * last - before, last
    # The factor makes one rank wait for nobody to the last bit.
    return root * (_coefficients()[0] + scaled * last - before)


def maximum_by_quadrature(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same by quadrature, for numbers of ranks of at least 1, shape (n,).

    Integrating by parts, E = ∫₀^∞ (1 − F(x)) dx − ∫₋∞^0 F(x) dx with F = Φ^n.
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)
    # Beyond ten standard deviations a billion ranks add less than 1e-14.
    x = 5.0 * (nodes + 1.0)
    above = -np.expm1(np.multiply.outer(ranks, special.log_ndtr(x)))
    below = np.exp(np.multiply.outer(ranks, special.log_ndtr(-x)))
    return np.asarray((above - below) @ (5.0 * weights), dtype=np.float64)


@cache
def _coefficients() -> tuple[float, ...]:
    """Chebyshev coefficients of E/sqrt(ln n) in the scaled sqrt(ln n)."""
    points = chebyshev.chebpts1(DEGREE + 1)
    root = (points + 1.0) / 2.0 * np.sqrt(np.log(MOST_RANKS))
    ratio = maximum_by_quadrature(np.exp(root**2)) / root
    return tuple(map(float, chebyshev.chebfit(points, ratio, DEGREE)))


def expected_slowest(scenario: Scenario) -> Value:
    """Standard deviations by which the slowest rank is expected to lag, by the scenario's form."""
    maximum = expected_maximum if EXACT_MAXIMUM in scenario.refinements else asymptotic_maximum
    return maximum(scenario.world)


def slow_node_factor(scenario: Scenario) -> Value:
    """Published fail-slow tax, 1 + (slowdown − 1)(1 − (1 − p)^nodes), nodes whole."""
    reliability = scenario.reliability
    nodes = scenario.world // scenario.accelerator.accelerators_per_node
    slow = 1.0 - (1.0 - reliability.failslow_prob_per_node) ** nodes
    return 1.0 + (reliability.failslow_slowdown - 1.0) * slow


def synchronised(scenario: Scenario, untaxed: Value, wire: Value) -> Value:
    """Seconds of a step with the slowest rank and slow nodes.

    untaxed·(1 + cv·E)·(fail-slow tax), E the expected lag of the slowest rank.

    Parameters
    ----------
    scenario
        The scenario.
    untaxed
        Seconds without: computation, exposed communication and bubble.
    wire
        Seconds of exposed communication among them.
    """
    if PERSISTENT_RANKS in scenario.refinements:
        lag = persistent_lag(scenario, untaxed - wire, untaxed)
        return (untaxed + lag) * slow_node_factor(scenario)
    straggler = 1.0 + scenario.reliability.straggler_cv * expected_slowest(scenario)
    return untaxed * (straggler * slow_node_factor(scenario))


def persistent_lag(scenario: Scenario, busy: Value, untaxed: Value) -> Value:
    """Seconds that the slowest rank lags where a share s of the jitter stays with its rank.

    A rank takes untaxed·(1 + fresh) + busy·persistent, two normals of variance (1 − s)·cv² and
    s·cv²: a normal of sd cv·sqrt((1 − s)·untaxed² + s·busy²), whose expected maximum over ranks is
    E times that. A rank that is slow for good computes slowly; the wire is what it is.
    """
    share = scenario.reliability.persistent_share
    spread = sqrt((1.0 - share) * untaxed**2 + share * busy**2)
    return scenario.reliability.straggler_cv * expected_slowest(scenario) * spread
