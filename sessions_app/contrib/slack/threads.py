"""Threads of Slack, and the accounts of those who write in them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.db import IntegrityError, transaction

from sessions_app.models import LinkedAccount, Session, SlackThread, Webhook
from sessions_app.use_cases import ForeignAccount

CALL = "call:"
JOB = "job:"
"""Beginnings of the keys of questions: of a call, with its id; of a job, with its id and the number of the question."""


@dataclass(frozen=True)
class Place:
    """A thread of a channel of a workspace, by Slack's ids."""

    team: str
    channel: str
    thread_ts: str


def find_account(account: ForeignAccount) -> LinkedAccount | None:
    """Return the linked account with its user; None without one, and when the user may not sign in."""
    rows = LinkedAccount.objects.select_related("user")
    return rows.filter(**asdict(account), user__is_active=True).first()


def find_thread(place: Place) -> SlackThread | None:
    """Return the thread with its session; None if it is no session."""
    rows = SlackThread.objects.select_related("account", "webhook__session")
    return rows.filter(team_id=place.team, channel_id=place.channel, thread_ts=place.thread_ts).first()


def open_thread(place: Place, account: LinkedAccount, session: Session, chat_url: str) -> SlackThread:
    """Let a thread be a session, and return it. What the session has so far is not posted. Idempotent."""
    try:
        with transaction.atomic():
            hook = Webhook.objects.create(
                user_id=session.user_id, url=chat_url, secret="", events=[], session=session
            )
            SlackThread.objects.create(
                webhook=hook,
                account=account,
                team_id=place.team,
                channel_id=place.channel,
                thread_ts=place.thread_ts,
                chat_url=chat_url,
                last_seq=session.last_seq,
            )
    except IntegrityError:  # Another delivery of the event was faster.
        pass
    thread = find_thread(place)
    assert thread is not None  # noqa: S101 - stored above
    return thread


def resume_posting(thread: SlackThread) -> None:
    """Post into a thread again that Slack has refused for a day."""
    Webhook.objects.filter(pk=thread.pk).exclude(disabled_at=None).update(
        disabled_at=None, disabled_reason=""
    )
