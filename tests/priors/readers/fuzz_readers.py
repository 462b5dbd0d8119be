"""Coverage-guided fuzzing of one reader, by hand; needs atheris.

python -m tests.priors.readers.fuzz_readers megatron -max_total_time=60 -timeout=10
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["priors.readers"]):
    import priors.readers.registry  # noqa: F401 - instrumented here

from tests.priors.readers.mutations import FOUND, MORE, SEEDS, check


def main():
    form = sys.argv.pop(1)
    with tempfile.TemporaryDirectory() as corpus:
        for number, text in enumerate([SEEDS[form], *MORE.get(form, []), *FOUND.get(form, [])]):
            (Path(corpus) / str(number)).write_text(text)
        atheris.Setup([*sys.argv, corpus], lambda data: check(form, data))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
