"""One set of formulas for NumPy and PyTensor: values to 1e-12, gradients against differences."""

import numpy as np
import pytest

from model.ledger import account, achieved_flops_per_accelerator
from model.recovery import recover
from model.scenario import substitute
from model.scenario_file import read_scenario
from model.step import healthy_step

tensor = pytest.importorskip("pytensor.tensor")
pytensor = pytest.importorskip("pytensor")

PATHS = (
    "kernel.kernel_efficiency",
    "topology.net_efficiency",
    "topology.oversubscription",
    "accelerator.nic_bw_gbps",
    "parallelism.overlap_dp",
    "parallelism.overlap_tp",
    "parallelism.overlap_pp",
    "parallelism.overlap_cp",
    "reliability.failure_rate_per_node_day",
    "reliability.failure_rate_per_job_day",
    "reliability.failure_rate_dispersion",
    "reliability.detect_time_s",
    "reliability.restart_time_s",
    "reliability.checkpoint_write_s",
    "reliability.repair_time_s",
    "reliability.straggler_cv",
    "model.n_params",
)
# Few spares, so that the probability of a free one is neither 0 nor 1.
BASE = substitute(
    read_scenario("reference_405b_16k").scenario,
    {
        "reliability.spare_fraction": 0.002,
        "reliability.failure_rate_per_job_day": 2.0,
        "reliability.failure_rate_dispersion": 0.1,
        "reliability.failslow_prob_per_node": 1e-5,
        "reliability.failslow_slowdown": 1.3,
        "parallelism.zero_stage": 3,
    },
)
OUTPUTS = {
    "productive": lambda s: account(s).productive_accelerators,
    "achieved": lambda s: achieved_flops_per_accelerator(s, healthy_step(s)) / 1e12,
    "ettr": lambda s: recover(s).ettr,
    "pressure": lambda s: recover(s).pressure,
    "tokens": lambda s: account(s).tokens_per_second,
}


def random_points(count: int) -> np.ndarray:
    centre = np.array([BASE.value(path) for path in PATHS])
    generator = np.random.default_rng(7)
    return centre * generator.uniform(0.8, 1.2, size=(count, len(PATHS)))


@pytest.fixture(scope="module")
def compiled() -> dict[str, object]:
    point = tensor.dvector("point")
    scenario = substitute(BASE, {path: point[i] for i, path in enumerate(PATHS)})
    functions = {}
    for name, output in OUTPUTS.items():
        value = output(scenario)
        functions[name] = pytensor.function(
            [point], [value, tensor.grad(value, point)], mode="FAST_COMPILE"
        )
    return functions


@pytest.mark.parametrize("name", OUTPUTS)
def test_graph_and_array_agree(compiled: dict[str, object], name: str) -> None:
    points = random_points(20)
    columns = {path: points[:, i] for i, path in enumerate(PATHS)}
    arrays = OUTPUTS[name](substitute(BASE, columns))
    for point, expected in zip(points, arrays, strict=True):
        # 1e-12 leaves room for a few thousand roundings of 1e-16.
        assert compiled[name](point)[0] == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("name", OUTPUTS)
def test_gradient_agrees_with_central_differences(compiled: dict[str, object], name: str) -> None:
    for point in random_points(3):
        gradient = compiled[name](point)[1]
        value = abs(float(compiled[name](point)[0]))
        for i, path in enumerate(PATHS):
            # Error of a central difference: h² truncation and 1e-16/h rounding, relative.
            step = 1e-5 * point[i]
            shifted = [point.copy(), point.copy()]
            shifted[0][i] -= step
            shifted[1][i] += step
            low, high = (
                float(OUTPUTS[name](substitute(BASE, dict(zip(PATHS, p, strict=True)))))
                for p in shifted
            )
            difference = (high - low) / (2 * step)
            scale = value / point[i]
            assert gradient[i] == pytest.approx(difference, rel=1e-6, abs=1e-8 * scale), path


def test_gradient_is_not_trivially_zero(compiled: dict[str, object]) -> None:
    # Negative control: every parameter but the context overlap (one rank) moves throughput.
    gradient = compiled["productive"](random_points(1)[0])[1]
    moved = {path for path, slope in zip(PATHS, gradient, strict=True) if slope != 0}
    assert set(PATHS) - moved == {"parallelism.overlap_cp"}
