"""Posteriors kept on disk: their netCDF, and beside it what a command needs at once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.errors import InputError
from priors import cache
from priors.conditioned import Posterior
from priors.diagnostics import Diagnostics, Row, SummaryRow
from priors.draws import make_draws
from priors.importance import LeftOut
from priors.predictive_check import PredictiveCheck

type Arrays = Mapping[str, NDArray[np.generic]]


def look_up(entry: Path) -> Posterior | None:
    """The posterior that an entry holds, None where there is no such entry.

    Raises
    ------
    ValueError
        If the entry is damaged.
    """
    found = cache.load(entry)
    return None if found is None else _unpacked(entry, *found)


def keep(fresh: Posterior, entry: Path) -> Posterior:
    """Write a posterior to the cache; what is returned reads its tree from there.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    new = cache.temporary_entry(entry.parent)
    try:
        fresh.write_netcdf(new / cache.NETCDF_FILE)
        cache.write_arrays(new, *_packed(fresh))
        cache.publish(new, entry)
    except OSError as error:
        raise InputError.unwritable(
            error,
            source=str(entry.parent),
            path="cache directory",
            remedy="make room, or set FUNDWORTHY_CACHE to another directory",
        ) from None
    finally:
        cache.discard(new)
    return replace(fresh, netcdf=entry / cache.NETCDF_FILE, build=None)


def _packed(posterior: Posterior) -> tuple[Arrays, dict[str, object]]:
    """Arrays and plain data to be written; every number keeps all its digits."""
    draws = posterior.draws
    arrays: dict[str, NDArray[np.generic]] = {
        "columns": np.array([draws.columns[path] for path in draws.paths]),
    }
    for place, one in enumerate(posterior.left_out):
        arrays[f"rows_{place}"], arrays[f"weights_{place}"] = one.rows, one.weights
        if one.moved:
            arrays[f"moved_{place}"] = np.array([one.moved[path] for path in draws.paths])
    if draws.chain is not None:
        arrays["chain"] = draws.chain
    return arrays, {
        "paths": draws.paths,
        "source": draws.source,
        "notes": list(posterior.notes),
        "diagnostics": posterior.diagnostics.as_mapping(),
        "summary": [[row.name, row.prior, row.posterior] for row in posterior.summary],
        "left_out": [{"id": one.id, "pareto_k": one.pareto_k} for one in posterior.left_out],
        "checks": [asdict(check) for check in posterior.checks],
    }


def _unpacked(entry: Path, arrays: Arrays, description: Mapping[str, Any]) -> Posterior:
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
    return Posterior(
        draws=draws,
        diagnostics=Diagnostics(
            rows=tuple(Row(**row) for row in stated["rows"]),
            divergences=stated["divergences"],
            chains=stated["chains"],
            chain_draws=stated["chain_draws"],
            reasons=tuple(stated["reasons"]),
        ),
        summary=tuple(
            SummaryRow(name=name, prior=tuple(prior), posterior=tuple(posterior))
            for name, prior, posterior in description["summary"]
        ),
        digest=entry.name,
        notes=notes,
        netcdf=entry / cache.NETCDF_FILE,
        build=None,
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
