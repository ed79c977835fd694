"""Use cases of a user who changes or forgets what agents keep about them, outside of a conversation."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from runtime.sessions.state import State
from runtime.valid_text import storable
from sessions_app.base.actors import Act, ActionKind, UserActor
from sessions_app.errors import InvalidInputError
from sessions_app.invocations.state_delta import check_change
from sessions_app.models import AccountAct, MemoryEntry, MemoryPause
from sessions_app.process.threads import in_thread
from sessions_app.secrets.masking import mask_text
from sessions_app.store.memory_service import correct_entry, forget_entries
from sessions_app.store.shared_state import change_user_state

MAX_CORRECTED_LENGTH = 4_000
"""Characters of a memory entry that its user writes."""
MEMORY = ("memory", "")


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

    Raises:
        LegalHoldError: an entry is under legal hold. Nothing is forgotten.
    """
    entries = MemoryEntry.objects.of(app_name, by.user_pk)
    if entry_pk is not None:
        entries = entries.filter(pk=entry_pk)
    with transaction.atomic():
        if forget_entries(entries):
            subject = "memoryentry", str(entry_pk or app_name)
            AccountAct.objects.record(by.user_pk, Act(by, ActionKind.DELETE, subject))


def correct_memory(by: UserActor, entry: MemoryEntry, text: str) -> bool:
    """Replace the text of an entry of the user's memory, and record the act; return False if it is forgotten.

    Raises:
        InvalidInputError: the text is empty, too long, or has a secret.
        LegalHoldError: the entry is under legal hold.
    """
    text = storable(text)
    if not text or len(text) > MAX_CORRECTED_LENGTH:
        raise InvalidInputError(f"Write a text of at most {MAX_CORRECTED_LENGTH} characters.")
    if mask_text(text) != text:
        raise InvalidInputError("Agents remember no secrets, and this looks like one.")
    with transaction.atomic():
        is_corrected = correct_entry(entry, text)
        if is_corrected:
            AccountAct.objects.record(by.user_pk, Act(by, ActionKind.CHANGE, ("memoryentry", str(entry.pk))))
    return is_corrected


def pause_memory(by: UserActor) -> None:
    """Let agents remember nothing that the user says and hears from now on, and record the act. Idempotent."""
    with transaction.atomic():
        _, is_new = MemoryPause.objects.get_or_create(user_id=by.user_pk, resumed_at=None)
        if is_new:
            AccountAct.objects.record(by.user_pk, Act(by, ActionKind.STOP, MEMORY))


def resume_memory(by: UserActor) -> None:
    """Let agents remember again what the user says and hears from now on, and record the act. Idempotent."""
    with transaction.atomic():
        if MemoryPause.objects.filter(user=by.user_pk, resumed_at=None).update(resumed_at=Now()):
            AccountAct.objects.record(by.user_pk, Act(by, ActionKind.RESTORE, MEMORY))


def _change_and_record(
    by: UserActor, app_name: str, values: Mapping[str, Any], seen: Mapping[str, str]
) -> None:
    with transaction.atomic():
        change_user_state(app_name, by.user_pk, values, seen)
        act = Act(by, ActionKind.CHANGE, ("state", f"{app_name}: {', '.join(values)}"))
        AccountAct.objects.record(by.user_pk, act)
