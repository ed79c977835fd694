"""Writes of the API under an Idempotency-Key: answered again, never done twice, also after a crash; ETags."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models.functions import Now

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.api.site_api import site_api
from sessions_app.models import ApiKey, Artifact, IdempotentRequest, Session, Webhook
from sessions_app.secrets.credential_encryption import decrypt_text
from sessions_app.store.erasing import delete_session_row
from sessions_app.store.idempotent_requests import delete_old_requests
from sessions_app.store.uploads import store_upload
from tests.fakes import ScriptedModel
from tests.integration.api.conftest import Program, make_key
from tests.integration.locks import blocked, held
from tests.served_agents import Served

SESSIONS = "/api/v1/sessions"


@pytest.fixture(autouse=True)
def app(served: Served) -> None:
    app = App(name="echo", root_agent=LlmAgent(name="echo", model=ScriptedModel()))
    served(app)


async def create(program: Program, key: str, **fields: Any) -> Any:
    body = {"app": "echo", **fields}
    return await program.post(
        SESSIONS, body, content_type="application/json", headers={"idempotency-key": key}
    )


async def test_a_repeated_request_gets_the_first_response(program: Program) -> None:
    first, second = [await create(program, "k-1") for _ in range(2)]
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert first["Location"] == second["Location"]
    assert second["Idempotency-Replayed"] == "true"
    assert await Session.objects.acount() == 1


async def test_a_key_belongs_to_one_caller_and_one_request(program: Program, person: User) -> None:
    await create(program, "k-1")
    other = await create(program, "k-1", session_id=str(uuid4()))
    assert other.status_code == 422
    assert "another request" in other.json()["detail"]
    stranger = await User.objects.acreate_user("eve")
    assert (await create(Program(await sync_to_async(make_key)(stranger)), "k-1")).status_code == 201
    assert await Session.objects.acount() == 2


async def test_nobody_can_foresee_the_id_of_a_session_and_take_it(program: Program) -> None:
    key = await ApiKey.objects.aget()
    foreseen = uuid5(NAMESPACE_OID, f"key:{key.pk} k-1")
    stranger = await User.objects.acreate_user("eve")
    other = Program(await sync_to_async(make_key)(stranger))
    assert (await create(other, "k-2", session_id=str(foreseen))).status_code == 201
    assert (await create(program, "k-1")).status_code == 201


async def test_the_key_of_a_request_that_is_being_handled_is_refused_until_its_process_counts_as_dead(
    program: Program,
) -> None:
    first = await create(program, "k-1")
    rows = IdempotentRequest.objects.all()
    await rows.aupdate(status=None)  # no response is stored yet
    refused = await create(program, "k-1")
    assert (refused.status_code, refused["Retry-After"]) == (409, "10")
    await rows.aupdate(locked_until=Now() - timedelta(seconds=1))
    again = await create(program, "k-1")
    assert again.json()["session_id"] == first.json()["session_id"]
    assert await Session.objects.acount() == 1


async def test_a_request_that_was_refused_leaves_its_key_free(program: Program) -> None:
    assert (await create(program, "k-1", app="none")).status_code == 404
    assert (await create(program, "k-1")).status_code == 201


async def test_a_request_whose_key_is_freed_at_the_same_moment_is_handled(program: Program) -> None:
    await create(program, "k-1")
    await IdempotentRequest.objects.aupdate(status=None)
    async with held("DELETE FROM sessions_app_idempotentrequest"):
        again = asyncio.create_task(create(program, "k-1"))
        await blocked(1)
    assert (await again).status_code == 201


async def test_a_secret_is_told_once(program: Program) -> None:
    body, headers = {"name": "Laptop", "scopes": ["read"]}, {"idempotency-key": "k-1"}
    first, second = [
        await program.post("/api/v1/keys", body, content_type="application/json", headers=headers)
        for _ in range(2)
    ]
    assert (first.status_code, second.status_code) == (201, 409)
    assert "told once" in second.json()["detail"]
    assert first.json()["key"] not in (await IdempotentRequest.objects.aget()).body


async def lose_answer() -> None:
    """Forget the answer to the only request, as a process that dies before it has stored it."""
    past = Now() - timedelta(seconds=1)
    await IdempotentRequest.objects.aupdate(status=None, body="", locked_until=past)


async def send(program: Program, address: str, **body: Any) -> Any:
    headers = {"idempotency-key": "k-1"}
    return await program.post(f"/api/v1/{address}", body, content_type="application/json", headers=headers)


async def test_a_key_whose_secret_nobody_has_got_gets_a_new_one(program: Program) -> None:
    wanted = {"name": "Laptop", "scopes": ["read"]}
    lost = (await send(program, "keys", **wanted)).json()
    await lose_answer()
    again = (await send(program, "keys", **wanted)).json()
    assert again["id"] == lost["id"]
    used = [await Program(made["key"]).get("/api/v1/me") for made in (lost, again)]
    assert [response.status_code for response in used] == [401, 200]
    assert (await send(program, "keys", **wanted)).status_code == 409


async def test_a_webhook_whose_secret_nobody_has_got_signs_with_a_new_one(program: Program) -> None:
    wanted = {"url": "https://example.org/hook", "events": ["run.ended"]}
    lost = (await send(program, "webhooks", **wanted)).json()
    await lose_answer()
    again = (await send(program, "webhooks", **wanted)).json()
    hook = await Webhook.objects.aget()
    assert str(hook.pk) == again["id"] == lost["id"]
    assert decrypt_text(hook.secret) == again["secret"] != lost["secret"]


async def test_a_key_of_the_day_before_names_another_thing(program: Program) -> None:
    first = (await send(program, "keys", name="Laptop", scopes=["read"])).json()
    await IdempotentRequest.objects.aupdate(created_at=Now() - timedelta(days=1, seconds=1))
    second = (await send(program, "keys", name="Laptop", scopes=["read"])).json()
    assert first["id"] != second["id"]
    assert (await Program(first["key"]).get("/api/v1/me")).status_code == 200


async def test_a_refused_repetition_leaves_what_the_first_attempt_has_done(program: Program) -> None:
    first = (await create(program, "k-1")).json()["session_id"]
    await lose_answer()
    key = await ApiKey.objects.aget()
    await ApiKey.objects.aupdate(scopes=["read"])
    assert (await create(program, "k-1")).status_code == 403
    await ApiKey.objects.aupdate(scopes=key.scopes)
    assert (await create(program, "k-1")).json()["session_id"] == first


@pytest.mark.parametrize("key", ["", "x" * 129, "\u202e", "a\tb"])
async def test_a_key_that_cannot_be_used_is_named(program: Program, key: str) -> None:
    response = await create(program, key.encode().decode("latin-1"))
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "header.Idempotency-Key"


def test_the_document_names_the_key_once_in_each_write() -> None:
    for path, operations in site_api.get_openapi_schema()["paths"].items():
        for method, operation in operations.items():
            names = [one["name"] for one in operation["parameters"] if "idempotency" in one["name"].lower()]
            has_key = method in ("post", "put", "patch", "delete")
            assert names == ["Idempotency-Key"] * has_key, (method, path)


async def test_a_file_that_is_sent_again_is_stored_once(program: Program, person: User) -> None:
    session = await use_cases.create_session(person, "echo")

    async def upload(content: bytes) -> Any:
        file = SimpleUploadedFile("a.txt", content)
        address = f"{SESSIONS}/{session.pk}/files"
        return await program.post(address, {"file": file}, headers={"idempotency-key": "k-1"})

    first, second = [await upload(b"Hello") for _ in range(2)]
    assert first.json() == second.json()
    assert (await upload(b"Other")).status_code == 422
    assert await Artifact.objects.acount() == 1


class SlowFile(SimpleUploadedFile):
    """A file whose bytes come a second time, to be stored, when the test lets them."""

    def __init__(self, begun: Event, released: Event) -> None:
        super().__init__("a.txt", b"Hello")
        self._waits = iter([None, (begun, released)])

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """Yield the bytes."""
        if events := next(self._waits):
            events[0].set()
            assert events[1].wait(20)
        return super().chunks(chunk_size)


@pytest.mark.django_db(transaction=True)
def test_a_file_whose_slow_process_counts_as_dead_is_stored_once(
    person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.objects.create(app_name="echo", user=person, key="s-1")
    begun, released, upload_id = Event(), Event(), uuid4()
    deleted: list[str] = []
    monkeypatch.setattr(Artifact.file.field.storage, "delete", deleted.append)

    def store_slowly() -> Artifact:
        try:
            return store_upload(session, SlowFile(begun, released), "text/plain", upload_id)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(store_slowly)
        assert begun.wait(20)
        again = store_upload(session, SimpleUploadedFile("a.txt", b"Hello"), "text/plain", upload_id)
        released.set()
        assert slow.result().pk == again.pk
    assert Artifact.objects.get().version == 0
    assert [path != again.file.name for path in deleted] == [True]


async def test_a_stored_response_goes_with_its_session_and_after_a_day(program: Program) -> None:
    await create(program, "k-1")
    await sync_to_async(delete_session_row)(Session.objects.all())
    assert not await IdempotentRequest.objects.aexists()
    await create(program, "k-2")
    await sync_to_async(delete_old_requests)()
    assert await IdempotentRequest.objects.aexists()
    await IdempotentRequest.objects.aupdate(created_at=Now() - timedelta(days=1, seconds=1))
    assert "Idempotency-Replayed" not in await create(program, "k-2")
    await IdempotentRequest.objects.aupdate(created_at=Now() - timedelta(days=1, seconds=1))
    await sync_to_async(delete_old_requests)()
    assert not await IdempotentRequest.objects.aexists()


async def test_an_etag_tells_that_a_session_is_unchanged_and_guards_a_change(program: Program) -> None:
    address = (await create(program, "k-1"))["Location"]
    etag = (await program.get(address))["ETag"]
    assert (await program.get(address, headers={"if-none-match": etag})).status_code == 304

    async def rename(title: str, **headers: str) -> Any:
        return await program.patch(
            address, {"title": title}, content_type="application/json", headers=headers
        )

    renamed = await rename("Orders", **{"if-match": etag})
    assert (renamed.status_code, renamed.json()["title"]) == (200, "Orders")
    assert renamed["ETag"] == (await program.get(address))["ETag"] != etag
    refused = await rename("Returns", **{"if-match": etag})
    assert (refused.status_code, refused.json()["code"]) == (412, "changed")
    assert (await program.get(address)).json()["title"] == "Orders"
    assert (await program.get(address, headers={"if-none-match": etag})).status_code == 200
