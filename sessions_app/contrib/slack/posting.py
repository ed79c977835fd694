"""Posts into threads what their sessions commit: texts of agents, links to files, questions.

A delivery to the webhook of a thread tells that there may be something. It was inserted in the transaction of its
cause, and a process that dies leaves it for another one. What is to be posted is then read from the log.

Slack has no idempotency keys, so the metadata of each message names what it is. A row of `SlackPost` is stored before a
message is sent, and gets Slack's id of the message afterwards. A row without this id is left by a process that died, or
got no response, in between: Slack is asked for the message before it is sent again.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from runtime.events.event import Event as RuntimeEvent
from sessions_app.api.tasks.site_task import load_task
from sessions_app.base.codec import event_to_show
from sessions_app.contrib.slack.blocks import (
    SlackMessage,
    answer_messages,
    answered_blocks,
    can_answer,
    escape,
    question_message,
)
from sessions_app.contrib.slack.client import NETWORK_ERRORS, client_of, find_message
from sessions_app.contrib.slack.incoming import send_noted
from sessions_app.contrib.slack.threads import CALL, JOB, THREADS
from sessions_app.models import (
    Invocation,
    InvocationStatus,
    Session,
    SlackPost,
    SlackThread,
    WebhookDelivery,
)
from sessions_app.process.threads import fetch_rows, in_thread
from sessions_app.webhooks.delivery import CLAIM_SECONDS, DeliveryAttempt

POST_SECONDS = 45.0
"""Longest time of an attempt, below `CLAIM_SECONDS`: afterwards another process may post into the thread."""
EVENT_TYPE = "adk_post"
PAGE = 200
EVENTS_AT_ONCE = 20
_MARKS = re.compile(r"[\[\]()<>`\\]")


async def post_news(delivery: WebhookDelivery) -> DeliveryAttempt | None:
    """Post what the thread of the webhook lacks; return None if the webhook has no thread."""
    row = SlackThread.objects.filter(pk=delivery.webhook_id)
    if not await in_thread(row.filter(webhook__session__deleted_at=None).exists):
        return None
    if not await in_thread(_claim, row):
        return DeliveryAttempt(None, "Another process posts into this thread.")
    # Read after the claim: another process may have posted until then.
    thread = await in_thread(THREADS.get, pk=delivery.webhook_id)
    try:
        async with asyncio.timeout(POST_SECONDS):
            if note := delivery.payload.get("message"):
                await send_noted(thread, note)
            await _Posting(thread).post()
    except NETWORK_ERRORS as error:
        response = getattr(error, "response", None)
        if isinstance(response, AsyncSlackResponse):
            return DeliveryAttempt(response.status_code, f"Slack refused a message: {response['error']}.")
        return DeliveryAttempt(None, f"Slack could not be reached ({type(error).__name__}).")
    finally:
        # Of a process that was stopped for long, the claim has ended, and another process may have one.
        await in_thread(row.filter(claimed_until=thread.claimed_until).update, claimed_until=None)
    return DeliveryAttempt(200)


class _Posting:
    """One attempt to bring a thread up to date."""

    def __init__(self, thread: SlackThread) -> None:
        session = thread.webhook.session
        assert session is not None  # noqa: S101 - the webhook of a thread has a session
        self.thread = thread
        self.session: Session = session
        self.client: AsyncWebClient = client_of(thread.team_id)

    async def post(self) -> None:
        last_seq = self.thread.last_seq
        events = self.session.events.order_by("seq").values_list("seq", "body")
        while stored := await fetch_rows(events.filter(seq__gt=last_seq)[:EVENTS_AT_ONCE]):
            for last_seq, body in stored:
                for message in self._messages_of(event_to_show(body)):
                    await self._post_once(message)
                await in_thread(self._advance, last_seq)
        questions = [question async for question in self._questions()]
        for message in questions:
            await self._post_once(message)
        await self._close_answered({message.key for message in questions})

    def _messages_of(self, event: RuntimeEvent) -> Iterator[SlackMessage]:
        if event.author == "user":
            return
        text = event.text() or event.error_message or ""
        for name in event.actions.artifact_delta:
            text += f"\n\n[{_MARKS.sub('_', name)}]({self.thread.chat_url})"
        yield from answer_messages(event.id, text)

    async def _questions(self) -> AsyncIterator[SlackMessage]:
        """Yield the questions that wait for the session's person."""
        url = self.thread.chat_url
        rows = Invocation.objects.without_details().select_related("session").order_by("pk")
        for waiting in await fetch_rows(rows.filter(session=self.session, status=InvocationStatus.WAITING)):
            task = await load_task(waiting)
            for call in task.asked:
                yield question_message(f"{CALL}{call.id}", call, url)
            for job in task.questions:
                yield question_message(f"{JOB}{job.pk}:{len(job.answers)}", job, url)

    async def _post_once(self, message: SlackMessage) -> None:
        row, is_new = await in_thread(SlackPost.objects.get_or_create, thread=self.thread, key=message.key)
        if row.ts:
            return
        ts = "" if is_new else await self._find(message.key)
        if not ts:
            posted = await self.client.chat_postMessage(
                channel=self.thread.channel_id,
                thread_ts=self.thread.thread_ts,
                text=message.text,
                blocks=message.blocks,
                metadata={"event_type": EVENT_TYPE, "event_payload": {"key": message.key}},
                parse="none",
                unfurl_links=False,
                unfurl_media=False,
            )
            ts = str(posted["ts"])
        await in_thread(SlackPost.objects.filter(pk=row.pk).update, ts=ts)

    async def _find(self, key: str) -> str:
        """Return Slack's id of the message with this key; empty if the thread has none."""
        pages = await self.client.conversations_replies(
            channel=self.thread.channel_id, ts=self.thread.thread_ts, include_all_metadata=True, limit=PAGE
        )
        async for page in pages:
            for message in page["messages"]:
                metadata = message.get("metadata") or {}
                if metadata.get("event_type") == EVENT_TYPE and metadata["event_payload"].get("key") == key:
                    return str(message["ts"])
        return ""

    async def _close_answered(self, open_keys: set[str]) -> None:
        """Remove the buttons of questions that were answered, here or elsewhere."""
        for row in await fetch_rows(SlackPost.objects.filter(thread=self.thread).exclude(key__in=open_keys)):
            if row.ts:
                with suppress(SlackApiError):  # The message may be gone.
                    await self._remove_buttons(row.ts)
            await in_thread(row.delete)

    async def _remove_buttons(self, ts: str) -> None:
        asked = await find_message(self.thread, ts)
        # A button that was pressed has removed them already, and says what the answer was.
        if asked and can_answer(asked.get("blocks") or ()):
            words = gettext("This was answered already.")
            blocks = answered_blocks(asked["blocks"], words)
            await self.client.chat_update(
                channel=self.thread.channel_id, ts=ts, text=escape(words), blocks=blocks
            )

    def _advance(self, seq: int) -> None:
        """Note that all is posted up to an event, whose rows are then not needed any more."""
        SlackThread.objects.filter(pk=self.thread.pk).update(last_seq=seq)
        SlackPost.objects.filter(thread=self.thread).exclude(
            Q(key__startswith=CALL) | Q(key__startswith=JOB)
        ).delete()


def _claim(row: QuerySet[SlackThread]) -> bool:
    # Only columns of the row itself: PostgreSQL checks a condition with a join once, so both of two processes that
    # claim at the same time would succeed.
    is_free = Q(claimed_until=None) | Q(claimed_until__lt=Now())
    deadline = Now() + timedelta(seconds=CLAIM_SECONDS)
    return bool(row.filter(is_free).update(claimed_until=deadline))
