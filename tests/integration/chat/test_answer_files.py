"""Pictures of a model: stored once, outside of the events, sent to no socket, and erased with the session (F5)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient
from pytest_django import Settings

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import LlmRequest, LlmResponse
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.invocations.worker import worker
from sessions_app.models import Artifact, Event, Invocation, Session
from sessions_app.process.threads import in_thread
from tests.fakes import ScriptedModel
from tests.integration.chat.pages.page_helpers import file_url
from tests.integration.socket_tab import Tab
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(10_000_000)


def picture(data: bytes = PNG, mime_type: str = "image/png") -> types.Part:
    return types.Part.from_bytes(data=data, mime_type=mime_type)


class Painter(ScriptedModel):
    """A model that also streams the data of its pictures, as a model of an author may."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        async for response in super().generate_content_async(llm_request, stream):
            if response.content:
                yield LlmResponse(content=response.content, partial=True)
            yield response


@pytest.fixture
def painter(served: Served, settings: Settings, tmp_path: Path) -> Painter:
    settings.MEDIA_ROOT = tmp_path
    model = Painter()
    served(App(name="shop", root_agent=LlmAgent(name="painter", model=model)))
    return model


async def drawn(person: User, painter: Painter, *parts: types.Part) -> Session:
    """Return a session in which the model has answered with these parts."""
    painter.turns = [list(parts), "You are welcome."]
    session = await use_cases.create_session(person, "shop")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "Draw.")
    await worker().wait_until_idle()
    return session


async def answer_of(session: Session) -> Event:
    event = await Event.objects.filter(session=session).order_by("seq").alast()
    assert event is not None
    return event


async def test_a_picture_is_stored_once_shown_to_the_model_again_and_erased(
    person: User, painter: Painter, tmp_path: Path
) -> None:
    session = await drawn(person, painter, types.Part(text="A cat:"), picture())
    event = await answer_of(session)
    row = await Artifact.objects.aget(session=session)
    assert event.body["content"]["parts"] == [
        {"text": "A cat:"},
        {"fileData": {"fileUri": f"artifact:{row.filename}?version=0", "mimeType": "image/png"}},
    ]
    assert event.body["actions"]["artifactDelta"] == {row.filename: 0}
    stored = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.stat().st_size for path in stored] == [len(PNG)]
    await use_cases.send_message(actors.person(person), session.pk, "m2", "Thank you.")
    await worker().wait_until_idle()
    assert painter.requests[1].contents[1].parts == [types.Part(text="A cat:"), picture()]
    await in_thread(erase_session, session.pk, ErasureOrder(reason="Asked for it."))
    assert not await Artifact.objects.aexists() and not stored[0].exists()


async def test_no_socket_gets_the_data(person: User, painter: Painter) -> None:
    painter.turns = [[types.Part(text="A cat:"), picture()]]
    session = await use_cases.create_session(person, "shop")
    tab = Tab(person, session)
    await tab.open()
    await tab.send(type="message", id="m1", text="Draw.")
    frames = await tab.until_done()
    (name,) = [row.filename async for row in Artifact.objects.filter(session=session)]
    assert any(name in str(frame) for frame in frames)
    assert max(len(str(frame)) for frame in frames) < 10_000
    await tab.leave()


async def test_html_that_claims_to_be_a_picture_is_no_picture(
    person: User, painter: Painter, async_client: AsyncClient
) -> None:
    session = await drawn(person, painter, picture(b"<script>alert(1)</script>"))
    row = await Artifact.objects.aget(session=session)
    await async_client.aforce_login(person)
    response = await async_client.get(file_url(session, row.filename))
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment")


async def test_a_picture_beyond_the_space_of_a_person_fails_the_answer_with_a_sentence(
    person: User, painter: Painter, settings: Settings
) -> None:
    settings.ADK = {**settings.ADK, "max_artifact_bytes_per_user": 1000}
    session = await drawn(person, painter, types.Part(text="A cat:"), picture())
    invocation = await Invocation.objects.aget(session=session)
    assert "The files of a person may have 1000 bytes together" in invocation.error_message
    assert not await Artifact.objects.aexists()
