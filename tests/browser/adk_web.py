"""adk-web as google-adk's package has it: unpacked from a downloaded wheel, else from an environment that has it."""

from __future__ import annotations

import os
from pathlib import Path
from zipfile import ZipFile

from adk_site.embedded.paths import CHECKOUT

IN_PACKAGE = "google/adk/cli/browser/"
DOWNLOADED = CHECKOUT / ".adk-web"
"""Directory into which `.ci/run` downloads the wheel."""


def find_adk_web(unpacked: Path) -> Path | None:
    """Return the directory with adk-web's files; None when there is none.

    Args:
        unpacked: directory into which a downloaded wheel is unpacked.
    """
    for wheel in DOWNLOADED.glob("google_adk-*.whl"):
        with ZipFile(wheel) as archive:
            archive.extractall(unpacked, [name for name in archive.namelist() if name.startswith(IN_PACKAGE)])
        return unpacked / IN_PACKAGE
    program = Path(os.environ.get("ADK_PYTHON", CHECKOUT / ".venv-adk/bin/python"))
    found = program.parent.parent.glob(f"lib/python3*/site-packages/{IN_PACKAGE}index.html")
    return next((index.parent for index in found), None)
