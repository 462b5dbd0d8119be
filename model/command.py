"""How a command ends: what a user can mend in one block, without a traceback, and an exit code."""

import os
import sys
from collections.abc import Callable
from functools import wraps

EXIT_INPUT = 2
EXIT_UNCONVERGED = 3
"""The sampler's diagnostics fail; what there is is written, and marked."""
EXIT_INTERRUPTED = 130


def command[**P](main: Callable[P, int]) -> Callable[P, int]:
    """Let a command's ``main`` raise what its user can mend.

    A :class:`model.errors.FundworthyError` is printed on standard error and ends with 2, an
    interruption with 130. A reader that closes the pipe has seen enough: that is no error.
    """

    @wraps(main)
    def ended(*arguments: P.args, **options: P.kwargs) -> int:
        # The class is imported with the command's own modules, which `--help` does without.
        from model.errors import FundworthyError

        try:
            status = main(*arguments, **options)
            sys.stdout.flush()
        except FundworthyError as error:
            sys.stderr.write(f"error: {error}\n")
            return EXIT_INPUT
        except BrokenPipeError:
            # What is left to flush goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except KeyboardInterrupt as interruption:
            # What can be gone on with says so.
            kept = str(interruption) or "nothing was written"
            sys.stderr.write(f"interrupted: {kept}\n")
            return EXIT_INTERRUPTED
        return status

    return ended
