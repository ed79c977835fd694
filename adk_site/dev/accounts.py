"""Accounts of a development site, and their passwords."""

import json
import os
import secrets
from pathlib import Path
from tempfile import NamedTemporaryFile

from django.contrib.auth import get_user_model

PERSON, STAFF = "demo", "admin"


def ensure_accounts(credentials: Path) -> dict[str, str]:
    """Create the demo user and the staff user unless they exist; return their passwords by user name.

    The passwords are random and stored in the `credentials` file, readable only by its owner. Users with a password in
    the file are not changed.
    """
    stored: dict[str, str] = json.loads(credentials.read_text()) if credentials.exists() else {}
    passwords = {name: stored.get(name) or secrets.token_urlsafe(12) for name in (PERSON, STAFF)}
    for name, password in passwords.items():
        rights = {"is_staff": name == STAFF, "is_superuser": name == STAFF}
        user, created = get_user_model().objects.get_or_create(username=name, defaults=rights)
        if created or name not in stored:
            user.set_password(password)
            user.save()
    _write_private_file(credentials, json.dumps(passwords, indent=2) + "\n")
    return passwords


def _write_private_file(path: Path, text: str) -> None:
    with NamedTemporaryFile("w", dir=path.parent, delete=False) as complete:  # created with mode 0600
        complete.write(text)
    # Atomic: a reader never sees a half-written file.
    os.replace(complete.name, path)
