"""SlackThread: a thread of Slack that is a session, and the messages posted into it."""

from django.db import models

from sessions_app.models.linked_account import LinkedAccount
from sessions_app.models.webhook import Webhook


class SlackThread(models.Model):
    """A thread of a Slack channel.

    Attributes:
        webhook: webhook of the thread's session, whose deliveries tell when there may be something to post.
        account: the account that began the thread; without it nothing is posted.
        chat_url: address of the session on this site.
        last_seq: event of the session up to which all is posted.
        claimed_until: time until which a process posts into the thread; None while none does.
    """

    webhook = models.OneToOneField(
        Webhook, on_delete=models.CASCADE, primary_key=True, related_name="slack_thread"
    )
    account = models.ForeignKey(LinkedAccount, on_delete=models.CASCADE, related_name="slack_threads")
    team_id = models.CharField(max_length=64)
    channel_id = models.CharField(max_length=64)
    thread_ts = models.CharField(max_length=32)
    chat_url = models.CharField(max_length=500)
    last_seq = models.BigIntegerField(default=0, db_default=0)
    claimed_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        """A thread is one session."""

        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["team_id", "channel_id", "thread_ts"], name="slack_thread_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_id} {self.channel_id} {self.thread_ts}"


class SlackPost(models.Model):
    """A message that is posted into a thread: an open question, or a part of an event after `last_seq`.

    Attributes:
        key: name of the posted thing, also in the metadata of the message.
        ts: id of the message at Slack; empty until Slack is known to have it.
    """

    thread = models.ForeignKey(SlackThread, on_delete=models.CASCADE, related_name="posts")
    key = models.CharField(max_length=250)
    ts = models.CharField(max_length=32, blank=True, default="", db_default="")

    class Meta:
        """A thing is posted once."""

        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["thread", "key"], name="slack_post_unique")]

    def __str__(self) -> str:
        return self.key
