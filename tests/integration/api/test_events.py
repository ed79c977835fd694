"""Events by the API: pages in both directions from the stored JSON, without the app's state; opinions of answers."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from runtime.events import Event as RuntimeEvent
from sessions_app.models import Event, Feedback, Session
from tests.integration.api.conftest import Program, body_of


def event_of(seq: int, **actions: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": f"line {seq} \u202e é"}]}
    return {
        "id": uuid4().hex, "author": "echo", "invocationId": "e-1", "timestamp": float(seq),
        "actions": actions, "content": content,
    }  # fmt: skip


@pytest.fixture
def session(person: User) -> Session:
    """A session of 5,000 events, of which one changes the state of the app and one rewinds nothing."""
    made = Session.objects.create(app_name="echo", user=person, key="k", last_seq=5000)
    delta = {"app:secret": 1, "user:name": "Ada", "topic": '"app:x'}
    bodies = {seq: event_of(seq) for seq in range(1, 5001)}
    bodies[7] = event_of(7, stateDelta=delta)
    Event.objects.bulk_create([Event(session=made, seq=seq, body=body) for seq, body in bodies.items()])
    return made


async def read(program: Program, session: Session, **query: Any) -> dict[str, Any]:
    response = await program.get(f"/api/v1/sessions/{session.pk}/events", query)
    assert response.status_code == 200
    return json.loads(await body_of(response))  # type: ignore[no-any-return]


async def test_pages_in_both_directions_have_each_event_once(program: Program, session: Session) -> None:
    forwards: list[int] = []
    after = 0
    while after is not None:
        page = await read(program, session, after=after, limit=1000)
        forwards += [item["seq"] for item in page["items"]]
        after = page["next"]
    assert forwards == list(range(1, 5001))
    page = await read(program, session, before=251, limit=250)
    assert [item["seq"] for item in page["items"]] == list(range(250, 0, -1))
    assert page["next"] is None
    assert (await read(program, session, before=300, limit=250))["next"] == 50


async def test_no_object_is_built_for_an_event(
    program: Program, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(RuntimeEvent, "model_validate", refuse)
    monkeypatch.setattr(Event, "from_db", refuse)
    assert len((await read(program, session, after=10, limit=300))["items"]) == 300


async def test_the_state_of_the_app_is_not_shown(program: Program, session: Session) -> None:
    page = await read(program, session, after=6, limit=1)
    actions = page["items"][0]["event"]["actions"]
    assert actions["stateDelta"] == {"user:name": "Ada", "topic": '"app:x'}


async def test_a_client_that_has_the_page_gets_304_until_there_is_a_new_event(
    program: Program, session: Session
) -> None:
    address = f"/api/v1/sessions/{session.pk}/events"
    etag = (await program.get(address))["ETag"]
    assert (await program.get(address, headers={"if-none-match": etag})).status_code == 304
    await Session.objects.filter(pk=session.pk).aupdate(last_seq=5001)
    assert (await program.get(address, headers={"if-none-match": etag})).status_code == 200


@pytest.mark.parametrize(
    "query", [{"after": 1, "before": 2}, {"limit": 1001}, {"after": "9" * 30}, {"before": -1}]
)
async def test_a_query_that_cannot_be_used_is_named(
    program: Program, person: User, query: dict[str, Any]
) -> None:
    response = await program.get(f"/api/v1/sessions/{uuid4()}/events", query)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"].startswith("query")


async def test_an_opinion_is_stored_changed_and_withdrawn(program: Program, session: Session) -> None:
    address = f"/api/v1/sessions/{session.pk}/events/3/feedback"
    for opinion in ({"rating": "good"}, {"rating": "bad", "comment": "Wrong\0"}):
        assert (await program.put(address, opinion, content_type="application/json")).status_code == 204
    assert (await sync_to_async(Feedback.objects.get)()).comment == "Wrong"
    odd = '{"rating": "bad", "comment": "\\ud800"}'
    assert (await program.put(address, odd, content_type="application/json")).status_code == 422
    assert (await program.delete(address)).status_code == 204
    assert not await Feedback.objects.aexists()
