"""A session as its person saw it: the entries of the transcript, page by page."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Min

from sessions_app.admin.session.timeline.calls import CallResponse, answers_in, call_ids_in_json
from sessions_app.admin.session.timeline.event_links import find_later_answers
from sessions_app.admin.session.timeline.event_rows import UNREADABLE, read_stored_or_none
from sessions_app.base.codec import event_to_show
from sessions_app.data_protection.transcripts.entries import Entry, EntryBuilder
from sessions_app.history.call_state import CallState
from sessions_app.history.rewinds import Rewinds
from sessions_app.models import AnswerRequest, Event, Session
from sessions_app.rendering.once_filter import once
from sessions_app.rendering.session_view import Reader, SessionView
from sessions_app.rendering.workflow_card import CardMaker, WorkflowCard
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


def load_begun_nodes(session: Session, events: Sequence[Event]) -> dict[str, list[WorkflowCard]]:
    """Return the nodes of the workflows that begin in the events, as they stand now, by invocation."""
    shown = {event.invocation_id for event in events if event.invocation_id}
    of_nodes = session.events.filter(invocation_id__in=shown, body__has_key="nodeInfo")
    firsts = of_nodes.values("invocation_id").annotate(first=Min("seq"))
    begun = firsts.filter(first__in=[event.seq for event in events])
    maker = CardMaker(session.app_name, in_transcript=True, has_outputs=False)
    ids = begun.values_list("invocation_id", flat=True)
    return {invocation_id: maker.load(session, invocation_id) for invocation_id in ids}


def load_seen_events(
    session: Session,
    events: Sequence[Event],
    rewinds: Rewinds,
    cards: dict[str, list[WorkflowCard]] | None = None,
) -> list[SeenEvent]:
    """Return the events as the person saw them, without invisible events, in three queries at most.

    Args:
        cards: nodes of workflows, by invocation.
    """
    bodies: dict[int, Any] = {}
    calls: set[str] = set()
    answers: list[tuple[str, CallResponse]] = []
    for event in events:
        if stored := read_stored_or_none(event):
            bodies[event.seq] = stored.body
            calls.update(call_ids_in_json(stored.body, "functionCall"))
            answers += answers_in(event, stored.body)
    pending = {call_id for call_id, answer in answers if answer.state == CallState.PENDING}
    answered = _answered(answers)
    # A delayed call whose answer is on a later page counts as done here: no line there could name its arguments.
    delayed = pending & answered
    open_calls = calls - answered
    if open_calls:
        too_large = [event.seq for event in events if event.seq not in bodies]
        later = find_later_answers(session, max(bodies), open_calls, too_large)
        answers += (found for found in later if rewinds.path.undone_by(found[1].seq) is None)
    jobs = {job.call_id: job for job in session.jobs.filter(call_id__in=calls)}
    # The view of a person without details, whatever the rights of the member of staff.
    view = SessionView(session.pk, session.app_name, Reader(shows_details=False))
    requests = AnswerRequest.objects.open().filter(session=session)
    entries = EntryBuilder(
        view,
        session.user.get_username(),
        jobs,
        _answered(answers),
        delayed,
        cards=cards or {},
        waiting=dict(requests.values_list("call_id", "effect")),
    )
    seen = [_seen(event, bodies.get(event.seq), entries, rewinds) for event in events]
    return [event for event in seen if event]


def _answered(answers: Iterable[tuple[str, CallResponse]]) -> set[str]:
    """Return the ids of the calls with an answer other than that the result comes later."""
    return {call_id for call_id, answer in answers if answer.state != CallState.PENDING}


def _seen(event: Event, body: object, entries: EntryBuilder, rewinds: Rewinds) -> SeenEvent | None:
    """Return the event as the person saw it; None for an invisible event."""
    if body is None:  # too large for a page, or not readable
        return SeenEvent(event, None)
    try:
        is_undone = rewinds.is_undone(event.seq, body)
        entry = entries.build(event_to_show(mask_keys(body)), is_undone=is_undone)
    except Exception:  # One odd event must not take down the page.
        logger.exception(UNREADABLE, event.seq, event.session_id)
        return SeenEvent(event, None)
    return SeenEvent(event, entry) if entry else None
