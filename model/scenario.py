"""Scenario: a cluster, a job and a window, read from YAML and replaced by dotted path.

Any real field may hold a scalar or an array. Axis 0 is the draw, axis 1 the pool size or option.
Integers of the plan may be arrays along axis 1 where several plans are evaluated at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from model import checks
from model.errors import InputError, Problem, nearest
from model.field import Field, check_value
from model.numerics import Value, ceil
from model.parameters import BY_PATH, FIELDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The network that is trained; fields as in :mod:`model.parameters`."""

    name: str
    n_layers: Value
    hidden: Value
    n_params: Value
    seq_len: Value
    vocab: Value
    n_heads: Value
    n_kv_heads: Value
    ffn_multiplier: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """The device and its node."""

    name: str
    peak_flops_bf16: Value
    memory_gb: Value
    memory_bw_tb_s: Value
    scaleup_bw_gbps: Value
    nic_bw_gbps: Value
    accelerators_per_node: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Scale-up domains, pods, and what connects them."""

    scaleup_domain: Value
    pod_size: Value
    oversubscription: Value
    alpha_scaleup_us: Value
    alpha_pod_us: Value
    alpha_xpod_us: Value
    net_efficiency: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """The plan: how the job is laid over accelerators."""

    tp: Value
    pp: Value
    cp: Value
    dp: Value
    micro_batch: Value
    global_batch_seqs: Value
    zero_stage: Value
    interleave_factor: Value
    sequence_parallel: bool
    recompute: str
    overlap_dp: Value
    overlap_tp: Value
    overlap_pp: Value
    overlap_cp: Value
    grad_bytes: Value
    act_bytes: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Failures, detection, restart, checkpoints, jitter, spares."""

    failure_rate_per_node_day: Value
    failure_rate_per_job_day: Value
    failure_rate_dispersion: Value
    detect_time_s: Value
    restart_time_s: Value
    checkpoint_interval_s: Value
    checkpoint_write_s: Value
    checkpoint_blocking_fraction: Value
    durability_lag_s: Value
    repair_time_s: Value
    spare_fraction: Value
    straggler_cv: Value
    persistent_share: Value
    failslow_prob_per_node: Value
    failslow_slowdown: Value
    stranded_fraction: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """How well kernels use the device."""

    kernel_efficiency: Value
    half_hidden: Value
    half_width: Value
    half_tokens: Value
    memory_efficiency: Value
    fused_attention: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A cluster, a job and a window."""

    name: str
    stack: str
    fleet: str
    n_pool: Value
    window_days: Value
    scaling_mode: str
    max_global_batch_seqs: Value
    refinements: tuple[str, ...]
    notes: str
    model: Model
    accelerator: Accelerator
    topology: Topology
    parallelism: Parallelism
    reliability: Reliability
    kernel: Kernel

    @property
    def replica(self) -> Value:
        """Accelerators of one data-parallel replica, tp·pp·cp."""
        plan = self.parallelism
        return plan.tp * plan.pp * plan.cp

    @property
    def world(self) -> Value:
        """Accelerators of the job, tp·pp·cp·dp."""
        return self.replica * self.parallelism.dp

    @property
    def overhead(self) -> Value:
        """Accelerators owned over accelerators of the job, 1 + spare + stranded."""
        return 1.0 + self.reliability.spare_fraction + self.reliability.stranded_fraction

    @property
    def pool(self) -> Value:
        """Accelerators owned: as given, else ceil(world·(1 + spare + stranded))."""
        if self.n_pool is not None:
            return self.n_pool
        return ceil(self.world * self.overhead)

    @property
    def window_s(self) -> Value:
        """Accounting window in seconds."""
        return self.window_days * 86400.0

    def value(self, path: str) -> Value:
        """The value at a dotted path of the table."""
        return _VALUE[path](self)


_VALUE = {field.path: attrgetter(field.path) for field in FIELDS}


def coerce(field: Field, value: Value) -> Value:
    """Read a number or names written as text, an integer written as a float; leave the rest.

    Names that are valid are put in the order of their table.
    """
    if field.kind == "names":
        return _names(field, value)
    if field.kind not in ("real", "integer") or value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return value
    if isinstance(value, np.generic):
        value = value.item()
    if field.kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if field.kind == "real" and isinstance(value, int):
        return float(value)
    return value


def _names(field: Field, value: Value) -> Value:
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip() not in ("", "none")]
    if not isinstance(value, list | tuple | set | frozenset):
        return value
    unknown = tuple(name for name in value if name not in field.choices)
    return unknown or tuple(name for name in field.choices if name in value)


def to_values(scenario: Scenario) -> dict[str, Value]:
    """Every field by its dotted path."""
    return {field.path: scenario.value(field.path) for field in FIELDS}


def with_values(scenario: Scenario, values: Mapping[str, Value], *, source: str) -> Scenario:
    """Replace fields by dotted path, checked as if they had been read from a file.

    Parameters
    ----------
    scenario
        The scenario to start from.
    values
        New values by dotted path: scalars, texts, or arrays of shape (draws, 1) or (draws,).
    source
        Where the values come from, for messages.

    Raises
    ------
    InputError
        With every problem found.
    """
    problems = []
    coerced = {}
    for path, raw in values.items():
        field = BY_PATH.get(path)
        if field is None:
            problems.append(
                Problem(
                    source=source,
                    path=path,
                    message="unknown field",
                    remedy=nearest(path, list(BY_PATH)),
                )
            )
            continue
        coerced[path] = coerce(field, raw)
        problem = check_value(field, coerced[path], source=source)
        if problem:
            problems.append(problem)
    if not problems:
        problems = checks.contradictions({**to_values(scenario), **coerced}, source=source)
    if problems:
        raise InputError(problems)
    return substitute(scenario, coerced)


def substitute(scenario: Scenario, values: Mapping[str, Value]) -> Scenario:
    """Replace fields by dotted path without checks; the values may be graphs."""
    top: dict[str, Value] = {}
    inner: dict[str, dict[str, Value]] = {}
    for path, value in values.items():
        section, _, key = path.rpartition(".")
        if section:
            inner.setdefault(section, {})[key] = value
        else:
            top[key] = value
    for section, changes in inner.items():
        top[section] = replace(getattr(scenario, section), **changes)
    return replace(scenario, **top)


def stack(scenarios: Sequence[Scenario], *, axis: int) -> Scenario:
    """Lay scenarios side by side, so that one evaluation serves them all.

    Parameters
    ----------
    scenarios
        Scenarios that agree in every text field but the names.
    axis
        0 for scenarios of scalars (result: shape (n,)), 1 for scenarios whose real fields are
        scalars or shape (draws, 1) (result: shapes (1, n) or (draws, n)).

    Returns
    -------
    Scenario
        Fields that are the same everywhere stay as they are; the others are arrays. An interval
        that is Daly's in some scenarios only is NaN there, a pool that is stated in some only is
        what it comes to in the others.
    """
    first = scenarios[0]
    changes: dict[str, Value] = {}
    for field in FIELDS:
        if field.kind not in ("real", "integer"):
            continue
        column = [scenario.value(field.path) for scenario in scenarios]
        if _all_same(column):
            continue
        if field.path == "n_pool":
            column = [scenario.pool for scenario in scenarios]
        column = [np.nan if value is None else value for value in column]
        if axis == 0:
            changes[field.path] = np.array(column)
        else:
            rows = max(np.shape(value)[0] if np.ndim(value) else 1 for value in column)
            changes[field.path] = np.concatenate(
                [np.broadcast_to(np.reshape(v, (-1, 1)), (rows, 1)) for v in column], axis=1
            )
    return substitute(first, changes)


def take(scenario: Scenario, rows: slice | np.ndarray) -> Scenario:
    """The scenario of some of its draws: rows of every array of more than one."""
    values = {
        field.path: value[rows]
        for field in FIELDS
        if field.kind in ("real", "integer")
        and np.ndim(value := scenario.value(field.path))
        and np.shape(value)[0] > 1
    }
    return substitute(scenario, values) if values else scenario


def _all_same(values: Iterable[Value]) -> bool:
    first, *rest = values
    return all(
        value is first or (np.ndim(value) == 0 and np.ndim(first) == 0 and value == first)
        for value in rest
    )
