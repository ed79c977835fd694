"""Django system checks of the storage of files.

- E020  the storage cannot be used: a package or an option is missing
- E021  the object store does not answer or refuses the site (`manage.py check --deploy` asks it)
"""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import InvalidStorageError, Storage, storages

HINT = "docs/scaling.md#files-in-an-object-store lists the options."


def check_storage(app_configs: object = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the storage of files can be made. No connections are made."""
    try:
        _storage()
    except (ImproperlyConfigured, InvalidStorageError) as error:
        return [Error(f"Files cannot be stored: {error}", hint=HINT, id="sessions_app.E020")]
    return []


def check_object_store(app_configs: object = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the object store, if there is one, has the bucket and lets the site use it."""
    if check_storage():
        return []
    check_access = getattr(_storage(), "check_access", None)
    if check_access is None:
        return []
    try:
        check_access()
    except OSError as error:
        return [Error(f"The object store cannot be used: {error}", hint=HINT, id="sessions_app.E021")]
    return []


def _storage() -> Storage:
    return storages["default"]
