"""Random streams of a study: one a purpose, so that none repeats another or a user's draws."""

import hashlib

import numpy as np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """A generator keyed by seed and purpose.

    A file of draws may well come from ``default_rng(1)``; redraws from the same stream would
    repeat it.
    """
    key = np.frombuffer(hashlib.sha256(purpose.encode()).digest()[:16], dtype="<u4")
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(int(word) for word in key))
    return np.random.default_rng(sequence)
