"""Contract: the lines of docs/api.md and docs/adk-server.md run against a site; the list in api.md is complete."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sessions_app import errors
from sessions_app.asgi import problem_details
from tests.browser.blocking_proxy import BlockingProxy
from tests.docs.api_operations import LIST, PAGE, listed
from tests.integration.client.conftest import key as key
from tests.integration.client.conftest import proxy as proxy
from tests.integration.client.conftest import web_port as web_port
from tests.integration.conftest import person as person

STEP = re.compile(r"^```sh\n(.*?)^```\n(?:\n```(json|text)\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
CLIENT = re.compile(r"^```python\n(# ask_client\.py\n.*?)^```$", re.MULTILINE | re.DOTALL)
ADK_LINES = re.compile(r"^```sh\nexport ADK=.*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END_OF_STEP = "--- end of a step"
REFUSED = "curl: (22) The requested URL returned error: 422\n"
"""Message of curl in the step that shows an error."""


def steps() -> Iterator[tuple[str, str, str]]:
    """The lines of each block of the shell, with kind and text of the output that follows."""
    for lines, kind, shown in STEP.findall(PAGE.read_text()):
        if not lines.startswith("export SITE="):
            yield lines, kind, shown


def fits(shown: Any, said: Any) -> bool:
    """True if the value has what is shown of it: the same fields, with values of the same types."""
    if isinstance(shown, dict):
        return isinstance(said, dict) and all(
            name in said and fits(value, said[name]) for name, value in shown.items()
        )
    if isinstance(shown, list):
        return isinstance(said, list) and all(map(fits, shown, said)) and len(shown) <= len(said)
    return type(shown) is type(said)


def test_the_list_of_operations_is_that_of_the_document() -> None:
    found = LIST.search(PAGE.read_text())
    assert found and found[0] == listed(), "Run .venv/bin/python -m tests.docs.api_operations"


def used_codes() -> set[str]:
    """The codes of errors and of statuses, and those that the source gives to `problem` by themselves."""
    calls = [
        node
        for path in (PAGE.parents[1] / "sessions_app").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "problem"
    ]
    given = {call.args[2].value for call in calls if isinstance(call.args[2], ast.Constant)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    codes = {kind.code for kind in kinds if issubclass(kind, errors.SiteError)}
    return {*codes, *problem_details.CODES.values(), *map(str, given)}


def test_the_page_lists_each_code_of_a_problem() -> None:
    (listed_codes,) = re.findall(r"`code` is for programs: (.*?)\. ", PAGE.read_text(), re.DOTALL)
    assert set(re.findall(r"`(\w+)`", listed_codes)) == used_codes()


def test_the_lines_of_the_page_do_what_it_says(proxy: BlockingProxy, key: str, tmp_path: Path) -> None:
    wanted = list(steps())
    script = "set -euo pipefail\n" + "".join(
        f"{lines}\necho; echo '{END_OF_STEP}'\n" for lines, _, _ in wanted
    )
    environment = {**os.environ, "SITE": proxy.base_url, "KEY": key, "no_proxy": "*"}
    run = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert (run.returncode, run.stderr) == (0, REFUSED), run.stdout
    outputs = run.stdout.split(f"{END_OF_STEP}\n")[:-1]
    assert len(outputs) == len(wanted) > 8
    for (lines, kind, shown), said in zip(wanted, outputs, strict=True):
        last = said.strip().splitlines()[-1:]
        if kind == "json":
            assert fits(json.loads(shown), json.loads(last[0])), f"{lines}\n{said}"
        elif kind == "text":
            assert last == [shown.strip()], f"{lines}\n{said}"

    (program,) = CLIENT.findall(PAGE.read_text())
    environment["PYTHONPATH"] = str(PAGE.parent.parent / "clients" / "python")
    asked = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.startswith("> Where is my order 1003?\n") and asked.stdout.endswith("\ncompleted\n")
    assert "Order: 1003" in asked.stdout


def test_the_lines_for_clients_of_google_adk_get_an_answer(
    proxy: BlockingProxy, key: str, tmp_path: Path
) -> None:
    (lines,) = ADK_LINES.findall((PAGE.parent / "adk-server.md").read_text())
    failing = 'curl() { command curl --silent --show-error --fail-with-body "$@"; echo; }\n'
    environment = {**os.environ, "ADK": f"{proxy.base_url}/adk", "KEY": key, "no_proxy": "*"}
    command = ["bash", "-euc", failing + lines]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, ""), run.stdout
    apps, session, *stream = run.stdout.strip().splitlines()
    assert "help_desk" in json.loads(apps)
    assert json.loads(session)["state"] == {"user:name": "Ada"}
    events = [json.loads(line.removeprefix("data: ")) for line in stream if line.startswith("data: ")]
    assert any(event.get("partial") for event in events)
    assert events[-1]["author"] == "help_desk" and "partial" not in events[-1]
