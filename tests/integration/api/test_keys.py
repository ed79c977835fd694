"""API keys by the HTTP API: making, listing and revoking, and what a key cannot give to another key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.test import AsyncClient, Client
from django.utils import timezone

from sessions_app.base import actors
from sessions_app.base.actors import ActorKind
from sessions_app.errors import PermissionDeniedError
from sessions_app.live.process import live
from sessions_app.live.sign_ins import SiteSignIn
from sessions_app.models import AccountAct, ApiKey, Scope
from sessions_app.process.threads import in_thread
from sessions_app.use_cases import keys
from tests.integration.api.conftest import make_key, with_key
from tests.integration.locks import blocked, held

pytestmark = pytest.mark.usefixtures("background_end")
KEYS = "/api/v1/keys"
READ = {"name": "Laptop", "scopes": ["read"]}


def made(client: Client, **fields: Any) -> Any:
    return client.post(KEYS, {**READ, **fields}, content_type="application/json")


def test_a_new_key_is_told_once_and_works(person: User) -> None:
    response = made(with_key(make_key(person)), scopes=["run", "read"])
    assert response.status_code == 201
    assert response["Cache-Control"] == "no-store"
    new = response.json()
    assert new["scopes"] == ["read", "run"]
    listed = with_key(make_key(person)).get(KEYS)
    assert new["key"] not in listed.content.decode()
    assert new["id"] in {row["id"] for row in listed.json()}
    assert with_key(new["key"]).get("/api/v1/me").json()["username"] == "ada"


def test_making_and_revoking_are_recorded_with_key_and_address(person: User) -> None:
    client = with_key(make_key(person))
    new = made(client).json()
    assert client.delete(f"{KEYS}/{new['id']}").status_code == 204
    assert client.delete(f"{KEYS}/{new['id']}").status_code == 204
    acts = list(AccountAct.objects.order_by("pk"))
    assert [act.action for act in acts] == ["add", "revoke"]
    assert {act.actor_name for act in acts} == {"ada by the key test"}
    assert {act.actor_kind for act in acts} == {ActorKind.KEY}
    assert {act.address for act in acts} == {"127.0.0.1"}
    assert ApiKey.objects.get(pk=new["id"]).revoked_by_name == "ada by the key test"


@pytest.mark.parametrize(
    "maker,wish,field",
    [
        ({"scopes": ["manage"]}, {"scopes": ["read"]}, "“read”"),
        ({"expires_at": timedelta(hours=1)}, {}, "expires at"),
        ({"expires_at": timedelta(hours=1)}, {"expires_at": timedelta(hours=2)}, "expires at"),
        ({"requests_per_minute": 60}, {"requests_per_minute": 1}, "limits of its own"),
        ({"tokens_per_day": 60}, {"tokens_per_day": 1}, "limits of its own"),
    ],
)
def test_a_key_makes_no_key_that_is_allowed_more(
    person: User, maker: dict[str, Any], wish: dict[str, Any], field: str
) -> None:
    def in_time(fields: dict[str, Any]) -> dict[str, Any]:
        return {
            name: timezone.now() + value if isinstance(value, timedelta) else value
            for name, value in fields.items()
        }

    scopes = maker.pop("scopes", ["read", "manage"])
    response = made(with_key(make_key(person, *scopes, **in_time(maker))), **in_time(wish))
    assert response.status_code == 403, response.content
    assert field in response.json()["detail"]
    assert ApiKey.objects.count() == 1


def test_a_key_gives_its_own_people_and_no_others(person: User) -> None:
    own, other = (Group.objects.create(name=name) for name in ("customers", "staff"))
    client = with_key(make_key(person, people=own))
    assert made(client, people=own.name).json()["people"] == "customers"
    assert made(client, people=other.name).status_code == 404
    assert made(with_key(make_key(person)), people=own.name).status_code == 404
    browser = Client()
    browser.force_login(person)
    assert made(browser, people=own.name).status_code == 404


def test_revoking_a_key_revokes_those_that_it_has_made(person: User) -> None:
    maker = with_key(make_key(person))
    child = made(maker, scopes=["read", "manage"]).json()
    grandchild = made(with_key(child["key"])).json()
    assert with_key(make_key(person)).delete(f"{KEYS}/{child['id']}").status_code == 204
    assert with_key(child["key"]).get("/api/v1/me").status_code == 401
    assert with_key(grandchild["key"]).get("/api/v1/me").status_code == 401
    assert maker.get("/api/v1/me").status_code == 200


@pytest.mark.parametrize("first", ["make", "revoke"])
async def test_no_key_outlives_a_maker_that_is_revoked_meanwhile(person: User, first: str) -> None:
    maker, _ = await in_thread(partial(ApiKey.objects.all().make, user=person, name="maker", scopes=["read"]))
    by, properties = actors.person(person), keys.KeyProperties("Laptop", (Scope.READ,))
    acts: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
        "make": partial(in_thread, keys.make_key, person, properties, by, maker),
        "revoke": partial(in_thread, keys.revoke_key, ApiKey.objects.all(), maker.pk, by),
    }
    pending = []
    async with held(f"SELECT 1 FROM auth_user WHERE id = {person.pk} FOR UPDATE"):
        for act in sorted(acts, key=lambda name: name != first):
            pending.append(asyncio.create_task(acts[act]()))
            await blocked(len(pending))
    results = await asyncio.gather(*pending, return_exceptions=True)
    errors = [result for result in results if isinstance(result, Exception)]
    assert [type(error) for error in errors] == ([PermissionDeniedError] if first == "revoke" else [])
    assert not await ApiKey.objects.active().aexists()


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "\u00a0"},
        {"name": "x" * 101},
        {"name": 7},
        {"scopes": []},
        {"scopes": ["admin"]},
        {"scopes": "read"},
        {"scopes": ["read"] * 1000},
        {"expires_at": "yesterday"},
        {"expires_at": "2001-01-01T00:00:00Z"},
        {"expires_at": "2040-01-01T00:00:00"},
        {"expires_at": 10**30},
        {"tokens_per_day": -1},
        {"tokens_per_day": 2**63},
        {"requests_per_minute": 1e400},
        {"people": ["customers"]},
    ],
    ids=str,
)
def test_invalid_fields_of_a_new_key_are_refused_with_a_sentence(
    person: User, fields: dict[str, Any]
) -> None:
    response = made(with_key(make_key(person)), **fields)
    assert response.status_code in (400, 422)
    assert response.json()["detail"]
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("name", ["items", "a\0b", "\ud800", "\u202eevil", "<script>"])
def test_a_hostile_name_is_kept_or_replaced(person: User, name: str) -> None:
    expected = 422 if name == "\ud800" else 201
    assert made(with_key(make_key(person)), name=name).status_code == expected


def test_the_number_of_keys_is_limited(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MAX_KEYS", 2)
    client = with_key(make_key(person))
    make_key(person, revoked_at=timezone.now())
    assert made(client).status_code == 201
    refused = made(client)
    assert (refused.status_code, refused.json()["code"]) == (429, "limit")
    assert refused.json()["detail"] == "There are 2 keys already. Revoke one that is not used."


def test_a_key_of_somebody_else_is_not_there(person: User) -> None:
    other = ApiKey.objects.all().make(user=User.objects.create_user("eve"), name="x", scopes=["read"])[0]
    client = with_key(make_key(person))
    for key_id in (other.pk, uuid4()):
        assert client.delete(f"{KEYS}/{key_id}").status_code == 404
    assert client.delete(f"{KEYS}/items").status_code == 422
    assert ApiKey.objects.get(pk=other.pk).revoked_at is None


@pytest.mark.usefixtures("loop_end")
@pytest.mark.parametrize("end", ["revoked", "person deactivated", "left the group", "made staff", "expired"])
async def test_what_is_open_with_a_key_ends_with_it(
    person: User, end: str, configure: Callable[..., None]
) -> None:
    configure(heartbeat_seconds=0.05)
    group = await Group.objects.acreate(name="customers")
    bob = await User.objects.acreate_user("bob")
    await bob.groups.aadd(group)
    key, _ = await sync_to_async(ApiKey.objects.all().make)(
        user=person, people=group, name="service", scopes=["read"]
    )
    ended = {pk: asyncio.Event() for pk in (person.pk, bob.pk)}
    for pk, event in ended.items():
        live().sign_ins.watch(SiteSignIn.of_key(key, pk), event.set)
    await live().sign_ins.check_all()
    assert not any(event.is_set() for event in ended.values())
    if end == "revoked":
        sent = {"authorization": f"Bearer {await sync_to_async(make_key)(person)}"}
        assert (await AsyncClient().delete(f"{KEYS}/{key.pk}", headers=sent)).status_code == 204
    elif end == "person deactivated":
        bob.is_active = False
        await bob.asave()
    elif end == "made staff":
        bob.is_staff = True
        await bob.asave(update_fields=["is_staff"])
    elif end == "left the group":
        await bob.groups.aremove(group)
    else:
        await ApiKey.objects.filter(pk=key.pk).aupdate(expires_at=timezone.now())
    await asyncio.wait_for(ended[bob.pk].wait(), 5)
    if end in ("revoked", "expired"):
        await asyncio.wait_for(ended[person.pk].wait(), 5)
    else:
        assert not ended[person.pk].is_set()
