"""Global, static and dynamic instructions, and their places in the request (contract A2, A3)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from runtime import types
from runtime.agents import LlmAgent
from runtime.agents.readonly_context import ReadonlyContext
from runtime.tools import load_artifacts
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, requests_to

PLAN = types.Part(inline_data=types.Blob(data=b"%PDF", mime_type="application/pdf"))


def clerk(*turns: object, **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns) or ["Hello."]), **fields)


async def latest_request(agent: LlmAgent, *messages: str, state: dict[str, Any] | None = None) -> Any:
    """Send the messages and return the latest request."""
    conversation = Conversation(agent, state=state)
    for message in messages or ("Hi",):
        await conversation.say(message)
    return requests_to(agent)[-1]


def texts(request: Any) -> list[str]:
    return ["+".join(part.text or "(file)" for part in content.parts) for content in request.contents]


async def test_a3_a_static_instruction_is_sent_unrendered_and_the_dynamic_one_before_the_last_message() -> (
    None
):
    agent = clerk("One.", "Two.", static_instruction="Rules {as} written.", instruction="Color: {color}.")
    request = await latest_request(agent, "first", "second", state={"color": "red"})
    assert request.config.system_instruction.startswith("Rules {as} written.")
    assert "Color" not in request.config.system_instruction
    assert texts(request) == ["first", "One.", "Color: red.", "second"]
    assert request.contents[2].role == "user"


async def test_a3_the_dynamic_instruction_is_in_no_event_of_the_session() -> None:
    agent = clerk(static_instruction="Rules.", instruction="Today is Monday.")
    conversation = Conversation(agent)
    await conversation.say("Hi")
    said = [event.text() for event in (await conversation.session()).events]
    assert said == ["Hi", "Hello."]


async def test_a3_after_a_tool_call_the_dynamic_instruction_follows_the_responses() -> None:
    def lookup(word: str) -> str:
        """Look a word up."""
        return word

    agent = clerk(call("lookup", word="x"), "Done.", static_instruction="Rules.", instruction="Be brief.")
    agent.tools = [lookup]
    request = await latest_request(agent)
    assert [content.role for content in request.contents] == ["user", "model", "user", "user"]
    assert request.contents[2].parts[0].function_response.name == "lookup"
    assert request.contents[3].parts[0].text == "Be brief."


async def test_t9_a_dynamic_instruction_does_not_hide_the_files_the_model_asked_for() -> None:
    agent = clerk(
        call("load_artifacts", artifact_names=["a.txt"]),
        "Done.",
        static_instruction="Rules.",
        instruction="Be brief.",
        tools=[load_artifacts],
    )
    conversation = Conversation(agent)
    await conversation.save_file("a.txt", "the text")
    await conversation.say("Read it")
    assert texts(requests_to(agent)[-1])[-2:] == ["Be brief.", "The file 'a.txt':+the text"]


@pytest.mark.parametrize(
    ("static", "system", "contents"),
    [
        ("Rules.", "Rules.", ["Hi"]),
        (types.Part(text="Rules."), "Rules.", ["Hi"]),
        (["Rules.", types.Part(text="More.")], "Rules.\n\nMore.", ["Hi"]),
        (types.Content(role="user", parts=[types.Part(text="Rules."), PLAN]), "Rules.", ["(file)", "Hi"]),
        (types.File(uri="https://example.org/f", mime_type="text/plain"), "You are", ["(file)", "Hi"]),
    ],
)
async def test_a2_a_static_instruction_takes_any_content_and_shows_its_files_beside_it(
    static: Any, system: str, contents: list[str]
) -> None:
    request = await latest_request(clerk(static_instruction=static))
    assert request.config.system_instruction.startswith(system)
    assert texts(request) == contents


def test_a2_an_object_that_cannot_be_sent_is_refused_at_construction() -> None:
    with pytest.raises(ValidationError):
        clerk(static_instruction=3)


async def test_a3_the_roots_global_instruction_comes_first_for_every_agent() -> None:
    child = clerk(instruction="Own.", global_instruction="Ignored.")
    LlmAgent(name="root", global_instruction="Shop: {shop}.", sub_agents=[child])
    request = await latest_request(child, state={"shop": "Tea & Co"})
    assert request.config.system_instruction.startswith("Shop: Tea & Co.\n\nOwn.")
    assert "Ignored" not in request.config.system_instruction


async def test_a3_providers_may_be_sync_or_async_and_their_text_is_not_rendered() -> None:
    def overall(context: ReadonlyContext) -> str:
        return f"{{shop}} of {context.user_id}"

    async def own(context: ReadonlyContext) -> str:
        return f"{context.state['color']} {{braces}}"

    request = await latest_request(clerk(global_instruction=overall, instruction=own), state={"color": "red"})
    assert request.config.system_instruction.startswith("{shop} of ada\n\nred {braces}")


async def test_a3_an_artifact_can_be_named_in_a_template() -> None:
    agent = clerk(instruction="Follow: {artifact.rules.txt} {artifact.none?}")
    conversation = Conversation(agent)
    await conversation.save_file("rules.txt", "be kind")
    await conversation.say("Hi")
    assert str(requests_to(agent)[0].config.system_instruction).startswith("Follow: be kind")


async def test_a3_a_missing_artifact_and_a_missing_key_are_named() -> None:
    with pytest.raises(KeyError, match=r"rules\.txt"):
        await latest_request(clerk(instruction="{artifact.rules.txt}"))
    with pytest.raises(KeyError, match="shop"):
        await latest_request(clerk(global_instruction="{shop}"))
