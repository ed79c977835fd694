"""A shop whose model answers by the message, and a broker that records the cases which are sent."""

from __future__ import annotations

import pytest

from runtime.agents import LlmAgent
from runtime.models import LlmRequest
from runtime.testing.scripted_model import Turn
from sessions_app.contrib.evaluation import start
from tests.fakes import ScriptedModel, call
from tests.integration.contrib.evaluation.workers import APP
from tests.served_agents import Served


def price() -> dict[str, int]:
    """Price of the lamp."""
    return {"price": 20}


def answer(request: LlmRequest) -> Turn:
    """Call the tool for a price, then say it; echo other messages; raise for «fail»."""
    part = (request.contents[-1].parts or [])[0]
    if part.function_response:
        return "It costs 20 EUR"
    text = part.text or ""
    if "fail" in text:
        raise OSError("password=secret")
    return call("price") if "price" in text else text


@pytest.fixture
def model(served: Served, background_end: None) -> ScriptedModel:
    model = ScriptedModel(rule=answer)
    served(LlmAgent(name=APP, model=model, tools=[price]))
    return model


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch, model: ScriptedModel) -> list[int]:
    """The cases that were sent to the broker; the test runs their tasks."""
    found: list[int] = []
    monkeypatch.setattr(start, "send_case", found.append)
    return found
