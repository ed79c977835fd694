"""HEAD requests of programs: answered as GET without the body, wherever an address takes GET."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app.models import Session
from sessions_app.store import DjangoArtifactService
from tests.fakes import ScriptedModel
from tests.integration.access import APP
from tests.integration.api.conftest import Program
from tests.served_agents import Served

FILE = "/api/v1/sessions/{session}/files/a.txt"
ADK = f"/adk/apps/{APP}/users/ada/sessions"


@pytest.fixture(autouse=True)
def app(served: Served) -> None:
    app = App(name=APP, root_agent=LlmAgent(name=APP, model=ScriptedModel()))
    served(app)


@pytest.fixture
async def session(person: User) -> Session:
    """A session with a file."""
    session = await Session.objects.acreate(app_name=APP, user=person, key="s1")
    await DjangoArtifactService().save_artifact(
        app_name=APP,
        user_id=str(person.pk),
        session_id="s1",
        filename="a.txt",
        artifact=types.Part(text="Hello"),
    )
    return session


@pytest.mark.parametrize(
    "address",
    [
        "/api/v1/apps",
        "/api/v1/sessions/{session}",
        "/api/v1/sessions/{session}/runs",
        FILE,
        "/api/v1/no-such-thing",
        "/api/v1/docs",
        "/adk/list-apps",
        ADK,
        f"{ADK}/s1",
        f"{ADK}/s1/artifacts/a.txt",
        f"{ADK}/none",
    ],
)
async def test_head_has_the_status_and_the_headers_of_get(
    program: Program, session: Session, address: str
) -> None:
    address = address.format(session=session.pk)
    got, head = await program.get(address), await program.head(address)
    assert head.status_code == got.status_code
    assert {**head.headers} == {**got.headers}
    assert (b"".join(head) if head.streaming else head.content) == b""


async def test_head_needs_what_get_needs(session: Session, loop_end: None) -> None:
    response = await AsyncClient().head(f"/api/v1/sessions/{session.pk}")
    assert response.status_code == 401


async def test_an_address_without_get_refuses_head(program: Program, session: Session) -> None:
    response = await program.head(f"/api/v1/sessions/{session.pk}/switch")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")
