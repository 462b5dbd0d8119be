"""Whether a plan fits into an accelerator's memory: what rules out unstated choices.

References
----------
Korthikanti et al. 2022, table 2 and equations 2 and 5, for activations; Rajbhandari et al. 2020 for
states. Attention is taken to keep no score matrix, which both selective recomputation and fused
kernels achieve.
"""

from collections.abc import Mapping

WEIGHT_AND_GRADIENT_BYTES, OPTIMISER_BYTES = 6.0, 12.0
ACTIVATION_BYTES = {"none": 34.0, "selective": 34.0, "full": 2.0}
"""Bytes a layer keeps for each token and hidden unit."""


def needed_bytes(
    numbers: Mapping[str, float], *, dp: float, recompute: str, micro_batch: int, sharded: bool
) -> float:
    """Bytes an accelerator of the first pipeline stage needs.

    N/(tp·pp)·(6 + 12/dp) of states with a sharded optimiser, N/tp/pp/dp·18 where everything is
    sharded; L/pp·min(pp, m)·k·s·b·h/(tp·cp) of activations, m microbatches in flight at most.
    """
    tp, pp, cp = numbers["tp"], numbers["pp"], numbers.get("cp", 1.0)
    share = numbers["n_params"] / (tp * pp)
    if sharded:
        states = share * (WEIGHT_AND_GRADIENT_BYTES + OPTIMISER_BYTES) / dp
    else:
        states = share * (WEIGHT_AND_GRADIENT_BYTES + OPTIMISER_BYTES / dp)
    in_flight = min(pp, max(1.0, numbers["global_batch_seqs"] / dp / micro_batch))
    tokens = micro_batch * numbers["seq_len"] / cp
    layers = numbers["n_layers"] / pp * in_flight
    return states + layers * ACTIVATION_BYTES[recompute] * tokens * numbers["hidden"] / tp
