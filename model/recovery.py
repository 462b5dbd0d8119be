"""Failures, detection, restart and checkpoints as renewal expectations.

Failures come at a rate per node, as published, and at a rate per job, none as published; where the
rates vary from window to window, what is expected is the mean over windows.

All durations are wall-clock seconds that every accelerator of the job spends, over the window.
Shapes: as in :mod:`model.step`; what does not depend on the plan stays (draws, 1).
"""

from dataclasses import dataclass, fields

import numpy as np

from model.forms import ASYNC_CHECKPOINT, DETECTION_BLOCKED, REPAIR_QUEUE
from model.numerics import (
    Value,
    erlang_loss,
    expm1,
    floor,
    is_graph,
    maximum,
    minimum,
    poisson_cdf,
    sqrt,
    where,
)
from model.scenario import Scenario, substitute

MIN_INTERVAL_S = 60.0
"""Daly's optimum is never put below a minute."""

MAX_DOWN_SHARE = 0.5
"""The published model bounds the share of nodes under repair; the bound is part of its formula."""

SERIES_BELOW = 1e-2
"""Below this λp the series of the expected lost work is exact to 1e-14 and the formula is not."""

SCOPE_LIMIT = 0.25
"""Recovery pressure at and above which the renewal expectations are out of their scope."""

CONSERVATION_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Where the window of a job goes, per accelerator.

    Parameters
    ----------
    failure_rate_per_s
        Failures of the whole job per second, λ.
    interval_s
        Time between checkpoints; infinite where failures never come and Daly's optimum is used.
    failures
        Expected failures in the window.
    running_s
        Steps whose result survives.
    checkpoint_s
        Blocking checkpoint writes.
    restart_s
        Restart, waiting for a repair where no spare is free; with ``detection_blocked`` the time
        until detection.
    discarded_s
        Lost work, and otherwise the time until detection.
    down_s
        Accelerators under repair.
    """

    failure_rate_per_s: Value
    interval_s: Value
    failures: Value
    running_s: Value
    checkpoint_s: Value
    restart_s: Value
    discarded_s: Value
    down_s: Value

    @property
    def pressure(self) -> Value:
        """Recovery pressure, (discarded + restart)/(discarded + restart + running)."""
        lost = self.discarded_s + self.restart_s
        total = lost + self.running_s
        return where(lost > 0, lost / where(total > 0, total, 1.0), 0.0)

    @property
    def ettr(self) -> Value:
        """Effective training time ratio: steps that survive over the time the job is not down."""
        available = self.running_s + self.checkpoint_s + self.restart_s + self.discarded_s
        return self.running_s / available


def failure_rate_per_s(scenario: Scenario) -> Value:
    """λ: interruptions of the job per second, (nodes·rate per node + rate per job) / 86,400."""
    return _with_job_rate(scenario, node_failure_rate_per_s(scenario))


def _with_job_rate(scenario: Scenario, node_rate: Value) -> Value:
    per_job = scenario.reliability.failure_rate_per_job_day
    return node_rate + per_job / 86400.0 if _present(per_job) else node_rate


def node_failure_rate_per_s(scenario: Scenario) -> Value:
    """Those of them that a node causes, (job accelerators / per node)·rate / 86,400."""
    nodes = scenario.world / scenario.accelerator.accelerators_per_node
    return nodes * (scenario.reliability.failure_rate_per_node_day / 86400.0)


def daly_interval(write_s: Value, rate_per_s: Value) -> Value:
    """Daly's first-order optimum, max(60, sqrt(2·w·M) − w), and max(60, M) for a free write.

    Parameters
    ----------
    write_s
        Blocking write w.
    rate_per_s
        λ = 1/M, positive.

    References
    ----------
    Daly 2006, as restated in section 3 of the published definitions.
    """
    # Two roots: their quotient overflows for rates near zero, theirs does not.
    optimum = sqrt(2.0 * write_s) / sqrt(rate_per_s) - write_s
    if is_graph(write_s) or np.any(write_s <= 0):
        optimum = where(write_s > 0, optimum, 1.0 / rate_per_s)
    return maximum(MIN_INTERVAL_S, optimum)


def lost_work(rate_per_s: Value, period_s: Value) -> Value:
    """Expected work between the last checkpoint and a failure, seconds.

    1/λ − p/(e^{λp} − 1), and its series p(1/2 − z/12 + z³/720), z = λp, for small z: the
    published form (1/λ − (p + 1/λ)e^{−λp})/(1 − e^{−λp}) is the same and loses digits there.
    """
    z = rate_per_s * period_s
    exact = 1.0 / rate_per_s - period_s / expm1(z)
    if not is_graph(z) and not np.any(z < SERIES_BELOW):
        return exact
    series = period_s * (0.5 - z / 12.0 + z**3 / 720.0)
    return where(z < SERIES_BELOW, series, exact)


def lost_work_with_lag(rate_per_s: Value, period_s: Value, lag_s: Value) -> Value:
    """Refined: the same where a checkpoint counts from a lag L after it was taken.

    A failure at age t since the restart keeps p·floor((t − L)/p), at least 0, of its work. Its
    expectation is p·Σ P(t >= k·p + L) over k = 1, 2, …, so the loss is
    1/λ − p·e^{−λL}/(e^{λp} − 1): the published one, and p·(1 − e^{−λL})/(e^{λp} − 1) beside it.
    """
    kept_later = -expm1(-rate_per_s * lag_s) / expm1(rate_per_s * period_s)
    return lost_work(rate_per_s, period_s) + period_s * kept_later


def background_write_s(scenario: Scenario) -> Value:
    """Refined: seconds of a checkpoint's write that do not block."""
    reliability = scenario.reliability
    return reliability.checkpoint_write_s * (1.0 - reliability.checkpoint_blocking_fraction)


def spare_nodes(scenario: Scenario) -> Value:
    """Spare nodes k = floor(spare_fraction·pool / per node)."""
    per_node = scenario.accelerator.accelerators_per_node
    return floor(scenario.reliability.spare_fraction * scenario.pool / per_node)


def spare_is_free(scenario: Scenario, rate_per_s: Value) -> Value:
    """Probability that a spare node is free: fewer than k nodes under repair, Poisson.

    k spare nodes, mean λ·repair with λ of the nodes; 0 where there is no spare node.
    """
    return poisson_cdf(spare_nodes(scenario), rate_per_s * scenario.reliability.repair_time_s)


def wait_for_spare(scenario: Scenario, rate_per_s: Value) -> Value:
    """Published wait for a node after a failure: a whole repair where no spare is free."""
    repair = scenario.reliability.repair_time_s
    return (1.0 - spare_is_free(scenario, rate_per_s)) * repair


def wait_for_repair(scenario: Scenario, rate_per_s: Value, interruptions_per_s: Value) -> Value:
    """Refined: the wait until a node is back, spares and repair being one loss queue.

    Failed nodes join the k spares when repaired; a failure that finds all k under repair waits for
    the first of k + 1 repairs. The number under repair moves as in Erlang's loss system of k
    units, so the wait is B(k, a)·repair/(k + 1), whatever the distribution of repairs. The load is
    a = λ·repair/(1 + Λ·(detection + restart)): λ failures of nodes and Λ interruptions come while
    the job runs only. These pauses make failures more regular than the formula has them, which
    overstates the wait, by up to a quarter where they take a twentieth of the time.

    Parameters
    ----------
    scenario
        The scenario.
    rate_per_s
        λ.
    interruptions_per_s
        Λ.
    """
    reliability = scenario.reliability
    halted = interruptions_per_s * (reliability.detect_time_s + reliability.restart_time_s)
    load = rate_per_s * reliability.repair_time_s / (1.0 + halted)
    spares = spare_nodes(scenario)
    return erlang_loss(spares, load) * (reliability.repair_time_s / (spares + 1.0))


def recover(scenario: Scenario) -> Recovery:
    """Split the window into steps, checkpoints, restarts, discarded and down time.

    n = W/(M + detection + r) failures in the running window W = T(1 − u);
    discarded = n·(lost + detection), restart = n·r, checkpoints take w/p of what survives. Only
    failures of nodes take nodes away and wait for spares.

    Raises
    ------
    ArithmeticError
        If the parts do not add up to the window within 1e-9: a fault of this code, not of the
        input.

    References
    ----------
    Nanyonga 2026, section 3 of the published definitions.
    """
    reliability = scenario.reliability
    if _present(reliability.failure_rate_dispersion):
        return _mean_over_windows(scenario)
    node_rate = node_failure_rate_per_s(scenario)
    rate = _with_job_rate(scenario, node_rate)
    graph = is_graph(rate)
    # Failures that never come: any positive rate stands in, and its failures are set to none.
    never = None if graph or np.all(rate > 0) else np.less_equal(rate, 0)
    positive = rate if never is None else np.where(never, 1.0, rate)

    write = reliability.checkpoint_write_s * reliability.checkpoint_blocking_fraction
    names = scenario.refinements
    background = background_write_s(scenario) if ASYNC_CHECKPOINT in names else None
    interval = _interval(reliability.checkpoint_interval_s, write, positive, never, background)
    period = interval + write
    queued = REPAIR_QUEUE in names
    restart = reliability.restart_time_s + _waiting(scenario, node_rate, rate, positive)
    # Nodes under repair are the queue's spares: none is missing from a job that runs.
    down_share = 0.0 if queued else flat_down_share(scenario)
    window = scenario.window_s * (1.0 - down_share)
    finite = period if never is None else np.where(never, 1.0, period)
    if background is None:
        lost = lost_work(positive, finite)
    else:
        lag = background + reliability.durability_lag_s
        lost = lost_work_with_lag(positive, finite, lag)
    failures = window * positive / (1.0 + positive * (reliability.detect_time_s + restart))
    if never is not None:
        failures = np.where(never, 0.0, failures)

    if DETECTION_BLOCKED in names:
        discarded = failures * lost
        restarts = failures * (restart + reliability.detect_time_s)
    else:
        discarded = failures * (lost + reliability.detect_time_s)
        restarts = failures * restart
    surviving = maximum(0.0, window - (discarded + restarts))
    checkpoint = surviving * (write / period)
    running = surviving - checkpoint
    if not graph:
        _check_conservation(running + checkpoint + restarts + discarded, window)
    return Recovery(
        failure_rate_per_s=rate,
        interval_s=interval,
        failures=failures,
        running_s=running,
        checkpoint_s=checkpoint,
        restart_s=restarts,
        discarded_s=discarded,
        down_s=scenario.window_s * down_share,
    )


def flat_down_share(scenario: Scenario) -> Value:
    """Published share of the window that is lost to repairs, λ·repair of a node, at most a half."""
    reliability = scenario.reliability
    return minimum(
        MAX_DOWN_SHARE,
        reliability.failure_rate_per_node_day / 86400.0 * reliability.repair_time_s,
    )


def _waiting(scenario: Scenario, node_rate: Value, rate: Value, positive: Value) -> Value:
    """Mean wait for a node after an interruption; those that no node caused wait for none."""
    if REPAIR_QUEUE in scenario.refinements:
        waiting = wait_for_repair(scenario, node_rate, rate)
    else:
        waiting = wait_for_spare(scenario, node_rate)
    if _present(scenario.reliability.failure_rate_per_job_day):
        waiting = waiting * (node_rate / positive)
    return waiting


def _present(refinement: Value) -> bool:
    """Whether a field that is zero in the published model is anything else."""
    return is_graph(refinement) or bool(np.any(refinement))


def _mean_over_windows(scenario: Scenario) -> Recovery:
    """Expectations where both rates are multiplied by a G that differs from window to window.

    G is gamma of mean 1 and variance φ. Gauss's rule of two points, exact for cubics in G: points
    1 + φ ± sqrt(φ(1 + φ)), weights (1 ∓ sqrt(φ/(1 + φ)))/2. The interval is that of the mean rate,
    since nobody knows a window's rate when it begins.
    """
    reliability = scenario.reliability
    phi = reliability.failure_rate_dispersion
    steady = substitute(scenario, {"reliability.failure_rate_dispersion": 0.0})
    mean = recover(steady)
    half = 0.5 * sqrt(phi / (1.0 + phi))
    spread = sqrt(phi * (1.0 + phi))
    total: dict[str, Value] = {}
    for factor, weight in ((1.0 + phi + spread, 0.5 - half), (1.0 + phi - spread, 0.5 + half)):
        changed = {
            "reliability.failure_rate_per_node_day": reliability.failure_rate_per_node_day * factor,
            "reliability.checkpoint_interval_s": mean.interval_s,
        }
        if _present(reliability.failure_rate_per_job_day):
            per_job = reliability.failure_rate_per_job_day * factor
            changed["reliability.failure_rate_per_job_day"] = per_job
        part = recover(substitute(steady, changed))
        for field in fields(part):
            value = weight * getattr(part, field.name)
            total[field.name] = total[field.name] + value if field.name in total else value
    total |= {"failure_rate_per_s": mean.failure_rate_per_s, "interval_s": mean.interval_s}
    return Recovery(**total)


def _interval(
    given: Value, write: Value, rate: Value, never: Value, background: Value = None
) -> Value:
    """The interval as given, else Daly's; NaN in an array means Daly's for that option.

    Where writes end in the background, none begins before the last has ended; and where nothing of
    them blocks, the next begins then.
    """
    if given is not None and (is_graph(given) or not np.any(np.isnan(given))):
        return given
    optimum = daly_interval(write, rate)
    if background is not None:
        free = where(background > 0, MIN_INTERVAL_S, optimum)
        optimum = maximum(where(write > 0, optimum, free), background)
    if never is not None:
        optimum = np.where(never, np.inf, optimum)
    return optimum if given is None else np.where(np.isnan(given), optimum, given)


def _check_conservation(total: Value, window: Value) -> None:
    worst = np.max(np.abs(total - window)) / np.min(window)
    if not worst <= CONSERVATION_TOLERANCE:
        message = f"the window is not conserved: relative error {worst:.3g}"
        raise ArithmeticError(message)
