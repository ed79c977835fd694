"""Words of google-adk's error messages that tests and runbooks written for it look for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.agents import BaseAgent, LlmAgent, RunConfig
from runtime.apps import App
from runtime.context import Context
from runtime.errors import LlmCallsLimitExceededError
from runtime.plugins import BasePlugin, PluginManager
from runtime.runners import InMemoryRunner
from runtime.sessions import InMemorySessionService
from tests.contracts.credential_service import config
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.test_contexts_made_by_hand import invocation

twin = BasePlugin("twin")
child = BaseAgent(name="child")
parent = BaseAgent(name="parent", sub_agents=[child])


@pytest.mark.parametrize(
    ("fail", "words"),
    [
        (lambda: LlmAgent(name="no name"), "must be a valid Python identifier"),
        (lambda: LlmAgent(name="user"), "reserved for"),
        (lambda: BaseAgent(name="other", sub_agents=[child]), "already has a parent agent"),
        (lambda: App(name="no name", root_agent=parent), "Invalid app name 'no name'"),
        (lambda: PluginManager([twin, twin]), "already registered"),
    ],
)
def test_errors_at_construction_have_the_words_of_google_adk(fail: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fail()


async def test_errors_about_missing_services_and_call_ids_have_the_words_of_google_adk() -> None:
    context = Context(await invocation())
    with pytest.raises(ValueError, match="Artifact service is not initialized"):
        await context.list_artifacts()
    with pytest.raises(ValueError, match="Memory service is not available"):
        await context.search_memory("tea")
    with pytest.raises(ValueError, match="Credential service is not initialized"):
        await context.load_credential(config())
    with pytest.raises(ValueError, match="request_credential requires function_call_id"):
        context.request_credential(config())


async def test_the_error_about_a_used_session_id_has_the_words_of_google_adk() -> None:
    service = InMemorySessionService()
    await service.create_session(app_name="shop", user_id="ada", session_id="s-1")
    with pytest.raises(ValueError, match="already exists"):
        await service.create_session(app_name="shop", user_id="ada", session_id="s-1")


async def test_errors_of_a_run_have_the_words_of_google_adk() -> None:
    with pytest.raises(ValueError, match="Model 'nobody' not found"):
        await InMemoryRunner(LlmAgent(name="a", model="nobody")).run_debug("Hi", quiet=True)
    with pytest.raises(KeyError, match="Context variable not found: 'mood'"):
        await InMemoryRunner(LlmAgent(name="a", model=ScriptedModel(), instruction="Be {mood}.")).run_debug(
            "Hi", quiet=True
        )
    model = ScriptedModel(turns=[call("nothing", "c1")] * 2)
    with pytest.raises(LlmCallsLimitExceededError, match="Max number of llm calls limit of 1 exceeded"):
        await InMemoryRunner(LlmAgent(name="a", model=model)).run_debug(
            "Hi", run_config=RunConfig(max_llm_calls=1), quiet=True
        )
