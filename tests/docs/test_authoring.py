"""Contract: the explanation of an agent that the page on writing agents shows is the one that the command prints."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from adk_site.embedded.paths import CHECKOUT
from runtime.apps import App
from sessions_app.management.explanation import explain

PAGE = (CHECKOUT / "docs" / "authoring.md").read_text()
AGENTS_PY = re.compile(r"^```python\n(# shop/agents\.py\n.*?)^```$", re.MULTILINE | re.DOTALL)
EXPLANATION = re.compile(r"^```text\n(  tool  .*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_tool_of_the_page_is_explained_as_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,), (explanation,) = AGENTS_PY.findall(PAGE), EXPLANATION.findall(PAGE)
    file = tmp_path / "shop" / "agents.py"
    file.parent.mkdir()
    file.write_text(source)
    spec = spec_from_file_location("shop_of_the_page", file)
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.chdir(tmp_path)
    assert explanation in "\n".join([*explain(App(name="shop", root_agent=module.root_agent)), ""])
