"""The few operations that must work on NumPy arrays and on PyTensor graphs alike.

Formulas take their operations from here, never from ``np`` where a graph may arrive: one set of
formulas then serves the Monte Carlo and the gradients of the sampler.
"""

import sys
from typing import Any

import numpy as np
from scipy import special

type Value = Any
"""A float, a NumPy array of any broadcastable shape, or a PyTensor variable."""


def is_graph(*values: Value) -> bool:
    """Whether any value is a PyTensor variable.

    PyTensor is never imported for the question: without it loaded there can be no variable.
    """
    basic = sys.modules.get("pytensor.graph.basic")
    return basic is not None and any(isinstance(value, basic.Variable) for value in values)


def _tensor() -> Any:
    return sys.modules["pytensor.tensor"]


def sqrt(x: Value) -> Value:
    """Square root."""
    return _tensor().sqrt(x) if is_graph(x) else np.sqrt(x)


def log(x: Value) -> Value:
    """Natural logarithm; integers become float64 first, as PyTensor would give float32."""
    if is_graph(x):
        return _tensor().log(_tensor().cast(x, "float64"))
    return np.log(x)


def exp(x: Value) -> Value:
    """Exponential."""
    return _tensor().exp(x) if is_graph(x) else np.exp(x)


def gammaln(x: Value) -> Value:
    """Logarithm of the gamma function."""
    return _tensor().gammaln(x) if is_graph(x) else special.gammaln(x)


def expm1(x: Value) -> Value:
    """exp(x) - 1 without cancellation near zero; infinite beyond the range of float64."""
    if is_graph(x):
        return _tensor().expm1(x)
    with np.errstate(over="ignore"):
        return np.expm1(x)


def floor(x: Value) -> Value:
    """Largest integer not above x, as a float."""
    return _tensor().floor(x) if is_graph(x) else np.floor(x)


def ceil(x: Value) -> Value:
    """Smallest integer not below x, as a float."""
    return _tensor().ceil(x) if is_graph(x) else np.ceil(x)


def minimum(x: Value, y: Value) -> Value:
    """Elementwise smaller value."""
    return _tensor().minimum(x, y) if is_graph(x, y) else np.minimum(x, y)


def maximum(x: Value, y: Value) -> Value:
    """Elementwise larger value."""
    return _tensor().maximum(x, y) if is_graph(x, y) else np.maximum(x, y)


def where(condition: Value, x: Value, y: Value) -> Value:
    """X where the condition holds, else y; both branches are evaluated."""
    if is_graph(condition, x, y):
        chosen = condition if is_graph(condition) else np.asarray(condition)
        return _tensor().where(chosen, x, y)
    return np.where(condition, x, y)


def poisson_cdf(k: Value, mean: Value) -> Value:
    """Probability that a Poisson count is at most k − 1.

    P(X <= k − 1) = Q(k, mean), the regularised upper incomplete gamma function; 0 at k = 0.

    Parameters
    ----------
    k
        Number of units, integral, at least 0.
    mean
        Mean of the count, at least 0. Broadcast against ``k``.

    Returns
    -------
    Value
        Probability, in the broadcast shape (a scalar 1.0 where it is 1 everywhere to float64).

    Notes
    -----
    By Chernoff's bound P(X >= k) <= exp(k − mean)·(mean/k)^k, which is below 1e-20 for
    k >= 3·mean + 25: there the result is 1 to the last bit and the special function is skipped.
    """
    if is_graph(k, mean):
        tensor = _tensor()
        # The gamma function has no gradient at k = 0, where the probability is 0 by definition.
        return tensor.where(tensor.eq(k, 0), 0.0, tensor.gammaincc(tensor.maximum(k, 1.0), mean))
    certain = k >= 3.0 * mean + 25.0
    if np.all(certain):
        return 1.0
    k, mean, certain = np.broadcast_arrays(k, mean, certain)
    result = np.ones(k.shape)
    open_ = ~certain
    result[open_] = np.where(k[open_] > 0, special.gammaincc(k[open_], mean[open_]), 0.0)
    return result


def erlang_loss(k: Value, load: Value) -> Value:
    """Probability that k units are all in use under an offered load, Erlang's loss formula.

    B(k, a) = (a^k/k!)/(1 + a + … + a^k/k!) = e^{−a}·a^k/k!/Q(k + 1, a); 1 at k = 0.

    Parameters
    ----------
    k
        Number of units, integral, at least 0.
    load
        Mean number in use if there were enough, at least 0. Broadcast against ``k``.

    Returns
    -------
    Value
        Probability, in the broadcast shape (a scalar 0.0 where it is below 1e-20 everywhere).

    Notes
    -----
    Far more load than units underflows both parts of the quotient. There B = 1/(a·f), f Legendre's
    continued fraction of the incomplete gamma function over e^{−a}·a^{k + 1}.
    """
    if is_graph(k, load):
        tensor = _tensor()
        positive = tensor.maximum(load, _TINY)
        log_term = k * tensor.log(positive) - positive - tensor.gammaln(k + 1.0)
        tail = tensor.gammaincc(k + 1.0, positive)
        usual = tensor.exp(log_term) / tensor.maximum(tail, _TINY)
        return tensor.where(tail > _UNDERFLOW, usual, _overloaded(k, positive))
    certain = k >= 3.0 * load + 25.0
    if np.all(certain):
        return 0.0
    k, load, certain = np.broadcast_arrays(k, load, certain)
    result = np.zeros(k.shape)
    units, offered = k[~certain] * 1.0, np.maximum(load[~certain], _TINY)
    tail = special.gammaincc(units + 1.0, offered)
    term = np.exp(units * np.log(offered) - offered - special.gammaln(units + 1.0))
    usual = tail > _UNDERFLOW
    loss = np.divide(term, tail, out=np.ones_like(tail), where=usual)
    loss[~usual] = _overloaded(units[~usual], offered[~usual])
    result[~certain] = loss
    return result[()]


_TINY = 1e-300
_UNDERFLOW = 1e-200

_DEPTH = 6
"""Depth of the continued fraction: exact to rounding where the tail is below ``_UNDERFLOW``."""


def _overloaded(k: Value, load: Value) -> Value:
    """Erlang's loss where the load exceeds the units by far, by a continued fraction."""
    fraction = load - k + 2.0 * _DEPTH
    for step in range(_DEPTH, 0, -1):
        fraction = load - k + 2.0 * (step - 1) + step * (k - step + 1.0) / fraction
    return fraction / load
