"""The number of queries of an audit page does not depend on the number of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from sessions_app.models import Invocation, Session
from tests.integration.admin.audit_rows import (
    MODELS,
    append_event,
    make_artifact,
    make_job,
    make_scheduled_task,
    page_of,
    read,
    sign_in,
)

pytestmark = pytest.mark.django_db


def rich_session(person: User, key: str, events: int) -> Session:
    """Create a session with `events` rows of each kind that a page looks up."""
    session = Session.objects.create(app_name="help_desk", user=person, key=key)
    for n in range(events):
        call = {"functionCall": {"id": f"c-{n}", "name": "report", "args": {}}}
        append_event(
            session,
            call,
            actions={"stateDelta": {"n": n}, "artifactDelta": {f"f-{n}": 0}},
            invocationId=f"{key}-{n}",
        )
        Invocation.objects.create(session=session, invocation_id=f"{key}-{n}", client_id=f"m-{n}", message={})
        make_job(session, call_id=f"c-{n}", invocation_id=f"{key}-{n}")
        make_scheduled_task(session, call_id=f"c-{n}", invocation_id=f"{key}-{n}")
        make_artifact(session, f"f-{n}")
    return session


def test_the_number_of_queries_of_a_session_page_does_not_grow(
    auditor: Client, person: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    few, many = rich_session(person, "few", 2), rich_session(person, "many", 30)
    for session in (few, many):
        with django_assert_num_queries(37):
            auditor.get(page_of(session, "?at=2"))


@pytest.mark.parametrize("model", MODELS)
def test_the_number_of_queries_of_a_list_does_not_grow(
    client: Client, person: User, model: str, count_queries: Callable[[str], int]
) -> None:
    sign_in(client, *MODELS)
    url = reverse(f"admin:sessions_app_{model}_changelist")
    rich_session(person, "s-1", 2)
    few = count_queries(url)
    for n in range(5):
        rich_session(User.objects.create_user(f"u{n}"), f"s-{n + 2}", 3)
    assert count_queries(url) == few


@pytest.fixture
def count_queries(client: Client, django_assert_max_num_queries: Any) -> Callable[[str], int]:
    def count(url: str) -> int:
        with django_assert_max_num_queries(14) as queries:
            read(client, url)
        return len(queries)

    return count
