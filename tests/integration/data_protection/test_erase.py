"""Erasure: nothing of a person is left, nothing of others is touched, and an interrupted erasure can be completed."""

from __future__ import annotations

import asyncio
import os
import sys
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as Login
from django.core.management import CommandError, call_command
from django.db.models.functions import Now

from runtime.errors import SessionNotFoundError
from sessions_app.data_protection.erase import ErasureOrder, erase_session, erase_user, stop_work
from sessions_app.errors import NotFoundError, StaleLeaseError
from sessions_app.models import Event, Invocation, Session, Tombstone, ToolJob, UserState
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoSessionService
from sessions_app.store.session_service import Writer
from tests.integration import session_helpers
from tests.integration.data_protection.people import files_with, found_in_database, person_with_rows
from tests.integration.locks import blocked, held
from tests.stack.database import server_variables

pytestmark = pytest.mark.usefixtures("transactional_db", "loop_end")

ORDER = ErasureOrder(reason="She asked for it.")
ID = 987_654_321


@pytest.fixture
async def ada(transactional_db: None) -> User:
    return await person_with_rows("ada-lovelace", ID)


async def run_command(name: str, *args: str) -> str:
    out = StringIO()
    await in_thread(call_command, name, *args, stdout=out)
    return out.getvalue()


async def test_nothing_of_an_erased_person_is_left_in_any_table_or_file(ada: User) -> None:
    before = await in_thread(found_in_database, "ada-lovelace", str(ID))
    assert {"auth_user", "sessions_app_event", "sessions_app_memoryentry", "sessions_app_userstate"} <= {
        *before
    }
    assert "sessions_app_savedcredential" in before
    assert await in_thread(files_with, "ada-lovelace") == 4
    out = await run_command("adk_erase", "--user", "ada-lovelace", "--yes", "--reason", "Request 17.")
    assert "2 sessions, 4 events" in out
    assert await in_thread(found_in_database, "ada-lovelace", str(ID)) == []
    assert await in_thread(files_with, "ada-lovelace") == 0
    assert [login async for login in Login.objects.all()] == []


async def test_the_data_of_others_stays(ada: User) -> None:
    bob = await person_with_rows("bob-cratchit", 900_077)
    tables = await in_thread(found_in_database, "bob-cratchit")
    await in_thread(erase_user, ada.pk, ORDER)
    assert await in_thread(found_in_database, "bob-cratchit") == tables
    assert await in_thread(files_with, "bob-cratchit") == 4
    assert (await UserState.objects.aget(user=bob)).state == {
        "diet": "bob-cratchit 1",
        "likes": "bob-cratchit 1",
    }
    assert await Login.objects.acount() == 1
    assert "0 not as they were written" in await run_command("adk_verify")


async def test_the_tombstone_says_what_was_erased_and_why_without_the_name(ada: User) -> None:
    await in_thread(erase_user, ada.pk, ORDER)
    tombstone = await Tombstone.objects.aget()
    assert (tombstone.kind, tombstone.subject_id, tombstone.user_id) == ("person", str(ID), str(ID))
    assert tombstone.reason == "She asked for it."
    assert tombstone.finished_at is not None
    kinds = ("events", "invocations", "jobs", "scheduled_tasks", "memory_entries", "feedback", "sessions")
    assert [tombstone.counts[kind] for kind in kinds] == [4, 2, 2, 2, 4, 2, 2]
    assert [tombstone.counts[kind] for kind in ("artifacts", "user_states", "credentials")] == [4, 1, 1]
    assert "lovelace" not in str(vars(tombstone))


async def test_without_yes_the_command_only_counts(ada: User) -> None:
    out = await run_command("adk_erase", "--user", "ada-lovelace")
    assert "Would erase 2 sessions, 4 events" in out
    assert await Session.objects.acount() == 2
    assert not await Tombstone.objects.aexists()


async def test_one_session_is_erased_and_the_others_stay(ada: User) -> None:
    erased, kept = [session async for session in Session.objects.order_by("created_at")]
    out = await run_command("adk_erase", "--session", str(erased.pk), "--yes")
    assert "Erased 1 session, 2 events" in out
    assert [session.pk async for session in Session.objects.all()] == [kept.pk]
    assert await in_thread(found_in_database, str(erased.pk)) == []
    assert (await Tombstone.objects.aget()).subject_id == str(erased.pk)


async def test_an_unknown_subject_is_named(ada: User) -> None:
    with pytest.raises(CommandError, match="There is no user 'eve'"):
        await run_command("adk_erase", "--user", "eve")
    with pytest.raises(NotFoundError, match="There is no session"):
        await in_thread(erase_session, uuid4(), ORDER)


async def test_a_user_with_sessions_can_be_deleted_from_code(ada: User) -> None:
    await ada.adelete()
    assert await in_thread(found_in_database, "ada-lovelace", str(ID)) == []
    assert (await Tombstone.objects.aget()).reason == "The account was deleted."


async def test_appends_during_the_erasure_are_refused(ada: User) -> None:
    row = await Session.objects.afirst()
    assert row is not None
    service = DjangoSessionService()
    names: dict[str, Any] = {"app_name": row.app_name, "user_id": str(ada.pk), "session_id": row.key}
    session = await service.get_session(**names)
    assert session is not None
    erasure = in_thread(erase_session, row.pk, ORDER)
    async with held(f"SELECT FROM sessions_app_event WHERE session_id = '{row.pk}' FOR UPDATE"):
        erasing = asyncio.create_task(erasure)
        await blocked(1)
        with pytest.raises(StaleLeaseError):
            await service.append_event(session, session_helpers.text_event("too late"))
        append = asyncio.create_task(
            service.append_event(session, session_helpers.delta_event(text="too late"))
        )
        await blocked(2)
    with pytest.raises(SessionNotFoundError):
        await append
    await erasing
    assert not await Event.objects.filter(session=row.pk).aexists()
    assert await in_thread(found_in_database, "too late") == []


async def test_the_process_that_runs_the_session_can_no_longer_write(person: User) -> None:
    session = await session_helpers.create_session(person)
    claim = await session_helpers.claim_invocation(session)
    await in_thread(stop_work, claim.session_id, by=None)
    writer = DjangoSessionService(Writer(lease_token=claim.lease_token))
    with pytest.raises(StaleLeaseError):
        await writer.append_event(session, session_helpers.text_event("too late"))
    assert (await Invocation.objects.aget()).status == "cancelled"


async def test_a_running_job_is_cancelled_and_the_model_is_not_told(ada: User) -> None:
    await ToolJob.objects.aupdate(status="running")
    for session_pk in [pk async for pk in Session.objects.values_list("pk", flat=True)]:
        await in_thread(stop_work, session_pk, by=None)
    jobs = [(job.status, job.delivered_at is not None) async for job in ToolJob.objects.all()]
    assert jobs == [("cancelled", True)] * 2


async def test_an_erasure_that_finds_the_session_restored_does_not_disturb_another_one(ada: User) -> None:
    session = await Session.objects.afirst()
    assert session is not None
    await Session.objects.filter(pk=session.pk).aupdate(deleted_at=Now())
    deleted = Session.objects.filter(deleted_at__isnull=False)
    async with held(f"UPDATE sessions_app_session SET deleted_at = NULL WHERE id = '{session.pk}'"):
        of_sweep = asyncio.create_task(in_thread(erase_session, session.pk, ORDER, deleted))
        await blocked(1)
        of_staff = asyncio.create_task(in_thread(erase_session, session.pk, ORDER))
        await blocked(2)
    with pytest.raises(NotFoundError):
        await of_sweep
    tombstone = await of_staff
    assert (tombstone.counts["sessions"], tombstone.finished_at is not None) == (1, True)
    assert await Tombstone.objects.acount() == 1


async def test_an_erasure_that_was_killed_half_way_is_completed_by_the_next(ada: User) -> None:
    last = await Session.objects.order_by("pk").alast()
    assert last is not None
    lock = f"SELECT FROM sessions_app_session WHERE id = '{last.pk}' FOR UPDATE"
    async with held(lock, seconds=60):
        process = await start_erasure("ada-lovelace")
        await blocked(1)
        process.kill()
        await process.wait()
    interrupted = await Tombstone.objects.aget()
    assert interrupted.finished_at is None
    assert [session.pk async for session in Session.objects.all()] == [last.pk]
    await run_command("adk_erase", "--user", "ada-lovelace", "--yes")
    assert await in_thread(found_in_database, "ada-lovelace", str(ID)) == []
    completed = await Tombstone.objects.aget()
    assert completed.finished_at is not None
    assert (completed.counts["sessions"], completed.counts["events"]) == (2, 4)


async def start_erasure(name: str) -> asyncio.subprocess.Process:
    """Start `adk_erase --yes` in a process of its own on the database of the test."""
    variables: dict[str, Any] = {
        **os.environ,
        **server_variables(),
        "DJANGO_SETTINGS_MODULE": "adk_site.settings",
    }
    manage = Path(__file__).parents[3] / "manage.py"
    command = [sys.executable, str(manage), "adk_erase", "--user", name, "--yes"]
    return await asyncio.create_subprocess_exec(*command, env=variables)
