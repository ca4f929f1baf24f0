"""The file of the command, for the processes that a run starts."""

import os
import sys
import sysconfig
from typing import Optional


def program() -> Optional[str]:
    """The file ``inferometer`` that was installed with this package, if it is found.

    Without it the embedded engine is served by a thread of this process, and servers cannot be
    started.
    """
    scripts = os.path.join(sysconfig.get_path("scripts"), "inferometer")
    # argv[0] first: reading the installer's records is slow.
    for files in (sys.argv[:1], _recorded(), [scripts]):
        for file in files:
            if os.path.basename(file) != "inferometer" or not os.path.isfile(file):
                continue
            if os.access(file, os.X_OK):
                return os.path.abspath(file)
    return None


def _recorded():
    # Last, for it reads the records of the installer.
    from importlib import metadata

    try:
        files = metadata.files("inferometer") or []
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == "inferometer":
            yield os.fspath(file.locate())
