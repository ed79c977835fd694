"""Places of an invocation's events in the log."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Max, Min, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from sessions_app.history.event_marks import ANSWER
from sessions_app.models import Event, Invocation, Session
from sessions_app.process.threads import in_thread


async def log_position_before(invocation: Invocation) -> int:
    """Return the `seq` of the last event before the events of the invocation."""
    return await in_thread(_position_before, invocation)


async def last_event_of(invocation: Invocation) -> int:
    """Return the `seq` of the invocation's last event; 0 without an event."""
    last = await in_thread(
        events_of(invocation.session_id, [invocation.invocation_id]).aggregate, last=Max("seq")
    )
    return last["last"] or 0


def _position_before(invocation: Invocation) -> int:
    # Read first: the invocation may begin between the two queries, and its events must not count as earlier events.
    length: int = Session.objects.values_list("last_seq", flat=True).get(pk=invocation.session_id)
    first = events_of(invocation.session_id, [invocation.invocation_id]).aggregate(first=Min("seq"))["first"]
    return length if first is None else first - 1


def events_of(session_id: UUID, invocation_ids: Collection[str]) -> QuerySet[Event]:
    """Return the events written by the invocations of a session.

    An event of an answer belongs to the invocation in its mark: its `invocation_id` may be that of the call.
    """
    mark = KeyTransform(ANSWER, KeyTransform("customMetadata", "body"))
    events = Event.objects.filter(session_id=session_id)
    own = Q(invocation_id__in=invocation_ids, answer__isnull=True) | Q(answer__in=invocation_ids)
    return events.alias(answer=KeyTextTransform("invocation", mark)).filter(own)
