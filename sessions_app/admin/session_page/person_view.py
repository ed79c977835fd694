"""A session as its person saw it: the entries of the transcript, page by page."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sessions_app.admin.session_page.calls import CallResponse, answers_in, call_ids
from sessions_app.admin.session_page.event_links import find_later_answers
from sessions_app.admin.session_page.event_rows import UNREADABLE, read_stored_or_none
from sessions_app.base.codec import event_to_show
from sessions_app.data_protection.transcripts.entries import Entry, EntryContext, build_entry
from sessions_app.history.rewinds import find_rewinds
from sessions_app.models import Event, Session
from sessions_app.rendering.failures import once
from sessions_app.rendering.session_view import Reader, SessionView
from sessions_app.secrets.masking import mask_keys

logger = logging.getLogger(__name__)
logger.addFilter(once)


@dataclass(frozen=True)
class SeenEvent:
    """An event seen by the person.

    Attributes:
        entry: entry of the transcript; None for an event too large or too odd for the page.
    """

    event: Event
    entry: Entry | None


def load_seen_events(session: Session, events: Sequence[Event]) -> list[SeenEvent]:
    """Return the events as the person saw them, without invisible events, in three queries at most."""
    bodies = {event.seq: stored.body for event in events if (stored := read_stored_or_none(event))}
    calls = {call_id for body in bodies.values() for call_id in call_ids(body, "functionCall")}
    answers = [answer for event in events for answer in answers_in(event, bodies.get(event.seq))]
    answered = _answered(answers)
    if calls - answered:
        answered |= _answered_after(session, max(bodies), calls - answered)
    jobs = {job.call_id: job for job in session.jobs.filter(call_id__in=calls)}
    # The view of a person without details, whatever the rights of the member of staff.
    view = SessionView(session.pk, session.app_name, Reader(shows_details=False))
    context = EntryContext(view, session.user.get_username(), jobs, answered)
    found = (_seen(event, bodies.get(event.seq), context) for event in events)
    return [seen for seen in found if seen]


def _answered(answers: Iterable[tuple[str, CallResponse]]) -> set[str]:
    return {call_id for call_id, answer in answers if answer.state != "pending"}


def _answered_after(session: Session, seq: int, calls: set[str]) -> set[str]:
    """Return the calls with an answer in an effective event after `seq`."""
    answers = list(find_later_answers(session, seq, calls))
    if not answers:
        return set()
    path = find_rewinds(session.pk).path
    return _answered(found for found in answers if path.undone_by(found[1].seq) is None)


def _seen(event: Event, body: object, context: EntryContext) -> SeenEvent | None:
    """Return the event as the person saw it; None for an invisible event."""
    if body is None:  # too large for a page, or not readable
        return SeenEvent(event, None)
    try:
        entry = build_entry(event_to_show(mask_keys(body)), context)
    except Exception:  # One odd event must not take down the page.
        logger.exception(UNREADABLE, event.seq, event.session_id)
        return SeenEvent(event, None)
    return SeenEvent(event, entry) if entry else None
