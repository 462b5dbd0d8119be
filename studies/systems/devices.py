"""Types of accelerators, and what their data sheets say where a row does not."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from studies.systems.rows import SystemRow


class Sheet(NamedTuple):
    """Data sheet of a type, SXM and the largest memory where there are several.

    Parameters
    ----------
    peak_tflops
        Dense, 16 bits.
    scaleup_gbps
        One direction.
    memory_gb, memory_bw_tb_s
        Of the device's memory.
    """

    peak_tflops: float
    scaleup_gbps: float
    memory_gb: float
    memory_bw_tb_s: float


SHEETS: Mapping[str, Sheet] = {
    "V100": Sheet(125.0, 1200.0, 32.0, 0.9),
    "A100": Sheet(312.0, 2400.0, 80.0, 2.039),
    "A800": Sheet(312.0, 1600.0, 80.0, 2.039),
    "H100": Sheet(989.5, 3600.0, 80.0, 3.35),
    "H800": Sheet(989.5, 1600.0, 80.0, 3.35),
    "H200": Sheet(989.5, 3600.0, 141.0, 4.8),
}

MEMORY_RANGE_TB_S = (1.0, 8.0)
"""Memory bandwidth of an accelerator that has no sheet here."""

FUSED_FROM_THE_START = frozenset({"H100", "H800", "H200"})
"""Types that came after fused attention (2022): their stacks have it. On older ones either may have
been used."""


def accelerator_type(text: str) -> str:
    """Type of an accelerator: ``A100-80 SXM`` is an A100."""
    plain = re.sub(r"^(nvidia|amd|google|intel|huawei)\s+", "", text.strip().lower())
    match = re.match(r"[a-z]+[ -]?v?\d+[a-z]*", plain)
    return (match.group() if match else plain).upper()


def kind_of(row: SystemRow) -> str:
    """Type of a row's accelerator."""
    return accelerator_type(row.texts.get("accelerator", "unknown"))


def peak_of(row: SystemRow) -> float | None:
    """Dense 16-bit TFLOP/s, stated or off the data sheet."""
    sheet = SHEETS.get(kind_of(row))
    return row.number("peak_tflops_bf16") or (sheet.peak_tflops if sheet else None)


def scaleup_of(row: SystemRow) -> float | None:
    """Gb/s of the scale-up link, stated or off the data sheet."""
    sheet = SHEETS.get(kind_of(row))
    return row.number("scaleup_gbps") or (sheet.scaleup_gbps if sheet else None)


def memory_of(row: SystemRow) -> float | None:
    """Bytes of the memory; ``A100-40`` names its gigabytes itself. None where not known."""
    sheet = SHEETS.get(kind_of(row))
    if sheet is None:
        return None
    stated = re.search(r"[- ](\d{2,3})(?:\s?gb?)?\b", row.texts.get("accelerator", "").lower())
    return (float(stated.group(1)) if stated else sheet.memory_gb) * 1e9


def memory_bandwidth_of(row: SystemRow) -> float | None:
    """TB/s of the memory, stated or off the data sheet."""
    sheet = SHEETS.get(kind_of(row))
    return row.number("memory_bw_tb_s") or (sheet.memory_bw_tb_s if sheet else None)
