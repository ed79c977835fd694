"""The agent of the test of lost answers: it says hello."""

from __future__ import annotations

from runtime.agents import LlmAgent
from runtime.apps import App
from tests.fakes import ScriptedModel

app = App(name="echo", root_agent=LlmAgent(name="echo", model=ScriptedModel(rule=lambda request: "Hello.")))
