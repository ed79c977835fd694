"""Contract A7, C2, Q13: what a hook edits in a request is of that request: history and later requests stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.models import LlmRequest
from runtime.plugins import BasePlugin
from tests.fakes import ScriptedModel, call, requests_of
from tests.unit.runtime.conversation import Conversation


def weigh(what: dict[str, str]) -> dict[str, str]:
    """Weigh."""
    return {"kg": what["thing"]}


def edit(llm_request: LlmRequest, **_: Any) -> None:
    """Marks every text, and takes out what calls and their responses hold."""
    for content in llm_request.contents:
        for part in content.parts or []:
            if part.text:
                part.text += "!"
            if part.function_call:
                part.function_call.args["what"]["thing"] += "!"
            if part.function_response:
                part.function_response.response["kg"] += "!"


class Editor(BasePlugin):
    async def before_model_callback(self, **given: Any) -> None:
        edit(**given)


class Onlooker(BasePlugin):
    """Has other hooks only."""

    async def after_model_callback(self, **_: Any) -> None:
        pass


def told(request: LlmRequest) -> list[str]:
    return [_told(part) for content in request.contents for part in content.parts or []]


def _told(part: types.Part) -> str:
    if part.function_call:
        return f"weigh {part.function_call.args['what']['thing']}"
    if part.function_response:
        return f"kg {part.function_response.response['kg']}"
    return part.text or ""


def scale(**fields: Any) -> LlmAgent:
    """Weighs once in a first turn, twice in a second one."""
    first, *more = [call("weigh", what={"thing": thing}) for thing in ("tea", "jam", "rum")]
    model = ScriptedModel(turns=[first, "two kilos", *more, "done"])
    return LlmAgent(name="scale", model=model, tools=[weigh], **fields)


async def talk(conversation: Conversation) -> None:
    for message in ("tea?", "and these?"):
        await conversation.say(message)


@pytest.mark.parametrize("by", ["agent", "plugin"])
async def test_edits_do_not_add_up_from_request_to_request(by: str) -> None:
    agent = scale(before_model_callback=edit) if by == "agent" else scale()
    conversation = Conversation(agent, plugins=[Editor("editor")] if by == "plugin" else [])
    await talk(conversation)
    first = ["tea?!", "weigh tea!", "kg tea!"]
    assert told(requests_of(agent)[1]) == first
    second = ["two kilos!", "and these?!", "weigh jam!", "kg jam!", "weigh rum!", "kg rum!"]
    assert told(requests_of(agent)[-1]) == [*first, *second]


async def test_edits_leave_the_history_as_it_is() -> None:
    """What the agents of the invocation read of it, and what is stored."""
    seen: list[types.Part] = []

    def read(callback_context: Any) -> None:
        seen.extend(part for event in callback_context.session.events for part in event.content.parts)

    conversation = Conversation(scale(before_model_callback=edit, after_agent_callback=read))
    await talk(conversation)
    seen += [part for event in (await conversation.session()).events for part in event.content.parts]
    assert "kg tea" in map(_told, seen)
    assert "!" not in "".join(map(_told, seen))


async def test_a_static_instruction_that_goes_to_the_contents_stays_too() -> None:
    """Contract Q13: its parts are the agent's own."""
    picture = types.Part(inline_data=types.Blob(data=b"a", mime_type="image/png"))

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
    assert picture.inline_data.data == b"a"


async def test_without_such_a_hook_nothing_is_copied() -> None:
    """design.md: what is sent is built without copying what did not change."""
    agent = scale()
    await talk(Conversation(agent, plugins=[Onlooker("onlooker")]))
    before, last = (request.contents for request in requests_of(agent)[-2:])
    assert before[0] is last[0]
