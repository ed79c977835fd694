"""Authentication of the API: keys and their ends, a browser's sign-in with its CSRF token, rates, problem details."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from ipaddress import IPv4Address
from random import getrandbits
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from sessions_app.api.access.callers import Caller, key_in_force
from sessions_app.errors import NotFoundError
from sessions_app.models import ApiKey, Session, Webhook
from sessions_app.process.threads import in_thread
from tests.integration.api.conftest import make_key, with_key

pytestmark = pytest.mark.django_db(transaction=True)
ME = "/api/v1/me"
TOKEN = {"X-CSRFToken": "a" * 32}


def test_a_key_tells_its_person_and_its_scopes(person: User) -> None:
    key = make_key(person, "read")
    response = with_key(key).get(ME)
    assert response.json() == {
        "user_id": str(person.pk),
        "username": "ada",
        "key": key[:12],
        "scopes": ["read"],
    }
    row = ApiKey.objects.get()
    assert row.last_used_at is not None
    assert key not in (row.digest, row.prefix)


@pytest.mark.parametrize("change", ["revoked_at", "expires_at"])
def test_a_key_that_has_ended_is_refused(person: User, change: str) -> None:
    key = make_key(person)
    assert with_key(key).get(ME).status_code == 200
    ApiKey.objects.update(**{change: timezone.now() - timedelta(seconds=1)})
    response = with_key(key).get(ME)
    assert response.status_code == 401
    assert response["Content-Type"] == "application/problem+json"
    assert response["WWW-Authenticate"] == "Bearer"
    assert "Make a new one" in response.json()["detail"]


@pytest.mark.parametrize("key", ["", "adk_unknown", "\u202e", "x" * 10_000, "a b"])
def test_an_unknown_key_is_refused_even_in_a_browser_that_is_signed_in(person: User, key: str) -> None:
    client = with_key(key.encode("utf-8").decode("latin-1"))
    client.force_login(person)
    assert client.get(ME).status_code == 401


def test_a_key_of_a_deactivated_person_is_refused(person: User) -> None:
    key = make_key(person)
    assert with_key(key).get(ME).status_code == 200
    User.objects.update(is_active=False)
    assert with_key(key).get(ME).status_code == 401


def test_a_change_of_a_used_key_or_of_its_person_counts_at_once(person: User) -> None:
    key = make_key(person, "read")
    assert with_key(key).get(ME).json()["scopes"] == ["read"]
    assert ApiKey.objects.get().last_used_at is not None
    ApiKey.objects.update(scopes=["read", "run"])
    assert with_key(key).get(ME).json()["scopes"] == ["read", "run"]
    User.objects.update(username="lovelace")
    assert with_key(key).get(ME).json()["username"] == "lovelace"


async def test_requests_that_come_together_note_the_use_of_their_key_once(person: User) -> None:
    key = await in_thread(make_key, person)
    rows = await asyncio.gather(*(in_thread(key_in_force, key) for _ in range(20)))
    assert {row.prefix for row in rows if row} == {key[:12]}
    noted = (await ApiKey.objects.aget()).last_used_at
    assert noted is not None
    await in_thread(key_in_force, key)
    assert (await ApiKey.objects.aget()).last_used_at == noted


def test_a_browser_that_is_signed_in_needs_no_key_to_read(person: User) -> None:
    client = Client()
    assert client.get(ME).status_code == 401
    client.force_login(person)
    assert client.get(ME).json()["key"] is None


@pytest.mark.parametrize(("sent", "status"), [({}, 403), ({"X-CSRFToken": "b" * 32}, 403), (TOKEN, 202)])
def test_a_browser_that_is_signed_in_writes_with_the_token_of_its_page_only(
    person: User, sent: dict[str, str], status: int
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person)
    client.cookies["csrftoken"] = TOKEN["X-CSRFToken"]
    hook = Webhook.objects.create(user=person, url="https://example.org/", secret="", events=[])
    assert client.post(f"/api/v1/webhooks/{hook.pk}/test", headers=sent).status_code == status
    assert hook.deliveries.exists() is (status == 202)


@pytest.mark.parametrize("address", ["/api/v1/sessions", "/adk/apps/help_desk/users/ada/sessions"])
def test_a_program_without_a_key_and_a_browser_without_a_token_are_told_what_to_send(
    person: User, address: str
) -> None:
    client = Client(enforce_csrf_checks=True)
    refused = client.post(address, {"app": "help_desk"}, content_type="application/json")
    assert (refused.status_code, refused.json()["detail"]) == (401, "Sign in, or send an API key.")
    client.force_login(person)
    refused = client.post(address, {"app": "help_desk"}, content_type="application/json")
    assert refused.status_code == 403
    assert refused.json()["detail"].startswith("The CSRF token is missing or wrong.")


def test_the_key_of_a_service_has_a_rate_in_place_of_its_person(
    person: User, configure: Callable[..., None]
) -> None:
    configure(max_frames_per_user=1)
    group = Group.objects.create(name="customers")
    client = with_key(make_key(person, people=group, requests_per_minute=2))
    responses = [client.get(ME) for _ in range(3)]
    assert [response.status_code for response in responses] == [200, 200, 429]
    assert int(responses[2]["Retry-After"]) > 0
    assert responses[2].json()["code"] == "limit"


@pytest.mark.parametrize("of_person, of_key, most", [(1, 2**31 - 1, 1), (9, 2, 2)])
def test_the_rate_of_a_key_counts_beside_that_of_its_person(
    person: User, configure: Callable[..., None], of_person: int, of_key: int, most: int
) -> None:
    configure(max_frames_per_user=of_person)
    client = with_key(make_key(person, requests_per_minute=of_key))
    assert [client.get(ME).status_code for _ in range(most + 1)] == [200] * most + [429]


def test_a_key_made_by_the_key_of_a_service_counts_for_its_person(
    person: User, configure: Callable[..., None]
) -> None:
    configure(max_frames_per_user=1)
    group = Group.objects.create(name="customers")
    make_key(person, people=group)
    made = make_key(person, people=group, made_by=ApiKey.objects.get(), requests_per_minute=9)
    assert [with_key(made).get(ME).status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize("of_person", [0, 1])
def test_the_rate_of_a_service_counts_beside_that_of_the_address(
    person: User, configure: Callable[..., None], of_person: int
) -> None:
    configure(max_frames_per_user=of_person, max_frames_per_address=2)
    group = Group.objects.create(name="customers")
    client = with_key(make_key(person, people=group, requests_per_minute=9))
    address = str(IPv4Address(getrandbits(32)))  # Requests of other tests count for their address.
    assert [client.get(ME, REMOTE_ADDR=address).status_code for _ in range(3)] == [200, 200, 429]


def test_a_scope_that_a_key_lacks_is_named(person: User) -> None:
    response = with_key(make_key(person, "run")).get("/api/v1/apps")
    assert response.status_code == 403
    assert "“read”" in response.json()["detail"]


async def test_a_key_acts_for_the_members_of_its_group_only(person: User) -> None:
    group = await Group.objects.acreate(name="customers")
    member = await User.objects.acreate_user("bob")
    await User.objects.acreate_user("eve")
    await member.groups.aadd(group)
    key = ApiKey(user=person, people=group, scopes=[])
    caller = Caller(person, key, "", "")
    assert await caller.acting_for("bob") == await caller.acting_for(str(member.pk)) == member
    assert await caller.acting_for("ada") == person
    for stranger in ("eve", "nobody", "\0", "9" * 40, ""):
        with pytest.raises(NotFoundError):
            await caller.acting_for(stranger)


@pytest.mark.parametrize("right", ["is_staff", "is_superuser"])
def test_a_key_acts_for_no_staff_in_its_group(person: User, right: str) -> None:
    group = Group.objects.create(name="customers")
    member = User.objects.create_user("bob")
    member.groups.add(group)
    session = Session.objects.create(app_name="echo", user=member)
    client = with_key(make_key(person, people=group))
    addresses = ["/api/v1/sessions?user_id=bob", f"/api/v1/sessions/{session.pk}"]
    assert [client.get(address).status_code for address in addresses] == [200, 200]
    User.objects.filter(pk=member.pk).update(**{right: True})
    assert [client.get(address).status_code for address in addresses] == [404, 404]
    assert not ApiKey.objects.get().acts_for(member.pk)


async def test_a_word_that_may_stand_for_two_people_is_refused(person: User) -> None:
    group = await Group.objects.acreate(name="customers")
    bob = await User.objects.acreate_user("bob")
    namesakes = [await User.objects.acreate_user(str(one.pk)) for one in (bob, person)]
    for member in (bob, *namesakes):
        await member.groups.aadd(group)
    key = ApiKey(user=person, people=group, scopes=[])
    for user, word in ((person, bob.pk), (person, person.pk), (namesakes[0], bob.pk)):
        caller = Caller(user, key, "", "")
        with pytest.raises(NotFoundError, match="primary key of another"):
            await caller.acting_for(str(word))
        assert await caller.acting_for("bob") == bob
        assert await caller.acting_for(str(namesakes[0].pk)) == namesakes[0]


def test_a_failure_has_a_reference_and_no_text_of_the_exception(
    person: User, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("sessions_app.agent_apps.registry.apps", fail)
    response = with_key(make_key(person)).get("/api/v1/apps")
    assert response.status_code == 500
    problem = response.json()
    assert "secret" not in response.content.decode()
    assert problem["reference"] in caplog.text


def test_a_person_named_like_the_primary_key_of_another_reaches_nothing_of_the_other(person: User) -> None:
    session = Session.objects.create(app_name="echo", user=person)
    group = Group.objects.create(name="customers")
    namesake = User.objects.create_user(str(person.pk))
    namesake.groups.add(group)
    clients = [
        with_key(make_key(namesake)),
        with_key(make_key(User.objects.create_user("service"), people=group)),
    ]
    for client in clients:
        assert (
            client.post(f"/api/v1/sessions/{session.pk}/runs", {"text": "x"}, "application/json").status_code
            == 404
        )


def test_a_key_of_a_service_erases_no_conversation_of_others_where_a_second_person_must_agree(
    person: User, settings: Any
) -> None:
    """Whoever makes such a key would erase alone. People erase their own conversations, also by a key."""
    group = Group.objects.create(name="customers")
    person.groups.add(group)
    session = Session.objects.create(app_name="echo", user=person, key="s-1")
    service = with_key(make_key(User.objects.create_user("service"), people=group))
    urls = (
        f"/api/v1/sessions/{session.pk}",
        f"/adk/apps/echo/users/{person.username}/sessions/s-1",
    )
    settings.ADK = {**settings.ADK, "second_person_for": ("erase",)}
    for url in urls:
        refused = service.delete(url)
        assert refused.status_code == 403 and "A second member of staff" in refused.content.decode(), url
    session.refresh_from_db()
    assert session.deleted_at is None
    own = Session.objects.create(app_name="echo", user=person, key="s-2")
    assert with_key(make_key(person)).delete(f"/api/v1/sessions/{own.pk}").status_code == 204
    settings.ADK = {**settings.ADK, "second_person_for": ()}
    assert service.delete(urls[1]).status_code == 200
    assert not Session.objects.filter(pk=session.pk).exists()
