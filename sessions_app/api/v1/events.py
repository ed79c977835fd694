"""Events of a session, and the opinions of its person about them."""

import json
from collections.abc import AsyncIterator
from typing import Any, Literal
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from ninja import Query, Router, Schema, Status
from pydantic import Field, ValidationInfo, field_validator

from sessions_app import use_cases
from sessions_app.api.access.callers import caller_of
from sessions_app.api.pages import Number
from sessions_app.api.reachable import reachable_session
from sessions_app.history.public_event import public_body
from sessions_app.history.rewinds import find_rewinds, without_rewound
from sessions_app.models import Scope
from sessions_app.models.event import EventQuerySet
from sessions_app.models.feedback import MAX_COMMENT_LENGTH
from sessions_app.process.threads import fetch_rows, in_thread

MAX_EVENTS = 1000
router = Router(tags=["events"])

EVENTS_OF_BATCH = 100
"""Events read at once: a page may have many large events, and its memory must not grow with them."""


class StoredEvent(Schema):
    """An event with its number in the session. The event has the form of the Agent Development Kit's API."""

    seq: int
    event: dict[str, Any] = Field(
        examples=[{"author": "help_desk", "content": {"parts": [{"text": "Your refund is on its way."}]}}]
    )


class EventPage(Schema):
    """Consecutive events. `next` is the value of `after`, or of `before`, for the page that follows."""

    items: list[StoredEvent]
    next: int | None


class EventQuery(Schema):
    """Part of the log that a client asks for."""

    after: Number = Field(0, description="Number of the event after which the page begins; oldest first.")
    before: Number | None = Field(
        None,
        description="Number of the event before which the page begins; newest first, in place of `after`.",
    )
    limit: int = Field(100, ge=1, le=MAX_EVENTS, description="Most events of the page.")
    rewound: bool = Field(
        False, description="True lists also events that a rewind has undone, and the rewinds."
    )

    @field_validator("before")
    @classmethod
    def check_direction(cls, before: int | None, values: ValidationInfo) -> int | None:
        """Refuse a page in two directions."""
        if before is not None and values.data.get("after"):
            raise ValueError("send either after or before")
        return before


class Feedback(Schema):
    """A person's opinion of an answer."""

    rating: Literal["good", "bad"]
    comment: str = Field("", max_length=MAX_COMMENT_LENGTH)


@router.get("/sessions/{session_id}/events", response=EventPage)
async def list_events(request: HttpRequest, session_id: UUID, query: Query[EventQuery]) -> HttpResponseBase:
    """List the stored events of a session. The ETag changes with each new event."""
    session = await reachable_session(caller_of(request), session_id, Scope.READ)
    # Events never change, so the log is the same as long as its last `seq` is.
    etag = f'"{session.pk}-{session.last_seq}"'
    if unchanged := get_conditional_response(request, etag=etag):
        return unchanged
    newest_first = query.before is not None
    bounds = {"seq__lt": query.before} if newest_first else {"seq__gt": query.after}
    # Up to the `seq` of the ETag: events that are committed during the response are not in it.
    events = session.events.filter(**bounds, seq__lte=session.last_seq)
    if not query.rewound:
        events = without_rewound(events, await in_thread(find_rewinds, session.pk, session.last_seq))
    page = stream_page(events, query.limit, newest_first=newest_first)
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    return StreamingHttpResponse(page, content_type="application/json", headers=headers)


@router.put("/sessions/{session_id}/events/{seq}/feedback", response={204: None})
async def give_feedback(request: HttpRequest, session_id: UUID, seq: Number, body: Feedback) -> Status[None]:
    """Store an opinion of an answer, in place of an earlier opinion."""
    session = await reachable_session(caller_of(request), session_id, Scope.RUN)
    await use_cases.give_feedback(session.user, session.pk, seq, body.rating, body.comment)
    return Status(204, None)


@router.delete("/sessions/{session_id}/events/{seq}/feedback", response={204: None})
async def withdraw_feedback(request: HttpRequest, session_id: UUID, seq: Number) -> Status[None]:
    """Withdraw an opinion of an answer; nothing when there is none."""
    session = await reachable_session(caller_of(request), session_id, Scope.RUN)
    await use_cases.give_feedback(session.user, session.pk, seq, "", "")
    return Status(204, None)


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
