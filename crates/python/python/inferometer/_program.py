"""Finds the executable ``inferometer``, which a run starts as a separate process."""

import os
import sys
import sysconfig
from typing import Optional


def program() -> Optional[str]:
    """Returns the path of the executable ``inferometer`` of this package, or ``None`` if it is not found.

    Without the executable, a thread of this process serves the embedded engine, and other servers cannot
    be started.
    """
    scripts = os.path.join(sysconfig.get_path("scripts"), "inferometer")
    # argv[0] is checked first, because reading the installer's records is slow.
    for files in (sys.argv[:1], _recorded(), [scripts]):
        for file in files:
            if os.path.basename(file) != "inferometer" or not os.path.isfile(file):
                continue
            if os.access(file, os.X_OK):
                return os.path.abspath(file)
    return None


def _recorded():
    # Imported only here: if argv[0] is the executable, neither the import nor the records are needed.
    from importlib import metadata

    try:
        files = metadata.files("inferometer") or []
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == "inferometer":
            yield os.fspath(file.locate())
