"""Choice between development and production.

Development must be requested by `ADK_DEV=1`, which `make run` and the tests set. A forgotten `DATABASE_URL` must not
start a production process with an embedded database and cookies over plain HTTP. A checkout keeps its secret key in a
file; in production a file would differ between machines.
"""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import environ
from django.core.management.utils import get_random_secret_key

NEEDED_IN_PRODUCTION = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS")


def is_development() -> bool:
    """Return True if the environment requests development."""
    return bool(environ.Env().bool("ADK_DEV", default=False))


def develop_unless_configured() -> None:
    """Request development if the environment has neither `ADK_DEV` nor a setting needed in production.

    For `manage.py`, which is used in a checkout without any settings.
    """
    if not any(os.environ.get(name) for name in NEEDED_IN_PRODUCTION):
        os.environ.setdefault("ADK_DEV", "1")


def load_or_create_secret_key(path: Path) -> str:
    """Return the key stored at `path`; the first call creates the file, readable only by its owner."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=path.parent) as complete:
            complete.write(get_random_secret_key())
            complete.flush()
            # Several processes may create the key concurrently. A link is atomic: one succeeds, and its file is
            # complete.
            with suppress(FileExistsError):
                os.link(complete.name, path)
    return path.read_text()
