"""Deleted sessions: a person who restores a session while a sweep erases it keeps the session, or is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.data_protection import erase
from sessions_app.data_protection.erase import stop_work
from sessions_app.errors import NotFoundError
from sessions_app.models import Invocation, Session, Tombstone
from sessions_app.process.threads import in_thread
from sessions_app.sessions.list.changes import RESTORE
from sessions_app.tasks import sweep
from tests.integration.locks import blocked, held

pytestmark = pytest.mark.usefixtures("transactional_db", "loop_end", "background_end")


@pytest.fixture
async def overdue(person: User, configure: Callable[..., None]) -> Session:
    """A session with a waiting invocation that was deleted so long ago that the next sweep erases it."""
    configure(deletion_undo_seconds=60)
    long_ago = timezone.now() - timedelta(hours=1)
    session = await Session.objects.acreate(app_name="shop", user=person, key="s-1", deleted_at=long_ago)
    names = {"invocation_id": "e-1", "client_id": "m-1"}
    await Invocation.objects.acreate(session=session, message={}, status="waiting", **names)
    return session


async def test_a_session_that_is_restored_before_the_sweep_reaches_the_session_keeps_its_work(
    overdue: Session,
) -> None:
    restore = f"UPDATE sessions_app_session SET deleted_at = NULL WHERE id = '{overdue.pk}'"
    async with held(restore):
        sweeping = asyncio.create_task(in_thread(sweep))
        await blocked(1)
    await sweeping
    assert (await Session.objects.aget()).lease_owner == ""
    assert (await Invocation.objects.aget()).status == "waiting"
    assert not await Tombstone.objects.aexists()


async def test_a_session_that_is_restored_after_its_work_was_stopped_is_not_erased(
    overdue: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_work_then_restore(session_pk: UUID, *, by: Any) -> None:
        stop_work(session_pk, by=by)
        transaction.on_commit(lambda: Session.objects.filter(pk=session_pk).update(deleted_at=None))

    monkeypatch.setattr(erase, "stop_work", stop_work_then_restore)
    await in_thread(sweep)
    assert (await Session.objects.aget()).deleted_at is None
    assert not await Tombstone.objects.aexists()


async def test_a_session_that_nobody_restores_is_erased(overdue: Session) -> None:
    await in_thread(sweep)
    assert not await Session.objects.aexists()
    assert (await Tombstone.objects.aget()).counts["sessions"] == 1


async def test_a_person_who_restores_a_session_while_it_is_erased_is_told_so(
    person: User, overdue: Session
) -> None:
    await Invocation.objects.all().adelete()
    async with held(f"DELETE FROM sessions_app_session WHERE id = '{overdue.pk}'"):
        restoring = asyncio.create_task(use_cases.change_session(actors.person(person), overdue.pk, RESTORE))
        await blocked(1)
    with pytest.raises(NotFoundError, match="deleted for good"):
        await restoring
