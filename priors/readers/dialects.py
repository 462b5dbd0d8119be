"""How training frameworks print a step: one dialect each, lines in, rows out."""

import re

from priors.readers.deepspeed import DeepSpeed
from priors.readers.foundry import Foundry
from priors.readers.log_fields import keyed_number
from priors.readers.megatron import Megatron
from priors.readers.nemo import nemo
from priors.readers.one_line import Dialect, OneLine


def torchtitan() -> OneLine:
    """torchtitan: ``step: 10 loss: … tps: 5,857 tflops: … mfu: 34.30%``."""
    return OneLine(
        name="torchtitan",
        title="torchtitan",
        markers=("step:",),
        begins=re.compile(r"(?<!validate )\bstep:\s*\d"),
        step=(re.compile(r"(?<!validate )\bstep:\s*(\d[\d,]*)"),),
        values={
            "device_tokens": (keyed_number(r"\b(?:tps|wps)"), 1.0),
            "tflops": (keyed_number(r"\btflops"), 1.0),
        },
        needs="device_tokens",
        thousands=True,
        averages=True,
    )


def maxtext() -> OneLine:
    """MaxText: ``completed step: N, seconds: x, TFLOP/s/device: y``."""
    return OneLine(
        name="maxtext",
        title="MaxText",
        markers=("completed step",),
        begins=re.compile(r"completed step"),
        step=(re.compile(r"completed step:?\s*(\d+)"),),
        values={
            "seconds": (keyed_number(r"\bseconds"), 1.0),
            "tflops": (keyed_number(r"TFLOP/s(?:/device)?"), 1.0),
        },
        needs="seconds",
    )


def dialects() -> tuple[Dialect, ...]:
    """A fresh dialect of each kind, the most telling first."""
    return (Megatron(), nemo(), maxtext(), torchtitan(), Foundry(), DeepSpeed())
