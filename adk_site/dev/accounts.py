"""The accounts of a development site and their passwords."""

import json
import os
import secrets
from pathlib import Path
from tempfile import NamedTemporaryFile

from django.contrib.auth import get_user_model

PERSON, STAFF = "demo", "admin"


def ensure_accounts(kept: Path) -> dict[str, str]:
    """Make sure that a person and a staff account exist; returns their passwords by user name.

    The passwords are random and kept in the file, readable by its owner only. An account whose password is
    kept is left as it is.
    """
    known: dict[str, str] = json.loads(kept.read_text()) if kept.exists() else {}
    passwords = {name: known.get(name) or secrets.token_urlsafe(12) for name in (PERSON, STAFF)}
    for name, password in passwords.items():
        rights = {"is_staff": name == STAFF, "is_superuser": name == STAFF}
        user, created = get_user_model().objects.get_or_create(username=name, defaults=rights)
        if created or name not in known:
            user.set_password(password)
            user.save()
    _write_private(kept, json.dumps(passwords, indent=2) + "\n")
    return passwords


def _write_private(path: Path, text: str) -> None:
    with NamedTemporaryFile("w", dir=path.parent, delete=False) as complete:  # made with mode 0600
        complete.write(text)
    os.replace(complete.name, path)
