"""How FLOPs of a token are counted: the common conventions, and which one a log used.

All count 6 FLOPs a parameter; they differ in attention and recomputation.
"""

from collections.abc import Callable

from model.scenario import Scenario
from model.step import nominal_flops_per_token


def _attention(scenario: Scenario) -> float:
    """Attention FLOPs of a token over the whole square: 12·n_layers·seq_len·hidden."""
    model = scenario.model
    return 12.0 * float(model.n_layers) * float(model.seq_len) * float(model.hidden)


def _parameters(scenario: Scenario) -> float:
    return 6.0 * float(scenario.model.n_params)


def _causal(scenario: Scenario) -> float:
    return float(nominal_flops_per_token(scenario))


CONVENTIONS: dict[str, tuple[str, Callable[[Scenario], float]]] = {
    "causal_attention": ("6·N + half the attention square, as this model counts", _causal),
    "full_attention": (
        "6·N + the whole attention square (Megatron-LM to 2024, torchtitan, Composer)",
        lambda scenario: _parameters(scenario) + _attention(scenario),
    ),
    "parameters_only": ("6·N", _parameters),
    "with_recomputation": (
        "8·N + 4/3 of the attention square: hardware FLOPs with full recomputation",
        lambda scenario: 4.0 / 3.0 * (_parameters(scenario) + _attention(scenario)),
    ),
}

CONTRADICTION = 1.5
"""Beyond this factor from every convention the log is of another job."""


def nearest_convention(scenario: Scenario, flops_per_token: float) -> tuple[str, float]:
    """The convention whose FLOPs are nearest, and the log's over its."""
    ratios = {name: flops_per_token / count(scenario) for name, (_, count) in CONVENTIONS.items()}
    name = min(ratios, key=lambda key: max(ratios[key], 1.0 / ratios[key]))
    return name, ratios[name]


def contradicts(ratio: float) -> bool:
    """Whether this ratio to the nearest convention is too far off."""
    return not 1.0 / CONTRADICTION < ratio < CONTRADICTION


def to_model(scenario: Scenario, tflops: float, convention: str) -> float:
    """TFLOP/s counted by a convention, as the model counts them."""
    return tflops * _causal(scenario) / CONVENTIONS[convention][1](scenario)
