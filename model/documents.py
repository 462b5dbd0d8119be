"""YAML documents in: every way a file can be unusable becomes one clear error."""

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from model.errors import InputError, nearest

MAX_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A parsed YAML mapping with its provenance.

    Parameters
    ----------
    source
        What messages call it: the path as given, or the name of a shipped document.
    content
        The top-level mapping.
    sha256
        Digest of the bytes read.
    text
        The text as read, kept for the run directory.
    """

    source: str
    content: dict[str, object]
    sha256: str
    text: str


def shipped_names(package: str) -> list[str]:
    """Stems of the YAML documents inside a data package."""
    return sorted(
        Path(entry.name).stem
        for entry in resources.files(package).iterdir()
        if entry.name.endswith(".yaml")
    )


def read_document(name: str | Path, *, package: str | None = None, kind: str) -> Document:
    """Read a YAML mapping from a file, or a shipped one by its stem.

    Parameters
    ----------
    name
        Path of a file, or the stem of a document shipped in ``package``.
    package
        Data package that holds shipped documents, None where only files are meant.
    kind
        What the document is, for messages: ``scenario``, ``evidence`` …

    Raises
    ------
    InputError
        If there is no such file, or it is a directory, unreadable, empty, not text, not YAML, holds
        a key twice, or is not a mapping.
    """
    text_name = str(name)
    names = shipped_names(package) if package else []
    if text_name in names and package:
        data = (resources.files(package) / f"{text_name}.yaml").read_bytes()
        return _parse(data, source=text_name, kind=kind)
    path = Path(name)
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise InputError.single(
                message=f"the file has {path.stat().st_size} bytes, allowed are {MAX_BYTES}",
                source=text_name,
                remedy=f"a {kind} is a short YAML text; is this the right file?",
            )
        data = path.read_bytes()
    except FileNotFoundError:
        remedy = "give its path"
        if names:
            remedy += f" or the name of a shipped one: {nearest(text_name, names)}"
        raise InputError.single(
            message=f"there is no such {kind}", source=text_name, remedy=remedy
        ) from None
    except IsADirectoryError:
        raise InputError.single(
            message="this is a directory",
            source=text_name,
            remedy="give the file inside it",
        ) from None
    except (OSError, ValueError) as error:
        raise InputError.single(message=f"cannot be read ({error})", source=text_name) from None
    return _parse(data, source=text_name, kind=kind)


def _parse(data: bytes, *, source: str, kind: str) -> Document:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError.single(
            message="this is not a UTF-8 text",
            source=source,
            remedy=f"a {kind} is a YAML text",
        ) from None
    if "\0" in text:
        raise InputError.single(
            message="this is a binary file", source=source, remedy=f"a {kind} is a YAML text"
        )
    try:
        # YAML 1.2: 4.05e11 is a number, and a key given twice is an error.
        content = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        problem = str(getattr(error, "problem", None) or "cannot be parsed").strip()
        raise InputError.single(message=f"not valid YAML{line}: {problem}", source=source) from None
    except (ValueError, RecursionError) as error:
        raise InputError.single(message=f"not valid YAML: {error}", source=source) from None
    if content is None:
        raise InputError.single(
            message="the file is empty",
            source=source,
            remedy=f"see the README for what a {kind} holds",
        )
    if not isinstance(content, dict):
        raise InputError.single(
            message=f"the top level is a {type(content).__name__}, "
            "a mapping of names to values is needed",
            source=source,
        )
    keys = [key for key in content if not isinstance(key, str)]
    if keys:
        raise InputError.single(message=f"the key {keys[0]!r} is not a text", source=source)
    return Document(
        source=source, content=content, sha256=hashlib.sha256(data).hexdigest(), text=text
    )
