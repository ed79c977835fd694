"""Tokens of an API key in a day (docs/limits.md)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db.models import F

from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.base.actors import UserActor
from sessions_app.errors import LimitExceededError
from sessions_app.invocations.worker import worker
from sessions_app.models import ApiKey, Invocation, KeyUsage, PersonUsage
from tests.fakes import ScriptedModel
from tests.integration.limits.words_app import ask, using
from tests.integration.locks import blocked, held
from tests.noon import ZONE_AT_NOON

pytestmark = pytest.mark.usefixtures("loop_end", "at_noon")


async def new_key(person: User, tokens_per_day: int) -> UserActor:
    """Return a new key as an actor."""
    key, _ = await sync_to_async(ApiKey.objects.all().make)(
        user=person, name="Laptop", scopes=["run"], tokens_per_day=tokens_per_day
    )
    return actors.api_key(person, str(key.pk), key.name)


async def test_a_key_that_has_used_its_tokens_is_refused_until_midnight(
    person: User, model: ScriptedModel
) -> None:
    model.turns = [using(999), using(1), using(5), using(7)]
    key = await new_key(person, 1000)
    assert await ask(person, by=key) == ("completed", "")
    assert await ask(person, by=key) == ("completed", "")  # one token was left
    with pytest.raises(LimitExceededError, match="The API key has used its tokens of today") as refused:
        await ask(person, by=key)
    assert 0 < (refused.value.retry_seconds or 0) <= 86_400
    assert await Invocation.objects.acount() == 2
    assert await ask(person) == ("completed", "")  # the person may go on
    await KeyUsage.objects.aupdate(day=F("day") - timedelta(days=1))
    assert await ask(person, by=key) == ("completed", "")
    assert (await KeyUsage.objects.aget()).tokens == 7
    assert (await PersonUsage.objects.aget()).tokens == 1012


async def test_a_repeated_message_of_a_spent_key_is_told_its_invocation(
    person: User, model: ScriptedModel
) -> None:
    end = asyncio.Event()
    model.rule = lambda request: using(1000) if "spend" in str(request.contents[-1]) else end
    key = await new_key(person, 1000)
    session, other = [await use_cases.create_session(person, "words") for _ in range(2)]
    await use_cases.send_message(key, session.pk, "m1", "hello")
    _, status = await use_cases.send_message(key, session.pk, "m2", "and again")
    assert status == "queued"
    spending, _ = await use_cases.send_message(key, other.pk, "m1", "spend all")
    await worker()._running[spending].task
    end.set()
    await worker().wait_until_idle()
    rows: list[Any] = [row async for row in Invocation.objects.filter(session=session).order_by("pk")]
    assert [row.status for row in rows] == ["completed", "failed"]
    assert rows[1].error_message == (
        f"The API key has used its tokens of today. Try again after midnight ({ZONE_AT_NOON})."
    )


async def test_a_run_ends_while_its_key_is_being_deleted(person: User, model: ScriptedModel) -> None:
    model.turns = [using(5)]
    key = await new_key(person, 0)
    async with held("DELETE FROM sessions_app_apikey"):
        asking = asyncio.create_task(ask(person, by=key))
        await blocked(1)
    assert await asking == ("completed", "")


async def test_a_key_without_a_budget_is_counted_and_not_limited(person: User, model: ScriptedModel) -> None:
    model.turns = [using(1000), using(1000)]
    key = await new_key(person, 0)
    assert await ask(person, by=key) == await ask(person, by=key) == ("completed", "")
    assert (await KeyUsage.objects.aget()).tokens == 2000
