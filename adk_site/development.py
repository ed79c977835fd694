"""Choice between development and production.

Development must be requested by `ADK_DEV=1`, which `make run` and the tests set. A forgotten `DATABASE_URL` must not
start a production process with an embedded database and cookies over plain HTTP.
"""

import os

import environ

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
