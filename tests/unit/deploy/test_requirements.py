"""Every pinned requirement has a wheel for each Python and platform that the README names."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from adk_site.embedded.paths import CHECKOUT

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = (
    "x86_64-manylinux_2_28",
    "aarch64-manylinux_2_28",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
)
UNREACHABLE = 2  # the exit code of uv for everything but an answer; 1 is "No solution found"


def resolve(python: str, platform: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Choose a wheel for each requirement without installing or downloading one."""
    uv = shutil.which("uv", path=Path(sys.executable).parent)
    if uv is None:
        pytest.skip("uv is not installed beside Python: `make test` installs it.")
    # Without a named interpreter uv downloads one of the version, although nothing is built with it.
    interpreter = ["--python", sys.executable, "--no-python-downloads"]
    target = [*interpreter, "--python-version", python, "--python-platform", platform, *options]
    return subprocess.run(
        [uv, "pip", "compile", "--quiet", "--only-binary", ":all:", *target, "requirements-dev.txt"],
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def resolve_from_cache(target: tuple[str, str]) -> subprocess.CompletedProcess[str]:
    """Ask the registry only when uv's cache does not have an answer: the pinned versions do not change."""
    answer = resolve(*target, "--offline")
    return resolve(*target) if answer.returncode else answer


def test_every_requirement_has_a_wheel_for_each_python_and_platform() -> None:
    first, *others = product(PYTHONS, PLATFORMS)
    answers = {first: resolve_from_cache(first)}  # fills the cache for the others
    if answers[first].returncode == UNREACHABLE:
        pytest.skip(f"The package registry cannot be reached: {answers[first].stderr}")
    with ThreadPoolExecutor(4) as pool:
        answers.update(zip(others, pool.map(resolve_from_cache, others), strict=True))
    assert {target: answer.stderr for target, answer in answers.items() if answer.returncode} == {}
