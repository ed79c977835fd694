"""Signals of Django's accounts, passed on to the sign-ins of all processes.

The signals report a sign-out, a changed or deleted account, and a changed API key.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_out
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.http import HttpRequest

from sessions_app.live.process import live
from sessions_app.models import ApiKey
from sessions_app.process import threads
from sessions_app.secrets.digests import digest_of

CHECKED_FIELDS = {"password", "is_active", "is_staff", "is_superuser"}


def follow_accounts() -> None:
    """Connect the signals. A process that serves sockets calls this once."""
    user_logged_out.connect(_on_sign_out)
    post_save.connect(_on_save, sender=get_user_model())
    post_delete.connect(_on_delete, sender=get_user_model())
    post_save.connect(_on_save_key, sender=ApiKey)


def _on_sign_out(request: HttpRequest, **kwargs: Any) -> None:
    session_key = request.session.session_key
    if session_key:
        _publish(_end_session, digest_of(session_key))


def _on_save(instance: Any, created: bool, update_fields: frozenset[str] | None, **kwargs: Any) -> None:
    # Django saves `last_login` at each sign-in, which ends nothing.
    if not created and (update_fields is None or CHECKED_FIELDS & update_fields):
        check_person(instance.pk)


def _on_save_key(instance: ApiKey, created: bool, **kwargs: Any) -> None:
    if not created:
        check_person(instance.user_id)


def _on_delete(instance: Any, **kwargs: Any) -> None:
    check_person(instance.pk)


def check_person(user_pk: Any) -> None:
    """Have all processes check the sign-ins and the keys of the person after the commit."""
    transaction.on_commit(partial(_publish, publish_account_change, str(user_pk)))


def _publish(publish: Callable[[str], Coroutine[Any, Any, None]], subject: str) -> None:
    # A management command has no event loop: the check on every heartbeat finds its changes.
    if threads.calling_loop() is not None:
        threads.run(publish(subject))


async def _end_session(session_digest: str) -> None:
    """End the session's sign-in in all processes."""
    # Not by a check: Django deletes the session only after the signal, so a check would still find it valid.
    live().sign_ins.end_session(session_digest)
    live().relay.send_sign_out(session_digest)


async def publish_account_change(user_id: str) -> None:
    """Ask all processes to check the sign-ins and the keys of the person."""
    live().sign_ins.request_check(user_id)
    live().relay.send_account_change(user_id)
