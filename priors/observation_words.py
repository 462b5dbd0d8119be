"""Observations in words, for people."""

from priors.observations import (
    Durations,
    Ettr,
    Interruptions,
    LinkEfficiency,
    LostWork,
    Observation,
    StepTimes,
    Throughput,
    Uptimes,
)


def describe(observation: Observation) -> str:
    """What was measured, in one line."""
    match observation:
        case Throughput(value=value, unit=unit, relative_error=error):
            text = f"{value:g} {unit} ± {error:.0%}"
        case Interruptions(events=None, rate_per_node_day=rate, relative_error=error):
            text = f"{rate:g} {observation.counts} per node-day ± {error:.0%}"
        case Interruptions(events=events, node_days=node_days, periods=periods):
            text = f"{events} {observation.counts} in {node_days:g} node-days"
            text += f", {len(periods)} periods" if periods else ""
        case Uptimes(values_s=values, censored_s=censored):
            text = f"{len(values)} running times to a {observation.counts}"
            text += f", {len(censored)} without" if censored else ""
        case Durations(values_s=(), relative_error=error):
            pairs = ", ".join(f"{p:.0%}: {value:g} s" for p, value in observation.quantiles_s)
            text = f"{observation.quantity} {pairs} ± {error:.0%}"
        case Durations(values_s=values):
            mean = sum(values) / len(values)
            text = f"{observation.quantity} {mean:.4g} s, mean of {len(values)}"
        case Ettr(value=value, error=error):
            sign = {"value": "=", "at_least": ">=", "at_most": "<="}[observation.bound]
            text = f"ETTR {sign} {value:g} ± {error:g}"
        case LinkEfficiency(mean=mean, repeats=repeats):
            text = f"{mean:.4g} of the line rate, mean of {repeats}"
        case StepTimes(mean_s=mean, sd_s=sd, count=count):
            text = f"{mean:.4g} ± {sd:.2g} s, {count} times"
            text += f", {len(observation.regimes)} regimes" if observation.regimes else ""
        case LostWork(values_s=values):
            mean = sum(values) / len(values)
            text = f"{mean:.4g} s of work lost an interruption, mean of {len(values)}"
    if isinstance(observation, Throughput | StepTimes | Ettr | LostWork):
        text += f" on {observation.setting.name}"
    if isinstance(observation, Interruptions | Uptimes) and observation.nodes_per_job is not None:
        text += f", jobs of {observation.nodes_per_job:g} nodes"
    return text


def place(observation: Observation) -> str:
    """Stack and fleet of an observation, in words."""
    names = [
        f"{word} {getattr(observation, word)}"
        for word in ("stack", "fleet")
        if hasattr(observation, word)
    ]
    return ", ".join(names)
