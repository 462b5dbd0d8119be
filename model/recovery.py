"""Failures, detection, restart and checkpoints as renewal expectations.

Failures come at a rate per node, as published, and at a rate per job, none as published; where the
rates vary from window to window, what is expected is the mean over windows.

All durations are wall-clock seconds that every accelerator of the job spends, over the window.
Shapes: as in :mod:`model.step`; what does not depend on the plan stays (draws, 1).
"""

from dataclasses import dataclass, fields

import numpy as np

from model.numerics import Value, expm1, floor, is_graph, maximum, minimum, poisson_cdf, sqrt, where
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
        Restart, waiting for a repair where no spare is free.
    discarded_s
        Lost work and the time until detection.
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
    per_job = scenario.reliability.failure_rate_per_job_day
    rate = node_failure_rate_per_s(scenario)
    return rate + per_job / 86400.0 if _present(per_job) else rate


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


def spare_is_free(scenario: Scenario, rate_per_s: Value) -> Value:
    """Probability that a spare node is free: fewer than k nodes under repair, Poisson.

    k = floor(spare_fraction·pool / per node), mean λ·repair with λ of the nodes; 0 where there is
    no spare node.
    """
    reliability = scenario.reliability
    spares = floor(
        reliability.spare_fraction * scenario.pool / scenario.accelerator.accelerators_per_node
    )
    return poisson_cdf(spares, rate_per_s * reliability.repair_time_s)


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
    rate = failure_rate_per_s(scenario)
    graph = is_graph(rate)
    # Failures that never come: any positive rate stands in, and its failures are set to none.
    never = None if graph or np.all(rate > 0) else np.less_equal(rate, 0)
    positive = rate if never is None else np.where(never, 1.0, rate)

    write = reliability.checkpoint_write_s * reliability.checkpoint_blocking_fraction
    interval = _interval(reliability.checkpoint_interval_s, write, positive, never)
    period = interval + write
    node_rate = node_failure_rate_per_s(scenario)
    waiting = (1.0 - spare_is_free(scenario, node_rate)) * reliability.repair_time_s
    if _present(reliability.failure_rate_per_job_day):
        waiting = waiting * (node_rate / positive)
    restart = reliability.restart_time_s + waiting
    down_share = minimum(
        MAX_DOWN_SHARE,
        reliability.failure_rate_per_node_day / 86400.0 * reliability.repair_time_s,
    )
    window = scenario.window_s * (1.0 - down_share)
    if never is None:
        lost = lost_work(positive, period)
    else:
        lost = lost_work(positive, np.where(never, 1.0, period))
    failures = window * positive / (1.0 + positive * (reliability.detect_time_s + restart))
    if never is not None:
        failures = np.where(never, 0.0, failures)

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


def _interval(given: Value, write: Value, rate: Value, never: Value) -> Value:
    """The interval as given, else Daly's; NaN in an array means Daly's for that option."""
    if given is not None and (is_graph(given) or not np.any(np.isnan(given))):
        return given
    optimum = daly_interval(write, rate)
    if never is not None:
        optimum = np.where(never, np.inf, optimum)
    return optimum if given is None else np.where(np.isnan(given), optimum, given)


def _check_conservation(total: Value, window: Value) -> None:
    worst = np.max(np.abs(total - window)) / np.min(window)
    if not worst <= CONSERVATION_TOLERANCE:
        message = f"the window is not conserved: relative error {worst:.3g}"
        raise ArithmeticError(message)
