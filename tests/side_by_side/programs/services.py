"""Session, artifact and memory services, used by code of an application."""

from __future__ import annotations

from typing import Any

from google.genai import types

from runtime.agents import LlmAgent
from runtime.events import Event, EventActions
from runtime.sessions import State
from runtime.sessions.base_session_service import GetSessionConfig
from tests.side_by_side.program import program
from tests.side_by_side.world import APP, USER, World, content_of

KEY: dict[str, Any] = {"app_name": APP, "user_id": USER, "session_id": "s1"}


def event(text: str, **actions: Any) -> Event:
    return Event(
        author="user",
        invocation_id=text,
        content=content_of("user", text),
        actions=EventActions(**actions),
        timestamp=float(len(text)),
    )


@program
async def a_session_with_state_of_all_scopes(world: World) -> None:
    state = {"x": 1, "user:y": 2, "app:z": 3, "temp:t": 4}
    created = await world.sessions.create_session(**KEY, state=state)
    world.outcome.add_session("s1")
    world.note(created=dict(created.state), id=created.id, events=len(created.events))
    await world.open("s2")
    other = await world.sessions.get_session(app_name=APP, user_id=USER, session_id="s2")
    world.note(other=dict(other.state) if other else None)


@program
async def a_session_that_is_missing(world: World) -> None:
    world.note(missing=await world.sessions.get_session(**KEY) is None)


@program
async def a_session_of_another_user(world: World) -> None:
    state: dict[str, Any] = {"x": 1, "user:y": 2, "app:z": 3}
    await world.open(**state)
    bob = await world.sessions.create_session(app_name=APP, user_id="bob", session_id="s9")
    world.note(bob=dict(bob.state))
    world.note(found=await world.sessions.get_session(app_name=APP, user_id="bob", session_id="s1") is None)


@program
async def events_by_number_and_time(world: World) -> None:
    await world.open()
    session = await world.sessions.get_session(**KEY)
    assert session is not None
    for text in ("a", "bb", "ccc", "dddd"):
        await world.sessions.append_event(session, event(text))
    for config in (
        GetSessionConfig(num_recent_events=2),
        GetSessionConfig(num_recent_events=0),
        GetSessionConfig(after_timestamp=2.0),
        GetSessionConfig(num_recent_events=1, after_timestamp=2.0),
        GetSessionConfig(),
    ):
        loaded = await world.sessions.get_session(**KEY, config=config)
        assert loaded is not None
        world.note(texts=[loaded_event.invocation_id for loaded_event in loaded.events])


@program
async def deltas_of_appended_events(world: World) -> None:
    await world.open(x=1)
    session = await world.sessions.get_session(**KEY)
    assert session is not None
    delta = {"x": 2, "user:y": [1], "app:z": {"a": 1}, "temp:t": 4, "gone": None}
    appended = await world.sessions.append_event(session, event("a", state_delta=delta))
    world.note(delta=appended.actions.state_delta, state=dict(session.state))


@program
async def a_partial_event_is_not_stored(world: World) -> None:
    await world.open()
    session = await world.sessions.get_session(**KEY)
    assert session is not None
    partial = Event(author="clerk", content=content_of("model", "Hel"), partial=True)
    await world.sessions.append_event(session, partial)
    world.note(events=len(session.events))


@program
async def sessions_are_listed_and_deleted(world: World) -> None:
    for session_id in ("s1", "s2"):
        await world.open(session_id, x=session_id)
    listed = await world.sessions.list_sessions(app_name=APP, user_id=USER)
    world.note(ids=sorted(session.id for session in listed.sessions), state=dict(listed.sessions[0].state))
    await world.sessions.delete_session(**KEY)
    listed = await world.sessions.list_sessions(app_name=APP, user_id=USER)
    world.note(ids=[session.id for session in listed.sessions])
    await world.sessions.delete_session(**KEY)


@program
async def a_session_id_that_is_taken(world: World) -> None:
    await world.open()
    try:
        await world.sessions.create_session(**KEY)
    except Exception as error:  # noqa: BLE001  # The packages have classes of their own.
        world.note(refused=type(error).__name__)


@program
async def artifacts_in_versions(world: World) -> None:
    await world.open()
    service = world.artifacts
    for text in ("1", "2"):
        version = await service.save_artifact(**KEY, filename="a/b.txt", artifact=types.Part(text=text))
        world.note(version=version)
    for wanted in (None, 0, 1, 7):
        part = await service.load_artifact(**KEY, filename="a/b.txt", version=wanted)
        world.note(version=wanted, text=part.text if part else None)
    await service.save_artifact(**KEY, filename="user:c.txt", artifact=types.Part(text="3"))
    world.note(
        keys=await service.list_artifact_keys(**KEY),
        versions=await service.list_versions(**KEY, filename="x"),
    )
    await service.delete_artifact(**KEY, filename="a/b.txt")
    world.note(keys=await service.list_artifact_keys(**KEY))
    other = {**KEY, "session_id": "s2"}
    world.note(other=await service.list_artifact_keys(**other))


@program
async def the_last_version_by_a_negative_number(world: World) -> None:
    await world.open()
    await world.artifacts.save_artifact(**KEY, filename="a.txt", artifact=types.Part(text="1"))
    part = await world.artifacts.load_artifact(**KEY, filename="a.txt", version=-1)
    world.note(text=part.text if part else None)


@program
async def memory_by_words(world: World) -> None:
    agent = LlmAgent(name="clerk", model=world.model("Green lamps it is.", "A red desk."))
    await world.play(agent, "I like green lamps", "And red desks")
    session = await world.sessions.get_session(**KEY)
    assert session is not None
    await world.memory.add_session_to_memory(session)
    for query in ("GREEN", "lamp", "red lamps", "zebra", ""):
        found = await world.memory.search_memory(app_name=APP, user_id=USER, query=query)
        texts = [part.text for entry in found.memories for part in entry.content.parts or []]
        world.note(query=query, texts=sorted(text for text in texts if text))


@program
async def memory_of_another_user(world: World) -> None:
    await world.play(LlmAgent(name="clerk", model=world.model("Noted.")), "I like green lamps")
    session = await world.sessions.get_session(**KEY)
    assert session is not None
    await world.memory.add_session_to_memory(session)
    found = await world.memory.search_memory(app_name=APP, user_id="bob", query="green")
    world.note(found=len(found.memories))


@program
async def the_state_class(world: World) -> None:
    delta: dict[str, Any] = {}
    state = State({"x": 1, "l": [1]}, delta)
    state["y"] = 2
    state.update({"z": 3})
    state.setdefault("x", 9)
    state.setdefault("w", 9)
    world.note(
        dict=state.to_dict(),
        delta=dict(delta),
        has_delta=state.has_delta(),
        contains=["x" in state, "y" in state, "q" in state],
        get=[state.get("q"), state.get("q", 5), state["z"]],
    )


@program
async def properties_of_events(world: World) -> None:
    call_part = types.Part(function_call=types.FunctionCall(name="f", args={}, id="c1"))
    result = types.Part(function_response=types.FunctionResponse(name="f", response={}, id="c1"))
    code = types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK))
    text = types.Part(text="Hello")
    for parts in ([text], [call_part], [result], [text, call_part], [code], [code, text], []):
        made = Event(author="a", content=types.Content(role="model", parts=parts))
        world.note(
            final=made.is_final_response(),
            calls=len(made.get_function_calls()),
            responses=len(made.get_function_responses()),
            code=made.has_trailing_code_execution_result(),
        )
    for fields in (
        {"partial": True},
        {"long_running_tool_ids": {"c1"}},
        {"error_code": "E"},
        {"interrupted": True},
    ):
        made = Event(author="a", content=content_of("model", "Hello"), **fields)
        world.note(fields=sorted(fields), final=made.is_final_response())
    skipping = Event(
        author="a", content=content_of("user", result), actions=EventActions(skip_summarization=True)
    )
    world.note(final=skipping.is_final_response())


@program
async def events_as_json(world: World) -> None:
    made = Event(
        author="clerk",
        invocation_id="i",
        id="e",
        timestamp=1.5,
        content=content_of("model", "Hello"),
        actions=EventActions(state_delta={"x": 1}, artifact_delta={"a": 0}, escalate=True),
        long_running_tool_ids={"c1"},
    )
    dumped = made.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in ("nodeInfo", "output", "isolationScope"):
        dumped.pop(name, None)
    world.note(dumped=dumped)
    again = Event.model_validate(dumped)
    world.note(state=again.actions.state_delta, ids=sorted(again.long_running_tool_ids or ()))
