"""Contract: a run of tests that is stopped leaves no server behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from adk_site.embedded.paths import CHECKOUT

pytestmark = pytest.mark.stack

WAITING_TEST = """
import threading
from django.conf import settings

def test_that_never_ends(servers):
    print("Waiting with", settings.DATA_DIR, flush=True)
    threading.Event().wait()
"""
EMBEDDED = ("DATABASE_URL", "REDIS_URL")


def servers_of(data: str) -> list[str]:
    return [process.name() for process in psutil.process_iter(["cmdline"]) if data in str(process.info)]


@pytest.mark.skipif(any(map(os.environ.get, EMBEDDED)), reason="The tests do not start servers.")
def test_a_stopped_run_of_tests_stops_its_servers(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *")
    (tmp_path / "test_waiting.py").write_text(WAITING_TEST)
    configuration = ("-c", str(CHECKOUT / "pyproject.toml"), "--rootdir", str(tmp_path))
    options = ("--capture=no", "-p", "no:cacheprovider", "--quiet")
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", *configuration, *options, str(tmp_path)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    data = next(line.split()[-1] for line in run.stdout if "Waiting with" in line)
    assert {"postgres"} <= set(servers_of(data))
    run.send_signal(signal.SIGTERM)
    run.communicate()
    assert run.returncode == pytest.ExitCode.INTERRUPTED
    assert servers_of(data) == []
