"""The ledger: every accelerator-second of the pool meets exactly one fate.

Shapes: as in :mod:`model.step`. Accelerator-seconds, unless a name says otherwise.
"""

from dataclasses import dataclass

import numpy as np

from model.numerics import Value, is_graph
from model.recovery import CONSERVATION_TOLERANCE, SCOPE_LIMIT, Recovery, recover
from model.scenario import Scenario
from model.step import Step, healthy_step, nominal_flops_per_token


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Accelerator-seconds of a pool over a window, by fate.

    Parameters
    ----------
    scenario
        What was accounted for.
    step, recovery
        The healthy step and the split of the window behind the ledger.
    productive
        Computation whose result is in the delivered model state.
    blocked_communication, blocked_synchronisation, blocked_bubble, blocked_checkpoint, \
blocked_restart
        Allocated and not computing.
    discarded
        Lost work and the time until detection.
    unavailable_down, unavailable_idle
        Under repair; spare or stranded.
    """

    scenario: Scenario
    step: Step
    recovery: Recovery
    productive: Value
    blocked_communication: Value
    blocked_synchronisation: Value
    blocked_bubble: Value
    blocked_checkpoint: Value
    blocked_restart: Value
    discarded: Value
    unavailable_down: Value
    unavailable_idle: Value

    @property
    def blocked(self) -> Value:
        """All that is allocated and not computing."""
        return (
            self.blocked_communication
            + self.blocked_synchronisation
            + self.blocked_bubble
            + self.blocked_checkpoint
            + self.blocked_restart
        )

    @property
    def unavailable(self) -> Value:
        """Owned and not usable by the job."""
        return self.unavailable_down + self.unavailable_idle

    @property
    def total(self) -> Value:
        """All fates, equal to the pool times the window."""
        return self.productive + self.blocked + self.discarded + self.unavailable

    @property
    def owned(self) -> Value:
        """Pool times window, N·T."""
        return self.scenario.pool * self.scenario.window_s

    @property
    def fates(self) -> dict[str, Value]:
        """Share of the pool's time by fate."""
        return {
            "productive": self.productive / self.owned,
            "blocked": self.blocked / self.owned,
            "discarded": self.discarded / self.owned,
            "unavailable": self.unavailable / self.owned,
        }

    @property
    def ucf(self) -> Value:
        """Useful capacity fraction: productive over owned."""
        return self.productive / self.owned

    @property
    def productive_accelerators(self) -> Value:
        """Π: productive accelerator-seconds per second of the window."""
        return self.productive / self.scenario.window_s

    @property
    def ettr(self) -> Value:
        """Effective training time ratio of the job, which sees no spares."""
        return self.recovery.ettr

    @property
    def mfu(self) -> Value:
        """Model FLOPs utilisation of a healthy step, blind to failures."""
        return achieved_flops_per_accelerator(self.scenario, self.step) / (
            self.scenario.accelerator.peak_flops_bf16
        )

    @property
    def tokens_per_second(self) -> Value:
        """Tokens that survive per second of the full window."""
        plan = self.scenario.parallelism
        tokens = plan.global_batch_seqs * self.scenario.model.seq_len
        steps = self.recovery.running_s / self.step.total_s
        return steps * tokens / self.scenario.window_s

    @property
    def recovery_pressure(self) -> Value:
        """(discarded + restart)/(discarded + restart + running)."""
        return self.recovery.pressure

    @property
    def in_scope(self) -> Value:
        """Whether recovery pressure is below the limit of the model's scope."""
        return self.recovery_pressure < SCOPE_LIMIT


def achieved_flops_per_accelerator(scenario: Scenario, step: Step) -> Value:
    """Model FLOP/s an accelerator of the job achieves in a healthy step."""
    plan = scenario.parallelism
    tokens = plan.global_batch_seqs * scenario.model.seq_len
    return nominal_flops_per_token(scenario) * tokens / scenario.world / step.total_s


def productive_accelerators(scenario: Scenario) -> Value:
    """Π alone, for scaling curves: world·(running/T)·(compute/step)."""
    step, recovery = healthy_step(scenario), recover(scenario)
    return (scenario.world / scenario.window_s) * (recovery.running_s * step.efficiency)


def account(scenario: Scenario) -> Ledger:
    """Give every accelerator-second of the pool its fate.

    Raises
    ------
    ArithmeticError
        If the fates do not add up to N·T within 1e-9: a fault of this code, not of the input.

    References
    ----------
    Nanyonga 2026, sections 1 to 3 of the published definitions.
    """
    step, recovery = healthy_step(scenario), recover(scenario)
    job = scenario.world
    steps = job * recovery.running_s / step.total_s
    ledger = Ledger(
        scenario=scenario,
        step=step,
        recovery=recovery,
        productive=steps * step.compute_s,
        blocked_communication=steps * step.communication_s,
        blocked_synchronisation=steps * step.synchronisation_s,
        blocked_bubble=steps * step.bubble_s,
        blocked_checkpoint=job * recovery.checkpoint_s,
        blocked_restart=job * recovery.restart_s,
        discarded=job * recovery.discarded_s,
        unavailable_down=job * recovery.down_s,
        unavailable_idle=(scenario.pool - job) * scenario.window_s,
    )
    if not is_graph(ledger.productive):
        worst = np.max(np.abs(ledger.total / ledger.owned - 1.0))
        if not worst <= CONSERVATION_TOLERANCE:
            message = f"the ledger is not conserved: relative error {worst:.3g}"
            raise ArithmeticError(message)
    return ledger
