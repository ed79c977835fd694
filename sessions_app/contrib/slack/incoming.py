"""Acts of people in Slack: messages, and answers to questions. Each is a use case of the user behind the account.

Everything is safe to repeat. A message is known by its channel and time, which are the same in each delivery of its
event, and in the two events that a mention causes. Of several answers the first counts, wherever it was given.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.async_context import AsyncBoltContext

from runtime import types
from sessions_app import use_cases
from sessions_app.api.access.callers import Caller, person_calling
from sessions_app.api.tasks.questions import answer_to_call, answer_to_job
from sessions_app.api.tasks.requests import AgentOfCaller, MessageFile
from sessions_app.asgi.origin import http_request
from sessions_app.asgi.protocol import AsgiScope
from sessions_app.base.actors import UserActor
from sessions_app.conf import conf
from sessions_app.contrib.slack.blocks import answered_blocks, escape, plain_text
from sessions_app.contrib.slack.client import NETWORK_ERRORS, client_of, download, find_message
from sessions_app.contrib.slack.linking import token_for
from sessions_app.contrib.slack.threads import (
    CALL,
    JOB,
    Place,
    find_account,
    find_thread,
    note_message,
    open_thread,
    resume_posting,
)
from sessions_app.errors import ConflictError, NotFoundError, PermissionDeniedError
from sessions_app.invocations.answers.answering import find_call_to_answer
from sessions_app.models import LinkedAccount, Session, SlackThread, ToolJob
from sessions_app.process.celery_dispatch import aoffer_deliveries
from sessions_app.process.failures import public_error
from sessions_app.process.threads import in_thread
from sessions_app.rendering.sentences import in_language
from sessions_app.secrets.digests import unguessable_id
from sessions_app.store.uploads import check_file_count
from sessions_app.use_cases import ForeignAccount

logger = logging.getLogger(__name__)
SCOPE = "adk_scope"
"""Key in Bolt's context for the ASGI scope of the request."""
SAID = (None, "file_share", "thread_broadcast")
"""Subtypes of messages that people write; the others are changes of messages, and messages of programs."""
NO_CLIENT: Mapping[str, Any] = {"headers": ()}
"""Source of all requests: they come from a few addresses of Slack, which must not count as those of a person."""


async def take_message(body: dict[str, Any], event: dict[str, Any], context: AsyncBoltContext) -> None:
    """Send a message to the agent, if it mentions the agent, is a direct message, or is in a thread of its writer."""
    team = str(body["team_id"])
    user = str(event.get("user") or "")
    is_foreign = event.get("user_team", team) != team
    if event.get("subtype") not in SAID or event.get("bot_id") or not user or is_foreign:
        return
    place = Place(team, str(event["channel"]), str(event.get("thread_ts") or event["ts"]))
    is_addressed = event["type"] == "app_mention" or event.get("channel_type") == "im"
    thread = await in_thread(find_thread, place)
    if thread is None and not is_addressed:
        return
    # A new thread is not open on the screen of its writer, so what only they see stands in the channel.
    shown_in = str(event.get("thread_ts") or "")
    account = ForeignAccount("slack", team, user)
    linked = await in_thread(find_account, account)
    if linked is None:
        if is_addressed:
            await _offer_link(account, place, shown_in, context[SCOPE])
        return
    if thread is not None and thread.account_id != linked.pk and not is_addressed:
        return  # Other people may talk in the thread.
    try:
        await _take(linked, thread, place, body, event, context[SCOPE])
    except Exception as error:  # noqa: BLE001 - logged, and reported to the person
        await _tell(place, user, shown_in, _words_of(error, "A message from Slack"))


async def take_action(
    ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], context: AsyncBoltContext
) -> None:
    """Answer a question by a button or a field."""
    await ack()
    message = body.get("message") or {}
    team = str(body["team"]["id"])
    user = str(body["user"]["id"])
    root = str(message.get("thread_ts") or message.get("ts") or "")
    place = Place(team, str((body.get("channel") or {}).get("id")), root)
    account = ForeignAccount("slack", team, user)
    linked = await in_thread(find_account, account)
    thread = await in_thread(find_thread, place)
    if linked is None:
        await _offer_link(account, place, root, context[SCOPE])
        return
    key = str(action.get("block_id") or "")
    text = str(action.get("value") or "")
    if thread is None or not key.startswith((CALL, JOB)):
        return
    try:
        caller = person_calling(linked.user, NO_CLIENT)
        await answer_question(caller.actor_for(linked.user), thread.webhook.session, key, text)
        words = f"{linked.name}: {text}"
    except ConflictError as error:
        words = in_language(str(error))
    except Exception as error:  # noqa: BLE001 - logged, and reported to the person
        await _tell(place, user, root, _words_of(error, "An answer from Slack"))
        return
    with suppress(*NETWORK_ERRORS):  # The answer counts; the next round of posting removes the buttons.
        blocks = answered_blocks(message.get("blocks") or (), words)
        ts = str(message.get("ts"))
        await client_of(team).chat_update(channel=place.channel_id, ts=ts, text=escape(words), blocks=blocks)


async def answer_question(by: UserActor, session: Session | None, key: str, text: str) -> None:
    """Answer a question of a session by a text. The first answer counts.

    Args:
        key: key of the question's message.

    Raises:
        ConflictError: the question was answered already.
        NotFoundError: the user has no such session, or the session no such question.
        InvalidInputError: the text is no answer to the question.
    """
    if session is None or session.user_id != by.user_pk:
        raise PermissionDeniedError("This question is for somebody else.")
    if key.startswith(JOB):
        job_id, _, number = key.removeprefix(JOB).partition(":")
        job = await in_thread(ToolJob.objects.filter(session=session, pk=UUID(job_id)).first)
        if job is None:
            raise NotFoundError("There is no such question in this chat.")
        answer = answer_to_job(job, text).answer
        await use_cases.answer_job(by, session.pk, job.pk, int(number), answer)
        return
    call = await find_call_to_answer(session, key.removeprefix(CALL))
    given = answer_to_call(types.FunctionCall(id=call.id, name=call.name, args=call.args), text)
    await use_cases.answer_call(by, session.pk, given.call_id, given.name, given.response)


async def send_noted(thread: SlackThread, note: Mapping[str, str]) -> None:
    """Send a message with files to the agent, or tell its writer why not. Idempotent.

    Args:
        note: what `_take` has stored of the message.

    Raises:
        NETWORK_ERRORS: Slack does not send the message.
    """
    message = await find_message(thread, note["ts"])
    if message is None:
        return
    try:
        attached = message.get("files") or []
        check_file_count(len(attached))
        files = [MessageFile(*await download(thread.team_id, file)) for file in attached]
        await _send(thread, note["ts"], plain_text(message.get("text") or "", note["bot"]), files)
    except Exception as error:  # noqa: BLE001 - logged, and reported to the person
        place = Place(thread.team_id, thread.channel_id, thread.thread_ts)
        words = _words_of(error, "Files from Slack")
        await _tell(place, thread.account.account, note["shown_in"], words)


async def _take(
    linked: LinkedAccount,
    thread: SlackThread | None,
    place: Place,
    body: dict[str, Any],
    event: dict[str, Any],
    scope: AsgiScope,
) -> None:
    """Send a message to the agent; leave one with files to a worker, because Slack waits for three seconds only."""
    bots = [str(known.get("user_id")) for known in body.get("authorizations") or () if known.get("is_bot")]
    bot = bots[0] if bots else ""
    text = plain_text(str(event.get("text") or ""), bot)
    if not text and not event.get("files"):
        return
    person_calling(linked.user, NO_CLIENT)
    if thread is None:
        thread = await _begin_thread(linked, place, scope)
    if thread.webhook.session is None or thread.account.user_id != linked.user_id:
        raise PermissionDeniedError("This thread is a conversation of somebody else. Begin one of your own.")
    await in_thread(resume_posting, thread)
    ts = str(event["ts"])
    if event.get("files"):
        # Without the words of the message: the log alone keeps them.
        note = {"ts": ts, "bot": bot, "shown_in": str(event.get("thread_ts") or "")}
        await in_thread(note_message, thread, note)
        await aoffer_deliveries()
    else:
        await _send(thread, ts, text, ())


async def _send(thread: SlackThread, ts: str, text: str, files: Sequence[MessageFile]) -> None:
    session = thread.webhook.session
    assert session is not None  # noqa: S101 - the webhook of a thread has a session
    agent = AgentOfCaller(Caller.of(thread.account.user, None, NO_CLIENT), session.app_name, "slack")
    await agent.begin(f"{thread.team_id} {thread.channel_id} {ts}", text, files, str(session.pk))


async def _begin_thread(linked: LinkedAccount, place: Place, scope: AsgiScope) -> SlackThread:
    agents = conf().slack_agents
    keys = (f"{place.team_id}/{place.channel_id}", place.team_id, "")
    app_name = next((agents[key] for key in keys if key in agents), None)
    if app_name is None:
        raise NotFoundError("No agent answers in this channel.")
    # Derived, so that an event delivered twice begins one session.
    words = f"{linked.user_id} {app_name} {place}"
    session_id = unguessable_id("sessions_app.contrib.slack", words)
    session = await use_cases.create_session(linked.user, app_name, session_id=session_id)
    path = reverse("chat:session", args=[session.pk])
    return await in_thread(open_thread, place, linked, session, http_request(scope).build_absolute_uri(path))


async def _offer_link(account: ForeignAccount, place: Place, shown_in: str, scope: AsgiScope) -> None:
    name = account.account
    with suppress(*NETWORK_ERRORS, KeyError):  # The id will do.
        found = await client_of(account.place).users_info(user=account.account)
        name = f"{found['user']['name']} ({account.account})"
    path = reverse("chat:link_slack", args=[token_for(account, name)])
    address = http_request(scope).build_absolute_uri(path)
    words = escape(gettext("First link your Slack account to {0}.").format(conf().site_name))
    await _tell(place, account.account, shown_in, f"<{address}|{words}>")


def _words_of(error: Exception, subject: str) -> str:
    """Return the sentence about an error for a person, in the language of the site and Slack's markup."""
    return escape(in_language(str(public_error(error, subject))))


async def _tell(place: Place, user: str, shown_in: str, marked: str) -> None:
    """Show a text to one person, who may miss it when Slack is down."""
    try:
        await client_of(place.team_id).chat_postEphemeral(
            channel=place.channel_id, user=user, text=marked, thread_ts=shown_in or None
        )
    except NETWORK_ERRORS as error:
        logger.warning("A person in Slack was not told something: %s", type(error).__name__)
