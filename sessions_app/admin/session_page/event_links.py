"""Lookup of the rows that a page of events refers to: matching calls and responses, jobs, artifacts, rewinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Any, Literal

from django.db.models import F, Func, JSONField, Q

from sessions_app.admin.session_page.event_actors import load_event_actors
from sessions_app.admin.session_page.event_causes import load_causes
from sessions_app.admin.session_page.event_rows import EventLinks, call_ids, mapping
from sessions_app.history.rewinds import find_rewinds
from sessions_app.models import Artifact, Event, EventKind, Session, ToolJob

PartName = Literal["functionCall", "functionResponse"]
SeqsByCallId = dict[str, list[int]]


def load_event_links(session: Session, bodies: Mapping[int, Any]) -> EventLinks:
    """Look up everything that the events with these bodies, by seq, refer to, in ten queries at most."""
    calls = _seqs_by_id((seq, call_ids(body, "functionCall")) for seq, body in bodies.items())
    responses = _seqs_by_id((seq, call_ids(body, "functionResponse")) for seq, body in bodies.items())
    missing_calls = _find_in_session(session, "functionCall", responses.keys() - calls.keys())
    missing_responses = _find_in_session(session, "functionResponse", calls.keys() - responses.keys())
    jobs = ToolJob.objects.filter(session=session, call_id__in=[*calls, *responses]).only("call_id", "status")
    return EventLinks(
        calls={call_id: seqs[0] for call_id, seqs in {**calls, **missing_calls}.items()},
        responses={**responses, **missing_responses},
        jobs={job.call_id: job for job in jobs},
        artifacts=_artifacts(session, bodies.values()),
        path=find_rewinds(session.pk).path,
        actors=load_event_actors(session, bodies),
        causes=load_causes(session, bodies),
    )


def find_call(session: Session, call_id: str) -> int | None:
    """Return the seq of the event with the function call; None when there is none."""
    seqs = _find_in_session(session, "functionCall", {call_id}).get(call_id)
    return seqs[0] if seqs else None


def _seqs_by_id(found: Iterable[tuple[int, Iterable[str]]]) -> SeqsByCallId:
    seqs: SeqsByCallId = {}
    for seq, ids in found:
        for call_id in ids:
            seqs.setdefault(call_id, []).append(seq)
    return seqs


def _find_in_session(session: Session, part_name: PartName, ids: set[str]) -> SeqsByCallId:
    """Return the seqs of the session's events that have these calls or responses."""
    if not ids:
        return {}
    has_call_id = reduce(
        or_, (Q(body__content__parts__contains=[{part_name: {"id": call_id}}]) for call_id in ids)
    )
    with_parts = Event.objects.filter(session=session).exclude(kind__in=(EventKind.MESSAGE, EventKind.STATE))
    # Only the ids: the events may be large.
    found = with_parts.filter(has_call_id).order_by("seq").values_list("seq", _ids_of(part_name))
    return {call_id: seqs for call_id, seqs in _seqs_by_id(found).items() if call_id in ids}


def _ids_of(part_name: PartName) -> Func:
    """Return an expression for the call ids of an event's parts."""
    path = f'$.content.parts[*].{part_name}.id ? (@.type() == "string")'
    return Func(
        F("body"), template=f"jsonb_path_query_array(%(expressions)s, '{path}')", output_field=JSONField()
    )


def _artifacts(session: Session, bodies: Iterable[Any]) -> dict[tuple[str, int], Artifact]:
    names = {
        name
        for body in bodies
        for name in mapping(mapping(mapping(body).get("actions")).get("artifactDelta"))
    }
    if not names:
        return {}
    is_visible = Q(session=session) | Q(session=None, user_id=session.user_id, app_name=session.app_name)
    found = Artifact.objects.filter(is_visible, filename__in=names)
    return {(artifact.filename, artifact.version): artifact for artifact in found}
