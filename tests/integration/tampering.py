"""Changes of stored events past the database's protection, as somebody with full rights could make them, and what
`adk_verify` finds of them.
"""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

from django.core.management import CommandError, call_command
from django.db import connection, transaction

from sessions_app.process.threads import in_thread
from sessions_app.rendering import event_html


def tamper(change: Callable[[], object]) -> None:
    """Make a change that triggers refuse otherwise, as a superuser; then nothing is cached, as in a new process."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        change()
        cursor.execute("SET LOCAL session_replication_role = 'origin'")
    event_html.cache.clear()


async def tamper_async(change: Callable[[], object]) -> None:
    """Do as `tamper`, from asyncio code."""
    await in_thread(tamper, change)


def verified() -> str:
    """Return what `adk_verify` writes, and its error."""
    out = StringIO()
    try:
        call_command("adk_verify", stdout=out)
    except CommandError as error:
        return f"{out.getvalue()}{error}"
    return out.getvalue()
