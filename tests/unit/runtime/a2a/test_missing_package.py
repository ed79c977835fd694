"""Without the package `a2a-sdk`, the import of the agent says so in one sentence."""

from __future__ import annotations

import subprocess
import sys

from adk_site.embedded.paths import CHECKOUT

WITHOUT_SDK = """
import sys
sys.modules["a2a"] = None
import runtime.agents
try:
    import runtime.agents.remote_a2a_agent
except ValueError as error:
    print(error)
"""


def test_the_missing_package_is_named() -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_SDK], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert run.stdout == (
        "A2A needs the package 'a2a-sdk': "
        "pip install -r requirements-a2a.txt, or the extra 'a2a' of django-adk-runtime\n"
    )
