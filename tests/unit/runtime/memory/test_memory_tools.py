"""Contract F3, T9: `load_memory` and `preload_memory` find text of an earlier session in the in-memory service."""

from __future__ import annotations

from runtime.agents import LlmAgent
from runtime.runners import InMemoryRunner
from runtime.tools import load_memory, preload_memory
from tests.fakes import ScriptedModel, call, say


async def store_session_about_cat(runner: InMemoryRunner) -> None:
    session = await runner.session_service.create_session(app_name="pets", user_id="ada")
    async for _ in runner.run_async(
        user_id="ada", session_id=session.id, new_message=say("My cat is called Mia.")
    ):
        pass
    stored = await runner.session_service.get_session(app_name="pets", user_id="ada", session_id=session.id)
    assert stored is not None and runner.memory_service is not None
    await runner.memory_service.add_session_to_memory(stored)


async def ask_about_cat(runner: InMemoryRunner, user_id: str = "ada") -> None:
    session = await runner.session_service.create_session(app_name="pets", user_id=user_id)
    message = say("What is my CAT called?")
    async for _ in runner.run_async(user_id=user_id, session_id=session.id, new_message=message):
        pass


async def test_f3_the_model_finds_earlier_text_with_load_memory() -> None:
    model = ScriptedModel(turns=["Noted.", call("load_memory", query="cat"), "Mia."])
    runner = InMemoryRunner(LlmAgent(name="pal", model=model, tools=[load_memory]), app_name="pets")
    await store_session_about_cat(runner)
    await ask_about_cat(runner)
    [answer] = [part.function_response for part in model.requests[-1].contents[-1].parts or []]
    assert answer is not None and answer.response is not None
    [memory] = answer.response["result"]["memories"]
    assert memory["content"]["parts"] == [{"text": "My cat is called Mia."}] and memory["author"] == "user"


async def test_f3_preload_memory_adds_only_the_same_users_memories() -> None:
    model = ScriptedModel(turns=["Noted.", "Mia.", "No idea."])
    runner = InMemoryRunner(LlmAgent(name="pal", model=model, tools=[preload_memory]), app_name="pets")
    await store_session_about_cat(runner)
    await ask_about_cat(runner)
    await ask_about_cat(runner, user_id="bob")
    _, for_ada, for_bob = (str(request.contents) for request in model.requests)
    assert "user: My cat is called Mia." in for_ada
    assert "Mia" not in for_bob
