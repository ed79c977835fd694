"""RemoteA2aAgent against the reference server of the A2A SDK (contract A10)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from a2a.types import Part, TaskState
from google.protobuf.json_format import MessageToJson

from runtime import types
from runtime.agents import LlmAgent, SequentialAgent
from runtime.agents.remote_a2a_agent import RemoteA2aAgent
from runtime.apps import App, ResumabilityConfig
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes
from runtime.errors import ConfigurationError
from runtime.events.calls import REMOTE_AUTH, REMOTE_INPUT
from runtime.runners import InMemoryRunner
from tests.a2a_server import Turn, card_of, remote_agent, text_of
from tests.fakes import ScriptedModel, parts_of, pending_calls, say
from tests.unit.runtime.conversation import Conversation, answer_to


def oracle(card: object, **fields: object) -> RemoteA2aAgent:
    return RemoteA2aAgent("oracle", card, **{"timeout": 20.0, **fields})  # type: ignore[arg-type]


async def in_pieces(turn: Turn) -> None:
    await turn.begin()
    await turn.updater.start_work(turn.words("thinking"))
    await turn.updater.add_artifact([Part(text="Good ")], artifact_id="1", append=False, last_chunk=False)
    await turn.updater.add_artifact([Part(text="day")], artifact_id="1", append=True, last_chunk=True)
    await turn.updater.complete()


async def greet(turn: Turn) -> None:
    await turn.queue.enqueue_event(turn.words(f"You said {text_of(turn.message)}"))


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "not streaming"])
async def test_the_answer_is_one_event_whose_text_was_streamed(streaming: bool) -> None:
    async with remote_agent(in_pieces, streaming=streaming) as remote:
        events = await Conversation(oracle(remote.card)).say("hello")
    *partial, last = events
    assert (last.text(), last.author, last.partial) == ("Good day", "oracle", None)
    assert last.custom_metadata and last.custom_metadata["a2a:context_id"]
    assert {event.partial for event in partial} <= {True}
    assert [event.text() for event in partial if event.text()] == (["Good ", "day"] if streaming else [])
    assert {event.id for event in partial} <= {last.id}


async def test_a_whole_artifact_after_its_pieces_is_not_streamed_again() -> None:
    async def twice(turn: Turn) -> None:
        await turn.begin()
        for text, append in (("Good ", False), ("day", True), ("Good day.", False)):
            await turn.updater.add_artifact([Part(text=text)], artifact_id="1", append=append)
        await turn.updater.complete()

    async with remote_agent(twice) as remote:
        *partial, last = await Conversation(oracle(remote.card)).say("hello")
    assert [event.text() for event in partial] == ["Good ", "day"]
    assert last.text() == "Good day."


async def test_the_progress_of_a_task_is_shown_as_a_thought() -> None:
    async with remote_agent(in_pieces) as remote:
        events = await Conversation(oracle(remote.card)).say("hello")
    [thought] = [part for event in events for part in parts_of(event.content) if part.thought]
    assert thought.text == "thinking"


async def test_the_card_may_be_a_url_or_a_file(tmp_path: Path) -> None:
    async with remote_agent(greet) as remote:
        path = tmp_path / "card.json"
        path.write_text(MessageToJson(remote.card))
        for card in (remote.card_url, str(path)):
            [event] = await Conversation(oracle(card)).say("hi")
            assert event.text() == "You said hi"


def test_a_card_gives_the_agent_its_description() -> None:
    card = card_of("https://agents.example.org/")
    assert oracle(card).description == "Answers questions."
    assert oracle(card, description="Mine.").description == "Mine."
    assert oracle(card).clone().description == "Answers questions."


async def test_the_next_turn_goes_on_in_the_same_remote_context_and_sends_only_what_is_new() -> None:
    async with remote_agent(in_pieces) as remote:
        conversation = Conversation(oracle(remote.card))
        await conversation.say("first")
        await conversation.say("second")
    first, second = remote.messages
    assert [text_of(first), text_of(second)] == ["first", "second"]
    assert first.context_id == second.context_id != ""
    assert first.message_id != second.message_id


@pytest.mark.parametrize(
    ("full", "sent"),
    [(True, ["a", "aYou said ab"]), (False, ["a", "b"])],
    ids=["full history", "what is new"],
)
async def test_an_agent_that_keeps_no_conversation_may_be_sent_all_of_it(full: bool, sent: list[str]) -> None:
    async def forget(turn: Turn) -> None:
        words = turn.words(f"You said {text_of(turn.message)}")
        words.context_id = ""
        await turn.queue.enqueue_event(words)

    async with remote_agent(forget) as remote:
        conversation = Conversation(oracle(remote.card, full_history_when_stateless=full))
        await conversation.say("a")
        await conversation.say("b")
    assert [text_of(message).replace("\n", "") for message in remote.messages] == sent


async def test_converters_and_a_builder_of_the_program_make_the_parts() -> None:
    def shout(part: types.Part) -> list[Part]:
        return [Part(text=(part.text or "").upper()), Part(text="!")]

    def whisper(part: Part) -> types.Part | None:
        return types.Part(text=part.text.lower()) if part.text else None

    async with remote_agent(greet) as remote:
        loud = oracle(remote.card, genai_part_converter=shout, a2a_part_converter=whisper)
        [event] = await Conversation(loud).say("hi")
        assert event.text() == "you said hi\n!"
        built = oracle(
            remote.card, context_builder=lambda ctx, name, convert: ([Part(text=f"{name}: built")], "c-9")
        )
        await Conversation(built).say("hi")
    assert (text_of(remote.messages[-1]), remote.messages[-1].context_id) == ("oracle: built", "c-9")


async def test_what_other_agents_said_is_quoted() -> None:
    writer = LlmAgent(name="writer", model=ScriptedModel(turns=["a draft"]))
    async with remote_agent(greet) as remote:
        await Conversation(SequentialAgent(name="both", sub_agents=[writer, oracle(remote.card)])).say(
            "write"
        )
    [message] = remote.messages
    assert text_of(message).startswith("write\n") and "[writer] said" in text_of(message)


async def asks(turn: Turn) -> None:
    await turn.begin()
    if turn.context.current_task is None:
        await turn.updater.requires_input(turn.words("Which colour?"))
    else:
        await turn.updater.complete(turn.words(f"{text_of(turn.message)} it is"))


async def test_a_task_that_needs_input_asks_the_person_and_gets_the_answer() -> None:
    async with remote_agent(asks) as remote:
        conversation = Conversation(oracle(remote.card))
        [question] = await conversation.say("paint it")
        [call] = question.get_function_calls()
        assert (call.name, call.args) == (REMOTE_INPUT, {"input_required": "Which colour?"})
        assert question.long_running_tool_ids == {call.id}
        [answer] = await conversation.say(answer_to(question, {"result": "blue"}))
    assert answer.text() == "blue it is"
    assert [message.task_id for message in remote.messages[1:]] == [
        question.custom_metadata and question.custom_metadata["a2a:task_id"]
    ]
    assert pending_calls((await conversation.session()).events) == {}


async def test_a_message_in_place_of_an_answer_continues_the_task_too() -> None:
    async with remote_agent(asks) as remote:
        conversation = Conversation(oracle(remote.card))
        await conversation.say("paint it")
        events = await conversation.say("green")
    assert events[-1].text() == "green it is"
    assert pending_calls((await conversation.session()).events) == {}


async def test_an_answer_to_a_request_to_authenticate_is_not_sent() -> None:
    async def wants_sign_in(turn: Turn) -> None:
        await turn.begin()
        if turn.context.current_task is None:
            await turn.updater.requires_auth(turn.words("Sign in at https://example.org"))
        else:
            await turn.updater.complete(turn.words("Welcome"))

    async with remote_agent(wants_sign_in) as remote:
        conversation = Conversation(oracle(remote.card))
        [question] = await conversation.say("book")
        assert [call.name for call in question.get_function_calls()] == [REMOTE_AUTH]
        [answer] = await conversation.say(answer_to(question, {"result": "pa55word"}))
    assert answer.text() == "Welcome"
    assert "pa55word" not in str(remote.messages)


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (TaskState.TASK_STATE_FAILED, "REMOTE_FAILED"),
        (TaskState.TASK_STATE_REJECTED, "REMOTE_REJECTED"),
        (TaskState.TASK_STATE_CANCELED, "REMOTE_CANCELED"),
    ],
)
async def test_a_task_that_fails_is_an_error_with_the_agents_words(state: TaskState, code: str) -> None:
    async def fails(turn: Turn) -> None:
        await turn.begin()
        await turn.updater.update_status(state, turn.words("No rooms left."))

    async with remote_agent(fails) as remote:
        [event] = await Conversation(oracle(remote.card)).say("book")
    assert (event.error_code, event.text()) == (code, "No rooms left.")
    assert event.error_message and event.error_message.startswith("The other agent")


async def test_files_become_artifacts_of_the_session() -> None:
    async def draws(turn: Turn) -> None:
        await turn.begin()
        png = Part(raw=b"\x89PNG", filename="plan.png", media_type="image/png")
        await turn.updater.add_artifact([png, Part(url="https://example.org/plan.pdf")], artifact_id="1")
        await turn.updater.complete()

    async with remote_agent(draws) as remote:
        conversation = Conversation(oracle(remote.card))
        [event] = await conversation.say("draw")
    file, link = parts_of(event.content)
    assert ArtifactReference.of_part(file) == ArtifactReference("plan.png", 0, "image/png")
    assert event.actions.artifact_delta == {"plan.png": 0}
    assert link.text == "https://example.org/plan.pdf"
    service = conversation.runner.artifact_service
    assert service is not None
    stored = await service.load_artifact(
        app_name="shop", user_id="ada", session_id=(await conversation.session()).id, filename="plan.png"
    )
    assert stored and stored.inline_data and stored.inline_data.data == b"\x89PNG"


async def test_files_of_the_person_are_sent_as_far_as_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.a2a.request.MAX_FILE_BYTES", len(b"the text"))
    async with remote_agent(greet) as remote:
        conversation = Conversation(oracle(remote.card))
        await conversation.save_file("large.txt", "the longer text")
        await conversation.save_file("a.txt", "the text")
        references = [
            ArtifactReference(name, 0, "text/plain").as_part() for name in ("large.txt", "a.txt", "b.txt")
        ]
        await conversation.say(types.Content(role="user", parts=[types.Part(text="read"), *references]))
    [message] = remote.messages
    said, large, file, missing = message.parts
    assert large.text == "[The file 'large.txt' is too large to be sent.]"
    assert (said.text, file.raw, file.filename, file.media_type) == (
        "read",
        b"the text",
        "a.txt",
        "text/plain",
    )
    assert missing.text == "[The file 'b.txt' does not exist any more.]"


async def test_cancelling_the_invocation_cancels_the_remote_task() -> None:
    async def works_for_ever(turn: Turn) -> None:
        await turn.begin()
        await turn.updater.start_work(turn.words("busy"))
        await asyncio.Event().wait()

    async with remote_agent(works_for_ever) as remote:
        conversation = Conversation(oracle(remote.card))
        runner, session = conversation.runner, await conversation.session()
        seen = []
        async for event in runner.run_async(user_id="ada", session_id=session.id, new_message=say("go")):
            seen.append(event)
            runner.cancel(event.invocation_id)
        await asyncio.wait_for(remote.agent.cancelled.wait(), 10)
    assert seen[-1].interrupted


async def test_a_resumed_invocation_waits_for_the_task_in_place_of_sending_the_message_again() -> None:
    release = asyncio.Event()

    async def slow(turn: Turn) -> None:
        await turn.begin()
        await turn.updater.start_work()
        await release.wait()
        await turn.updater.complete(turn.words("done"))

    async with remote_agent(slow) as remote:
        root = oracle(remote.card)
        resumable = ResumabilityConfig(is_resumable=True)
        runner = InMemoryRunner(app=App(name="shop", root_agent=root, resumability_config=resumable))
        session = await runner.session_service.create_session(app_name="shop", user_id="ada")
        interrupted = runner.run_async(user_id="ada", session_id=session.id, new_message=say("go"))
        begun = await anext(interrupted)
        assert begun.actions.agent_state is not None
        # Another process, on what this one had committed when it died.
        other = InMemoryRunner(app=App(name="shop", root_agent=root.clone(), resumability_config=resumable))
        await copy_session(runner, other, session.id)
        release.set()
        resumed = other.run_async(user_id="ada", session_id=session.id, invocation_id=begun.invocation_id)
        texts = [event.text() async for event in resumed]
        await interrupted.aclose()
    assert texts[-1] == "done"
    assert len(remote.messages) == 1


async def copy_session(source: InMemoryRunner, target: InMemoryRunner, session_id: str) -> None:
    session = await source.session_service.get_session(app_name="shop", user_id="ada", session_id=session_id)
    assert session is not None
    copied = await target.session_service.create_session(
        app_name="shop", user_id="ada", session_id=session_id
    )
    for event in session.events:
        await target.session_service.append_event(copied, event)


async def test_the_credential_and_the_headers_of_the_person_are_sent_with_each_request() -> None:
    credential = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k-1")
    async with remote_agent(greet) as remote:
        root = oracle(
            remote.card_url,
            auth_credential=credential,
            header_provider=lambda context: {"X-Person": context.user_id},
        )
        await Conversation(root).say("hi")
    assert len(remote.agent.requests) == 2
    for request in remote.agent.requests:
        assert (request["authorization"], request["x-person"]) == ("Bearer k-1", "ada")


@pytest.mark.parametrize("use_legacy", [True, False])
async def test_a_server_of_google_adk_is_asked_for_its_newer_way_when_the_program_wants_it(
    use_legacy: bool,
) -> None:
    async with remote_agent(greet) as remote:
        await Conversation(oracle(remote.card, use_legacy=use_legacy)).say("hi")
    [request] = remote.agent.requests
    assert ("google.github.io/adk-docs/a2a" in request.get("a2a-extensions", "")) is not use_legacy


@pytest.mark.parametrize(
    ("parameter", "remedy"),
    [("config", "header_provider"), ("mode", "AgentTool"), ("credential_key", "stored")],
)
def test_a_parameter_of_google_adk_that_is_not_supported_is_named_with_the_remedy(
    parameter: str, remedy: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"'oracle' cannot have '{parameter}'.*{remedy}"):
        oracle("https://example.org/card.json", **{parameter: "task"})
    oracle("https://example.org/card.json", **{parameter: None})


async def test_the_metadata_of_the_request_come_from_the_provider() -> None:
    seen = []

    async def reads(turn: Turn) -> None:
        seen.append(turn.context.metadata)
        await greet(turn)

    async with remote_agent(reads) as remote:
        root = oracle(remote.card, a2a_request_meta_provider=lambda ctx, message: {"app": ctx.app_name})
        await Conversation(root).say("hi")
    assert seen == [{"app": "shop"}]
