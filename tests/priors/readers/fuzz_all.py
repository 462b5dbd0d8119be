"""Coverage-guided fuzzing of every reader for a while, two at a time; needs atheris.

python -m tests.priors.readers.fuzz_all 60 1

The second number is the seed: the same one tries the same inputs, as far as the time reaches.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from tests.priors.readers.mutations import SEEDS

AT_A_TIME = 2
GRACE_S, ONE_INPUT_S = 120, 20
"""A reader that takes so long beyond its time, or for one input, hangs."""

COVERAGE = re.compile(r"cov: (\d+) ft: (\d+)")
RUNS = re.compile(r"stat::number_of_executed_units: (\d+)")


def fuzz(form, seconds, seed):
    """What fuzzing one reader printed, and whether it found nothing."""
    with tempfile.TemporaryDirectory() as findings:
        command = [sys.executable, "-m", "tests.priors.readers.fuzz_readers", form]
        command += [f"-seed={seed}", f"-max_total_time={seconds}", f"-timeout={ONE_INPUT_S}"]
        command += [f"-artifact_prefix={findings}/", "-rss_limit_mb=2048", "-print_final_stats=1"]
        try:
            done = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=seconds + GRACE_S,
                check=False,
                errors="replace",
                text=True,
                env=os.environ | {"PYTHONHASHSEED": "0"},
            )
        except subprocess.TimeoutExpired:
            return f"hangs: not done {GRACE_S} s after its time", False
    return done.stdout, done.returncode == 0


def line_of(form, text, *, fine):
    """Executions and coverage in one line."""
    covered, runs = COVERAGE.findall(text), RUNS.findall(text)
    figures = f"{runs[-1] if runs else '?'} inputs, {covered[-1][0] if covered else '?'} edges"
    return f"{form}: {figures}, {'nothing found' if fine else 'FOUND SOMETHING'}"


def main():
    """Fuzz all readers; 1 where something was found, its input being in the output."""
    given = [int(word) for word in sys.argv[1:]]
    seconds, seed = (*given, *(60, 1)[len(given) :])
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        found = pool.map(lambda form: fuzz(form, seconds, seed), SEEDS)
        results = dict(zip(SEEDS, found, strict=True))
    for form, (text, fine) in results.items():
        sys.stdout.write(line_of(form, text, fine=fine) + "\n")
        if not fine:
            sys.stdout.write("\n".join(text.splitlines()[-60:]) + "\n")
    return 0 if all(fine for _, fine in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
