"""The one error that bad input raises, able to carry several problems at once."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with an input.

    Parameters
    ----------
    message
        What is wrong, with the value and the allowed range or the nearest valid name.
    source
        File, option or record the value came from.
    path
        Dotted path inside the source, empty where the whole source is meant.
    remedy
        What to do about it, empty where the message says it.
    """

    message: str
    source: str = ""
    path: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        """One line: source, path, message, remedy."""
        where = ": ".join(part for part in (self.source, self.path) if part)
        text = f"{where}: {self.message}" if where else self.message
        return f"{text}; {self.remedy}" if self.remedy else text


class FundworthyError(Exception):
    """Base of every error that a user can cause and can mend."""


class InputError(FundworthyError):
    """Input that cannot be used, with all the problems found in it.

    Parameters
    ----------
    problems
        At least one problem; several are reported together.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def single(
        cls, message: str, *, source: str = "", path: str = "", remedy: str = ""
    ) -> "InputError":
        """An error with one problem."""
        return cls([Problem(message=message, source=source, path=path, remedy=remedy)])

    @classmethod
    def unwritable(
        cls, error: OSError, *, source: str, path: str = "", remedy: str = ""
    ) -> "InputError":
        """An error that says what could not be written, and why by the system's own words."""
        message = f"cannot be written ({error.strerror or error})"
        return cls.single(message, source=source, path=path, remedy=remedy)


def unknown_keys(
    keys: Iterable[object], known: Sequence[str], *, source: str, where: str = ""
) -> list[Problem]:
    """Say of each key of a mapping that is not among the known ones which is nearest.

    Parameters
    ----------
    keys
        Of the mapping.
    known
        Those that it may have.
    source
        Document that it stands in.
    where
        Dotted path of the mapping, empty at the top of the document.
    """
    return [
        Problem(
            source=source,
            path=f"{where}.{key}" if where else str(key),
            message="unknown key",
            remedy=nearest(str(key), known),
        )
        for key in keys
        if key not in known
    ]


def nearest(name: str, valid: Sequence[str]) -> str:
    """Say which valid name is nearest, or list the valid ones.

    Parameters
    ----------
    name
        The name that is not valid.
    valid
        The names that are.

    Returns
    -------
    str
        A remedy such as ``did you mean 'tp'?``.
    """
    # A dotted path is most often mistyped in its last part only.
    close = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return "valid names: " + ", ".join(valid)
