"""What a cached posterior holds besides its netCDF: draws, diagnostics, summary, notes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priors.diagnostics import Diagnostics, Row, SummaryRow
from priors.draws import Draws, make_draws

type Arrays = Mapping[str, NDArray[np.generic]]


def pack(
    draws: Draws,
    diagnostics: Diagnostics,
    summary: Sequence[SummaryRow],
    *,
    notes: Sequence[str],
) -> tuple[Arrays, dict[str, object]]:
    """Arrays and plain data to be written; every number keeps all its digits."""
    arrays: dict[str, NDArray[np.generic]] = {
        "columns": np.array([draws.columns[path] for path in draws.paths])
    }
    if draws.chain is not None:
        arrays["chain"] = draws.chain
    return arrays, {
        "paths": draws.paths,
        "source": draws.source,
        "notes": list(notes),
        "diagnostics": diagnostics.as_mapping(),
        "summary": [[row.name, row.prior, row.posterior] for row in summary],
    }


def unpack(
    arrays: Arrays, description: Mapping[str, Any]
) -> tuple[Draws, Diagnostics, tuple[SummaryRow, ...], tuple[str, ...]]:
    """Draws, diagnostics, summary and notes as they were packed."""
    notes = tuple(description["notes"])
    chain = arrays.get("chain")
    draws = make_draws(
        dict(zip(description["paths"], arrays["columns"].astype(np.float64), strict=True)),
        chain=None if chain is None else chain.astype(np.int64),
        source=description["source"],
        notes=notes,
    )
    stated = description["diagnostics"]
    diagnostics = Diagnostics(
        rows=tuple(Row(**row) for row in stated["rows"]),
        divergences=stated["divergences"],
        chains=stated["chains"],
        chain_draws=stated["chain_draws"],
        reasons=tuple(stated["reasons"]),
    )
    summary = tuple(
        SummaryRow(name=name, prior=tuple(prior), posterior=tuple(posterior))
        for name, prior, posterior in description["summary"]
    )
    return draws, diagnostics, summary, notes
