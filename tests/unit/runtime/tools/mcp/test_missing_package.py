"""Without the package `mcp`, the import of the toolset says so in one sentence."""

from __future__ import annotations

import subprocess
import sys

from adk_site.embedded.paths import CHECKOUT
from runtime.errors import how_to_install

WITHOUT_MCP = """
import sys
sys.modules["mcp"] = None
import runtime.tools
try:
    runtime.tools.McpToolset
except ValueError as error:
    print(error)
"""


def test_the_missing_package_is_named() -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_MCP], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    expected = f"McpToolset needs the package 'mcp': {how_to_install('mcp')}\n"
    assert run.stdout == expected
