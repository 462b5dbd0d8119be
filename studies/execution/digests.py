"""One digest of plain data by value: the same in every process, whatever shares memory with what.

Pickles are no such digest: they depend on which equal objects are one object.
"""

import hashlib
import struct
from collections.abc import Callable, Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from types import FunctionType
from typing import Any

import numpy as np

from model.errors import InputError

type _Feed = Callable[[bytes], None]


def digest_of(value: object, *, source: str) -> str:
    """SHA-256 of plain data.

    None, bool, int, float, complex, text, bytes, paths, containers of these, dataclasses (their
    fields that take part in comparison), enumerations, functions of modules, NumPy arrays and
    scalars, seeds, pandas and Arrow tables.

    Parameters
    ----------
    value
        What to digest.
    source
        What a message calls it.

    Raises
    ------
    InputError
        Naming the first part that is no plain data.
    """
    found = hashlib.sha256()
    _feed(value, found.update, source, "")
    return found.hexdigest()


def _feed(  # noqa: PLR0912 - one branch a kind of data
    value: object, feed: _Feed, source: str, path: str
) -> None:
    """Feed a value with its kind and length, so that no two values run into each other."""
    match value:
        case None | bool():
            _leaf(feed, "constant", repr(value).encode())
        # An enumeration may be text or a number as well.
        case Enum():
            _leaf(feed, "enumeration", f"{_name(type(value))}.{value.name}".encode())
        case np.ndarray() | np.generic():
            _array(np.asarray(value), feed, source, path)
        case int():
            _leaf(feed, "int", str(value).encode())
        case float():
            _leaf(feed, "float", struct.pack("<d", value))
        case complex():
            _leaf(feed, "complex", struct.pack("<dd", value.real, value.imag))
        case str():
            _leaf(feed, "str", value.encode("utf-8", "surrogatepass"))
        case bytes() | bytearray():
            _leaf(feed, "bytes", bytes(value))
        case PurePath():
            _leaf(feed, "path", str(value).encode("utf-8", "surrogateescape"))
        case FunctionType() | type():
            _leaf(feed, "function", _name(value).encode())
        case np.random.SeedSequence():
            state = (value.entropy, value.spawn_key, value.pool_size, value.n_children_spawned)
            _items(state, "seed", feed, source, path)
        case Mapping():
            _items(value.items(), f"mapping {len(value)}", feed, source, path, keyed=True)
        case tuple() | list():
            _items(value, f"sequence {len(value)}", feed, source, path)
        case Set():
            _leaf(feed, "set", b"".join(sorted(_inner(item, source, path) for item in value)))
        case _ if is_dataclass(value) and not isinstance(value, type):
            named = {f.name: getattr(value, f.name) for f in fields(value) if f.compare}
            kind = f"record {_name(type(value))}"
            _items(named.items(), kind, feed, source, path, keyed=True)
        case _:
            _table(value, feed, source, path)


def _items(
    values: Any, kind: str, feed: _Feed, source: str, path: str, *, keyed: bool = False
) -> None:
    feed(f"{kind}(".encode())
    for index, item in enumerate(values):
        if keyed:
            key, inner = item
            _feed(key, feed, source, path)
            _feed(inner, feed, source, f"{path}.{key}" if path else str(key))
        else:
            _feed(item, feed, source, f"{path}[{index}]")
    feed(b")")


def _leaf(feed: _Feed, kind: str, content: bytes) -> None:
    feed(f"{kind} {len(content)}:".encode())
    feed(content)


def _inner(value: object, source: str, path: str) -> bytes:
    found = hashlib.sha256()
    _feed(value, found.update, source, path)
    return found.digest()


def _array(array: np.ndarray, feed: _Feed, source: str, path: str) -> None:
    if array.dtype.hasobject:
        _items(array.ravel().tolist(), f"objects {array.shape}", feed, source, path)
        return
    # Little-endian and contiguous: the values count, not how they lie in memory.
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    _leaf(feed, f"array {plain.dtype.descr} {array.shape}", plain.tobytes())


def _table(value: object, feed: _Feed, source: str, path: str) -> None:
    import pandas as pd
    import pyarrow as pa

    match value:
        case pd.DataFrame():
            columns = {name: value[name].to_numpy() for name in value}
            _items(columns.items(), f"frame {value.shape}", feed, source, path, keyed=True)
            _array(value.index.to_numpy(), feed, source, path)
        case pd.Series() | pd.Index():
            _leaf(feed, "series", str(value.name).encode())
            _array(value.to_numpy(), feed, source, path)
        case pa.Table():
            _leaf(feed, "arrow", value.schema.serialize().to_pybytes())
            _table(value.to_pandas(), feed, source, path)
        case _:
            raise InputError.single(
                message=f"a {_name(type(value))} cannot be told from another one",
                source=source,
                path=path,
                remedy="give plain data: numbers, text, containers, arrays, tables, dataclasses",
            )


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
