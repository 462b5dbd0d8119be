"""What passes through device memory between matrix products, and the time that takes.

Matrix products wait for arithmetic, everything between them for memory. Bytes of a token in a
layer on one rank, with 16-bit activations and 8-bit dropout masks, h = hidden, f = ffn_multiplier,
a = n_heads, s = seq_len and σ = 1 − fused_attention::

    forward    (22·h + 4·f·h             + 13·a·s·σ)/tp
    backward   (34·h + 8·f·h + 6·h       + 19·a·s·σ)/tp

22·h and 34·h: two norms (read and write 2 + 2; backward 6, the branch's gradient added 6) and two
dropouts with their residual (7; backward 5). 4·f and 8·f + 6: the activation function (4·f;
backward 6·f) and gradients of biases (2·f + 6). a·s: scores read and softmaxed (2 + 2), written,
dropped out (2 + 3) and multiplied (2 + 2); backward likewise. A fused attention keeps scores on
chip. Once a token: 16 bytes of each logit. Recomputation repeats the forward row, selective
recomputation its scores.

Norms and dropouts are split over tp as with sequence parallelism. Without it they are not, but
nothing is gathered for them either: of a layer of the 22B model 3% is all that it gained.

References
----------
Korthikanti et al. 2022, section 4 for the tensors of a layer, table 4 for times; Dao et al. 2022
(FlashAttention), section 2, for what bounds which operation.
"""

from dataclasses import dataclass

from model.numerics import Value
from model.scenario import Scenario

HIDDEN = (22.0, 40.0)
WIDE = (4.0, 8.0)
SCORES = (13.0, 19.0)
"""Bytes of a token, forward and backward, for each of h, f·h and a·s."""

LOGIT_BYTES = 16.0
"""Of one logit: read (2), as float written (4) and read for the sum (4), read (4), gradient (2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Everything that decides bytes and FLOPs of a token on one rank.

    Parameters
    ----------
    n_layers, hidden, n_heads, seq_len, ffn_multiplier, vocab
        Of the model; ``vocab`` 0 where it is not stated.
    tensor_ranks, stages
        Ranks that share a layer, and the layers.
    repeats_layers, repeats_scores
        Times the forward pass of a layer, and of its scores, is run again.
    spilled
        Share of attention whose scores pass through memory.
    flops_per_token
        FLOPs of a token on all ranks of a replica, recomputation included.
    flops_per_byte
        Peak of the device over its memory's bandwidth.
    """

    n_layers: Value
    hidden: Value
    n_heads: Value
    seq_len: Value
    ffn_multiplier: Value
    vocab: Value
    tensor_ranks: Value
    stages: Value
    repeats_layers: float
    repeats_scores: float
    spilled: Value
    flops_per_token: Value
    flops_per_byte: Value

    @property
    def bytes_per_token(self) -> Value:
        """Bytes of a token through the memory of one rank."""
        hidden, wide = (
            forward * (1.0 + self.repeats_layers) + backward for forward, backward in (HIDDEN, WIDE)
        )
        scores = (SCORES[0] * (1.0 + self.repeats_scores) + SCORES[1]) * self.spilled
        layer = self.hidden * (hidden + wide * self.ffn_multiplier)
        layer = layer + scores * self.n_heads * self.seq_len
        logits = LOGIT_BYTES * self.vocab
        return (self.n_layers * layer + logits) / (self.tensor_ranks * self.stages)

    @property
    def memory_share(self) -> Value:
        """Seconds of memory at full bandwidth over seconds of arithmetic at full peak."""
        flops = self.flops_per_token / (self.tensor_ranks * self.stages)
        return self.bytes_per_token * self.flops_per_byte / flops


REFERENCE = Layers(
    n_layers=126,
    hidden=16_384,
    n_heads=128,
    seq_len=8_192,
    ffn_multiplier=3.25,
    vocab=128_256,
    tensor_ranks=8,
    stages=16,
    repeats_layers=0.0,
    repeats_scores=0.0,
    spilled=0.0,
    flops_per_token=6.0 * 4.05e11 + 6.0 * 126 * 8_192 * 16_384,
    flops_per_byte=9.895e14 / 3.35e12,
)
"""Where kernel efficiency is stated: the study's 405B model without recomputation on an H100."""

REPEATS = {"none": (0.0, 0.0), "selective": (0.0, 1.0), "full": (1.0, 1.0)}
"""Times the forward pass of layers and of scores is run again, by recomputation."""


def layers_of(scenario: Scenario, flops_per_token: Value) -> Layers:
    """What a scenario's kernels move and compute.

    Parameters
    ----------
    scenario
        The scenario.
    flops_per_token
        Of all ranks of a replica, recomputation included.
    """
    model, plan, device = scenario.model, scenario.parallelism, scenario.accelerator
    repeats_layers, repeats_scores = REPEATS[plan.recompute]
    return Layers(
        n_layers=model.n_layers,
        hidden=model.hidden,
        n_heads=model.n_heads,
        seq_len=model.seq_len,
        ffn_multiplier=model.ffn_multiplier,
        vocab=0.0 if model.vocab is None else model.vocab,
        tensor_ranks=plan.tp,
        stages=plan.pp,
        repeats_layers=repeats_layers,
        repeats_scores=repeats_scores,
        spilled=1.0 - scenario.kernel.fused_attention,
        flops_per_token=flops_per_token,
        flops_per_byte=device.peak_flops_bf16 / (device.memory_bw_tb_s * 1e12),
    )


def efficiency_with_memory(scenario: Scenario, efficiency: Value, flops_per_token: Value) -> Value:
    """Refined: achieved share of the peak with the time that operations between products take.

    1/(1/e + (ρ − ρ_ref)/η), ρ the memory share of :class:`Layers` and η ``memory_efficiency``:
    products take FLOPs/(peak·e′) and the rest bytes/(bandwidth·η), with e′ such that e is what is
    achieved at the reference, where ``kernel_efficiency`` keeps its meaning.

    Parameters
    ----------
    scenario
        The scenario.
    efficiency
        Kernel efficiency at the reference, e.
    flops_per_token
        Of all ranks of a replica, recomputation included.
    """
    beyond = layers_of(scenario, flops_per_token).memory_share - REFERENCE.memory_share
    return 1.0 / (1.0 / efficiency + beyond / scenario.kernel.memory_efficiency)
