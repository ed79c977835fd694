"""Agents that a test has the site serve instead of its own, and their models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app.agent_apps import registry
from tests.fakes import ScriptedModel


def serve(
    monkeypatch: pytest.MonkeyPatch, app_name: str, model: ScriptedModel, tools: Sequence[Any] = ()
) -> ScriptedModel:
    """Serve one app, whose agent has its name, this model and these tools; return the model."""
    app = App(name=app_name, root_agent=LlmAgent(name=app_name, model=model, tools=list(tools)))
    monkeypatch.setattr(registry, "apps", lambda: {app_name: app})
    return model


async def wait_for_requests(model: ScriptedModel, times: int) -> None:
    """Wait until the model was asked so many times."""
    while len(model.requests) < times:
        await asyncio.sleep(0.01)
