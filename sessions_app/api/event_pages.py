"""Pages of a session's events, written from the stored JSON.

No object is built for an event, and rows are read in batches: a page may have many large events, and its memory must
not grow with them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from django.db.models import TextField
from django.db.models.functions import Cast

from sessions_app.history.public_event import public_body
from sessions_app.models.event import EventQuerySet
from sessions_app.process.threads import fetch_rows

EVENTS_OF_BATCH = 100


async def stream_page(events: EventQuerySet, limit: int, *, newest_first: bool) -> AsyncIterator[bytes]:
    """Yield `{"items": [{"seq": …, "event": …}, …], "next": …}` with the first `limit` of the events.

    `next` is the `seq` of the last event if there are more, else null. Changes of the app's state are removed, and
    secrets of credentials are masked.
    """
    # As text: otherwise the driver would parse each JSON, only for it to be dumped again.
    rows = events.annotate(json=Cast("body", TextField())).values_list("seq", "json")
    rows = rows.order_by("-seq" if newest_first else "seq")
    following: int | None = None
    separator = b""
    yield b'{"items":['
    while limit:
        size = min(EVENTS_OF_BATCH, limit)
        found = await fetch_rows(rows[: size + 1])
        if found:  # One piece for each batch: every piece costs a message of ASGI and a write to the socket.
            yield separator + b",\n".join(_item(seq, body) for seq, body in found[:size])
            separator = b",\n"
        following = found[size - 1][0] if len(found) > size else None
        if following is None:
            break
        rows = rows.filter(**{"seq__lt" if newest_first else "seq__gt": following})
        limit -= size
    yield b'],"next":%s}' % json.dumps(following).encode()


def _item(seq: int, body: str) -> bytes:
    return b'{"seq":%d,"event":%s}' % (seq, public_body(body).encode())
