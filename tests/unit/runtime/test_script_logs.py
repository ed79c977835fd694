"""Logging of scripts: `runtime.cli.utils.logs`. Each test is a script, because pytest has handlers of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from adk_site.embedded.paths import CHECKOUT

SCRIPT = "import logging; from runtime.cli.utils.logs import *; {}; logging.getLogger('runtime.models').debug('odd')"


def run(code: str) -> tuple[str, str]:
    """Run a script that calls a function and then logs; return what it has printed and logged."""
    command = [sys.executable, "-c", SCRIPT.format(code)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_records_of_the_runtime_go_to_standard_error_from_a_level_on() -> None:
    assert run("setup_adk_logger(logging.DEBUG)")[1].endswith("DEBUG - <string>:1 - odd\n")
    assert run("setup_adk_logger()")[1] == ""


def test_records_go_to_a_file_that_others_cannot_read() -> None:
    printed, logged = run("print(log_to_tmp_folder(logging.DEBUG, log_file_prefix='clerk'))")
    path = Path(printed.strip())
    assert path.name.startswith("clerk.") and path.read_text().endswith("- odd\n")
    assert path.parent.stat().st_mode & 0o077 == 0
    assert logged == ""
