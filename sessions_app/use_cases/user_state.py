"""Use cases of a user who changes or forgets what agents keep about them, outside of a conversation."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from runtime.sessions.state import State
from sessions_app.base.actors import Act, ActionKind, UserActor
from sessions_app.invocations.state_delta import check_change
from sessions_app.models import AccountAct, MemoryEntry
from sessions_app.process.threads import in_thread
from sessions_app.store.memory_service import forget_entries
from sessions_app.store.shared_state import change_user_state


async def change_own_state(
    by: UserActor, app_name: str, changes: Mapping[str, Any], seen: Mapping[str, str]
) -> None:
    """Change values of the user's state in an app, and record the act. Agents read them with their next invocation.

    The record is one of the account and has the keys only. An event would copy the old values into the log of a
    session, where a value stays that its user wants to be forgotten.

    Args:
        changes: new values by key, with the prefix `user:`. None stands for a forgotten value.
        seen: MD5 of the values seen by the user, as PostgreSQL writes them; keys without a value are absent.

    Raises:
        StateChangedError: a value has changed since the user saw it. Nothing is changed.
        InvalidInputError: a value cannot be stored.
        TooLargeError: the state would be too large.
    """
    # The limits are for what is stored: forgetting is allowed however large the state is.
    stored = {key: value for key, value in changes.items() if value is not None}
    await check_change(app_name, by.user_pk, None, stored)
    values = {key.removeprefix(State.USER_PREFIX): value for key, value in changes.items()}
    digests = {key.removeprefix(State.USER_PREFIX): digest for key, digest in seen.items()}
    await in_thread(_change_and_record, by, app_name, values, digests)


def forget_memory(by: UserActor, app_name: str, entry_pk: int | None = None) -> None:
    """Forget an entry of the user's memory in an app, or all of them, and record the act. Idempotent.

    Args:
        entry_pk: primary key of the entry; None for all entries.
    """
    entries = MemoryEntry.objects.of(app_name, by.user_pk)
    if entry_pk is not None:
        entries = entries.filter(pk=entry_pk)
    with transaction.atomic():
        if forget_entries(entries):
            subject = "memoryentry", str(entry_pk or app_name)
            AccountAct.objects.record(by.user_pk, Act(by, ActionKind.DELETE, subject))


def _change_and_record(
    by: UserActor, app_name: str, values: Mapping[str, Any], seen: Mapping[str, str]
) -> None:
    with transaction.atomic():
        change_user_state(app_name, by.user_pk, values, seen)
        act = Act(by, ActionKind.CHANGE, ("state", f"{app_name}: {', '.join(values)}"))
        AccountAct.objects.record(by.user_pk, act)
