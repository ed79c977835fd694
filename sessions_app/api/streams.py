"""Streams of the site's own API: the news of a session, and of one run until it has ended."""

from __future__ import annotations

from sessions_app.api.reachable import reachable_run, reachable_session
from sessions_app.api.run_stream import RunStream
from sessions_app.api.site_encoder import SiteEncoder
from sessions_app.api.stream_server import ApiStream, StreamRequest
from sessions_app.history.invocation_events import log_position_before
from sessions_app.models import Scope


async def stream_session(request: StreamRequest) -> RunStream:
    """Follow a session: `status` first, then each `event` with its `seq` as `id`, `text` that grows, and news of a
    `run`, a `job`, a `schedule` or a `call`. `end` tells why the stream ends.

    A program that connects again with `Last-Event-ID` gets the events after it. Text starts again: `offset` counts
    UTF-16 code units from the beginning of the text of the event with this `event_id`.
    """
    session = await reachable_session(request.caller, request.values["session_id"], Scope.READ)
    return RunStream(session.pk, session.user_id, SiteEncoder(), after=request.last_event_id or 0)


async def stream_run(request: StreamRequest) -> RunStream:
    """Follow a run, as the stream of its session does, until it has ended; `end` has its status."""
    run = await reachable_run(request.caller, request.values["run_id"], Scope.READ)
    after = request.last_event_id
    if after is None:
        after = await log_position_before(run)
    encoder = SiteEncoder(run.invocation_id)
    return RunStream(run.session_id, run.session.user_id, encoder, after=after, run_id=run.invocation_id)


API_STREAMS = (
    ApiStream("api/v1/sessions/<uuid:session_id>/stream", stream_session, "Follow a session"),
    ApiStream("api/v1/runs/<str:run_id>/stream", stream_run, "Follow a run"),
)
