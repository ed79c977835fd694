"""Events of a session, and the opinions of its person about them."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from ninja import Query, Router, Schema, Status
from pydantic import Field, ValidationInfo, field_validator

from sessions_app import use_cases
from sessions_app.api.access.callers import caller_of
from sessions_app.api.event_pages import stream_page
from sessions_app.api.pages import Number
from sessions_app.api.reachable import reachable_session
from sessions_app.history.rewinds import find_rewinds, without_rewound
from sessions_app.models import Scope
from sessions_app.models.feedback import MAX_COMMENT_LENGTH
from sessions_app.process.threads import in_thread

MAX_EVENTS = 1000
router = Router(tags=["events"])


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
