"""Signals of Django's accounts, passed to the sign-ins of all processes: signing out, a changed or deleted account."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_out
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.http import HttpRequest

from sessions_app.db import threads
from sessions_app.live.process import live
from sessions_app.live.sign_ins import digest

CHECKED_FIELDS = {"password", "is_active"}


def follow_accounts() -> None:
    """Connect the signals; a process that serves sockets does so once."""
    user_logged_out.connect(_on_sign_out)
    post_save.connect(_on_save, sender=get_user_model())
    post_delete.connect(_on_delete, sender=get_user_model())


def _on_sign_out(request: HttpRequest, **kwargs: Any) -> None:
    session_key = request.session.session_key
    if session_key:
        _publish(_end_session, digest(session_key))


def _on_save(instance: Any, created: bool, update_fields: frozenset[str] | None, **kwargs: Any) -> None:
    if not created and (update_fields is None or CHECKED_FIELDS & update_fields):
        transaction.on_commit(partial(_check_person, str(instance.pk)))


def _on_delete(instance: Any, **kwargs: Any) -> None:
    transaction.on_commit(partial(_check_person, str(instance.pk)))


def _check_person(user_id: str) -> None:
    _publish(_publish_account_change, user_id)


def _publish(publish: Callable[[str], Coroutine[Any, Any, None]], subject: str) -> None:
    """Publish from a request's thread. A command has no event loop: the slow tick finds what it changes."""
    if threads.calling_loop() is not None:
        threads.run(publish(subject))


async def _end_session(session_digest: str) -> None:
    """End the session's sign-in in all processes. Django deletes the session only after the signal."""
    live().sign_ins.end_session(session_digest)
    live().relay.send_sign_out(session_digest)


async def _publish_account_change(user_id: str) -> None:
    """Ask all processes to check the person's sign-ins."""
    live().sign_ins.request_check(user_id)
    live().relay.send_account_change(user_id)
