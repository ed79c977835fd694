"""Finds what the events of a page point to: the other half of a call, its job, the files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Literal

from django.db.models import Q

from sessions_app.admin.timeline import Surroundings, call_ids
from sessions_app.history.rewinds import rewound_ranges
from sessions_app.models import Artifact, Event, EventKind, Session, ToolJob

Half = Literal["functionCall", "functionResponse"]
Halves = dict[str, list[int]]


def surroundings(session: Session, events: Sequence[Event]) -> Surroundings:
    """Read them in six queries at most."""
    calls = _halves(events, "functionCall")
    responses = _halves(events, "functionResponse")
    missing_calls = _elsewhere(session, "functionCall", responses.keys() - calls.keys())
    missing_responses = _elsewhere(session, "functionResponse", calls.keys() - responses.keys())
    jobs = ToolJob.objects.filter(session=session, call_id__in=[*calls, *responses])
    return Surroundings(
        calls={call_id: seqs[0] for call_id, seqs in {**calls, **missing_calls}.items()},
        responses={**responses, **missing_responses},
        jobs={job.call_id: job for job in jobs},
        artifacts=_artifacts(session, events),
        rewound=rewound_ranges(session.pk),
    )


def find_call(session: Session, call_id: str) -> int | None:
    """The seq of the event that asked for a call."""
    seqs = _elsewhere(session, "functionCall", {call_id}).get(call_id)
    return seqs[0] if seqs else None


def _halves(events: Iterable[Event], half: Half) -> Halves:
    found: Halves = {}
    for event in events:
        for call_id in call_ids(event.body, half):
            found.setdefault(call_id, []).append(event.seq)
    return found


def _elsewhere(session: Session, half: Half, ids: set[str]) -> Halves:
    """Where in the session these halves are: most are beside their call, so few are looked for."""
    if not ids:
        return {}
    holds_one = reduce(or_, (Q(body__content__parts__contains=[{half: {"id": one}}]) for one in ids))
    with_calls = Event.objects.filter(session=session).exclude(kind__in=(EventKind.MESSAGE, EventKind.STATE))
    events = with_calls.filter(holds_one).order_by("seq").only("seq", "body")
    return {call_id: seqs for call_id, seqs in _halves(events, half).items() if call_id in ids}


def _artifacts(session: Session, events: Iterable[Event]) -> dict[tuple[str, int], Artifact]:
    names = {
        name for event in events for name in (event.body.get("actions") or {}).get("artifactDelta") or {}
    }
    if not names:
        return {}
    theirs = Q(session=session) | Q(session=None, user_id=session.user_id, app_name=session.app_name)
    found = Artifact.objects.filter(theirs, filename__in=names)
    return {(artifact.filename, artifact.version): artifact for artifact in found}
