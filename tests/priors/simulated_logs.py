"""Raw files of a simulated fleet: a Megatron-LM log and a dump of sacct, second by second."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from model.scenario import substitute
from model.scenario_file import read_scenario
from model.step import healthy_step
from tests.priors.readers.files import REFERENCE, megatron_row

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
ROW_STEPS = 10
SAVE_STEPS = 200
NODES = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What is true of a fleet that runs the reference job."""

    failures_per_node_day: float = 4e-3
    failures_per_job_day: float = 0.0
    detect_s: float = 120.0
    restart_s: float = 300.0
    write_s: float = 20.0
    jitter: float = 0.015


def lognormal(mean, spread, rng):
    """A time of this mean whose log has this standard deviation."""
    return mean * np.exp(spread * rng.standard_normal() - spread**2 / 2)


def training_log(fleet, days, rng):
    """The reference job for some days: rows of ten steps, saves, aborts, resumes."""
    step = healthy_step(
        substitute(read_scenario(REFERENCE).scenario, {"reliability.straggler_cv": fleet.jitter})
    )
    step_s = float(step.total_s)
    world = NODES * 8
    untaxed = float(step.total_s - step.synchronisation_s)
    sd = untaxed * fleet.jitter * np.pi / np.sqrt(12 * np.log(world))
    rate = (fleet.failures_per_node_day * NODES + fleet.failures_per_job_day) / 86400
    lines, now, done, saved = [], 0.0, 0, 0

    def stamp():
        return f" [{BEGIN + timedelta(seconds=now):%Y-%m-%d %H:%M:%S}]"

    while now < days * 86400:
        fails = now + rng.exponential(1 / rate)
        while True:
            times = step_s + sd * rng.standard_normal(ROW_STEPS)
            if now + times.sum() > fails:
                break
            now += times.sum()
            done += ROW_STEPS
            lines.append(megatron_row(done, 1000 * times.mean(), prefix=stamp(), batch=2048))
            if done % SAVE_STEPS == 0:
                write = lognormal(fleet.write_s, 0.2, rng)
                now, saved = now + write, done
                lines.append(f"{stamp()}  saved checkpoint at iteration {done:7d} in {write:.2f} s")
        now = fails + lognormal(fleet.detect_s, 0.7, rng)
        lines.append(f"{stamp()} [rank7] Watchdog caught collective operation timeout")
        now += lognormal(fleet.restart_s, 0.3, rng)
        done = saved
    return "\n".join(lines) + "\n"


def sacct(fleet, jobs, rng):
    """Attempts of jobs, (nodes, days) each: requeued where they were interrupted."""
    lines = ["JobID|State|Start|Elapsed|NNodes"]
    for number, (nodes, days) in enumerate(jobs, start=1):
        rate = (fleet.failures_per_node_day * nodes + fleet.failures_per_job_day) / 86400
        now = 0.0
        while now < days * 86400:
            left = days * 86400 - now
            gap = rng.exponential(1 / rate)
            state, length = ("REQUEUED", gap) if gap < left else ("COMPLETED", left)
            whole = int(length)
            clock = f"{whole // 3600 % 24:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
            elapsed = f"{whole // 86400}-{clock}" if whole >= 86400 else clock
            start = f"{BEGIN + timedelta(seconds=now):%Y-%m-%dT%H:%M:%S}"
            lines.append(f"{number}|{state}|{start}|{elapsed}|{nodes}")
            now += length if state == "COMPLETED" else length + 1.0
    return "\n".join(lines) + "\n"
