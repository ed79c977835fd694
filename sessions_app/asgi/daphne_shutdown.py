"""Graceful shutdown under Daphne, which does not implement the ASGI lifespan protocol."""

from __future__ import annotations

import asyncio
import sys

from sessions_app.shutdown import shut_down


def shut_down_before_reactor() -> None:
    """Register `shut_down` to run before Daphne's reactor stops; do nothing under another server or in tests."""
    if "twisted.internet.reactor" not in sys.modules:
        return
    from twisted.internet import defer, interfaces, reactor

    def start_shutdown() -> defer.Deferred[None]:
        return defer.Deferred.fromFuture(asyncio.ensure_future(shut_down()))

    interfaces.IReactorCore(reactor).addSystemEventTrigger("before", "shutdown", start_shutdown)  # type: ignore[arg-type]  # zope interfaces have no self
