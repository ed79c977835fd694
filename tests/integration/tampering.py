"""Changes of stored events past the database's protection, as somebody with full rights could make them."""

from __future__ import annotations

from collections.abc import Callable

from sessions_app.process.threads import in_thread
from sessions_app.rendering import event_html
from sessions_app.store.erasing import erasing


def tamper(change: Callable[[], object]) -> None:
    """Make a change that the append-only trigger refuses otherwise; then nothing is cached, as in a new process."""
    with erasing():
        change()
    event_html.cache.clear()


async def tamper_async(change: Callable[[], object]) -> None:
    """Do as `tamper`, from asyncio code."""
    await in_thread(tamper, change)
