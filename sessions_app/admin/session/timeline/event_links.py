"""Lookup of the rows and events with a relation to a page of events: calls, answers, jobs, artifacts, rewinds.

The answer to a call may be on a later page. All look-ups are for the whole page, so the number of queries does
not grow with its events. They return ids and beginnings of results: the other events may be large.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import F, Func, JSONField, Q

from runtime.events.calls import REQUEST_CONFIRMATION, SECONDS_KEY
from runtime.events.effective_path import EffectivePath
from sessions_app.admin.framework.links import row_url
from sessions_app.admin.session.timeline.calls import (
    CallResponse,
    CallView,
    answer_state,
    answers_in,
    call_ids_in_json,
    confirmation_requests,
)
from sessions_app.base.codec import json_object
from sessions_app.history.call_state import CallState
from sessions_app.history.event_marks import ANSWER
from sessions_app.history.rewinds import find_rewinds
from sessions_app.models import (
    Artifact,
    CallError,
    Event,
    EventKind,
    Invocation,
    Session,
    SessionAct,
    ToolJob,
)
from sessions_app.models.actor_columns import ActorColumns
from sessions_app.process.replica import reading_connection
from sessions_app.rendering.audit_values import excerpt, format_call
from sessions_app.secrets.masking import mask_json

RESULT_CHARACTERS = 640
ACTOR_COLUMNS = ("actor_kind", "actor_id", "actor_name", "address", "reason")
Causes = dict[int, dict[str, str]]
"""Addresses of the pages by seq and call id; the call id is empty for the error of the event itself."""
SeqsByCallId = dict[str, list[int]]
_PATH_OF_IDS = '$.content.parts[*].functionCall.id ? (@.type() == "string")'
_CALL_IDS = Func(
    F("body"), template=f"jsonb_path_query_array(%(expressions)s, '{_PATH_OF_IDS}')", output_field=JSONField()
)
"""Ids of an event's calls, which may be no texts in an event of a client."""


@dataclass(frozen=True)
class EventLinks:
    """Rows and events with a relation to the events of a page.

    Attributes:
        calls: `seq` of the event with the call, by call id.
        answers: responses by call id, oldest first.
        requests: ids of confirmation requests, by the id of the call to confirm.
        jobs: jobs by call id.
        artifacts: artifacts by file name and version.
        path: the effective events of the session.
        actors: rows with the actors of events, by seq.
        causes: addresses of the pages with the causes of failures, by seq and call id.
        large_answers: lines of the responses in events too large for the page, by seq and call id.
        large_deltas: keys in the state deltas of events too large for the page, by seq.
    """

    calls: Mapping[str, int] = field(default_factory=dict)
    answers: Mapping[str, list[CallResponse]] = field(default_factory=dict)
    requests: Mapping[str, str] = field(default_factory=dict)
    jobs: Mapping[str, ToolJob] = field(default_factory=dict)
    artifacts: Mapping[tuple[str, int], Artifact] = field(default_factory=dict)
    path: EffectivePath = field(default_factory=lambda: EffectivePath((), ()))
    actors: Mapping[int, ActorColumns] = field(default_factory=dict)
    causes: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    large_answers: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    large_deltas: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def call_view(self, event: Event, call: Mapping[str, Any]) -> CallView:
        """Return a call of the event with its answers and its outcome."""
        call_id = call.get("id") or ""
        confirmations = None
        if call_id in self.requests:
            confirmations = self.answers.get(self.requests[call_id], ())
        confirmer = None
        if confirmations:
            confirmer = self.actors.get(confirmations[-1].seq)
        return CallView(
            title=format_call(call.get("name") or "", call.get("args")),
            made_at=event.happened_at,
            answers=self.answers.get(call_id, ()),
            confirmations=confirmations,
            job=self.jobs.get(call_id),
            confirmer=confirmer,
        )

    def rewound_by(self, seq: int) -> int | None:
        """Return the seq of the last rewind of the event; None for effective events and for rewinds."""
        rewind = self.path.undone_by(seq)
        return rewind.position if rewind else None

    def undone_rewind(self, seq: int) -> int | None:
        """Return the seq of the rewind undone by the rewind `seq`; None for all other events."""
        rewinds = {step.rewind.position: step.rewind for step in self.path.steps}
        if seq in rewinds:
            for rewind in rewinds.values():
                if rewind.event_id == rewinds[seq].undoes:
                    return rewind.position
        return None


def load_event_links(session: Session, shown: Sequence[tuple[Event, Any]]) -> EventLinks:
    """Look up the rows and events related to these events with their bodies, in twelve queries at most."""
    calls = _seqs_by_id((event.seq, call_ids_in_json(body, "functionCall")) for event, body in shown)
    answers_here: list[tuple[str, CallResponse]] = []
    requests: dict[str, str] = {}
    bodies: dict[int, Any] = {}
    for event, body in shown:
        answers_here += answers_in(event, body)
        for request, call_id in confirmation_requests(body).items():
            requests[call_id] = request
        bodies[event.seq] = body
    answers = _by_call_id(answers_here)
    last = shown[-1][0].seq if shown else 0
    unanswered = {call_id for call_id in calls if not _is_answered(answers.get(call_id, ()))}
    # Only calls without an answer on this page: most pages need no look-up in later events.
    requests |= _later_requests(session, last, unanswered - requests.keys())
    # The answer to a request to confirm is the approval, which may be on a later page, too.
    unanswered |= {request for request in requests.values() if request not in answers}
    too_large = [event.seq for event, body in shown if body is None]
    later_answers = list(find_later_answers(session, last, unanswered, too_large))
    later = _by_call_id(later_answers)
    large_answers: dict[int, dict[str, str]] = {}
    for call_id, answer in later_answers:
        if answer.seq <= last:
            large_answers.setdefault(answer.seq, {})[call_id] = f"{answer.name} → {answer.result}"
    missing_calls = _find_calls(session, (answers.keys() | later.keys()) - calls.keys())
    jobs = ToolJob.objects.filter(session=session, call_id__in=[*calls, *answers]).only("call_id", "status")
    return EventLinks(
        calls={call_id: seqs[0] for call_id, seqs in {**calls, **missing_calls}.items()},
        answers={
            call_id: answers.get(call_id, []) + later.get(call_id, [])
            for call_id in answers.keys() | later.keys()
        },
        requests=requests,
        jobs={job.call_id: job for job in jobs},
        artifacts=_artifacts(session, bodies.values()),
        path=find_rewinds(session.pk).path,
        actors=load_event_actors(session, bodies),
        causes=load_causes(session, bodies),
        large_answers=large_answers,
        large_deltas=_find_large_deltas(session, too_large),
    )


def find_call(session: Session, call_id: str) -> int | None:
    """Return the seq of the event with the function call; None when there is none."""
    seqs = _find_calls(session, {call_id}).get(call_id)
    return seqs[0] if seqs else None


def _seqs_by_id(found: Iterable[tuple[int, Iterable[str]]]) -> SeqsByCallId:
    seqs: SeqsByCallId = {}
    for seq, ids in found:
        for call_id in ids:
            seqs.setdefault(call_id, []).append(seq)
    return seqs


def _by_call_id(found: Iterable[tuple[str, CallResponse]]) -> dict[str, list[CallResponse]]:
    answers: dict[str, list[CallResponse]] = {}
    for call_id, answer in found:
        answers.setdefault(call_id, []).append(answer)
    return answers


def _is_answered(answers: Sequence[CallResponse]) -> bool:
    return bool(answers) and answers[-1].state != CallState.PENDING


def _later_requests(session: Session, seq: int, ids: set[str]) -> dict[str, str]:
    """Return the ids of the confirmation requests after the event `seq`, by the id of the call to confirm."""
    rows = _later_parts(_LATER_REQUESTS, session, seq, ids)
    return {call_id: request for request, call_id in rows if request}


class _LaterAnswer(NamedTuple):
    """A row of `_LATER_ANSWERS`."""

    call_id: str
    seq: int
    author: str
    at: datetime | None
    result: str | None
    name: str | None
    status: str | None
    error: str | None
    is_confirmed: bool | None
    seconds: float | None


def find_later_answers(
    session: Session, seq: int, ids: set[str], too_large: Sequence[int]
) -> Iterator[tuple[str, CallResponse]]:
    """Yield the answers to these calls in the events after the event `seq`, and all answers in some events by `seq`.

    They are in the order of the log.
    """
    for row in _later_parts(_LATER_ANSWERS, session, seq, ids, too_large):
        later = _LaterAnswer(*row)
        given = {"status": later.status, "error": later.error, "confirmed": later.is_confirmed}
        response = CallResponse(
            later.seq,
            later.at,
            excerpt(mask_json(later.result or "")),
            answer_state(later.author, later.name, given),
            later.seconds,
            later.name or "",
        )
        yield later.call_id, response


def _later_parts(
    statement: str, session: Session, seq: int, ids: set[str], too_large: Sequence[int] = ()
) -> list[tuple[Any, ...]]:
    if not (ids or too_large):
        return []
    parameters: dict[str, Any] = {
        "session": session.pk,
        "seq": seq,
        "ids": list(ids),
        "too_large": list(too_large),
        "request": REQUEST_CONFIRMATION,
        "seconds": SECONDS_KEY,
        "characters": RESULT_CHARACTERS,
    }
    with reading_connection().cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _find_large_deltas(session: Session, too_large: Sequence[int]) -> dict[int, list[str]]:
    """Return the first keys in the state deltas of these events, or their beginnings, by seq."""
    if not too_large:
        return {}
    with reading_connection().cursor() as cursor:
        cursor.execute(_LARGE_DELTAS, {"session": session.pk, "seqs": list(too_large)})
        return dict(cursor.fetchall())


def _find_calls(session: Session, ids: set[str]) -> SeqsByCallId:
    """Return the seqs of the session's events with these calls."""
    if not ids:
        return {}
    has_call_id = Q()
    for call_id in ids:
        has_call_id |= Q(body__content__parts__contains=[{"functionCall": {"id": call_id}}])
    # Messages and states have no calls: their bodies, which may be large, need not be searched.
    with_parts = Event.objects.filter(session=session).exclude(kind__in=(EventKind.MESSAGE, EventKind.STATE))
    # Only the ids: the events may be large.
    found = with_parts.filter(has_call_id).order_by("seq").values_list("seq", _CALL_IDS)
    return {call_id: seqs for call_id, seqs in _seqs_by_id(found).items() if call_id in ids}


def _artifacts(session: Session, bodies: Iterable[Any]) -> dict[tuple[str, int], Artifact]:
    names: set[str] = set()
    for body in bodies:
        names |= json_object(body, "actions", "artifactDelta").keys()
    if not names:
        return {}
    is_visible = Q(session=session) | Q(session=None, user_id=session.user_id, app_name=session.app_name)
    found = Artifact.objects.filter(is_visible, filename__in=names)
    return {(artifact.filename, artifact.version): artifact for artifact in found}


_LATER_REQUESTS = """
SELECT asked ->> 'id', asked #>> '{args,originalFunctionCall,id}'
FROM sessions_app_event e, jsonb_path_query(e.body, '$.content.parts[*].functionCall') asked
WHERE e.session_id = %(session)s AND e.seq > %(seq)s AND e.kind = 'call' AND asked ->> 'name' = %(request)s
    AND jsonb_exists(e.body -> 'longRunningToolIds', asked ->> 'id')
    AND asked #>> '{args,originalFunctionCall,id}' = ANY(%(ids)s)
"""
_LATER_ANSWERS = """
SELECT given ->> 'id', e.seq, e.author, e.happened_at, left((given -> 'response')::text, %(characters)s),
    given ->> 'name', left(given #>> '{response,status}', 40), left(given #>> '{response,error}', 200),
    given #> '{response,confirmed}' = 'true', CASE jsonb_typeof(seconds) WHEN 'number' THEN seconds::float8 END
FROM sessions_app_event e, jsonb_path_query(e.body, '$.content.parts[*].functionResponse') given,
    LATERAL (SELECT e.body #> ARRAY['customMetadata', %(seconds)s, given ->> 'id'] AS seconds) took
WHERE e.session_id = %(session)s AND e.kind IN ('call', 'response', 'error') AND given ->> 'id' <> '' AND (
    e.seq > %(seq)s AND given ->> 'id' = ANY(%(ids)s) OR e.seq = ANY(%(too_large)s::bigint[]))
ORDER BY e.seq
"""

# `true` makes a delta that is no object one without keys.
_LARGE_DELTAS = """
SELECT seq, ARRAY(
    SELECT left(key #>> '{}', 200)
    FROM jsonb_path_query(body, '$.actions.stateDelta.keyvalue().key', '{}', true) key LIMIT 100)
FROM sessions_app_event WHERE session_id = %(session)s AND seq = ANY(%(seqs)s::bigint[])
"""


def load_event_actors(session: Session, bodies: Mapping[int, Any]) -> dict[int, ActorColumns]:
    """Return the rows with the actors of events by seq, in two queries, except for events of agents."""
    asked: dict[int, str | None] = {}
    for seq, body in bodies.items():
        if json_object(body).get("author") == "user":
            asked[seq] = invocation_of(body)
    ids = set(filter(None, asked.values()))
    rows = Invocation.objects.filter(session=session, invocation_id__in=ids).exclude(actor_kind="")
    invocations = {row.invocation_id: row for row in rows.only("invocation_id", *ACTOR_COLUMNS)}
    found: dict[int, ActorColumns] = {}
    for seq, invocation_id in asked.items():
        if invocation_id in invocations:
            found[seq] = invocations[invocation_id]
    # The hash of an event covers its invocation, and no act that is added later may take the place of the first.
    for act in SessionAct.objects.filter(session=session, seq__in=list(bodies)).order_by("pk"):
        if act.seq is not None:
            found.setdefault(act.seq, act)
    return found


def invocation_of(body: Any) -> str | None:
    """Return the id of the invocation that stored the event."""
    # The event of an answer may have the id of the calling invocation; its mark has the id of the answering
    # invocation.
    answer = json_object(body, "customMetadata", ANSWER)
    found = answer.get("invocation") or json_object(body).get("invocationId")
    return found if isinstance(found, str) else None


def load_causes(session: Session, bodies: Mapping[int, Any]) -> Causes:
    """Return the addresses of the pages with the exceptions, in two queries at most."""
    causes: Causes = {}
    for error in CallError.objects.filter(session=session, seq__in=list(bodies)).only("seq", "call_id"):
        causes.setdefault(error.seq, {})[error.call_id] = row_url(error)
    failed = {seq: invocation_of(body) for seq, body in bodies.items() if json_object(body).get("errorCode")}
    if failed:
        ids = set(filter(None, failed.values()))
        rows = Invocation.objects.filter(session=session, invocation_id__in=ids).exclude(error_detail="")
        urls = {row.invocation_id: row_url(row) for row in rows.only("invocation_id")}
        for seq, invocation_id in failed.items():
            if invocation_id in urls:
                causes.setdefault(seq, {})[""] = urls[invocation_id]
    return causes
