"""Push notifications: a public address is told when a task comes to rest, by deliveries that are made again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from a2a.client import Client
from a2a.types import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError, InvalidRequestError, TaskNotFoundError
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.utils import timezone
from google.protobuf.json_format import ParseDict

from runtime.tools import FunctionTool
from sessions_app.contrib.a2a.push import MAX_CONFIGS
from sessions_app.invocations.worker import worker
from sessions_app.models import ApiKey, Invocation, Session, Webhook, WebhookDelivery
from sessions_app.tasks import _push_of as push_of
from sessions_app.webhooks.signing import new_secret
from tests.fakes import ScriptedModel, call
from tests.integration.access import make_job
from tests.integration.api.conftest import make_key
from tests.integration.contrib.a2a.conftest import program_of
from tests.integration.contrib.a2a.talk import apply_all, message, say, state_of
from tests.integration.due_deliveries import deliver_due
from tests.integration.locks import blocked, held
from tests.integration.webhooks.test_webhooks import Receiver, is_signed, make_due
from tests.integration.webhooks.test_webhooks import receiver as receiver

AUTHENTICATION = AuthenticationInfo(scheme="Bearer", credentials="its-own-key")
TOKEN = "token-of-a-program"


def refund(euros: int) -> str:
    """Refund an amount."""
    return f"{euros} refunded"


@pytest.fixture
def tools() -> list[Any]:
    return [FunctionTool(refund, require_confirmation=True)]


@pytest.fixture
def to_localhost(configure: Callable[..., None], site: str) -> None:
    """Lets webhooks reach this machine, in a site that serves an agent."""
    configure(a2a_apps=["desk"], webhooks_to_localhost=True)


@pytest.fixture
async def asked(program: Client, model: ScriptedModel) -> AsyncIterator[Task]:
    """A task that waits for a confirmation."""
    model.turns.append(call("refund", euros=5))
    yield await say(program, "Refund 5 euros")


def config_of(task: Task, url: str = "https://example.org/a2a", **fields: Any) -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig(task_id=task.id, url=url, **fields)


def told(receiver: Receiver) -> list[str]:
    """States of the notifications so far, as a client reads them."""
    items = [ParseDict(json.loads(body), StreamResponse()) for _, body in receiver.requests]
    return [state_of(Task(status=item.status_update.status)) for item in items]


async def test_an_address_is_told_when_a_task_asks_and_when_it_ends(
    receiver: Receiver, to_localhost: None, program: Client, model: ScriptedModel
) -> None:
    model.turns += [call("refund", euros=5), "Done."]
    url = f"http://localhost:{receiver.port}/a2a"
    config = TaskPushNotificationConfig(id="mine", url=url, token=TOKEN, authentication=AUTHENTICATION)
    asked = SendMessageRequest(
        message=message("Refund 5 euros"),
        configuration=SendMessageConfiguration(task_push_notification_config=config),
    )
    task = await apply_all(program.send_message(asked))
    await deliver_due(push_of)
    assert set(told(receiver)) == {"input_required"}
    headers = receiver.requests[0][0]
    assert headers["x-a2a-notification-token"] == TOKEN
    assert headers["authorization"] == "Bearer its-own-key"
    receiver.requests.clear()
    receiver.answers = ["500 Wrong"] * 9
    assert state_of(await say(program, message("yes", task_id=task.id))) == "completed"
    await worker().wait_until_idle()
    await deliver_due(push_of)
    assert set(told(receiver)) == {"completed"}
    refused = {headers["webhook-id"] for headers, _ in receiver.requests}
    receiver.requests.clear()
    receiver.answers.clear()
    await make_due()
    await deliver_due(push_of)
    assert set(told(receiver)) == {"completed"}
    assert {headers["webhook-id"] for headers, _ in receiver.requests} <= refused
    assert not await Webhook.objects.aexists()  # Nothing happens in the task any more.


async def test_the_last_notification_of_a_task_while_another_comes_to_rest_ends_its_configuration(
    receiver: Receiver, to_localhost: None, program: Client, model: ScriptedModel
) -> None:
    model.turns.append("Done.")
    config = TaskPushNotificationConfig(url=f"http://localhost:{receiver.port}/a2a")
    asked = SendMessageRequest(
        message=message("Hello"),
        configuration=SendMessageConfiguration(task_push_notification_config=config),
    )
    task = await apply_all(program.send_message(asked))
    await worker().wait_until_idle()
    await sync_to_async(make_job)(await Session.objects.aget(pk=task.context_id))
    known = {str(row.message_id) async for row in WebhookDelivery.objects.all()}
    async with held("UPDATE sessions_app_tooljob SET status = 'waiting'"):
        delivering = asyncio.create_task(deliver_due(push_of))
        await blocked(1)
    await delivering
    assert set(told(receiver)) == {"completed"}
    assert {headers["webhook-id"] for headers, _ in receiver.requests} <= known
    assert not await Webhook.objects.aexists()


async def test_a_notification_is_signed_with_the_secret_of_the_program_which_is_not_sent(
    asked: Task, program: Client, receiver: Receiver, to_localhost: None
) -> None:
    secret = new_secret()
    signed = AuthenticationInfo(scheme="Standard-Webhooks", credentials=secret)
    url = f"http://localhost:{receiver.port}/"
    await program.create_task_push_notification_config(config_of(asked, url, authentication=signed))
    await deliver_due(push_of)
    headers, body = receiver.requests[0]
    assert is_signed(secret, headers, body) and not is_signed(secret, headers, body + b" ")
    assert "authorization" not in headers and secret not in str(headers)
    assert told(receiver) == ["input_required"]


@pytest.mark.parametrize(
    "secret", ["", "its-own-key", "whsec_", "whsec_" + "YQ==", "whsec_" + "€", "YWJj" * 8]
)
async def test_a_secret_that_cannot_sign_is_refused(asked: Task, program: Client, secret: str) -> None:
    wish = config_of(asked, authentication=AuthenticationInfo(scheme="standard-webhooks", credentials=secret))
    with pytest.raises(InvalidParamsError, match=r"whsec_|ASCII"):
        await program.create_task_push_notification_config(wish)
    assert not await Webhook.objects.aexists()


async def test_a_task_that_works_is_not_told(
    asked: Task, program: Client, person: User, receiver: Receiver, to_localhost: None
) -> None:
    await program.create_task_push_notification_config(config_of(asked, f"http://localhost:{receiver.port}/"))
    await Invocation.objects.aupdate(status="running")
    await deliver_due(push_of)
    assert receiver.requests == []
    row = await WebhookDelivery.objects.aget()
    assert (row.next_at, row.error) == (None, "There was nothing to tell.")


async def test_configurations_are_stored_replaced_listed_and_deleted_and_their_secrets_told_to_nobody(
    asked: Task, program: Client, person: User
) -> None:
    wish = config_of(asked, token=TOKEN, authentication=AUTHENTICATION)
    made = await program.create_task_push_notification_config(wish)
    assert (made.id, made.url, made.token) == (asked.id, "https://example.org/a2a", "")
    await program.create_task_push_notification_config(config_of(asked, "https://example.org/new"))
    await program.create_task_push_notification_config(config_of(asked, id="other"))
    listed = await program.list_task_push_notification_configs(
        ListTaskPushNotificationConfigsRequest(task_id=asked.id)
    )
    assert [config.url for config in listed.configs] == ["https://example.org/new", "https://example.org/a2a"]
    wanted = GetTaskPushNotificationConfigRequest(task_id=asked.id, id="other")
    assert (await program.get_task_push_notification_config(wanted)).id == "other"
    gone = DeleteTaskPushNotificationConfigRequest(task_id=asked.id, id="other")
    for _ in range(2):
        await program.delete_task_push_notification_config(gone)
    with pytest.raises(TaskNotFoundError):
        await program.get_task_push_notification_config(wanted)
    assert TOKEN not in (await Webhook.objects.aget()).secret
    key = {"authorization": f"Bearer {await sync_to_async(make_key)(person)}"}
    assert (await AsyncClient().get("/api/v1/webhooks", headers=key)).json() == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "https://localhost/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest",
        "https://[::1]/",
        "https://user@example.org/",
        "ftp://example.org/",
        "",
    ],
)
async def test_an_address_that_is_not_public_is_refused(asked: Task, program: Client, url: str) -> None:
    with pytest.raises(InvalidParamsError, match=r"URL|public"):
        await program.create_task_push_notification_config(config_of(asked, url))
    assert not await Webhook.objects.aexists()


async def test_texts_that_headers_cannot_have_and_too_many_configurations_are_refused(
    asked: Task, program: Client
) -> None:
    for token in ("a\r\nx: y", "x" * 1_001, "ü"):
        with pytest.raises(InvalidParamsError, match="ASCII"):
            await program.create_task_push_notification_config(config_of(asked, token=token))
    for number in range(MAX_CONFIGS):
        await program.create_task_push_notification_config(config_of(asked, id=str(number)))
    with pytest.raises(InvalidParamsError, match="10 configurations"):
        await program.create_task_push_notification_config(config_of(asked, id="one more"))


async def test_only_the_person_with_a_key_that_may_run_changes_configurations(
    asked: Task, program: Client, person: User, site: str
) -> None:
    await program.create_task_push_notification_config(config_of(asked))
    eve = await sync_to_async(User.objects.create_user)("eve")
    listed = ListTaskPushNotificationConfigsRequest(task_id=asked.id)
    got = GetTaskPushNotificationConfigRequest(task_id=asked.id, id=asked.id)
    gone = DeleteTaskPushNotificationConfigRequest(task_id=asked.id, id=asked.id)

    def calls(client: Client) -> list[Callable[[], Any]]:
        return [
            lambda: client.create_task_push_notification_config(config_of(asked)),
            lambda: client.delete_task_push_notification_config(gone),
            lambda: client.list_task_push_notification_configs(listed),
            lambda: client.get_task_push_notification_config(got),
        ]

    async with program_of(eve, site) as stranger:
        for make in calls(stranger):
            with pytest.raises(TaskNotFoundError):
                await make()
    async with program_of(person, site, "read") as reader:
        for make in calls(reader)[:2]:
            with pytest.raises(InvalidRequestError, match="scope"):
                await make()
        assert len((await calls(reader)[2]()).configs) == 1
    async with program_of(person, site, "run") as runner:
        for make in calls(runner):
            with pytest.raises(InvalidRequestError, match="scope"):
                await make()
    assert await Webhook.objects.acount() == 1


async def test_an_address_of_a_revoked_key_is_told_nothing(
    asked: Task, program: Client, receiver: Receiver, to_localhost: None
) -> None:
    await program.create_task_push_notification_config(config_of(asked, f"http://localhost:{receiver.port}/"))
    await ApiKey.objects.aupdate(revoked_at=timezone.now())
    await deliver_due(push_of)
    assert receiver.requests == []
