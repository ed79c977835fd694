import asyncio

import pytest
from psycopg import AsyncConnection

from runtime import types
from runtime.errors import StateValueError
from runtime.events import Event, EventActions
from sessions_app.pool import _connection_parameters
from sessions_app.services import DjangoArtifactService, DjangoSessionService
from tests.fakes import text_content

pytestmark = pytest.mark.usefixtures("loop_end")
S = DjangoSessionService


async def mk(person, **k):
    return await S().create_session(app_name="shop", user_id=str(person.pk), **k)


async def test_precision(person):
    s = await mk(person)
    await S().append_event(s, Event(author="a", timestamp=1_700_000_000.1234567))
    l = await S().get_session(app_name="shop", user_id=s.user_id, session_id=s.id)
    assert l.last_update_time == s.last_update_time


async def test_nul_key(person):
    s = await mk(person)
    with pytest.raises(StateValueError):
        await S().append_event(s, Event(author="a", actions=EventActions(state_delta={"a\0": 1})))


async def test_surrogate_key(person):
    s = await mk(person)
    with pytest.raises(StateValueError):
        await S().append_event(s, Event(author="a", actions=EventActions(state_delta={"a\ud800": 1})))


async def test_surrogate_text(person):
    s = await mk(person)
    await S().append_event(s, Event(author="a", content=text_content("x\ud800y")))


async def test_deadlock(person):
    s = await mk(person, state={"user:a": 1, "app:a": 1})
    async with await AsyncConnection.connect(**_connection_parameters()) as c:
        await c.execute("SELECT 1 FROM sessions_app_userstate FOR UPDATE")
        a = asyncio.create_task(
            S().append_event(
                s, Event(author="a", actions=EventActions(state_delta={"user:a": 2, "app:a": 2}))
            )
        )
        await asyncio.sleep(0.5)
        b = asyncio.create_task(mk(person, state={"user:b": 1, "app:b": 1}))
        await asyncio.sleep(0.5)
        await c.rollback()
    r = await asyncio.gather(a, b, return_exceptions=True)
    assert not [x for x in r if isinstance(x, Exception)], r


async def test_mutated_event_in_cache(person):
    s = await mk(person)
    e = await S().append_event(s, Event(author="a", content=text_content("x")))
    e.content.parts[0].text = "changed"
    l = await S().get_session(app_name="shop", user_id=s.user_id, session_id=s.id)
    assert l.events[0].text() == "x"


async def test_delete_session_deletes_bytes(person):
    from pathlib import Path

    from sessions_app import models

    s = await mk(person)
    await DjangoArtifactService().save_artifact(
        app_name="shop", user_id=s.user_id, session_id=s.id, filename="a", artifact=types.Part(text="x")
    )
    p = Path((await models.Artifact.objects.aget()).file.path)
    await S().delete_session(app_name="shop", user_id=s.user_id, session_id=s.id)
    assert not p.exists()


async def test_nul_filename(person):
    s = await mk(person)
    await DjangoArtifactService().save_artifact(
        app_name="shop", user_id=s.user_id, session_id=s.id, filename="a\0", artifact=types.Part(text="x")
    )


async def test_session_id_long(person):
    await mk(person, session_id="x" * 300)


async def test_claim_expired_orphan_lease(person):
    "a lease whose invocation is not running (crash between) does not stick forever"
    from datetime import timedelta

    from django.utils import timezone

    from sessions_app import hot_path, models

    s = await mk(person)
    r = await models.Session.objects.aget()
    await hot_path.enqueue(r.pk, user_id=person.pk, invocation_id="e-1", client_id="m", message={})
    c = await hot_path.claim_next(r.pk, owner="one", lease_seconds=60)
    await models.Invocation.objects.all().aupdate(status="cancelled")
    await models.Session.objects.all().aupdate(lease_expires_at=timezone.now() - timedelta(seconds=1))
    await hot_path.enqueue(r.pk, user_id=person.pk, invocation_id="e-2", client_id="m2", message={})
    for _ in range(3):
        print(await hot_path.claim_expired(owner="two", lease_seconds=60))
    x = await hot_path.claim_next(r.pk, owner="two", lease_seconds=60)
    assert x
