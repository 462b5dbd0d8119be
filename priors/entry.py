"""What a cached posterior holds besides its netCDF: what a command needs of it at once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priors.diagnostics import Diagnostics, Row, SummaryRow
from priors.draws import Draws, make_draws
from priors.importance import LeftOut
from priors.predictive_check import PredictiveCheck

type Arrays = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Parts of a posterior as they were packed; see :class:`priors.posterior.Posterior`."""

    draws: Draws
    diagnostics: Diagnostics
    summary: tuple[SummaryRow, ...]
    notes: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    checks: tuple[PredictiveCheck, ...]


def pack(
    draws: Draws,
    diagnostics: Diagnostics,
    summary: Sequence[SummaryRow],
    *,
    notes: Sequence[str],
    left_out: Sequence[LeftOut],
    checks: Sequence[PredictiveCheck],
) -> tuple[Arrays, dict[str, object]]:
    """Arrays and plain data to be written; every number keeps all its digits."""
    arrays: dict[str, NDArray[np.generic]] = {
        "columns": np.array([draws.columns[path] for path in draws.paths]),
    }
    for place, one in enumerate(left_out):
        arrays[f"rows_{place}"], arrays[f"weights_{place}"] = one.rows, one.weights
        if one.moved:
            arrays[f"moved_{place}"] = np.array([one.moved[path] for path in draws.paths])
    if draws.chain is not None:
        arrays["chain"] = draws.chain
    return arrays, {
        "paths": draws.paths,
        "source": draws.source,
        "notes": list(notes),
        "diagnostics": diagnostics.as_mapping(),
        "summary": [[row.name, row.prior, row.posterior] for row in summary],
        "left_out": [{"id": one.id, "pareto_k": one.pareto_k} for one in left_out],
        "checks": [asdict(check) for check in checks],
    }


def unpack(arrays: Arrays, description: Mapping[str, Any]) -> Kept:
    """Everything as it was packed."""
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
    return Kept(
        draws=draws,
        diagnostics=diagnostics,
        summary=summary,
        notes=notes,
        left_out=tuple(
            _left_out(arrays, place, one, draws.paths)
            for place, one in enumerate(description["left_out"])
        ),
        checks=tuple(PredictiveCheck(**check) for check in description["checks"]),
    )


def _left_out(
    arrays: Arrays, place: int, stated: Mapping[str, Any], paths: Sequence[str]
) -> LeftOut:
    moved = arrays.get(f"moved_{place}", np.empty((0, 0))).astype(np.float64)
    return LeftOut(
        id=stated["id"],
        pareto_k=stated["pareto_k"],
        rows=arrays[f"rows_{place}"].astype(np.intp),
        weights=arrays[f"weights_{place}"].astype(np.float64),
        moved=dict(zip(paths, moved, strict=True)) if moved.size else {},
    )
