"""All refinements at once as PyTensor graphs: values and gradients as on arrays."""

import numpy as np
import pytensor
import pytest
from pytensor import tensor

from model.forms import NAMES, unread_fields
from model.ledger import account
from model.recovery import recover
from model.scenario import Scenario, substitute
from tests.reference import REFERENCE

BASE = substitute(
    REFERENCE,
    {
        "refinements": NAMES,
        # Few spares and slow repairs, so that the queue is neither empty nor full.
        "reliability.spare_fraction": 0.002,
        "reliability.repair_time_s": 20_000.0,
        "reliability.checkpoint_blocking_fraction": 0.5,
        "reliability.durability_lag_s": 200.0,
        "kernel.half_tokens": 400.0,
        "kernel.fused_attention": 0.5,
        # A slow network, so that not all traffic hides.
        "accelerator.nic_bw_gbps": 20.0,
        "parallelism.zero_stage": 3,
        "parallelism.cp": 2,
        "parallelism.tp": 4,
    },
)
PATHS = (
    "kernel.kernel_efficiency",
    "kernel.half_hidden",
    "kernel.half_width",
    "kernel.half_tokens",
    "kernel.memory_efficiency",
    "kernel.fused_attention",
    "topology.net_efficiency",
    "parallelism.overlap_dp",
    "parallelism.overlap_tp",
    "parallelism.overlap_pp",
    "parallelism.overlap_cp",
    "reliability.failure_rate_per_node_day",
    "reliability.detect_time_s",
    "reliability.restart_time_s",
    "reliability.checkpoint_write_s",
    "reliability.durability_lag_s",
    "reliability.repair_time_s",
    "reliability.straggler_cv",
    "reliability.persistent_share",
)
OUTPUTS = {
    "productive": lambda s: account(s).productive_accelerators,
    "ettr": lambda s: recover(s).ettr,
}


def points(count: int) -> np.ndarray:
    centre = np.array([BASE.value(path) for path in PATHS])
    return centre * np.random.default_rng(17).uniform(0.85, 1.15, size=(count, len(PATHS)))


def at(point: np.ndarray) -> Scenario:
    return substitute(BASE, {path: point[i] for i, path in enumerate(PATHS)})


@pytest.mark.parametrize("name", OUTPUTS)
def test_refined_graph_and_gradient_agree_with_arrays(name: str) -> None:
    vector = tensor.dvector("point")
    value = OUTPUTS[name](at(vector))
    compiled = pytensor.function([vector], [value, tensor.grad(value, vector)], mode="FAST_COMPILE")
    moved = np.zeros(len(PATHS), dtype=bool)
    for point in points(4):
        found, gradient = compiled(point)
        expected = float(OUTPUTS[name](at(point)))
        assert found == pytest.approx(expected, rel=1e-11)
        moved |= gradient != 0
        for i, path in enumerate(PATHS):
            # Error of a central difference: h² truncation and 1e-16/h rounding, relative.
            shifts = np.array([-1e-5, 1e-5])[:, None] * np.eye(len(PATHS))[i] * point[i]
            low, high = (float(OUTPUTS[name](at(point + shift))) for shift in shifts)
            difference = (high - low) / (2e-5 * point[i])
            scale = abs(expected) / point[i]
            assert gradient[i] == pytest.approx(difference, rel=1e-5, abs=1e-7 * scale), path
    if name == "productive":
        still = {path for path, one in zip(PATHS, moved, strict=True) if not one}
        assert still == unread_fields(NAMES) & set(PATHS)
