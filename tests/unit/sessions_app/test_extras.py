"""The packages of the extras are optional: the site's modules are imported without them."""

import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
NO_EXTRAS = {"requirements-dev.txt", "requirements-adk.txt"}
PROGRAM = """
import os, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in sys.argv[1:]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
os.environ["DJANGO_SETTINGS_MODULE"] = "adk_site.dev.settings"
import django
django.setup()
import adk_site.urls, sessions_app.routing, sessions_app.tasks, sessions_app.history.telemetry.span_export
"""


def names_of_extras() -> list[str]:
    """Return the names under which the packages of the extras are imported."""
    extras = set()
    for file in ROOT.glob("requirements-*.txt"):
        if file.name not in NO_EXTRAS:
            lines = file.read_text().splitlines()
            extras |= {
                canonicalize_name(Requirement(line).name) for line in lines if line and line[0] not in "#-"
            }
    names = []
    for name, distributions in packages_distributions().items():
        if extras & {canonicalize_name(distribution) for distribution in distributions}:
            names.append(name)
    return names


def test_the_site_starts_without_the_packages_of_the_extras() -> None:
    names = names_of_extras()
    assert {"prometheus_client", "mcp", "a2a", "slack_bolt", "boto3"} <= set(names)
    command = [sys.executable, "-c", PROGRAM, *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
