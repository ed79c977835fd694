"""Lists of the API: pages by cursor that miss and repeat nothing, filters, and a constant number of queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.models import Invocation, Session
from tests.integration.access import make_job, make_request, make_schedule, make_session
from tests.integration.api.conftest import Program, make_key

SESSIONS = "/api/v1/sessions"


def pages(client: Client, address: str) -> Iterator[list[dict[str, Any]]]:
    """Each page of a list, from the first to the last."""
    cursor: str | None = ""
    while cursor is not None:
        page = client.get(f"{address}?limit=2&cursor={cursor}").json()
        yield page["items"]
        cursor = page["next"]


@pytest.fixture
def client(person: User) -> Client:
    return Client(headers={"authorization": f"Bearer {make_key(person)}"})


def test_pages_of_sessions_have_each_session_once_though_new_ones_come(client: Client, person: User) -> None:
    known = {str(make_session(person).pk) for _ in range(5)}
    found: list[str] = []
    for page in pages(client, SESSIONS):
        found += [item["session_id"] for item in page]
        make_session(person)
    assert len(found) == 5
    assert set(found) == known


def test_the_filters_are_those_of_the_chats_list(client: Client, person: User) -> None:
    pinned, archived, other = (make_session(person) for _ in range(3))
    Session.objects.filter(pk=pinned.pk).update(is_pinned=True, title="Order of paper")
    Session.objects.filter(pk=archived.pk).update(archived_at=timezone.now())
    Session.objects.filter(pk=other.pk).update(app_name="other")

    def ids(query: str, address: str = SESSIONS) -> set[str]:
        body = client.get(f"{address}?{query}").json()
        return {item["session_id"] for item in (body if isinstance(body, list) else body["items"])}

    assert ids("") == {str(pinned.pk), str(other.pk)}
    assert ids("archived=true") == {str(archived.pk)}
    assert ids("pinned=true") == {str(pinned.pk)}
    assert ids("pinned=false") == ids("app=other") == {str(other.pk)}
    assert ids("q=paper", f"{SESSIONS}/search") == {str(pinned.pk)}


LISTS = ["", "/{pk}/runs", "/{pk}/jobs", "/{pk}/schedules", "/{pk}/files", "approvals"]


@pytest.mark.parametrize("address", LISTS)
def test_a_list_costs_the_same_queries_for_one_row_and_for_many(
    client: Client, person: User, address: str
) -> None:
    session = make_session(person)
    url = f"/api/v1/{address}" if address == "approvals" else f"{SESSIONS}{address.format(pk=session.pk)}"

    def count() -> tuple[int, int]:
        with CaptureQueriesContext(connection) as queries:
            response = client.get(url, {"limit": 50})
        assert response.status_code == 200
        return len(queries), len(response.content)

    fill(session, person, 1)
    count()  # notes the use of the key,
    count()  # which changes its row, so that it is read again
    few, short = count()
    fill(session, person, 4)
    many, long = count()
    assert few == many
    assert long > short or address.endswith("files")


def fill(session: Session, person: User, number: int) -> None:
    """Store rows of each kind for the session and its person."""
    have = session.jobs.count()
    for n in range(have, have + number):
        names = {"session": session, "invocation_id": f"e-{n}-{session.pk}", "client_id": f"m-{n}"}
        Invocation.objects.create(message={}, status="completed", **names)
        make_job(session, call_id=f"c-{n}")
        other = make_session(person)
        make_request(other)
        task = make_schedule(other)
        type(task).objects.filter(pk=task.pk).update(session=session, call_id=f"c-{n}")


@pytest.mark.parametrize(
    "cursor",
    ["x", "W10=", "WzFd", "\0", "é", "WyIyMDI2IiwgMV0=", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5", "9" * 301],
)
def test_a_cursor_that_no_page_had_is_named(client: Client, cursor: str) -> None:
    response = client.get(SESSIONS, {"cursor": cursor})
    if cursor == "\0":
        assert response.status_code == 400
    else:
        assert response.status_code == 422
        assert response.json()["errors"][0]["field"] == "query.cursor"


@pytest.mark.parametrize("limit", ["0", "101", "x", "9" * 50, "-1"])
def test_a_limit_outside_of_the_range_is_named(client: Client, limit: str) -> None:
    response = client.get(SESSIONS, {"limit": limit})
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "query.limit"


async def test_a_services_key_reaches_the_sessions_of_its_people_and_no_others(
    person: User, loop_end: None
) -> None:
    group = await Group.objects.acreate(name="customers")
    member, stranger = [await User.objects.acreate_user(name) for name in ("bob", "eve")]
    await member.groups.aadd(group)
    service = Program(await sync_to_async(make_key)(person, people=group))
    own = await sync_to_async(make_session)(member)
    foreign = await sync_to_async(make_session)(stranger)
    assert (await service.get(f"{SESSIONS}/{own.pk}")).json()["user_id"] == str(member.pk)
    assert (await service.get(f"{SESSIONS}/{foreign.pk}")).status_code == 404
    assert (await service.get(SESSIONS)).json()["items"] == []
    assert len((await service.get(SESSIONS, {"user_id": "bob"})).json()["items"]) == 1
    assert (await service.get(SESSIONS, {"user_id": "eve"})).status_code == 404
    changed = await service.patch(f"{SESSIONS}/{own.pk}", {"title": "Bob's"}, content_type="application/json")
    assert changed.json()["title"] == "Bob's"
