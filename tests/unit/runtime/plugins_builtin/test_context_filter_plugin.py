"""ContextFilterPlugin: the model gets the latest invocations, without unpaired calls (contract A7, C4)."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.errors import ConfigurationError
from runtime.events.quotation import HEADING, quote
from runtime.plugins import ContextFilterPlugin
from runtime.plugins.context_filter_plugin import invocation_starts, without_unpaired_calls
from tests.fakes import ScriptedModel, call, say, text_content
from tests.unit.runtime.conversation import Conversation


def lookup(word: str) -> str:
    """Look a word up."""
    return word


def calls(*names: str) -> types.Content:
    return types.Content(role="model", parts=[call(name) for name in names])


def responses(*names: str) -> types.Content:
    parts = [
        types.Part(function_response=types.FunctionResponse(name=name, response={"result": 1}))
        for name in names
    ]
    return types.Content(role="user", parts=parts)


def text_of_agent(agent: str, text: str) -> types.Content:
    return types.Content(
        role="user", parts=[types.Part(text=HEADING), types.Part(text=quote(f"[{agent}] said", text))]
    )


def outlines(contents: list[types.Content]) -> list[str]:
    return [_outline(content) for content in contents]


def _outline(content: types.Content) -> str:
    words = []
    for part in content.parts or []:
        if part.function_call:
            words.append(f"{part.function_call.name}()")
        elif part.function_response:
            words.append(f"={part.function_response.name}")
        else:
            words.append(part.text or "")
    return " ".join(words)


def talk(plugin: ContextFilterPlugin, *turns: object) -> tuple[Conversation, ScriptedModel]:
    model = ScriptedModel(turns=list(turns))
    return Conversation(LlmAgent(name="clerk", model=model, tools=[lookup]), plugins=[plugin]), model


async def test_only_the_latest_invocations_are_sent_with_all_their_calls() -> None:
    plugin = ContextFilterPlugin(num_invocations_to_keep=2)
    conversation, model = talk(
        plugin, "One.", call("lookup", word="x"), "Two.", call("lookup", word="y"), "Three."
    )
    for message in ("first", "second", "third"):
        await conversation.say(message)
    turn = ["second", "lookup()", "=lookup", "Two.", "third"]
    assert outlines(model.requests[3].contents) == turn
    assert outlines(model.requests[4].contents) == [*turn, "lookup()", "=lookup"]


async def test_all_invocations_are_sent_when_there_are_fewer_than_the_limit() -> None:
    conversation, model = talk(ContextFilterPlugin(num_invocations_to_keep=5), "One.", "Two.")
    await conversation.say("first")
    await conversation.say("second")
    assert outlines(model.requests[1].contents) == ["first", "One.", "second"]


async def test_the_sessions_events_and_later_requests_are_not_changed() -> None:
    def last_only(contents: list[types.Content]) -> list[types.Content]:
        del contents[:-1]
        return contents

    plugin = ContextFilterPlugin(custom_filter=last_only)
    conversation, model = talk(plugin, "One.", "Two.", "Three.")
    await conversation.say("first")
    await conversation.say("second")
    assert outlines(model.requests[1].contents) == ["second"]
    assert len((await conversation.session()).events) == 4
    plugin.custom_filter = None
    await conversation.say("third")
    assert outlines(model.requests[2].contents) == ["first", "One.", "second", "Two.", "third"]


async def test_a_filter_that_cuts_between_call_and_response_drops_both() -> None:
    plugin = ContextFilterPlugin(custom_filter=lambda contents: contents[-3:])
    conversation, model = talk(plugin, call("lookup", word="x"), "One.", "Two.")
    await conversation.say("first")
    await conversation.say("second")
    assert outlines(model.requests[2].contents) == ["One.", "second"]


def test_texts_of_other_agents_and_files_shown_by_tools_start_no_invocation() -> None:
    contents = [
        say("first"),
        text_content("draft"),
        text_of_agent("critic", "no"),
        text_content("better"),
        calls("load"),
        responses("load"),
        say("The file:"),
        text_content("done"),
        text_of_agent("closer", "bye"),
        say("second"),
    ]
    assert invocation_starts(contents) == [0, 8]


@pytest.mark.parametrize(
    ("contents", "kept"),
    [
        ([calls("a", "b"), responses("a", "b")], ["a() b()", "=a =b"]),
        ([calls("a")], []),
        ([responses("a"), say("hi")], ["hi"]),
        ([calls("a"), say("hi"), responses("a")], ["hi"]),
        ([calls("a"), responses("b")], []),
        (
            [types.Content(role="model", parts=[types.Part(text="I look."), call("a")]), say("hi")],
            ["I look.", "hi"],
        ),
    ],
)
def test_unpaired_calls_and_responses_are_left_out(contents: list[types.Content], kept: list[str]) -> None:
    before = [content.model_copy(deep=True) for content in contents]
    assert outlines(without_unpaired_calls(contents)) == kept
    assert contents == before


def test_keeping_no_invocation_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="0 invocations"):
        ContextFilterPlugin(num_invocations_to_keep=0)
