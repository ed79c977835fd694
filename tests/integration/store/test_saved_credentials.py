"""Saved credentials on the site: found in later invocations, encrypted, bounded in time (contract T8)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import F

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.auth import AuthCredential
from runtime.tools import ToolContext
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import NotFoundError
from sessions_app.invocations.worker import worker
from sessions_app.models import SavedCredential
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoCredentialService, DjangoSessionService
from sessions_app.store.credential_service import delete_old_credentials
from tests.contracts.credential_service import config, context_of
from tests.fakes import ScriptedModel, call
from tests.integration.locks import blocked
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
SECRET = "s3cr3t-key-of-ada"


async def save(person: User, secret: str = SECRET) -> None:
    context = await context_of(DjangoCredentialService(), DjangoSessionService(), str(person.pk))
    await context.save_credential(config(secret))


async def load(person: User) -> str | None:
    context = await context_of(DjangoCredentialService(), DjangoSessionService(), str(person.pk))
    found = await context.load_credential(config())
    return found.api_key if found else None


async def test_a_tool_finds_what_it_saved_in_another_session(person: User, served: Served) -> None:
    """Contract T8."""
    found: list[str | None] = []

    async def visit(tool_context: ToolContext) -> str:
        """Visit the shop."""
        credential = await tool_context.load_credential(config())
        found.append(credential.api_key if credential else None)
        await tool_context.save_credential(config(SECRET))
        return "visited"

    model = ScriptedModel(turns=[call("visit", "c1"), "Done.", call("visit", "c2"), "Done."])
    app = App(name="shop", root_agent=LlmAgent(name="clerk", model=model, tools=[visit]))
    served(app)
    for _ in range(2):
        session = await use_cases.create_session(person, "shop")
        await use_cases.send_message(actors.person(person), session.pk, "m-1", "Hi")
        await worker().wait_until_idle()
    assert found == [None, SECRET]


async def test_the_row_does_not_show_the_credential_and_the_admin_not_the_row(person: User) -> None:
    await save(person)
    row = await SavedCredential.objects.aget()
    assert not any(SECRET in str(value) or "shop_key" in str(value) for value in vars(row).values())
    assert SavedCredential not in admin.site._registry


async def test_a_row_that_was_copied_to_another_person_gives_nothing(person: User) -> None:
    eve = await in_thread(User.objects.create_user, "eve")
    await save(person)
    await SavedCredential.objects.aupdate(user=eve)
    assert await load(eve) is None
    assert await load(person) is None


async def test_an_old_credential_is_not_found_and_deleted_at_night(
    person: User, configure: Callable[..., None]
) -> None:
    await save(person)
    configure(saved_credential_days=2)
    assert await in_thread(delete_old_credentials) == 0
    await SavedCredential.objects.aupdate(saved_at=F("saved_at") - timedelta(days=2))
    assert await in_thread(delete_old_credentials) == 1
    assert await load(person) is None


async def test_a_credential_encrypted_with_an_unknown_key_is_not_found(
    person: User, configure: Callable[..., None]
) -> None:
    configure(credential_keys=["old"])
    await save(person)
    configure(credential_keys=["new"])
    assert await load(person) is None


async def test_saving_for_a_deleted_person_says_so(person: User) -> None:
    context = await context_of(DjangoCredentialService(), DjangoSessionService(), str(person.pk))
    await person.adelete()
    with pytest.raises(NotFoundError, match="no user"):
        await context.save_credential(config(SECRET))


async def test_one_process_at_a_time_renews_a_credential_and_the_others_get_it(person: User) -> None:
    await save(person)
    service = DjangoCredentialService()
    context = await context_of(service, DjangoSessionService(), str(person.pk))
    others: list[asyncio.Task[AuthCredential | None]] = []

    async def renew(stored: AuthCredential) -> AuthCredential:
        if stored.api_key == SECRET:
            others.append(asyncio.create_task(service.renew_credential(config(), context, renew)))
            await blocked(1)
            return stored.model_copy(update={"api_key": "renewed"})
        return stored

    async with asyncio.timeout(60):
        first = await service.renew_credential(config(), context, renew)
        second = await others[0]
    assert [given and given.api_key for given in (first, second)] == ["renewed", "renewed"]
    assert (len(others), await load(person)) == (1, "renewed")
