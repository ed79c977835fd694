"""Django system checks of the storage of files.

- E020  the storage cannot be used: a package or an option is missing
- E021  the object store does not answer or refuses the site (`manage.py check --deploy` asks it)
"""

from typing import Any

from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import InvalidStorageError, storages

from sessions_app.agent_apps.checks import check_error

HINT = "docs/scaling.md#files-in-an-object-store lists the options."


def check_storage(app_configs: object = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the storage of files can be made. No connections are made."""
    try:
        storages["default"]  # Django makes it now.
    except (ImproperlyConfigured, InvalidStorageError) as error:
        return [check_error("E020", f"Files cannot be stored: {error}", HINT)]
    return []


def check_object_store(app_configs: object = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the object store, if there is one, has the bucket and lets the site use it."""
    if check_storage():
        return []
    check_access = getattr(storages["default"], "check_access", None)
    if check_access is None:
        return []
    try:
        check_access()
    except OSError as error:
        return [check_error("E021", f"The object store cannot be used: {error.__cause__}", HINT)]
    return []
