"""Threads of Slack, and the accounts of those who write in them."""

from dataclasses import asdict, dataclass

from sessions_app.models import LinkedAccount, Session, SlackThread, Webhook, WebhookDelivery, WebhookEvent
from sessions_app.secrets.digests import unguessable_id
from sessions_app.use_cases import ForeignAccount

CALL = "call:"
JOB = "job:"
"""Beginnings of the keys of questions: of a call, with its id; of a job, with its id and the number of the question."""
THREADS = SlackThread.objects.select_related("account__user", "webhook__session")


@dataclass(frozen=True)
class Place:
    """A thread of a channel of a workspace, by Slack's ids."""

    team_id: str
    channel_id: str
    thread_ts: str


def find_account(account: ForeignAccount) -> LinkedAccount | None:
    """Return the linked account with its user; None without one, and when the user may not sign in."""
    rows = LinkedAccount.objects.select_related("user")
    return rows.filter(**asdict(account), user__is_active=True).first()


def find_thread(place: Place) -> SlackThread | None:
    """Return the thread with its account and session; None if it is no session."""
    return THREADS.filter(**asdict(place)).first()


def open_thread(place: Place, account: LinkedAccount, session: Session, chat_url: str) -> SlackThread:
    """Let a thread be a session, and return it. What the session has so far is not posted. Idempotent."""

    def make_webhook() -> Webhook:
        return Webhook.objects.create(
            user_id=session.user_id, url=chat_url, secret="", events=[], session=session
        )

    new = {"webhook": make_webhook, "account": account, "chat_url": chat_url, "last_seq": session.last_seq}
    thread, _ = THREADS.get_or_create(**asdict(place), defaults=new)
    return thread


def note_message(thread: SlackThread, note: dict[str, str]) -> None:
    """Leave a message to a worker, as a delivery to the webhook of its thread. Idempotent."""
    message_id = unguessable_id("sessions_app.contrib.slack", f"{thread.pk} {note['ts']}")
    noted = {
        "webhook": thread.webhook,
        "event": WebhookEvent.TASK_CHANGED,
        "subject": note["ts"],
        "payload": {"data": {}, "message": note},
    }
    WebhookDelivery.objects.get_or_create(message_id=message_id, defaults=noted)


def resume_posting(thread: SlackThread) -> None:
    """Post into a thread again that Slack has refused for a day."""
    Webhook.objects.filter(pk=thread.pk).exclude(disabled_at=None).update(
        disabled_at=None, disabled_reason=""
    )
