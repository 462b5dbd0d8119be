"""The command that documents the scenario file: every field with unit, range and default."""

import argparse
import sys
from collections.abc import Sequence

from model.command import command


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    return argparse.ArgumentParser(
        prog="python -m decision.fields",
        description="Lists every field a scenario file may hold, by section: unit, allowed "
        "values, default, meaning. Fields of the kind 'real' may be uncertain.",
        epilog="example: python -m decision.fields | grep reliability",
    )


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    build_parser().parse_args(argv)
    from model.field import REQUIRED
    from model.parameters import FIELDS

    for field in FIELDS:
        default = "null" if field.default is None else repr(field.default)
        needed = "required" if field.default is REQUIRED else f"default {default}"
        unit = f" ({field.unit})" if field.unit not in ("", "1") else ""
        print(f"{field.path}{unit}: {field.meaning}")
        print(f"    {field.allowed}; {needed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
