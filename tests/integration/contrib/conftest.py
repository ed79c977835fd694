"""Model and tools of the agent `desk`, which the sites of the protocols serve."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import ScriptedModel


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def tools() -> list[Any]:
    return []
