"""The command line: ``inferometer`` and ``python -m inferometer``."""

import sys

from . import _inferometer
from ._program import program


def main() -> int:
    """Runs the command with the arguments of this process, and returns the exit code."""
    arguments = ["inferometer", *sys.argv[1:]]
    return _inferometer.main(arguments, program())


if __name__ == "__main__":
    sys.exit(main())
