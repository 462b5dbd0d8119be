"""Draws: named columns of parameter values, from the prior, the posterior or a file.

Shapes: every column has shape (draws,); row i of all columns is one draw.
"""

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from model.errors import InputError, Problem, nearest
from model.field import check_value
from model.parameters import BY_PATH, UNCERTAIN
from priors.catalogue import Catalogue

if TYPE_CHECKING:
    import pandas as pd

CHAIN = "chain"
"""Name of the column that says which Markov chain a draw belongs to."""

MIN_ROWS = 2
"""With fewer draws there is no distribution."""

_PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """Joint draws of parameters.

    Parameters
    ----------
    columns
        Values by dotted path, shape (draws,) each, read-only.
    chain
        Chain of each draw, shape (draws,); None where draws are independent.
    source
        Where they come from, in words.
    notes
        What a reader should be told about them, one sentence each.
    """

    columns: Mapping[str, NDArray[np.float64]]
    chain: NDArray[np.int64] | None
    source: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Number of draws."""
        return len(next(iter(self.columns.values()), ()))

    @property
    def paths(self) -> tuple[str, ...]:
        """Dotted paths of the columns."""
        return tuple(self.columns)


def make_draws(
    columns: Mapping[str, NDArray[np.float64]],
    *,
    chain: NDArray[np.int64] | None = None,
    source: str,
    notes: Sequence[str] = (),
) -> Draws:
    """Draws of contiguous, read-only columns."""
    frozen = {}
    for path, values in columns.items():
        column = np.array(values, dtype=np.float64)
        column.setflags(write=False)
        frozen[path] = column
    if chain is not None:
        chain = np.array(chain, dtype=np.int64)
        chain.setflags(write=False)
    return Draws(columns=MappingProxyType(frozen), chain=chain, source=source, notes=tuple(notes))


def uniforms(name: str, n: int, seed: int) -> NDArray[np.float64]:
    """Uniform numbers in (0, 1) for one named quantity, shape (n,).

    The stream is keyed by the name, so that adding a parameter moves no other's draws, and the
    first numbers do not depend on ``n``.
    """
    key = np.frombuffer(hashlib.sha256(name.encode()).digest()[:16], dtype="<u4")
    stream = np.random.SeedSequence(seed, spawn_key=tuple(int(word) for word in key))
    # Of the doubles in [0, 1) the smallest positive is 2^-53: zero itself has no quantile.
    return np.maximum(np.random.default_rng(stream).random(n), 2.0**-54)


def prior_draws(catalogue: Catalogue, n: int, seed: int) -> Draws:
    """Independent draws of every parameter of a catalogue.

    Parameters
    ----------
    catalogue
        The priors.
    n
        Number of draws.
    seed
        Seed, not negative.

    Returns
    -------
    Draws
        One column a parameter, known values included as constant columns.
    """
    return make_draws(
        {
            path: entry.prior.quantile(uniforms(path, n, seed))
            for path, entry in catalogue.entries.items()
        },
        source=f"prior {catalogue.source}",
    )


def read_draws(path: str | Path, *, required: Sequence[str] = ()) -> Draws:
    """Read draws from a CSV or Parquet file, in their order.

    Columns are named by dotted path; any real field of the scenario may be one. A column
    ``chain`` says which Markov chain a row belongs to; without it rows count as independent.

    Parameters
    ----------
    path
        The file.
    required
        Dotted paths that must be there.

    Returns
    -------
    Draws
        With a note that names the columns that were ignored.

    Raises
    ------
    InputError
        With every problem: no such file, not a table, no usable or a missing column, fewer than
        two rows, values that are no numbers or out of range.
    """
    source = str(path)
    table = _read_table(Path(path), source=source)
    names = [str(name) for name in table.columns]
    used = [name for name in names if name in UNCERTAIN]
    ignored = [name for name in names if name not in used and name != CHAIN]
    problems = [
        Problem(
            source=source,
            path=name,
            message="this column is missing",
            remedy=nearest(name, names) if names else "",
        )
        for name in required
        if name not in used
    ]
    if not used:
        problems.append(
            Problem(
                source=source,
                message="no column is named by the dotted path of a real scenario field",
                remedy=f"columns are {', '.join(names) or 'none'}; a valid one is {UNCERTAIN[-1]}",
            )
        )
    if len(table) < MIN_ROWS:
        rows = "1 row" if len(table) == 1 else "no rows"
        problems.append(
            Problem(source=source, message=f"{rows} of draws", remedy="at least 2 are needed")
        )
    columns = {}
    for name in used:
        values = _numbers(table[name], name=name, source=source, problems=problems)
        if values is not None:
            problem = check_value(BY_PATH[name], values, source=source) if len(values) else None
            if problem:
                problems.append(problem)
            columns[name] = values
    chain = None
    if CHAIN in names:
        values = _numbers(table[CHAIN], name=CHAIN, source=source, problems=problems)
        if values is not None:
            fractional = np.flatnonzero(values != np.floor(values))
            if fractional.size:
                row = fractional[0]
                message = f"got {values[row]:g} in row {row + 1}, allowed is an integer"
                problems.append(Problem(source=source, path=CHAIN, message=message))
            chain = values.astype(np.int64)
    if problems:
        raise InputError(problems)
    notes = []
    if ignored:
        noun = "column" if len(ignored) == 1 else "columns"
        notes.append(f"{source}: ignored {len(ignored)} {noun}: {', '.join(ignored)}")
    return make_draws(columns, chain=chain, source=source, notes=notes)


def _read_table(path: Path, *, source: str) -> "pd.DataFrame":
    """The file as a table, every way it can be unusable being one clear error."""
    remedy = "give a CSV or Parquet file with columns named by dotted path"

    def unusable(message: str) -> InputError:
        return InputError.single(message, source=source, remedy=remedy)

    try:
        with path.open("rb") as file:
            head = file.read(8192)
    except FileNotFoundError:
        raise unusable(message="there is no such file of draws") from None
    except IsADirectoryError:
        raise unusable(message="this is a directory") from None
    except (OSError, ValueError) as error:
        raise unusable(message=f"cannot be read ({error})") from None
    if not head.strip():
        raise unusable(message="the file is empty")

    import pandas as pd

    if head.startswith(_PARQUET_MAGIC):
        try:
            return pd.read_parquet(path)
        except Exception as error:  # pyarrow has no common base of its errors
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise unusable(message=f"not a readable Parquet file ({reason})") from None
    if b"\0" in head:
        raise unusable(message="this is a binary file")
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            header = next(csv.reader(lines), [])
        _refuse_duplicates(header, source=source)
        return pd.read_csv(
            path,
            encoding="utf-8-sig",
            low_memory=False,
            skipinitialspace=True,
            index_col=False,
        ).rename(columns=str.strip)
    except UnicodeDecodeError:
        raise unusable(message="this is not a UTF-8 text") from None
    except (ValueError, csv.Error) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[-1]
        raise unusable(message=f"not a readable CSV table ({reason.strip()})") from None


def _refuse_duplicates(header: Sequence[str], *, source: str) -> None:
    names = [name.strip() for name in header]
    twice = sorted({name for name in names if names.count(name) > 1 and name in UNCERTAIN})
    if twice:
        raise InputError(
            Problem(source=source, path=name, message="this column is there twice")
            for name in twice
        )


def _numbers(
    column: Any,  # a pandas column, which carries no usable type
    *,
    name: str,
    source: str,
    problems: list[Problem],
) -> NDArray[np.float64] | None:
    """Numbers of a column; None, with the problem noted, where some are not."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column):
        bad, numbers = np.ones(len(column), dtype=bool), None
    else:
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        bad = ~np.isfinite(numbers)
    if not bad.any():
        return numbers
    row = int(np.flatnonzero(bad)[0])
    shown = column.iloc[row]
    text = "nothing" if pd.isna(shown) else repr(shown.item() if hasattr(shown, "item") else shown)
    allowed = BY_PATH[name].allowed if name in BY_PATH else "an integer"
    problems.append(
        Problem(
            source=source,
            path=name,
            message=f"got {text} in row {row + 1} ({int(bad.sum())} of {len(bad)} rows are no "
            f"finite numbers), allowed is {allowed}",
        )
    )
    return None
