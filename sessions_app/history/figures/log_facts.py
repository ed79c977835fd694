"""Facts of events for the figures: names, times and counts, read from the JSON by PostgreSQL.

The events themselves are not loaded: they may be large, and some cannot be parsed by Python. All texts are cut.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from django.db.models import F, JSONField, Q
from django.db.models.expressions import RawSQL

from runtime.events.calls import FRAMEWORK_CALLS
from sessions_app.history.call_state import CallState, state_of, waits
from sessions_app.history.costs import Usage
from sessions_app.history.event_marks import FAILED_TOOL
from sessions_app.models import CallError, Event, EventKind, Invocation, ToolJob
from sessions_app.models.answer_request import CALL_ID_LENGTH
from sessions_app.models.figures import CAUSE_LENGTH, NAME_LENGTH
from sessions_app.secrets.error_detail import Cause, cause_in
from sessions_app.secrets.masking import beginning_of

MAX_EVENTS = 5_000
"""Largest number of events of a batch. The next batch counts the rest of a long log."""
MAX_SENTENCE = 200
_TEXT_LENGTH = 400
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|«[^»]*»|`[^`]*`")
_RUN = re.compile("@[^/]*")
_NUMBERED = re.compile(r"\b(?=\w*\d)[\w-]+")


@dataclass(frozen=True)
class FailedAnswer:
    """Tool, call and cause of a failure. The cause is the same for similar failures.

    Attributes:
        tool_name: for an error that no tool has raised, the place of the workflow's node, such as `returns/look_up`,
            or empty.
    """

    tool_name: str
    call_id: str
    cause: str


@dataclass(frozen=True)
class LogFacts:
    """Facts of an event.

    Attributes:
        answers: names of the tools with an answer in the event. A response that only says that the call waits, and the
            answer to a question of the framework, are none.
        failures: failed answers; an error of the event itself has the tool that raised it, the place of its node, or
            neither.
        rejections: names of the tools whose call a person rejected.
    """

    session_id: UUID
    seq: int
    author: str
    kind: str
    at: datetime | None
    invocation_id: str
    has_text: bool
    model: str
    usage: Usage
    answers: tuple[str, ...]
    failures: tuple[FailedAnswer, ...]
    rejections: tuple[str, ...]

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the facts of a row of the query. Values of unexpected types count as absent."""
        facts = row["facts"]
        answers = []
        failures = []
        rejections = []
        for name, call_id, status, error in facts["answers"] or ():
            response = {"status": status, "error": error}
            if name in FRAMEWORK_CALLS or (facts["author"] != "user" and waits(response)):
                continue
            answers.append(name or "")
            state = state_of(response)
            if state == CallState.FAILED:
                failures.append(FailedAnswer(name or "", call_id or "", cause_of(error or status)))
            elif state == CallState.DECLINED:
                rejections.append(name or "")
        if row["kind"] == EventKind.ERROR:
            # All runs of a workflow's node count together.
            place = facts["failed_tool"] or _RUN.sub("", facts["node"] or "")
            failures.append(FailedAnswer(place, "", cause_of(facts["error"] or "")))
        return cls(
            session_id=row["session_id"],
            seq=row["seq"],
            author=facts["author"] or "",
            kind=row["kind"] or EventKind.STATE,
            at=None if facts["at"] is None else datetime.fromtimestamp(facts["at"], UTC),
            invocation_id=facts["invocation"] or "",
            has_text=facts["has_text"] is True,
            model=facts["model"] or "",
            usage=Usage.of_json(facts["usage"]),
            answers=tuple(answers),
            failures=tuple(failures),
            rejections=tuple(rejections),
        )

    def with_causes(self, exceptions: Mapping[tuple[UUID, int, str], Cause]) -> Self:
        """Return the facts with the exception and its place in the agent's code as the cause of a failure."""
        failures = []
        for failure in self.failures:
            exception = exceptions.get((self.session_id, self.seq, failure.call_id))
            # The error of an event has the class of its exception already.
            if exception and exception.place and (exception.frames or failure.call_id):
                cause = exception.place if exception.frames else f"{exception.exception}: {failure.cause}"
                failure = replace(failure, cause=cause[:CAUSE_LENGTH])
            failures.append(failure)
        return replace(self, failures=tuple(failures))

    @property
    def is_message_of_person(self) -> bool:
        return self.author == "user" and self.kind == EventKind.MESSAGE


def cause_of(error: str) -> str:
    """Return the first line of an error without its quotations and numbers, cut between words."""
    first_line = next(iter(error.strip().splitlines()), "")
    # Ids and names in quotes differ from error to error. Without them, similar errors have the same cause.
    words = _NUMBERED.sub("#", _QUOTED.sub("…", first_line))
    if len(words) <= MAX_SENTENCE:
        return words
    whole, space, _cut = beginning_of(words, MAX_SENTENCE).rpartition(" ")
    return f"{whole} …" if space else f"{words[:MAX_SENTENCE]}…"


def uncounted_facts(session_ids: Iterable[UUID]) -> list[LogFacts]:
    """Return the facts of up to `MAX_EVENTS` uncounted events of these sessions, in the order of session and `seq`."""
    events = Event.objects.filter(session__in=list(session_ids), seq__gt=F("session__figures__seq"))
    rows = events.order_by("session_id", "seq").values("session_id", "seq", "kind", facts=_FACTS)
    facts = [LogFacts.of_row(row) for row in rows[:MAX_EVENTS]]
    failed = [event for event in facts if event.failures]
    causes = _causes_of_exceptions(failed)
    return [event.with_causes(causes) for event in facts]


CauseByPlace = dict[tuple[UUID, int, str], Cause]
"""Causes by session, `seq` and call. An exception that has ended its invocation belongs to no call."""


def _causes_of_exceptions(events: Sequence[LogFacts]) -> CauseByPlace:
    """Return the causes of the exceptions of tools, jobs and invocations."""
    # The exception of a job says more than the error of its answer.
    return _causes_of_tools(events) | _causes_of_jobs(events) | _causes_of_ends(events)


def _causes_of_tools(events: Sequence[LogFacts]) -> CauseByPlace:
    seqs: dict[UUID, list[int]] = {}
    for event in events:
        seqs.setdefault(event.session_id, []).append(event.seq)
    condition = Q(pk__in=())
    for session_id, of_session in seqs.items():
        condition |= Q(session=session_id, seq__in=of_session)
    rows = CallError.objects.filter(condition).values_list("session_id", "seq", "call_id", "detail")
    return {(session_id, seq, call_id): cause_in(detail) for session_id, seq, call_id, detail in rows}


def _causes_of_jobs(events: Sequence[LogFacts]) -> CauseByPlace:
    seqs: dict[tuple[UUID, str], list[int]] = {}
    for event in events:
        for failure in event.failures:
            if failure.call_id:
                seqs.setdefault((event.session_id, failure.call_id), []).append(event.seq)
    sessions = {session_id for session_id, _ in seqs}
    jobs = ToolJob.objects.filter(session__in=sessions, call_id__in=[call_id for _, call_id in seqs])
    rows = jobs.exclude(error_detail="").values_list("session_id", "call_id", "error_detail")
    causes: CauseByPlace = {}
    for session_id, call_id, detail in rows:
        for seq in seqs.get((session_id, call_id), ()):
            causes[session_id, seq, call_id] = cause_in(detail)
    return causes


def _causes_of_ends(events: Sequence[LogFacts]) -> CauseByPlace:
    seqs: dict[tuple[UUID, str], list[int]] = {}
    for event in events:
        if event.kind == EventKind.ERROR:
            seqs.setdefault((event.session_id, event.invocation_id), []).append(event.seq)
    failed = Invocation.objects.filter(invocation_id__in=[invocation_id for _, invocation_id in seqs])
    rows = failed.exclude(error_detail="").values_list("session_id", "invocation_id", "error_detail")
    causes: CauseByPlace = {}
    for session_id, invocation_id, detail in rows:
        for seq in seqs.get((session_id, invocation_id), ()):
            causes[session_id, seq, ""] = cause_in(detail)
    return causes


_BODY = "sessions_app_event.body"
# JSON null, false and "" are no errors.
_ANSWER = f"""
jsonb_build_array(
    left(p #>> '{{functionResponse,name}}', {NAME_LENGTH}),
    left(p #>> '{{functionResponse,id}}', {CALL_ID_LENGTH}),
    left(p #>> '{{functionResponse,response,status}}', {NAME_LENGTH}),
    left(nullif(nullif(p #>> '{{functionResponse,response,error}}', ''), 'false'), {_TEXT_LENGTH})
)"""
_FACTS = RawSQL(  # noqa: S611  # no value from outside
    f"""
    jsonb_build_object(
        'at', CASE WHEN happened_at BETWEEN '1970-01-02' AND '9998-12-31' THEN extract(epoch FROM happened_at) END,
        'author', left(author, {NAME_LENGTH}),
        'invocation', left(sessions_app_event.invocation_id, {NAME_LENGTH}),
        'has_text', text IS NOT NULL,
        'model', left({_BODY} ->> 'modelVersion', {NAME_LENGTH}),
        'node', left({_BODY} #>> '{{nodeInfo,path}}', {NAME_LENGTH}),
        'failed_tool', left({_BODY} #>> '{{customMetadata,{FAILED_TOOL}}}', {NAME_LENGTH}),
        'usage', CASE WHEN pg_column_size({_BODY} -> 'usageMetadata') < 8192 THEN {_BODY} -> 'usageMetadata' END,
        'error', left(concat_ws(': ', {_BODY} ->> 'errorCode', {_BODY} ->> 'errorMessage'), {_TEXT_LENGTH}),
        'answers', CASE WHEN kind = 'response' THEN (
            SELECT jsonb_agg({_ANSWER})
            FROM jsonb_path_query({_BODY}, '$.content.parts[*] ? (exists(@.functionResponse))') p
        ) END
    )""",  # noqa: S608
    (),
    output_field=JSONField(),
)
