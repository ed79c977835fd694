"""Erasure of a session or a user, with a tombstone: who asked for the erasure, why, and how many rows are gone.

A session is erased in two steps, each a transaction. The first cancels all work and takes the lease away from the
process that runs the session, so nothing can write any more. The second deletes the session with all its rows: a
session is whole or gone. With one transaction for both, an append would wait for the whole deletion.

An erasure of a user repeats both steps for each session. Then the account is deleted; a receiver in `account` erases
the user's other rows in the same transaction, whoever deletes the account. After a crash the next erasure continues:
it finds the unfinished tombstone and adds its counts.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, Self
from uuid import UUID

from celery import current_app
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import F, Model, QuerySet
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from sessions_app.base.actors import Actor, ActorKind
from sessions_app.conf import conf
from sessions_app.data_protection.personal_data import count_rows_of_sessions, rows_of_user
from sessions_app.errors import NotFoundError, SecondPersonError
from sessions_app.invocations.worker import worker
from sessions_app.models import (
    ActRequest,
    ApiKey,
    Artifact,
    ErasedKind,
    GuardedAct,
    Invocation,
    InvocationStatus,
    JobStatus,
    LegalHold,
    LinkedAccount,
    MemoryPause,
    RequestStage,
    SavedCredential,
    ScheduledTask,
    Session,
    StepKind,
    Tombstone,
    ToolJob,
    UserState,
    Webhook,
)
from sessions_app.models.act_request import add_step
from sessions_app.process import threads
from sessions_app.store.credential_service import revoke_after_commit
from sessions_app.store.erasing import delete_session_row, refuse_if_held
from sessions_app.store.history_cache import cache

logger = logging.getLogger(__name__)
OWNER = "erasure"
FENCE_SECONDS = 60
"""Seconds after which the lease of a crashed erasure expires."""
SESSIONS_PER_QUERY = 100


@dataclass(frozen=True)
class ErasureOrder:
    """Author and reason of an erasure.

    Attributes:
        by: primary key of the user; None for the site itself and for a management command.
        by_name: name of a member of staff, kept in the tombstone.
        staff: member of staff, or the site for an operator's command, who needs the agreement of a second person if
            the site wants it (`second_person_for`); None for a person's own data, and for retention.
    """

    reason: str
    by: Any = None
    by_name: str = ""
    staff: Actor | None = None

    @classmethod
    def of_staff(cls, staff: Actor, reason: str) -> Self:
        """Return an order of a member of staff."""
        return cls(reason, staff.user_pk, staff.name, staff)


def erase_session(session_pk: UUID, order: ErasureOrder, among: QuerySet[Session] | None = None) -> Tombstone:
    """Stop the session's work, then delete the session with all its rows and files.

    Args:
        among: filter of the sessions to erase, checked again before the deletion; None for all sessions.

    Raises:
        NotFoundError: there is no such session to erase.
        LegalHoldError: the session or its user is under legal hold.
        SecondPersonError: a second person must agree first.
    """
    if among is None:
        among = Session.objects.all()
    rows = among.filter(pk=session_pk)
    session = rows.only("pk", "user_id").first()
    if session is None:
        raise NotFoundError(f"There is no session '{session_pk}' to erase.")
    # Checked before the work is stopped, and once more under the lock of the row by `delete_session_row`.
    refuse_if_held(LegalHold.objects.of_session(session.pk, session.user_id))
    order = _agreed(order, session)
    _stop_session(rows, by=order.by)
    with transaction.atomic():
        tombstone = open_tombstone(ErasedKind.SESSION, session.pk, session.user_id, order)
        # The exception also rolls back the tombstone of a session that was restored in between.
        if not _delete_session(rows, tombstone):
            raise NotFoundError(f"There is no session '{session_pk}' to erase any more.")
        return finish(tombstone)


def erase_user(user_pk: Any, order: ErasureOrder) -> Tombstone:
    """Erase the user's sessions one by one, then the account with the rest.

    Safe to repeat after a crash: the counts are added to the same tombstone.

    Raises:
        NotFoundError: there is no such user.
        LegalHoldError: the user, or a session of the user, is under legal hold.
        SecondPersonError: a second person must agree first.
    """
    user = get_user_model()._default_manager.filter(pk=user_pk).first()
    if user is None:
        raise NotFoundError(f"There is no user with the primary key '{user_pk}'.")
    refuse_if_held(LegalHold.objects.of_user(user_pk))
    # An interrupted erasure was agreed to when it began.
    if not unfinished_tombstones(ErasedKind.PERSON, user_pk).exists():
        order = _agreed(order, user)
    tombstone = open_tombstone(ErasedKind.PERSON, user_pk, user_pk, order)
    erase_sessions_of(user_pk, tombstone)
    user.delete()  # the receiver in `account` erases the rest and finishes the tombstone
    tombstone.refresh_from_db()
    return tombstone


def _agreed(order: ErasureOrder, subject: Model) -> ErasureOrder:
    """Return the order, with the reason to which a second person has agreed if staff need one; use the agreement up.

    Raises:
        SecondPersonError: nobody has agreed to this erasure, or the agreement was used before.
    """
    if order.staff is None or GuardedAct.ERASE not in conf().second_person_for:
        return order
    requests: QuerySet[Any] = ActRequest.objects.with_stage()
    requests = requests.filter(
        act=GuardedAct.ERASE,
        stage=RequestStage.AGREED,
        subject_kind=subject._meta.model_name,
        subject_id=str(subject.pk),
    )
    if order.staff.kind == ActorKind.STAFF:
        requests = requests.filter(actor_id=str(order.staff.user_pk))
    agreed = requests.order_by("-id").first()
    if agreed is None or not add_step(agreed, StepKind.ACT, order.staff.columns()):
        raise SecondPersonError
    return replace(order, reason=agreed.reason, by_name=order.by_name or agreed.actor_name)


def erase_sessions_of(user_pk: Any, tombstone: Tombstone) -> None:
    """Erase the user's sessions one after the other. In a transaction of the caller, all or none."""
    sessions = rows_of_user(Session, user_pk).order_by("pk")
    # Always the first rows: the sessions of the last batch are gone.
    while batch := list(sessions.values_list("pk", flat=True)[:SESSIONS_PER_QUERY]):
        for session_pk in batch:
            rows = Session.objects.filter(pk=session_pk)
            _stop_session(rows, by=tombstone.by_id)
            _delete_session(rows, tombstone)


def _stop_session(rows: QuerySet[Session], *, by: Any) -> None:
    """Stop the work of the session in `rows` if it still exists, in a transaction that ends before the deletion."""
    with transaction.atomic():
        # Under the lock: a user may restore a deleted session at any moment, and then its work must continue.
        session = rows.only("pk").select_for_update().first()
        if session is not None:
            stop_work(session.pk, by=by)


def _delete_session(rows: QuerySet[Session], tombstone: Tombstone) -> bool:
    """Delete the session in `rows` with its rows; return False if it is gone. Files are deleted after the commit."""
    with transaction.atomic():
        session = rows.select_for_update().first()
        if session is None:
            return False
        _add(tombstone, count_rows_of_sessions(rows))
        delete_session_row(rows, tombstone)
        # After the commit: an earlier reader of the history would put it back into the cache.
        names = session.app_name, str(session.user_id), session.key
        transaction.on_commit(partial(cache.forget, names))
    return True


def erase_shared_rows(user_pk: Any, tombstone: Tombstone) -> None:
    """Delete the user's rows without a session, and count them in the tombstone. Their tokens are revoked."""
    revoke_after_commit(user_pk)
    rows: dict[str, QuerySet[Any]] = {
        "user_states": rows_of_user(UserState, user_pk),
        "artifacts": rows_of_user(Artifact, user_pk),
        "credentials": rows_of_user(SavedCredential, user_pk),
        "webhooks": rows_of_user(Webhook, user_pk),
        "api_keys": rows_of_user(ApiKey, user_pk),
        "linked_accounts": rows_of_user(LinkedAccount, user_pk),
        "memory_pauses": rows_of_user(MemoryPause, user_pk),
    }
    counts = Counter({kind: _delete(of_user) for kind, of_user in rows.items()})
    with connection.cursor() as cursor:
        cursor.execute("SELECT adk_erase_account(%s)", [user_pk])
        (counts["account_acts"],) = cursor.fetchone()
    _add(tombstone, counts)


def _delete(rows: QuerySet[Any]) -> int:
    """Delete the rows and all rows with a reference to them; return the number of `rows` without the others."""
    _, deleted = rows.delete()
    return deleted.get(rows.model._meta.label, 0)


def unfinished_tombstones(kind: ErasedKind, subject_pk: Any) -> QuerySet[Tombstone]:
    return Tombstone.objects.filter(kind=kind, subject_id=str(subject_pk), finished_at=None)


def open_tombstone(kind: ErasedKind, subject_pk: Any, user_pk: Any, order: ErasureOrder) -> Tombstone:
    """Return the unfinished tombstone of the subject, created if necessary."""
    tombstone, _ = Tombstone.objects.get_or_create(
        kind=kind,
        subject_id=str(subject_pk),
        finished_at=None,
        defaults={
            "user_id": str(user_pk),
            "reason": order.reason,
            "by_id": order.by,
            "by_name": order.by_name,
        },
    )
    return tombstone


def finish(tombstone: Tombstone) -> Tombstone:
    """Mark the erasure as complete."""
    Tombstone.objects.filter(pk=tombstone.pk).update(finished_at=Now())
    tombstone.refresh_from_db()
    return tombstone


def _add(tombstone: Tombstone, counts: Counter[str]) -> None:
    """Add the counts to the stored counts, in the transaction of the deletion."""
    # Read under a lock: two erasures of the same user may run, and each adds the rows it has deleted.
    stored = Tombstone.objects.select_for_update().get(pk=tombstone.pk)
    stored.counts = dict(Counter(stored.counts) + counts)
    stored.save(update_fields=["counts"])


def stop_work(session_pk: UUID, *, by: Any) -> None:
    """Cancel the session's invocations, jobs and scheduled tasks, and take over its lease.

    The previous holder of the lease can no longer write, even if the request to stop does not reach its process. No
    response of a cancelled job is delivered to the model. After a crash the lease expires like any other.
    """
    with transaction.atomic():
        fence = timezone.now() + timedelta(seconds=FENCE_SECONDS)
        sessions = Session.objects.filter(pk=session_pk)
        # Lock order: session row first, as in an append. The higher token refuses all writes under earlier leases.
        sessions.update(lease_token=F("lease_token") + 1, lease_owner=OWNER, lease_expires_at=fence)
        running = Invocation.objects.filter(session=session_pk, status=InvocationStatus.RUNNING)
        invocation_ids = list(running.values_list("invocation_id", flat=True))
        at_work = ToolJob.objects.filter(session=session_pk, status=JobStatus.RUNNING)
        job_ids = [str(pk) for pk in at_work.values_list("pk", flat=True)]
        # `Coalesce` keeps the time of an earlier request.
        cancelled = {"cancel_requested_at": Coalesce("cancel_requested_at", Now()), "finished_at": Now()}
        Invocation.objects.filter(session=session_pk).open().update(
            status=InvocationStatus.CANCELLED, cancelled_by_id=by, **cancelled
        )
        # Marked as delivered, so no sweep queues an invocation with the job's response.
        ToolJob.objects.filter(session=session_pk).open().update(
            status=JobStatus.CANCELLED, cancelled_by_id=by, delivered_at=Now(), question=None, **cancelled
        )
        ScheduledTask.objects.filter(session=session_pk).active().order_by().update(
            next_at=None, cancelled_at=Now(), cancelled_by_id=by
        )
        # After the commit: a process that stops earlier would still find its lease, and write the end of its
        # invocation.
        transaction.on_commit(partial(_stop_processes, invocation_ids, job_ids))


def _stop_processes(invocation_ids: Sequence[str], job_ids: Sequence[str]) -> None:
    """Ask the processes to stop now; without Redis they stop at their next heartbeat."""
    try:
        for invocation_id in invocation_ids:
            threads.run(_cancel(invocation_id))
        for job_id in job_ids:
            # Celery's signal of a soft time limit, which interrupts the function; SIGTERM would end the worker
            # process.
            current_app.control.revoke(job_id, terminate=True, signal="SIGUSR1")
    except Exception:  # the rows already keep both from writing
        logger.warning("Processes could not be told to stop", exc_info=True)


async def _cancel(invocation_id: str) -> None:
    await worker().cancel(invocation_id)
