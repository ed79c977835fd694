"""Erasure of a user's data in the transaction of the deletion of the account.

A receiver, because the admin, management commands and code of the project delete users, too, and none of them may leave
data behind or get around a legal hold.
"""

from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import SESSION_KEY, get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db.models.signals import pre_delete
from django.dispatch import receiver

from sessions_app.conf import conf
from sessions_app.data_protection.erase import (
    ErasureOrder,
    erase_sessions_of,
    erase_shared_rows,
    finish,
    open_tombstone,
    unfinished_tombstones,
)
from sessions_app.errors import SecondPersonError
from sessions_app.models import ErasedKind, GuardedAct, LegalHold
from sessions_app.store.erasing import refuse_if_held

BY_DELETION = ErasureOrder(reason="The account was deleted.")


@receiver(pre_delete, sender=settings.AUTH_USER_MODEL)
def erase_with_account(instance: Any, **kwargs: Any) -> None:
    """Erase the user's data before the account is deleted.

    Raises:
        LegalHoldError: the user, or a session of the user, is under legal hold.
        SecondPersonError: the site wants a second person to agree to erasures, and this one is not by `erase_user`.
    """
    # The lock keeps other transactions from inserting rows of this user until the account is gone.
    get_user_model()._default_manager.select_for_update().filter(pk=instance.pk).first()
    refuse_if_held(LegalHold.objects.of_user(instance.pk))
    is_ordered = unfinished_tombstones(ErasedKind.PERSON, instance.pk).exists()
    if GuardedAct.ERASE in conf().second_person_for and not is_ordered:
        raise SecondPersonError
    tombstone = open_tombstone(ErasedKind.PERSON, instance.pk, instance.pk, BY_DELETION)
    erase_sessions_of(instance.pk, tombstone)
    erase_shared_rows(instance.pk, tombstone)
    _delete_admin_log(instance)
    _delete_logins(instance)
    _delete_sign_in_records(instance)
    finish(tombstone)


def _delete_admin_log(user: Any) -> None:
    """Delete the admin's log entries about the user, which have the name in their text."""
    if apps.is_installed("django.contrib.admin"):
        about = ContentType.objects.get_for_model(type(user))
        entries = apps.get_model("admin", "LogEntry")._default_manager
        entries.filter(content_type=about, object_id=str(user.pk)).delete()


def _delete_sign_in_records(user: Any) -> None:
    """Delete the records of django-axes about sign-ins with the user's name."""
    if apps.is_installed("axes"):
        for model in apps.get_app_config("axes").get_models():
            if hasattr(model, "username"):
                model._default_manager.filter(username=user.get_username()).delete()


def _delete_logins(user: Any) -> None:
    """Delete the user's login sessions."""
    if not apps.is_installed("django.contrib.sessions"):
        return
    # The rows have no column with the user: only the decoded data says whose login it is.
    for login in apps.get_model("sessions", "Session")._default_manager.iterator(chunk_size=500):
        if login.get_decoded().get(SESSION_KEY) == str(user.pk):
            login.delete()
