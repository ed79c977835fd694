"""Webhooks: staged with what they tell, signed, delivered at least once, to public hosts only (docs/webhooks.md)."""

from __future__ import annotations

import asyncio
import json
import socket
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from hmac import digest as hmac_digest
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.db.models import F
from django.test import AsyncClient
from django.utils import timezone

from runtime.agents import LlmAgent
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import InvalidInputError
from sessions_app.invocations.worker import worker
from sessions_app.models import AccountAct, ApiKey, Invocation, Webhook, WebhookDelivery
from sessions_app.webhooks import changes, delivery
from sessions_app.webhooks.delivery import start_round
from sessions_app.webhooks.targets import check_url, is_public
from tests.fakes import ScriptedModel
from tests.integration.access import make_job, make_request, make_session
from tests.integration.api.conftest import make_key
from tests.integration.due_deliveries import deliver_due, push_nothing
from tests.integration.locks import blocked, held
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
HOOKS = "/api/v1/webhooks"
EVENTS = ["run.ended", "approval.needed", "job.ended"]


@dataclass
class Receiver:
    """A server on this machine that records requests and answers with the statuses in `answers`, else with 204.

    It answers while `is_answering` is set.
    """

    port: int = 0
    is_answering: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        headers = {name.lower(): value for name, value in headers.items()}
        body = await reader.readexactly(int(headers["content-length"]))
        self.requests.append((headers, body))
        await self.is_answering.wait()
        answer = self.answers.pop(0) if self.answers else "204 No Content"
        writer.write(f"HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(receiver: Receiver) -> AsyncIterator[Receiver]:
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    yield receiver
    receiver.is_answering.set()
    server.close()


@pytest.fixture
async def receiver(configure: Callable[..., None]) -> AsyncIterator[Receiver]:
    configure(webhooks_to_localhost=True)
    async with serving(Receiver()) as made:
        made.is_answering.set()
        yield made


@pytest.fixture
async def hanging(receiver: Receiver) -> AsyncIterator[Receiver]:
    """A receiver that does not answer before its event `is_answering` is set."""
    async with serving(Receiver()) as made:
        yield made


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    model = ScriptedModel()
    served(LlmAgent(name="words", model=model))
    return model


@pytest.fixture
async def key(person: User) -> dict[str, str]:
    """Headers of a program with a key of the person."""
    return {"authorization": f"Bearer {await sync_to_async(make_key)(person)}"}


async def make_hook(key: dict[str, str], port: int, **fields: Any) -> dict[str, Any]:
    """Make a webhook by the API, as the response tells it."""
    body = {"url": f"http://localhost:{port}/hook", "events": EVENTS, **fields}
    response = await AsyncClient().post(HOOKS, body, content_type="application/json", headers=key)
    assert response.status_code == 201, response.content
    told: dict[str, Any] = response.json()
    return told


def is_signed(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Verify a request as the specification says."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = hmac_digest(b64decode(secret.removeprefix("whsec_")), signed, "sha256")
    return headers["webhook-signature"] == "v1," + b64encode(expected).decode()


async def make_due() -> None:
    await WebhookDelivery.objects.filter(next_at__isnull=False).aupdate(next_at=timezone.now())


async def test_the_end_of_a_run_is_told_once_and_signed(
    person: User, key: dict[str, str], receiver: Receiver, model: ScriptedModel
) -> None:
    model.turns = ["Hi."]
    hook = await make_hook(key, receiver.port)
    session = await use_cases.create_session(person, "words")
    run_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    await worker().wait_until_idle()
    assert await deliver_due() == 1
    assert await deliver_due() == 0
    [(headers, body)] = receiver.requests
    assert is_signed(hook["secret"], headers, body)
    told = json.loads(body)
    assert told["type"] == "run.ended"
    assert told["data"]["run_id"] == run_id
    assert told["data"]["session_id"] == str(session.pk)
    assert told["data"]["status"] == "completed"
    assert b"hello" not in body and b"Hi." not in body
    row = await WebhookDelivery.objects.aget()
    assert (row.attempts, row.response_status, row.error) == (1, 204, "")
    assert row.delivered_at and row.next_at is None


async def test_nobody_is_told_what_happens_in_the_sessions_of_others(
    person: User, key: dict[str, str], receiver: Receiver
) -> None:
    await make_hook(key, receiver.port)
    eve = await User.objects.acreate_user("eve")
    job = await sync_to_async(make_job)(await sync_to_async(make_session)(eve))
    job.status = "succeeded"
    await job.asave()
    assert await WebhookDelivery.objects.acount() == 0


async def test_the_webhook_of_a_group_is_told_of_all_people_for_whom_the_key_acts(
    person: User, receiver: Receiver, key: dict[str, str]
) -> None:
    group = await Group.objects.acreate(name="Customers")
    service = {"authorization": f"Bearer {await sync_to_async(make_key)(person, people=group)}"}
    hook = await make_hook(service, receiver.port, is_of_group=True)
    assert hook["user_id"] is None
    people = {name: await User.objects.acreate_user(name) for name in ("eve", "mallory", "boss", "left")}
    for name in ("eve", "boss", "left"):
        await people[name].groups.aadd(group)
    await User.objects.filter(username="boss").aupdate(is_staff=True)
    for user in (person, *people.values()):
        job = await sync_to_async(make_job)(await sync_to_async(make_session)(user))
        job.status = "succeeded"
        await job.asave()
    await people["left"].groups.aclear()
    await deliver_due()
    [(_, body)] = receiver.requests
    assert json.loads(body)["data"]["user_id"] == str(people["eve"].pk)
    ended = await WebhookDelivery.objects.exclude(error="").aget()
    assert (ended.payload["data"]["user_id"], ended.next_at) == (str(people["left"].pk), None)
    for headers, fields in ((key, {}), (service, {"user_id": "eve"})):
        asked = {"url": "https://example.org/", "events": EVENTS, "is_of_group": True, **fields}
        refused = await AsyncClient().post(HOOKS, asked, content_type="application/json", headers=headers)
        assert refused.status_code == 400, refused.content


async def test_jobs_and_what_waits_are_told(person: User, key: dict[str, str], receiver: Receiver) -> None:
    await make_hook(key, receiver.port)
    session = await sync_to_async(make_session)(person)
    job = await sync_to_async(make_job)(session)
    await sync_to_async(make_request)(session)
    for status in ("running", "succeeded"):
        job.status = status
        await job.asave()
    await deliver_due()
    told = {event["type"]: event["data"] for event in (json.loads(body) for _, body in receiver.requests)}
    assert told["job.ended"]["job_id"] == str(job.pk)
    assert told["job.ended"]["status"] == "succeeded"
    assert told["approval.needed"]["call_id"] == "c-confirm"
    assert told["approval.needed"]["tool_name"] == "choose"


async def test_a_webhook_is_told_its_events_only(
    person: User, key: dict[str, str], receiver: Receiver
) -> None:
    await make_hook(key, receiver.port, events=["run.ended"])
    await sync_to_async(make_request)(await sync_to_async(make_session)(person))
    assert await WebhookDelivery.objects.acount() == 0


async def test_a_failed_delivery_is_repeated_with_its_id_after_a_pause(
    person: User, key: dict[str, str], receiver: Receiver
) -> None:
    receiver.answers = ["500 Oops", "302 Found"]
    hook = await make_hook(key, receiver.port)
    await AsyncClient().post(f"{HOOKS}/{hook['id']}/test", headers=key)
    await deliver_due()
    row = await WebhookDelivery.objects.aget()
    assert (row.response_status, row.error) == (500, "The server answered with status 500.")
    assert row.next_at and row.next_at > timezone.now() + timedelta(seconds=2)
    assert await deliver_due() == 0
    for _ in range(2):
        await make_due()
        await deliver_due()
    assert len({headers["webhook-id"] for headers, _ in receiver.requests}) == 1
    row = await WebhookDelivery.objects.aget()
    assert (row.attempts, row.response_status, row.next_at) == (3, 204, None)


async def test_a_delivery_whose_process_died_is_made_again(
    person: User, key: dict[str, str], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = await make_hook(key, receiver.port)
    await AsyncClient().post(f"{HOOKS}/{hook['id']}/test", headers=key)

    def die(*args: Any) -> None:
        raise ProcessLookupError

    with monkeypatch.context() as dying:
        dying.setattr(delivery, "_record", die)
        await deliver_due()
    assert await deliver_due() == 0  # the claim holds
    await WebhookDelivery.objects.aupdate(next_at=F("next_at") - timedelta(seconds=delivery.CLAIM_SECONDS))
    assert await deliver_due() == 1
    assert len(receiver.requests) == 2
    assert receiver.requests[0][0]["webhook-id"] == receiver.requests[1][0]["webhook-id"]


async def test_a_late_failure_does_not_repeat_what_another_process_has_delivered(
    key: dict[str, str], receiver: Receiver
) -> None:
    await stage(await make_hook(key, receiver.port), 1)
    gate = receiver.is_answering
    gate.clear()
    late = asyncio.create_task(deliver_due())
    await wait_for_requests(receiver, 1)
    await make_due()
    receiver.is_answering = asyncio.Event()
    receiver.is_answering.set()
    assert await deliver_due() == 1
    receiver.answers = ["500 Oops"]
    gate.set()
    assert await late == 1
    row = await WebhookDelivery.objects.aget()
    assert (row.response_status, row.error, row.next_at) == (204, "", None)


async def stage(hook: dict[str, Any], count: int) -> None:
    """Stage `count` deliveries to the webhook, which are due."""
    payload = {"type": "test", "timestamp": "", "data": {}}
    await WebhookDelivery.objects.abulk_create(
        WebhookDelivery(webhook_id=hook["id"], event="test", subject="many", payload=payload)
        for _ in range(count)
    )


@pytest.mark.parametrize("bound", ["MAX_PER_USER", "MAX_PER_TARGET"])
async def test_webhooks_that_hang_leave_room_for_those_of_others(
    key: dict[str, str], receiver: Receiver, hanging: Receiver, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    for name in ("MAX_PER_USER", "MAX_PER_TARGET"):
        monkeypatch.setattr(delivery, name, delivery.MAX_AT_ONCE)
    monkeypatch.setattr(delivery, bound, 3)
    await stage(await make_hook(key, hanging.port), delivery.MAX_AT_ONCE)
    await stage(await make_hook(key, hanging.port), delivery.MAX_AT_ONCE)
    eve = await User.objects.acreate_user("eve")
    hook = await make_hook({"authorization": f"Bearer {await sync_to_async(make_key)(eve)}"}, receiver.port)
    await start_round(push_nothing)
    await wait_for_requests(hanging, 3)

    await stage(hook, 5)  # due while the round waits for the others
    await start_round(push_nothing)
    await wait_for_requests(receiver, 5)
    assert len(hanging.requests) == 3
    hanging.is_answering.set()
    await wait_for_requests(hanging, 2 * delivery.MAX_AT_ONCE)
    await wait_until_rounds_end()


async def test_deliveries_that_are_due_at_one_moment_are_made_in_their_order(
    key: dict[str, str], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "MAX_AT_ONCE", 1)
    await stage(await make_hook(key, receiver.port), 4)
    due = WebhookDelivery.objects.order_by("pk")
    moment = timezone.now()
    # PostgreSQL stores a changed row behind the others.
    async for row in due.reverse():
        row.next_at = moment
        await row.asave()
    await deliver_due()
    expected = [str(row.message_id) async for row in due]
    assert [headers["webhook-id"] for headers, _ in receiver.requests] == expected


async def test_a_round_that_is_asked_to_look_again_while_it_finds_nothing_looks_again(
    key: dict[str, str], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = await make_hook(key, receiver.port)
    loop = asyncio.get_running_loop()
    claim = delivery._claim_due

    async def stage_and_ask() -> None:
        await stage(hook, 1)
        await start_round(push_nothing)

    def claim_nothing(running: Any) -> Any:
        monkeypatch.setattr(delivery, "_claim_due", claim)
        claimed = claim(running)
        asyncio.run_coroutine_threadsafe(stage_and_ask(), loop).result()
        return claimed

    monkeypatch.setattr(delivery, "_claim_due", claim_nothing)
    await start_round(push_nothing)
    await wait_until_rounds_end()
    assert len(receiver.requests) == 1


async def test_a_webhook_that_fails_postpones_its_deliveries_until_it_takes_one(
    key: dict[str, str], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "MAX_PER_USER", 2)
    receiver.answers = ["500 Oops"] * 2
    await stage(await make_hook(key, receiver.port), 6)
    assert await deliver_due() == 2
    assert not await WebhookDelivery.objects.due().aexists()
    postponed = WebhookDelivery.objects.filter(attempts=0, next_at__gt=timezone.now() + timedelta(seconds=2))
    assert await postponed.acount() == 4
    # The address works, and refuses a single event: the others are delivered without a pause.
    await make_due()
    await deliver_due()
    receiver.answers = ["500 Oops"]
    await WebhookDelivery.objects.aupdate(
        next_at=timezone.now(), created_at=timezone.now() - timedelta(hours=1)
    )
    assert await deliver_due() == 6
    assert await WebhookDelivery.objects.filter(next_at__isnull=False).acount() == 1


async def wait_for_requests(receiver: Receiver, count: int) -> None:
    while len(receiver.requests) < count:
        await asyncio.sleep(0.01)


async def wait_until_rounds_end() -> None:
    while delivery._rounds:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "answer,attempts,reason", [("500 Oops", 9, "nothing for a day"), ("410 Gone", 1, "410")]
)
async def test_a_webhook_that_fails_for_good_is_disabled_with_the_reason(
    person: User, key: dict[str, str], receiver: Receiver, answer: str, attempts: int, reason: str
) -> None:
    receiver.answers = [answer] * 9
    hook = await make_hook(key, receiver.port)
    await AsyncClient().post(f"{HOOKS}/{hook['id']}/test", headers=key)
    for _ in range(attempts):
        assert (await Webhook.objects.aget()).disabled_at is None
        await make_due()
        await deliver_due()
    row = await Webhook.objects.aget()
    assert row.disabled_at and reason in row.disabled_reason
    assert (await AsyncClient().get(HOOKS, headers=key)).json()[0]["disabled_reason"] == row.disabled_reason
    assert (await AsyncClient().post(f"{HOOKS}/{hook['id']}/test", headers=key)).status_code == 409
    await sync_to_async(make_request)(await sync_to_async(make_session)(person))
    assert await WebhookDelivery.objects.acount() == 1


def test_the_pauses_last_a_day() -> None:
    assert 86_400 <= sum(delivery.PAUSES) < 2 * 86_400


async def test_the_webhook_of_a_revoked_key_is_told_nothing(
    person: User, key: dict[str, str], receiver: Receiver
) -> None:
    hook = await make_hook(key, receiver.port)
    await AsyncClient().post(f"{HOOKS}/{hook['id']}/test", headers=key)
    await ApiKey.objects.aupdate(revoked_at=timezone.now())
    await deliver_due()
    assert receiver.requests == []
    assert "key" in (await Webhook.objects.aget()).disabled_reason


async def test_the_key_of_a_service_makes_webhooks_about_its_people_only(
    person: User, receiver: Receiver
) -> None:
    group = await Group.objects.acreate(name="customers")
    bob = await User.objects.acreate_user("bob")
    await User.objects.acreate_user("eve")
    await bob.groups.aadd(group)
    key = {"authorization": f"Bearer {await sync_to_async(make_key)(person, people=group)}"}
    assert (await make_hook(key, receiver.port, user_id="bob"))["user_id"] == str(bob.pk)
    fields = {"url": "https://example.org", "events": EVENTS, "user_id": "eve"}
    refused = await AsyncClient().post(HOOKS, fields, content_type="application/json", headers=key)
    assert refused.status_code == 404
    assert len((await AsyncClient().get(HOOKS, headers=key)).json()) == 1
    await bob.groups.aremove(group)
    await sync_to_async(make_request)(await sync_to_async(make_session)(bob))
    await deliver_due()
    assert receiver.requests == []


async def test_making_and_deleting_are_recorded_and_the_secret_is_stored_encrypted(
    person: User, key: dict[str, str], receiver: Receiver
) -> None:
    hook = await make_hook(key, receiver.port)
    assert hook["secret"] not in (await Webhook.objects.aget()).secret
    listed = await AsyncClient().get(HOOKS, headers=key)
    assert "whsec_" not in listed.content.decode()
    assert (await AsyncClient().delete(f"{HOOKS}/{hook['id']}", headers=key)).status_code == 204
    assert [act.action async for act in AccountAct.objects.order_by("pk")] == ["add", "delete"]


@pytest.mark.parametrize("is_push", [False, True])
async def test_a_run_ends_while_its_webhook_is_being_deleted(
    person: User, key: dict[str, str], receiver: Receiver, model: ScriptedModel, *, is_push: bool
) -> None:
    model.turns = ["Hi."]
    session = await use_cases.create_session(person, "words")
    await make_hook(key, receiver.port)
    if is_push:
        await Webhook.objects.aupdate(session=session.pk, events=[])
    async with held("DELETE FROM sessions_app_webhook"):
        await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
        await blocked(1)
    await worker().wait_until_idle()
    assert (await Invocation.objects.aget()).status == "completed"
    assert await WebhookDelivery.objects.acount() == 0


async def test_a_webhook_is_deleted_once_while_a_run_ends(
    person: User, key: dict[str, str], receiver: Receiver
) -> None:
    hook = await make_hook(key, receiver.port)
    session = await sync_to_async(make_session)(person)
    ending = f"SELECT adk_stage_deliveries('{session.pk}', 'run.ended', 'e-1', '{{}}')"
    async with held(ending):
        deleting = [
            asyncio.create_task(AsyncClient().delete(f"{HOOKS}/{hook['id']}", headers=key)) for _ in range(2)
        ]
        await blocked(2)
    statuses = [response.status_code for response in await asyncio.gather(*deleting)]
    assert sorted(statuses) == [204, 404]
    assert await WebhookDelivery.objects.acount() == 0
    assert [act.action async for act in AccountAct.objects.order_by("pk")] == ["add", "delete"]


async def test_the_number_of_webhooks_is_limited(
    person: User, key: dict[str, str], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MAX_WEBHOOKS", 1)
    await make_hook(key, receiver.port)
    fields = {"url": "https://example.org", "events": EVENTS}
    refused = await AsyncClient().post(HOOKS, fields, content_type="application/json", headers=key)
    assert (refused.status_code, refused.json()["code"]) == (429, "limit")
    assert refused.json()["detail"] == "There are 1 webhooks already. Delete one that is not used."


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "ftp://example.org/",
        "http://example.org/",
        "https://",
        "https://user:pw@example.org/",
        "https://example.org/#part",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[fd00::1]/",
        "https://printer.local/",
        "https://example.org:99999/",
        "https://[broken/",
        "https://example.org/\r\nHost: evil",
        "https://example.org/\0",
        "https://ex\u202eample.org/",
        "https://example.org/" + "x" * 2000,
        "javascript:alert(1)",
    ],
)
def test_an_address_that_is_not_public_is_refused(url: str, configure: Callable[..., None]) -> None:
    configure()
    with pytest.raises(InvalidInputError):
        check_url(url)


@pytest.mark.parametrize(
    "address,expected",
    [
        ("93.184.216.34", True),
        ("2606:4700::1111", True),
        ("10.1.2.3", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("169.254.169.254", False),
        ("fe80::1%eth0", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_public_addresses_are_told_from_others(address: str, expected: bool) -> None:
    assert is_public(address) is expected


async def test_a_name_that_leads_to_a_private_address_is_not_reached(
    person: User, key: dict[str, str], receiver: Receiver, configure: Callable[..., None], monkeypatch: Any
) -> None:
    async def rebound(self: Any, host: str, port: int, **kwargs: Any) -> Any:
        kind = socket.SOCK_STREAM
        return [(socket.AF_INET, kind, 6, "", (address, port)) for address in ("93.184.216.34", "127.0.0.1")]

    fields = {"url": f"https://rebound.example:{receiver.port}/", "events": EVENTS}
    made = await AsyncClient().post(HOOKS, fields, content_type="application/json", headers=key)
    await AsyncClient().post(f"{HOOKS}/{made.json()['id']}/test", headers=key)
    monkeypatch.setattr(type(asyncio.get_running_loop()), "getaddrinfo", rebound)
    await deliver_due()
    monkeypatch.undo()
    assert receiver.requests == []
    assert "not public" in (await WebhookDelivery.objects.aget()).error


@pytest.mark.parametrize(
    "fields",
    [
        {"url": 7},
        {"url": "http://example.org"},
        {"events": []},
        {"events": ["items"]},
        {"events": "run.ended"},
        {"events": ["run.ended"] * 100},
        {"user_id": "\0"},
        {"user_id": ["ada"]},
    ],
    ids=str,
)
async def test_invalid_fields_of_a_new_webhook_are_refused(
    person: User, key: dict[str, str], fields: dict[str, Any]
) -> None:
    body = {"url": "https://example.org/hook", "events": ["run.ended"], **fields}
    response = await AsyncClient().post(HOOKS, body, content_type="application/json", headers=key)
    assert response.status_code in (400, 404, 422)
    assert response["Content-Type"] == "application/problem+json"
