"""Results as Parquet: bytes of one task, and the schema of many.

A part names its task by digest in its metadata and carries page checksums.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

TASK_KEY = b"fundworthy.task"

ROWS_OF_A_GROUP = 65_536
"""Rows after which a row group of a whole table is written: it bounds memory."""


def part_of(result: Any, digest: str) -> bytes:
    """A task's result as the bytes of its part.

    Parameters
    ----------
    result
        A pandas frame with the default index, or an Arrow table.
    digest
        Of the task.

    Raises
    ------
    TypeError
        If it is something else.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    if isinstance(result, pd.DataFrame):
        if not result.index.equals(pd.RangeIndex(len(result))):
            message = "a result needs the default index: reset_index() keeps yours as a column"
            raise TypeError(message)
        table = pa.Table.from_pandas(result, preserve_index=False)
    elif isinstance(result, pa.Table):
        table = result
    else:
        message = f"a task of a study returns a data frame or an Arrow table, got {type(result)}"
        raise TypeError(message)
    table = table.replace_schema_metadata({TASK_KEY: digest.encode()})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def read_part(path: Path, digest: str) -> "pa.Table | None":
    """The rows of a part; None where it is not whole, or of another task."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Without memory mapping: a file that shrinks under a mapping ends the process.
        with path.open("rb") as file:
            table = pq.read_table(file, page_checksum_verification=True)
    except (OSError, ValueError, pa.ArrowException):
        return None
    metadata = table.schema.metadata or {}
    return table if metadata.get(TASK_KEY) == digest.encode() else None


def common_schema(parts: Iterable[Path], name: str) -> "pa.Schema":
    """The schema that parts of a table share, columns in the order of the first part.

    Raises
    ------
    InputError
        If there is none.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    found: pa.Schema | None = None
    for part in parts:
        schema = pq.read_schema(part).remove_metadata()
        if found is None:
            found = schema
            continue
        if set(schema.names) != set(found.names):
            odd = sorted(set(schema.names) ^ set(found.names))
            raise InputError.single(
                message=f"parts do not have the same columns: {', '.join(odd)}",
                source=f"table {name}",
                path=part.name,
            )
        try:
            found = pa.unify_schemas([found, schema], promote_options="permissive")
        except pa.ArrowException as error:
            raise InputError.single(
                message=f"parts do not fit together ({error})",
                source=f"table {name}",
                path=part.name,
            ) from error
    return found
