"""Choice between development and production, by the environment.

Development is asked for: `ADK_DEV=1`, which `make run` and the tests set. A forgotten `DATABASE_URL` must not start a
production process on a database of its own, with cookies over plain HTTP.
"""

import os

import environ

NEEDED_IN_PRODUCTION = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS")


def is_development() -> bool:
    """True when the environment asks for development."""
    return bool(environ.Env().bool("ADK_DEV", default=False))


def develop_unless_configured() -> None:
    """Ask for development if the environment has neither `ADK_DEV` nor a setting that production needs.

    For `manage.py`, which people call in a checkout without any setting.
    """
    if not any(os.environ.get(name) for name in NEEDED_IN_PRODUCTION):
        os.environ.setdefault("ADK_DEV", "1")
