"""Where the browser of the tests comes from.

The first of: a Chromium or Chrome of this machine, the one that Playwright downloads, and Debian's package where this
user may install it. Where none can be had, the browser tests are skipped; with `CI` in the environment they fail.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import gettempdir

PROGRAMS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
"""The first opens a page with a sixth of the CPU time, because it has no window to draw."""
PACKAGES = ("chromium-headless-shell", "chromium")
"""Debian has the first from version 13 on."""
NO_BROWSER = (
    "The browser tests need a browser: no Chromium or Chrome is installed, and none can be downloaded. "
    "Install Chromium, and run them: make test TESTS=tests/browser"
)
DOWNLOAD = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
LAUNCH = [
    sys.executable,
    "-c",
    "from playwright.sync_api import sync_playwright\n"
    "with sync_playwright() as playwright: playwright.chromium.launch(args=['--no-sandbox']).close()",
]
"""Shows whether the downloaded browser starts: libraries that it needs may be missing."""
Run = Callable[[list[str]], bool]


def run_quietly(command: list[str]) -> bool:
    """Return True if the command succeeds."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment)
    return answer.returncode == 0


def find_browser(run: Run = run_quietly) -> Mapping[str, str] | None:
    """Return Playwright's options for the browser, which is installed if there is none; None if that fails."""
    with (Path(gettempdir()) / f"adk-tests-browser-{os.getuid()}").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)  # The test processes ask at the same time.
        if program := _installed():
            return {"executable_path": program}
        if run(DOWNLOAD) and run(LAUNCH):
            return {}
        _install_package(run)
        program = _installed()
    return {"executable_path": program} if program else None


def _installed() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def _install_package(run: Run) -> None:
    if not shutil.which("apt-get"):
        return
    as_root = [] if os.getuid() == 0 else ["sudo", "--non-interactive"]
    if not run([*as_root, "apt-get", "update", "-qq"]):
        return
    for package in PACKAGES:
        if run([*as_root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", package]):
            return
