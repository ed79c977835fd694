"""View of the cause of an error, for developers and staff.

The cause is neither in an event nor in its HTML: readers share both, and exports and caches keep them. The page asks
for the cause when its reader opens it.
"""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from sessions_app.base.codec import event_to_show
from sessions_app.chat.rights import has_rights
from sessions_app.conf import conf
from sessions_app.history.event_marks import writer_of
from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from sessions_app.secrets.error_detail import cause_in
from sessions_app.sessions.ownership import User, own_session_or_404


async def may_see_causes(user: User) -> bool:
    """Return True for every user of a development site, and for staff with the permission `view_error_detail`."""
    return conf().reload_agents or await has_rights(user, "sessions_app.view_error_detail")


@require_GET
@login_required
async def cause(request: HttpRequest, session_id: UUID, seq: int) -> HttpResponse:
    """Return the exception behind the error of an event, and its places in the agent's code, as an HTML fragment."""
    user = await request.auser()
    session = await own_session_or_404(user, session_id)
    if not await may_see_causes(user):
        raise PermissionDenied
    detail = await in_thread(_detail_of, session, seq)
    return render(request, "chat/cause.html", {"cause": cause_in(detail) if detail else None})


def _detail_of(session: Session, seq: int) -> str:
    """Return the detail of the event's invocation; empty for an error that is not the end of its last attempt."""
    row = session.events.filter(seq=seq).first()
    if row is None:
        raise Http404("There is no such event in this chat.")
    event = event_to_show(row.body)
    # The row of an invocation tells about its last attempt: events after an error belong to a later attempt.
    is_last = not session.events.filter(invocation_id=event.invocation_id, seq__gt=seq).exists()
    if not event.error_code or not is_last:
        return ""
    written = session.invocations.filter(invocation_id=writer_of(event.invocation_id, event.custom_metadata))
    return written.values_list("error_detail", flat=True).first() or ""
