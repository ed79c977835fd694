"""Use cases about accounts at other services, in which a user talks to the agents of this site."""

from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction

from sessions_app.base.actors import Act, ActionKind, UserActor
from sessions_app.errors import ConflictError
from sessions_app.models import AccountAct, LinkedAccount, Webhook
from sessions_app.webhooks.changes import delete_with_deliveries


@dataclass(frozen=True)
class ForeignAccount:
    """An account at another service; see `LinkedAccount`."""

    service: str
    place: str
    account: str


def link_account(by: UserActor, account: ForeignAccount, name: str) -> None:
    """Let an account at another service act for the user. Idempotent.

    Raises:
        ConflictError: the account acts for somebody else.
    """
    with transaction.atomic():
        row, is_new = LinkedAccount.objects.get_or_create(
            **asdict(account), defaults={"user_id": by.user_pk, "name": name}
        )
        if row.user_id != by.user_pk:
            raise ConflictError(
                "This account is linked to somebody else on this site. They can unlink it in their settings."
            )
        if is_new:
            AccountAct.objects.record(by.user_pk, Act(by, ActionKind.ADD, ("linkedaccount", str(account))))


def unlink_account(by: UserActor, account_pk: Any) -> None:
    """End what an account at another service does for the user; the chats stay here. Idempotent."""
    with transaction.atomic():
        # Locked: of two requests at once, one records the act.
        row = LinkedAccount.objects.select_for_update().filter(pk=account_pk, user_id=by.user_pk).first()
        if row is None:
            return
        delete_with_deliveries(Webhook.objects.filter(slack_thread__account=row))
        row.delete()
        AccountAct.objects.record(by.user_pk, Act(by, ActionKind.DELETE, ("linkedaccount", str(row))))
