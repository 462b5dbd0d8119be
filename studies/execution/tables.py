"""Results as Parquet: bytes of one task, and the schema of many.

A part names its task by digest in its metadata and carries page checksums.
"""

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


def schema_of(path: Path, digest: str) -> "pa.Schema | None":
    """The columns of a part; None where it is not whole, or of another task."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (OSError, ValueError, pa.ArrowException):
        return None
    ours = (schema.metadata or {}).get(TASK_KEY) == digest.encode()
    return schema.remove_metadata() if ours else None


def unified(found: "pa.Schema | None", schema: "pa.Schema", name: str, part: str) -> "pa.Schema":
    """The schema that two parts of a table share, columns in the order of the first.

    Raises
    ------
    InputError
        If there is none.
    """
    import pyarrow as pa

    if found is None:
        return schema
    source = f"table {name}"
    if set(schema.names) != set(found.names):
        odd = sorted(set(schema.names) ^ set(found.names))
        raise InputError.single(
            message=f"parts do not have the same columns: {', '.join(odd)}",
            source=source,
            path=part,
        )
    try:
        return pa.unify_schemas([found, schema], promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError.single(
            message=f"parts do not fit together ({error})", source=source, path=part
        ) from error
