"""Texts that no planner wrote: mutations of real ones, without a crash or a silent zero."""

import numpy as np
import pytest

from tests.priors.readers.mutations import FOUND, MORE, SEEDS, check

PIECES = [
    b"nan",
    b"-inf",
    b"N/A",
    b"1e999",
    b"0",
    b"-1",
    b"99999999999999999999",
    b"\r",
    b"\n",
    b"\0",
]
PIECES += [
    b"\x1b[31m",
    b"[rank0]:",
    b"|",
    b",",
    b"\xff\xfe",
    b"1,234",
    b"0:00:00",
    b"{",
    b"\x1f\x8b",
]


def mutated(data, rng):
    """Some bytes replaced, cut out, repeated or put in."""
    for _ in range(rng.integers(1, 6)):
        place, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 40))
        piece = PIECES[rng.integers(len(PIECES))]
        match rng.integers(5):
            case 0:
                data = data[:place] + data[place + length :]
            case 1:
                data = data[:place] + piece + data[place:]
            case 2:
                data = data[:place] + data[place : place + length] * 2 + data[place + length :]
            case 3:
                data = data[:place] + piece + data[place + len(piece) :]
            case _:
                data = data[:place]
    return data


def run(form, count):
    rng = np.random.default_rng(list(form.encode()))
    seeds = [SEEDS[form], *MORE.get(form, [])]
    for number in range(count):
        check(form, mutated(seeds[number % len(seeds)].encode(), rng))


@pytest.mark.parametrize("form", SEEDS)
def test_mutated_files_are_read_or_refused(form):
    run(form, 60)


@pytest.mark.parametrize("form", FOUND)
def test_inputs_that_fuzzing_found_are_read_or_refused(form):
    for text in FOUND[form]:
        assert text != SEEDS[form]
        check(form, text.encode())


@pytest.mark.slow
@pytest.mark.parametrize("form", SEEDS)
def test_many_mutated_files_are_read_or_refused(form):
    run(form, 1500)
