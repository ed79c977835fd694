"""Credentials: a call runs when the person gave the credential, and the secret is stored nowhere (contract T8)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.auth import AuthConfig, AuthCredential, AuthCredentialTypes, OAuth2Auth
from runtime.auth.auth_schemes import APIKey, ApiKeyLocation, OAuth2, OAuthFlow, OAuthFlows
from runtime.engine.human_input.answers import NoAnswers, Rerun, decide_answers
from runtime.errors import InvalidAnswerError, InvalidMessageError
from runtime.plugins import BasePlugin
from runtime.tools import ToolContext
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.confirmation.chat import Chat, answers, requests, response, texts

SECRET = "s3cr3t-key"
CLIENT_SECRET = "cl13nt-s3cr3t"
KEY = AuthConfig(auth_scheme=APIKey(in_=ApiKeyLocation.HEADER, name="X-Key"))
GIVEN = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=SECRET)
OAUTH = AuthConfig(
    auth_scheme=OAuth2(flows=OAuthFlows(authorization_code=OAuthFlow(authorization_url="https://auth"))),
    raw_auth_credential=AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2,
        oauth2=OAuth2Auth(client_id="me", client_secret=CLIENT_SECRET),
    ),
)


class Weather:
    """Tool that needs an API key and records the keys it was called with."""

    def __init__(self, config: AuthConfig = KEY) -> None:
        self.config = config
        self.keys: list[str | None] = []

    def ask(self, city: str, tool_context: ToolContext) -> dict[str, Any] | None:
        """The weather."""
        credential = tool_context.get_auth_response(self.config)
        if credential is None:
            tool_context.request_credential(self.config)
            return None
        self.keys.append(credential.api_key)
        return {"weather": f"sunny in {city}"}


async def chat_about(weather: Weather, *turns: Any) -> tuple[Chat, ScriptedModel]:
    model = ScriptedModel(turns=[call("ask", "c1", city="Bern"), *turns])
    return await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=[weather.ask])), model


def answer_to(asked: types.FunctionCall, credential: AuthCredential | None) -> types.Part:
    """Return the requested config with the credential filled in, as a client sends it."""
    config = AuthConfig.model_validate((asked.args or {})["authConfig"])
    filled = config.model_copy(update={"exchanged_auth_credential": credential})
    given = filled.model_dump(mode="json", by_alias=True, exclude_none=True)
    return response("adk_request_credential", asked.id, given)


async def test_t8_the_person_is_asked_and_the_invocation_pauses() -> None:
    chat, _ = await chat_about(Weather())
    events = await chat.send("weather?")
    assert len(events) == 3
    [(call_id, pending)] = answers(events)
    assert call_id == "c1" and pending is not None and pending["status"] == "pending"
    [asked] = requests(events[2:], "adk_request_credential")
    assert asked.args is not None and asked.args["functionCallId"] == "c1"
    assert AuthConfig.model_validate(asked.args["authConfig"]) == KEY
    assert events[2].long_running_tool_ids == {asked.id}


async def test_t8_the_call_is_rerun_with_the_credential_which_is_neither_stored_nor_sent() -> None:
    weather = Weather()
    chat, model = await chat_about(weather, "Sunny.", "Still sunny.")
    [asked] = requests(await chat.send("weather?"), "adk_request_credential")
    events = await chat.send(answer_to(asked, GIVEN))
    assert answers(events) == [("c1", {"weather": "sunny in Bern"})]
    assert texts(events) == ["Sunny."]
    assert weather.keys == [SECRET]
    await chat.send("and now?")
    assert SECRET not in await chat.log_text()
    for request in model.requests:
        sent = "".join(content.model_dump_json() for content in request.contents)
        assert SECRET not in sent and SECRET not in str(request.config)
        assert "adk_request" not in sent


async def test_t8_the_stored_answer_only_records_that_a_credential_was_given() -> None:
    chat, _ = await chat_about(Weather(), "Sunny.")
    [asked] = requests(await chat.send("weather?"), "adk_request_credential")
    await chat.send(answer_to(asked, GIVEN))
    kept = [r.response for event in (await chat.stored()).events for r in event.get_function_responses()]
    assert kept[1] == {"credentialKey": KEY.credential_key, "given": True}


@pytest.mark.parametrize("wrap", [lambda given: given, lambda given: {"response": json.dumps(given)}])
async def test_t8_the_credential_may_be_sent_alone_or_as_one_json_text(wrap: Any) -> None:
    weather = Weather()
    chat, _ = await chat_about(weather, "Sunny.")
    [asked] = requests(await chat.send("weather?"), "adk_request_credential")
    given = GIVEN.model_dump(mode="json", by_alias=True, exclude_none=True)
    await chat.send(response("adk_request_credential", asked.id, wrap(given)))
    assert weather.keys == [SECRET]


async def test_t8_without_a_credential_the_tool_asks_again() -> None:
    weather = Weather()
    chat, _ = await chat_about(weather, "Sunny.")
    [first] = requests(await chat.send("weather?"), "adk_request_credential")
    [second] = requests(await chat.send(answer_to(first, None)), "adk_request_credential")
    assert second.id != first.id
    assert await chat.send(answer_to(first, GIVEN)) == []
    await chat.send(answer_to(second, GIVEN))
    assert weather.keys == [SECRET]


async def test_t8_a_second_answer_runs_nothing() -> None:
    weather = Weather()
    chat, _ = await chat_about(weather, "Sunny.")
    [asked] = requests(await chat.send("weather?"), "adk_request_credential")
    await chat.send(answer_to(asked, GIVEN))
    assert await chat.send(answer_to(asked, GIVEN)) == []
    assert weather.keys == [SECRET]


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"functionCallId": "c1", "authConfig": KEY.model_dump(mode="json", by_alias=True, exclude_none=True)},
    ],
)
async def test_t8_an_answer_to_a_request_that_the_model_has_made_gives_nothing(args: dict[str, Any]) -> None:
    weather = Weather()
    turns = [call("adk_request_credential", "f1", **args), "I wait.", call("ask", "c1", city="Bern")]
    model = ScriptedModel(turns=turns)
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=[weather.ask]))
    await chat.send("weather?")
    given = GIVEN.model_dump(mode="json", by_alias=True, exclude_none=True)
    events = await chat.send(response("adk_request_credential", "f1", given), "Here it is.")
    assert len(requests(events, "adk_request_credential")) == 1 and weather.keys == []
    assert SECRET not in await chat.log_text()


@pytest.mark.parametrize("given", [{"apiKey": SECRET}, {"response": f'["{SECRET}", {"[" * 50_000}'}])
async def test_t8_an_answer_that_cannot_be_read_is_refused_without_being_quoted_or_stored(
    given: dict[str, str],
) -> None:
    chat, _ = await chat_about(Weather(), "Sunny.")
    [asked] = requests(await chat.send("weather?"), "adk_request_credential")
    with pytest.raises(InvalidAnswerError, match="exchangedAuthCredential") as caught:
        await chat.send(response("adk_request_credential", asked.id, given))
    assert SECRET not in str(caught.value) and caught.value.__suppress_context__
    assert SECRET not in await chat.log_text()


async def test_t8_an_answer_without_a_request_is_refused_without_its_secret() -> None:
    weather = Weather()
    chat, _ = await chat_about(weather)
    given = GIVEN.model_dump(mode="json", by_alias=True, exclude_none=True)
    with pytest.raises(InvalidMessageError, match="'made-up'") as refusal:
        await chat.send(response("adk_request_credential", "made-up", given))
    assert SECRET not in str(refusal.value)
    assert SECRET not in await chat.log_text()


async def test_t8_the_request_does_not_contain_the_tool_authors_secrets() -> None:
    chat, _ = await chat_about(Weather(OAUTH))
    [asked] = requests(await chat.send("weather?"), "adk_request_credential")
    assert asked.args is not None
    raw = asked.args["authConfig"]["rawAuthCredential"]
    assert raw == {"authType": "oauth2", "oauth2": {"clientId": "me"}}
    assert asked.args["authConfig"]["credentialKey"] == OAUTH.credential_key
    assert CLIENT_SECRET not in await chat.log_text()


async def test_t8_plugins_see_the_message_without_the_secret() -> None:
    class RecordingPlugin(BasePlugin):
        seen: list[str] = []

        async def on_user_message_callback(
            self, *, invocation_context: Any, user_message: types.Content
        ) -> None:
            self.seen.append(user_message.model_dump_json())
            self.seen.append(repr(invocation_context))

    chat, _ = await chat_about(Weather(), "Sunny.")
    chat.runner.plugin_manager.plugins.append(RecordingPlugin(name="witness"))
    [asked] = requests(await chat.send("weather?"), "adk_request_credential")
    await chat.send(answer_to(asked, GIVEN))
    assert len(RecordingPlugin.seen) == 4
    assert not any(SECRET in seen for seen in RecordingPlugin.seen)


async def test_t7_t8_a_confirmed_call_stays_confirmed_when_it_then_needs_a_credential() -> None:
    weather = Weather()

    def ask(city: str, tool_context: ToolContext) -> dict[str, Any] | None:
        """The weather."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Really?")
            return None
        return weather.ask(city, tool_context)

    model = ScriptedModel(turns=[call("ask", "c1", city="Bern"), "Sunny."])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=[ask]))
    [confirmation] = requests(await chat.send("weather?"))
    [credential] = requests(await chat.confirm(confirmation), "adk_request_credential")
    assert texts(await chat.send(answer_to(credential, GIVEN))) == ["Sunny."]
    assert weather.keys == [SECRET]


async def test_t8_an_answer_whose_invocation_was_interrupted_still_runs_the_call() -> None:
    """The events show that the person answered and the call did not run (contract R1)."""
    weather = Weather()
    chat, _ = await chat_about(weather, "Sunny.")
    [asked] = requests(await chat.send("weather?"), "adk_request_credential")
    run = chat.runner.run_async(
        user_id="ada",
        session_id=chat.session.id,
        new_message=types.Content(role="user", parts=[answer_to(asked, GIVEN)]),
        invocation_id="e-cut-off",
    )
    await anext(run)
    await run.aclose()
    events = (await chat.stored()).events
    answered = next(i for i, event in enumerate(events) if event.invocation_id == "e-cut-off") + 1
    decision = decide_answers(events[:answered], "e-cut-off", ("clerk", ""))
    assert isinstance(decision, Rerun)
    assert [call.id for call in decision.calls] == ["c1"]
    assert decide_answers(events, "e-cut-off", ("clerk", "")) == NoAnswers()
