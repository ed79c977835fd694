"""Daphne's end: it knows no ASGI lifespan, so its reactor is asked to wait for what runs."""

from __future__ import annotations

import asyncio
import sys

from sessions_app.shutdown import shut_down


def leave_in_good_order() -> None:
    """Have invocations ended, with a reason that people see, before the reactor of this Daphne stops."""
    if "twisted.internet.reactor" not in sys.modules:
        return  # another server, or a test
    from twisted.internet import defer, interfaces, reactor

    def end() -> defer.Deferred[None]:
        return defer.Deferred.fromFuture(asyncio.ensure_future(shut_down()))

    interfaces.IReactorCore(reactor).addSystemEventTrigger("before", "shutdown", end)  # type: ignore[arg-type]  # zope interfaces have no self
