"""Contract A7, C2, Q13: a hook's changes to a request do not affect the session's events or later requests."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.models import LlmRequest
from runtime.plugins import BasePlugin
from tests.fakes import ScriptedModel, call, parts_of, requests_of, response_of
from tests.unit.runtime.conversation import Conversation


def weigh(what: dict[str, str]) -> dict[str, str]:
    """Weigh."""
    return {"kg": what["thing"]}


def edit(llm_request: LlmRequest, **_: Any) -> None:
    """Append a mark to every text, and to the values in calls and responses."""
    for content in llm_request.contents:
        for part in content.parts or []:
            if part.text:
                part.text += "!"
            if part.function_call and part.function_call.args:
                part.function_call.args["what"]["thing"] += "!"
            if part.function_response and part.function_response.response:
                part.function_response.response["kg"] += "!"


class EditingPlugin(BasePlugin):
    async def before_model_callback(self, **kwargs: Any) -> None:
        edit(**kwargs)


class ReadingPlugin(BasePlugin):
    """A plugin without `before_model_callback`."""

    async def after_model_callback(self, **_: Any) -> None:
        pass


def described(request: LlmRequest) -> list[str]:
    return [describe(part) for content in request.contents for part in content.parts or []]


def describe(part: types.Part) -> str:
    if part.function_call and part.function_call.args:
        return f"weigh {part.function_call.args['what']['thing']}"
    if part.function_response:
        return f"kg {response_of(part)['kg']}"
    return part.text or ""


def scale(**fields: Any) -> LlmAgent:
    """Return an agent that weighs once in its first turn and twice in the second."""
    first, *more = [call("weigh", what={"thing": thing}) for thing in ("tea", "jam", "rum")]
    model = ScriptedModel(turns=[first, "two kilos", *more, "done"])
    return LlmAgent(name="scale", model=model, tools=[weigh], **fields)


async def talk(conversation: Conversation) -> None:
    for message in ("tea?", "and these?"):
        await conversation.say(message)


@pytest.mark.parametrize("by", ["agent", "plugin"])
async def test_edits_do_not_accumulate_over_requests(by: str) -> None:
    agent = scale(before_model_callback=edit) if by == "agent" else scale()
    conversation = Conversation(agent, plugins=[EditingPlugin("editor")] if by == "plugin" else [])
    await talk(conversation)
    first = ["tea?!", "weigh tea!", "kg tea!"]
    assert described(requests_of(agent)[1]) == first
    second = ["two kilos!", "and these?!", "weigh jam!", "kg jam!", "weigh rum!", "kg rum!"]
    assert described(requests_of(agent)[-1]) == [*first, *second]


async def test_edits_do_not_change_the_sessions_events() -> None:
    """Neither those that callbacks read during the invocation nor the stored ones."""
    seen: list[types.Part] = []

    def read(callback_context: Any) -> None:
        seen.extend(part for event in callback_context.session.events for part in parts_of(event.content))

    conversation = Conversation(scale(before_model_callback=edit, after_agent_callback=read))
    await talk(conversation)
    seen += [part for event in (await conversation.session()).events for part in parts_of(event.content)]
    assert "kg tea" in map(describe, seen)
    assert "!" not in "".join(map(describe, seen))


async def test_edits_do_not_change_a_static_instruction_that_is_sent_in_the_contents() -> None:
    """Contract Q13."""
    blob = types.Blob(data=b"a", mime_type="image/png")
    picture = types.Part(inline_data=blob)

    def blacken(llm_request: LlmRequest, **_: Any) -> None:
        for content in llm_request.contents:
            for part in content.parts or []:
                if part.inline_data:
                    part.inline_data.data = (part.inline_data.data or b"") + b"!"

    agent = scale(
        static_instruction=types.Content(parts=[types.Part(text="Be exact."), picture]),
        before_model_callback=blacken,
    )
    await talk(Conversation(agent))
    sent = [part for content in requests_of(agent)[-1].contents for part in content.parts or []]
    assert [part.inline_data.data for part in sent if part.inline_data] == [b"a!"]
    assert picture == types.Part(inline_data=types.Blob(data=b"a", mime_type="image/png"))


async def test_without_such_a_hook_contents_are_not_copied() -> None:
    """Copying would cost time on every request of a long session."""
    agent = scale()
    await talk(Conversation(agent, plugins=[ReadingPlugin("reader")]))
    before, last = (request.contents for request in requests_of(agent)[-2:])
    assert before[0] is last[0]
