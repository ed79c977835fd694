"""Sessions: conversations of the caller with the site's agents."""

from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.http import parse_etags
from ninja import Query, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import Field

from sessions_app import use_cases
from sessions_app.api.access.callers import actor_of, caller_of
from sessions_app.api.idempotency import id_of_key
from sessions_app.api.pages import BY_LAST_USE, Page, PageQuery, RowSchema, read_page
from sessions_app.api.reachable import reachable_session
from sessions_app.base.codec import MAX_ID
from sessions_app.data_protection.transcripts.session_json import state_of_user
from sessions_app.data_protection.transcripts.stream import stream_json, stream_markdown
from sessions_app.history.alternatives import find_forks
from sessions_app.history.rewinds import find_rewinds
from sessions_app.models import Scope, Session
from sessions_app.models.session import TITLE_LENGTH
from sessions_app.process.threads import in_thread
from sessions_app.rendering.session_view import SessionView
from sessions_app.sessions.list import changes
from sessions_app.sessions.list.listing import with_activity
from sessions_app.sessions.list.search import MAX_QUERY_LENGTH, search_sessions

router = Router(tags=["sessions"])


class SessionSummary(RowSchema):
    """A session.

    Attributes:
        last_seq: number of its last event; events are numbered from 1, without gaps.
        is_unread: true when its person has not seen the last events on a page of the chat.
        is_busy: true while a run is queued or running.
        needs_answer: true when a call, an approval or a question waits for its person.
    """

    session_id: UUID
    user_id: str
    app: str
    title: str
    is_pinned: bool
    is_archived: bool
    created_at: datetime
    updated_at: datetime
    last_seq: int
    is_unread: bool
    is_busy: bool
    needs_answer: bool

    @classmethod
    def of(cls, row: Any) -> "SessionSummary":
        """Return the summary of a row from `with_activity`."""
        return cls.from_row(
            row,
            session_id=row.pk,
            user_id=str(row.user_id),
            app=row.app_name,
            is_archived=row.archived_at is not None,
            needs_answer=row.needs_person,
        )


class SessionQuery(PageQuery):
    """Filters of the list of sessions."""

    archived: bool = Field(False, description="True lists the archived sessions, false all others.")
    pinned: bool | None = Field(
        None, description="Lists only sessions that are pinned, or only those that are not."
    )
    app: str = Field("", max_length=128, description="Lists only sessions with this app.")
    user_id: str = Field(
        "",
        max_length=150,
        description="Name or id of a person for whom the key acts, in place of its own person.",
    )


class NewSession(Schema):
    """A session to create.

    Attributes:
        session_id: the id, if the client chooses it. The same request again returns the same session.
        user_id: a person for whom the key acts, in place of its own person.
    """

    app: str = Field(max_length=128, examples=["assistant"])
    session_id: UUID | None = None
    user_id: str | None = Field(None, max_length=150)


class SessionChange(Schema):
    """Changes to a session. A field that is left out stays as it is."""

    title: str | None = Field(None, min_length=1, max_length=TITLE_LENGTH, examples=["Order 1042"])
    is_pinned: bool | None = None
    is_archived: bool | None = None


class State(Schema):
    """State of a session and, under keys with `user:`, of its person. The state of the app is not shown."""

    state: dict[str, Any]


class Fork(Schema):
    """Place at which a conversation has alternatives: ways in which it went on after an edit or a new answer.

    Attributes:
        after_seq: number of the event that all alternatives follow; 0 at the beginning.
        alternatives: number of the first event of each alternative, oldest first.
        in_effect: number of the first event of the alternative that is in effect.
    """

    after_seq: int
    alternatives: list[int]
    in_effect: int


class Switch(Schema):
    """The alternative to bring back: `seq` is the number of any event of it."""

    seq: int = Field(ge=1, le=MAX_ID)


def etag_of(summary: SessionSummary) -> str:
    """Return the ETag of a session. It changes with any field of the summary."""
    return f'"{sha256(summary.model_dump_json().encode()).hexdigest()[:32]}"'


def _refuse_changed(if_match: str, session: Session) -> None:
    """Raise an `HttpError` with 412 if no ETag of `If-Match` is the current ETag of the session."""
    # Called with the row locked, so nobody can change the session between this check and the change.
    if if_match.strip() == "*":
        return
    now = SessionSummary.of(with_activity(Session.objects.filter(pk=session.pk)).get())
    if etag_of(now) not in parse_etags(if_match):
        raise HttpError(412, "The session has changed meanwhile. Read it again, then change it.")


async def summary_of(session: Session) -> SessionSummary:
    """Return the current summary of a session."""
    rows = with_activity(Session.objects.filter(pk=session.pk))
    return SessionSummary.of(await in_thread(rows.get))


@router.get("/sessions", response=Page[SessionSummary])
async def list_sessions(request: HttpRequest, query: Query[SessionQuery]) -> Page[SessionSummary]:
    """List sessions, latest use first."""
    caller = caller_of(request, Scope.READ)
    person = await caller.acting_for(query.user_id) if query.user_id else caller.user
    rows = with_activity(Session.objects.owned_by(person).filter(archived_at__isnull=not query.archived))
    if query.pinned is not None:
        rows = rows.filter(is_pinned=query.pinned)
    if query.app:
        rows = rows.filter(app_name=query.app)
    return await read_page(Page[SessionSummary], rows, BY_LAST_USE, query, SessionSummary.of)


@router.get("/sessions/search", response=list[SessionSummary])
async def search(
    request: HttpRequest, q: Annotated[str, Query(min_length=1, max_length=MAX_QUERY_LENGTH)]
) -> list[SessionSummary]:
    """Find sessions whose title or texts contain all words, archived sessions too. At most 30, latest use first."""
    caller = caller_of(request, Scope.READ)
    found = await in_thread(search_sessions, caller.user, q)
    return [SessionSummary.of(row) for row in found.sessions]


@router.post("/sessions", response={201: SessionSummary})
async def create_session(
    request: HttpRequest, response: HttpResponse, body: NewSession
) -> Status[SessionSummary]:
    """Create a session with an app."""
    caller = caller_of(request, Scope.MANAGE)
    person = await caller.acting_for(body.user_id) if body.user_id else caller.user
    session_id = body.session_id or id_of_key(request)
    session = await use_cases.create_session(person, body.app, caller.network, session_id=session_id)
    response["Location"] = reverse("api-v1:read_session", args=[session.pk])
    return Status(201, await summary_of(session))


@router.get("/sessions/{session_id}", response=SessionSummary)
async def read_session(
    request: HttpRequest, response: HttpResponse, session_id: UUID
) -> SessionSummary | HttpResponseBase:
    """Return a session. With its ETag in `If-None-Match`, 304 says that it has not changed."""
    session = await reachable_session(caller_of(request), session_id, Scope.READ)
    summary = await summary_of(session)
    response["ETag"] = etag = etag_of(summary)
    return get_conditional_response(request, etag=etag) or summary


@router.patch("/sessions/{session_id}", response=SessionSummary)
async def change_session(
    request: HttpRequest, response: HttpResponse, session_id: UUID, body: SessionChange
) -> SessionSummary:
    """Rename a session, pin or unpin it, archive or unarchive it.

    With an ETag in `If-Match`, 412 says that the session has changed since then.
    """
    session = await reachable_session(caller_of(request), session_id, Scope.MANAGE)
    wanted = []
    if body.title is not None:
        wanted.append(changes.RENAME)
    if body.is_pinned is not None:
        wanted.append("pin" if body.is_pinned else "unpin")
    if body.is_archived is not None:
        wanted.append("archive" if body.is_archived else "unarchive")
    check = partial(_refuse_changed, request.headers.get("If-Match", "*"))  # `*` matches any version
    await use_cases.edit_session(actor_of(request, session.user), session.pk, wanted, body.title or "", check)
    summary = await summary_of(session)
    response["ETag"] = etag_of(summary)
    return summary


@router.delete("/sessions/{session_id}", response={204: None})
async def delete(request: HttpRequest, session_id: UUID) -> Status[None]:
    """Delete a session. It can be restored for a minute, then it is erased."""
    session = await reachable_session(caller_of(request), session_id, Scope.MANAGE)
    await use_cases.change_session(actor_of(request, session.user), session.pk, changes.DELETE)
    return Status(204, None)


@router.post("/sessions/{session_id}/restore", response=SessionSummary)
async def restore(request: HttpRequest, session_id: UUID) -> SessionSummary:
    """Undo the deletion of a session."""
    session = await reachable_session(caller_of(request), session_id, Scope.MANAGE, deleted=True)
    await use_cases.change_session(actor_of(request, session.user), session.pk, changes.RESTORE)
    return await summary_of(session)


@router.get("/sessions/{session_id}/state", response=State)
async def state(request: HttpRequest, session_id: UUID) -> State:
    """Return the state that agents keep for the session and for its person."""
    session = await reachable_session(caller_of(request), session_id, Scope.READ)
    return State(state=await in_thread(state_of_user, session))


@router.get("/sessions/{session_id}/alternatives", response=list[Fork])
async def alternatives(request: HttpRequest, session_id: UUID) -> list[Fork]:
    """List the places at which the conversation has alternatives."""
    session = await reachable_session(caller_of(request), session_id, Scope.READ)
    rewinds = await in_thread(find_rewinds, session.pk, session.last_seq)
    forks = await in_thread(find_forks, session, rewinds)
    return [Fork(after_seq=fork.parent, alternatives=fork.alternatives, in_effect=fork.seq) for fork in forks]


@router.post("/sessions/{session_id}/switch", response={204: None})
async def switch(request: HttpRequest, session_id: UUID, body: Switch) -> Status[None]:
    """Bring back an alternative as it was left. Refused with 409 while a run is queued or running."""
    session = await reachable_session(caller_of(request), session_id, Scope.RUN)
    await use_cases.switch_alternative(actor_of(request, session.user), session.pk, body.seq)
    return Status(204, None)


@router.get("/sessions/{session_id}/export")
async def export(
    request: HttpRequest, session_id: UUID, format: Literal["json", "markdown"] = "json"
) -> StreamingHttpResponse:
    """Return the whole conversation as JSON, or as Markdown to read. Secrets are masked by their names."""
    session = await reachable_session(caller_of(request), session_id, Scope.READ)
    if format == "json":
        return StreamingHttpResponse(stream_json(session), content_type="application/json")
    view = SessionView.of(session, session.user)
    return StreamingHttpResponse(stream_markdown(session, view), content_type="text/markdown; charset=utf-8")
