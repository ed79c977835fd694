"""DatabaseSessionService is the site's session service; without a site it says so."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest
from django.contrib.auth.models import User

from adk_site.embedded.paths import CHECKOUT
from runtime.events import Event
from runtime.sessions import DatabaseSessionService
from runtime.sessions import Session as AdkSession
from sessions_app.models import Session

pytestmark = pytest.mark.usefixtures("loop_end")


async def test_sessions_are_kept_in_the_sites_database(
    person: User, caplog: pytest.LogCaptureFixture
) -> None:
    service = DatabaseSessionService(db_url="postgresql://ada:s3cret@elsewhere/db")
    session = await service.create_session(app_name="shop", user_id=str(person.pk))
    assert (await Session.objects.aget()).key == session.id
    [warning] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "ignores db_url" in warning.message and "s3cret" not in caplog.text


async def test_an_own_class_may_extend_the_service(person: User) -> None:
    class Counting(DatabaseSessionService):
        appended = 0

        async def append_event(self, session: AdkSession, event: Event) -> Event:
            self.appended += 1
            return await super().append_event(session, event)

    service = Counting()
    assert isinstance(service, DatabaseSessionService)
    names: Any = {"app_name": "shop", "user_id": str(person.pk)}
    session = await service.create_session(**names, state={"city": "Kyiv"})
    await service.append_event(session, Event(author="clerk", invocation_id="e-1"))
    loaded = await service.get_session(**names, session_id=session.id)
    assert loaded is not None and (len(loaded.events), service.appended) == (1, 1)
    assert await service.initial_state(**names, session_id=session.id) == {"city": "Kyiv"}
    assert [found.id for found in (await service.list_sessions(**names)).sessions] == [session.id]
    await service.delete_session(**names, session_id=session.id)
    assert await service.get_session(**names, session_id=session.id) is None


def test_without_the_site_the_error_names_the_remedy() -> None:
    code = "from runtime.sessions import DatabaseSessionService as service; service('sqlite://')"
    run = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True)
    assert run.returncode == 1
    assert "DatabaseSessionService needs the site" in run.stderr and "InMemorySessionService" in run.stderr
