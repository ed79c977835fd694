"""Push notifications for tasks that come to rest.

A configuration is stored as a webhook of one task, so the deliveries of webhooks send, retry and sign it. The content
of a notification is made when it is sent: a delivery says only that the task has changed, and `push_of` reads its
state. The webhook is deleted once its server has accepted the notice of the task's end.
"""

import json
import time
from uuid import uuid4

from a2a.types import StreamResponse, TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from django.db import transaction
from google.protobuf.json_format import MessageToDict, MessageToJson, Parse

from sessions_app.api.tasks.requests import AgentOfCaller
from sessions_app.api.tasks.site_task import SiteTask, load_task
from sessions_app.contrib.a2a.conversion import status_update
from sessions_app.models import Invocation, Scope, Session, Webhook, WebhookDelivery, WebhookEvent
from sessions_app.process import celery_dispatch
from sessions_app.process.threads import in_thread
from sessions_app.secrets.credential_encryption import decrypt_text, encrypt_text
from sessions_app.webhooks.changes import delete_with_deliveries
from sessions_app.webhooks.delivery import Push
from sessions_app.webhooks.signing import is_secret, sign_delivery
from sessions_app.webhooks.targets import check_url

MAX_CONFIGS = 10
"""Maximum number of configurations of a task."""
MAX_TEXT_LENGTH = 1_000
SIGNING_SCHEME = "standard-webhooks"
"""Scheme of an `authentication` whose credentials are not sent but sign the notifications."""


async def set_config(agent: AgentOfCaller, config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    """Store a configuration, replacing a configuration with the same id. Notify it if the task is at rest already.

    Raises:
        NotFoundError: the caller has no such task.
        InvalidParamsError: the address or a text cannot be used, or the task has too many configurations.
    """
    agent.caller.require(Scope.RUN)
    task = await agent.find(config.task_id)
    check_url(config.url)
    stored = TaskPushNotificationConfig()
    stored.CopyFrom(config)
    stored.id = config.id or task.id
    # These texts become headers of the notifications, where a line end would begin another header.
    for text in (stored.id, stored.token, stored.authentication.scheme, stored.authentication.credentials):
        if len(text) > MAX_TEXT_LENGTH or not text.isascii() or not text.isprintable():
            raise InvalidParamsError(
                f"Texts of the configuration have at most {MAX_TEXT_LENGTH} ASCII characters."
            )
    if _is_signed(stored) and not is_secret(stored.authentication.credentials):
        raise InvalidParamsError(
            "The credentials are no secret of Standard Webhooks, whsec_ and 24 to 64 bytes."
        )
    await in_thread(_store, agent, task, stored)
    await celery_dispatch.aoffer_deliveries()
    return _without_secrets(stored)


async def configs_of(agent: AgentOfCaller, task_id: str) -> list[TaskPushNotificationConfig]:
    """Return the configurations of a task, without their secrets."""
    task = await agent.find(task_id)
    return [_without_secrets(_config(hook)) for hook in await in_thread(_hooks, task)]


async def find_config(agent: AgentOfCaller, task_id: str, config_id: str) -> TaskPushNotificationConfig:
    """Return a configuration of a task, without its secrets.

    Raises:
        NotFoundError: the caller has no such task.
        TaskNotFoundError: the task has no such configuration.
    """
    found = [config for config in await configs_of(agent, task_id) if config.id == (config_id or task_id)]
    if not found:
        raise TaskNotFoundError("The task has no such configuration.")
    return found[0]


async def delete_config(agent: AgentOfCaller, task_id: str, config_id: str) -> None:
    """Delete a configuration of a task, if it exists."""
    agent.caller.require(Scope.RUN)
    await in_thread(_delete, await agent.find(task_id), config_id)


async def push_of(delivery: WebhookDelivery) -> Push | None:
    """Return the notification with the task's current state; None while it is working, and if it was deleted."""
    hook = delivery.webhook
    rows = Invocation.objects.without_details().select_related("session")
    own = rows.filter(invocation_id=hook.task_id, session=hook.session_id, session__deleted_at=None)
    first = await in_thread(own.first)
    if first is None:
        return None
    task = await load_task(first)
    if not task.is_at_rest:
        return None
    body = json.dumps(MessageToDict(StreamResponse(status_update=status_update(task)))).encode()
    return Push(body, _headers(_config(hook), str(delivery.message_id), body), is_last=task.has_ended)


def _headers(config: TaskPushNotificationConfig, message_id: str, body: bytes) -> dict[str, str]:
    """Return the headers of a notification: its id, and token, credentials or signature as proof of its sender."""
    headers = {"webhook-id": message_id}
    authentication = config.authentication
    if config.token:
        headers["x-a2a-notification-token"] = config.token
    if _is_signed(config):
        headers |= sign_delivery(authentication.credentials, message_id, int(time.time()), body)
    elif authentication.credentials:
        headers["authorization"] = f"{authentication.scheme} {authentication.credentials}"
    return headers


def _is_signed(config: TaskPushNotificationConfig) -> bool:
    return str(config.authentication.scheme).lower() == SIGNING_SCHEME


def _store(agent: AgentOfCaller, task: SiteTask, config: TaskPushNotificationConfig) -> None:
    with transaction.atomic():
        # The lock makes requests count one after the other. `no_key`: rows that refer to the session need not wait.
        Session.objects.select_for_update(no_key=True).only("pk").get(pk=task.session.pk)
        _delete(task, config.id)
        if len(_hooks(task)) >= MAX_CONFIGS:
            raise InvalidParamsError(f"The task has {MAX_CONFIGS} configurations. Delete one of them.")
        hook = Webhook.objects.create(
            user_id=task.session.user_id,
            made_by=agent.caller.key,
            url=config.url,
            secret=encrypt_text(MessageToJson(config)),
            events=[],
            session=task.session,
            task_id=task.id,
        )
        # The task may have come to rest before the configuration was stored: nothing else would notify it then.
        WebhookDelivery.objects.create(
            message_id=uuid4(),
            webhook=hook,
            event=WebhookEvent.TASK_CHANGED,
            subject=task.id,
            payload={"data": {}},
        )


def _delete(task: SiteTask, config_id: str) -> None:
    for hook in _hooks(task):
        if _config(hook).id == (config_id or task.id):
            delete_with_deliveries(Webhook.objects.filter(pk=hook.pk))


def _hooks(task: SiteTask) -> list[Webhook]:
    return list(Webhook.objects.filter(session=task.session.pk, task_id=task.id).order_by("created_at", "pk"))


def _config(hook: Webhook) -> TaskPushNotificationConfig:
    # Encrypted as a whole in the webhook's secret: token and credentials must not stand readable in the table.
    config = TaskPushNotificationConfig()
    Parse(decrypt_text(hook.secret), config)
    return config


def _without_secrets(config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    """Return the configuration without its token and credentials."""
    shown = TaskPushNotificationConfig(
        tenant=config.tenant, id=config.id, task_id=config.task_id, url=config.url
    )
    if config.HasField("authentication"):
        shown.authentication.scheme = config.authentication.scheme
    return shown
