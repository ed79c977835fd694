"""Logging of scripts: `runtime.cli.utils.logs`. The test is a script, because pytest has handlers of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from adk_site.embedded.paths import CHECKOUT

SCRIPT = """
import logging
from runtime.cli.utils.logs import *
logger = logging.getLogger("runtime.models")
setup_adk_logger()
logger.debug("quiet")
setup_adk_logger(logging.DEBUG)
logger.debug("shown")
print(log_to_tmp_folder(logging.DEBUG, log_file_prefix="clerk"))
logger.debug("kept")
"""


def test_records_go_to_standard_error_from_a_level_on_or_to_a_file_that_others_cannot_read() -> None:
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stderr.endswith("DEBUG - <string>:8 - shown\n") and done.stderr.count("\n") == 1
    path = Path(done.stdout.strip())
    assert path.name.startswith("clerk.") and path.read_text().endswith("- kept\n")
    assert path.read_text().count("\n") == 1
    assert path.parent.stat().st_mode & 0o077 == 0
