"""Contract: the events of an invocation give its model calls and its token use."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.agents import BaseAgent, LlmAgent, SequentialAgent
from runtime.events import Event
from runtime.events.calls import REQUEST_CONFIRMATION
from sessions_app.conf import Conf
from sessions_app.errors import LimitExceededError
from sessions_app.invocations.usage import InvocationUsage, model_calls
from tests.fakes import ScriptedModel, call, say, text_content

CLERK = LlmAgent(name="clerk", model=ScriptedModel())
ROOT = SequentialAgent(name="root", sub_agents=[CLERK, BaseAgent(name="printer")])


def clerk_event(*parts: types.Part, role: str = "model") -> Event:
    return Event(author="clerk", content=types.Content(role=role, parts=list(parts)))


def answer(name: str) -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id="c1", name=name, response={"result": 1}))


def test_every_response_of_a_model_counts_be_it_text_calls_or_an_error() -> None:
    text, called = (
        clerk_event(types.Part(text="Hello.")),
        clerk_event(types.Part(text="So:"), call("count", "c1")),
    )
    assert model_calls(ROOT, [text, called, Event(author="clerk", error_code="OTHER")]) == 3


def test_events_without_a_model_call_do_not_count() -> None:
    events = [
        Event(author="user", content=say("hello")),
        clerk_event(answer("count"), role="user"),
        clerk_event(call(REQUEST_CONFIRMATION, "c2")),
        Event(author="printer", content=text_content("It is printed.")),
        Event(author="clerk"),
        Event(author="root"),
    ]
    assert model_calls(ROOT, events) == 0


def test_a_response_may_exceed_a_limit_if_no_model_call_follows() -> None:
    tokens = types.GenerateContentResponseUsageMetadata(total_token_count=60)
    draft = Event(author="clerk", content=text_content("A draft."), usage_metadata=tokens)
    usage = InvocationUsage(Conf(invocation_tokens=100))
    usage.add(draft)
    usage.add(draft)
    usage.add(Event(author="root"))
    with pytest.raises(LimitExceededError, match="more than 100 tokens"):
        usage.add(draft)
