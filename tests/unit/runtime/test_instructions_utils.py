"""Instruction templates (contract A3)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.agents import BaseAgent, InvocationContext
from runtime.agents.readonly_context import ReadonlyContext
from runtime.artifacts import InMemoryArtifactService
from runtime.sessions import InMemorySessionService
from runtime.utils.instructions_utils import inject_session_state

STATE: dict[str, Any] = {
    "name": "Ada",
    "empty": None,
    "zero": 0,
    "items": [1, "two"],
    "user:tier": "gold",
    "app:shop": "Tea & Co",
    "braces": "{name}",
}


@pytest.fixture
async def context() -> ReadonlyContext:
    sessions, artifacts = InMemorySessionService(), InMemoryArtifactService()
    session = await sessions.create_session(app_name="shop", user_id="ada", state=STATE)
    session.state["temp:mood"] = "calm"
    owner = {"app_name": "shop", "user_id": "ada", "session_id": session.id}
    await artifacts.save_artifact(**owner, filename="rules.txt", artifact=types.Part(text="Be kind."))
    blob = types.Part(inline_data=types.Blob(data="ü".encode(), mime_type="text/plain"))
    await artifacts.save_artifact(**owner, filename="blob.txt", artifact=blob)
    return ReadonlyContext(
        InvocationContext(
            invocation_id="e-1",
            agent=BaseAgent(name="clerk"),
            session=session,
            session_service=sessions,
            artifact_service=artifacts,
        )
    )


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("", ""),
        ("Hello {name}!", "Hello Ada!"),
        ("{name}{name}", "AdaAda"),
        ("{ name }", "Ada"),
        ("{zero} {items} [{empty}]", "0 [1, 'two'] []"),
        ("{user:tier} {app:shop} {temp:mood}", "gold Tea & Co calm"),
        ("[{missing?}] [{user:missing?}] {name?}", "[] [] Ada"),
        ("{artifact.rules.txt} {artifact.blob.txt} [{artifact.no.txt?}]", "Be kind. ü []"),
        ("{braces}", "{name}"),
        ("${name} $ {name} {{name}} ${{name}}", "${name} $ Ada Ada ${{name}}"),
    ],
)
async def test_names_are_replaced_by_their_values(context: ReadonlyContext, template: str, text: str) -> None:
    assert await inject_session_state(template, context) == text


@pytest.mark.parametrize(
    "template",
    [
        "{}",
        "{ }",
        '{"json": 1}',
        "{a-b}",
        "{1st}",
        "{other:key}",
        "{a b}",
        "{",
        "}",
        "{{",
        "a } b { c",
        "{\n}",
    ],
)
async def test_braces_without_a_name_stay_unchanged(context: ReadonlyContext, template: str) -> None:
    assert await inject_session_state(template, context) == template


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{missing}", "missing"),
        ("{user:missing}", "user:missing"),
        ("{temp:missing}", "temp:missing"),
        ("{artifact.no.txt}", "no.txt"),
    ],
)
async def test_a_required_name_that_is_missing_is_an_error_that_names_it(
    context: ReadonlyContext, template: str, name: str
) -> None:
    with pytest.raises(KeyError, match=name):
        await inject_session_state(template, context)
