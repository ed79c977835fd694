"""The pins of the site have wheels for each Python and platform that the README names, and hashes for the image.

The wheel has ranges of them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from adk_site.embedded.paths import CHECKOUT

PROJECT: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
ONLY_OF_SITE = {"brotli", "django-axes", "psutil", "uvloop", "whitenoise"}
"""Requirements that the packages of the wheel do not import; see `tests/test_architecture.py`."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = (
    "x86_64-manylinux_2_28",
    "aarch64-manylinux_2_28",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
)
UNREACHABLE = 2  # the exit code of uv for everything but an answer; 1 is "No solution found"


def resolve(
    python: str, platform: str, *options: str, source: str = "requirements-dev.txt"
) -> subprocess.CompletedProcess[str]:
    """Choose a wheel for each requirement without installing or downloading one."""
    return run_uv("compile", "--python-version", python, "--python-platform", platform, *options, source)


def run_uv(command: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `uv pip` with wheels only."""
    uv = shutil.which("uv", path=Path(sys.executable).parent)
    if uv is None:
        pytest.skip("uv is not installed beside Python: `make test` installs it.")
    # Without a named interpreter uv downloads one of the version, although nothing is built with it.
    interpreter = ["--python", sys.executable, "--no-python-downloads"]
    return subprocess.run(
        [uv, "pip", command, "--quiet", "--only-binary", ":all:", *interpreter, *options],
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


def test_the_image_has_a_hash_of_each_package_that_it_may_install(tmp_path: Path) -> None:
    """`make lock` renews the hashes."""
    instructions = (CHECKOUT / "deploy" / "Dockerfile").read_text()
    files = sorted(set(re.findall(r"(?<= )requirements\S*\.txt", instructions)))
    named = [option for file in files for option in ("--requirements", file)]
    lock = ("--require-hashes", "--constraints", "deploy/requirements.lock")
    options = ("--dry-run", "--target", str(tmp_path), "--python-version", PYTHONS[0], *lock, *named)
    answer = run_uv("install", "--offline", *options)
    if answer.returncode:
        answer = run_uv("install", *options)
    if answer.returncode == UNREACHABLE and "hash" not in answer.stderr:
        pytest.skip(f"The package registry cannot be reached: {answer.stderr}")
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_the_oldest_and_the_newest_dependencies_of_the_wheel_fit_together(resolution: str) -> None:
    options = ("--all-extras", "--resolution", resolution)
    answer = resolve(PYTHONS[0], PLATFORMS[0], *options, source="pyproject.toml")
    if answer.returncode == UNREACHABLE:
        pytest.skip(f"The package registry cannot be reached: {answer.stderr}")
    assert answer.returncode == 0, answer.stderr


def read_pins(file: str) -> dict[str, Requirement]:
    """Return the requirements of a file by name. A line that is no requirement raises InvalidRequirement."""
    lines = [line.partition("#")[0].strip() for line in (CHECKOUT / file).read_text().splitlines()]
    return by_name(line for line in lines if line)


def by_name(texts: Iterable[str]) -> dict[str, Requirement]:
    requirements = map(Requirement, texts)
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def problems_of(ranges: dict[str, Requirement], pins: dict[str, Requirement]) -> list[str]:
    problems = [f"{name} is not in both" for name in ranges.keys() ^ pins.keys()]
    for name in ranges.keys() & pins.keys():
        (pin,) = pins[name].specifier
        if not ranges[name].specifier.contains(pin.version):
            problems.append(f"{pins[name]} is not in {ranges[name]}")
        # Projects choose themselves between psycopg's binaries and a build of their own.
        if ranges[name].extras != pins[name].extras - {"binary"}:
            problems.append(f"{pins[name]} has other extras than {ranges[name]}")
    return problems


def test_the_wheel_needs_the_packages_of_the_site_in_ranges_with_the_pins() -> None:
    pins = read_pins("requirements.txt")
    assert pins.keys() >= ONLY_OF_SITE
    needed = {name: pin for name, pin in pins.items() if name not in ONLY_OF_SITE}
    assert problems_of(by_name(PROJECT["dependencies"]), needed) == []


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_of_the_wheel_needs_what_its_file_pins(extra: str) -> None:
    pins = read_pins(f"requirements-{extra}.txt")
    assert pins
    assert problems_of(by_name(EXTRAS[extra]), pins) == []


def test_every_optional_part_that_the_packages_have_is_an_extra() -> None:
    optional = {path.stem.removeprefix("requirements-") for path in CHECKOUT.glob("requirements-*.txt")}
    assert optional - set(EXTRAS) == {"adk", "demo", "dev", "sso"}
