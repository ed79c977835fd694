"""Log entries of an invocation for a trace: names, times and counts, without texts and arguments.

PostgreSQL extracts the entries from the events' JSON, so large events load as quickly as small events.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

from django.db.models import JSONField
from django.db.models.expressions import RawSQL

from runtime.events.calls import FRAMEWORK_CALLS, SECONDS_KEY
from sessions_app.history.costs import MAX_TOKENS, Usage
from sessions_app.models import Event, EventKind

MAX_ENTRIES = 500
"""Largest number of entries of an invocation in a trace."""
MAX_CHILD_CALLS = 200
"""Largest number of child calls (model calls of agents run as tools) of an event in a trace."""
_NAME_LENGTH = 200
_MAX_CALLS_OF_EVENT = 100


@dataclass(frozen=True)
class CallEntry:
    """A function call of an event.

    Attributes:
        about: for a request to the person, name of the call in question; empty for other calls.
    """

    id: str
    name: str
    about: str = ""


@dataclass(frozen=True)
class RecordedTimes:
    """Recorded times of a model call.

    Attributes:
        at: the start, in seconds since the epoch.
        first_word: seconds from the start to the first word; None without an answer.
        model: name of the requested model.
    """

    at: float
    first_word: float | None = None
    failed_attempts: int = 0
    model: str = ""


@dataclass(frozen=True)
class ChildCall:
    """A model call of an agent run as a tool.

    Attributes:
        number: place of the call in the record of the event with the tool's answer.
        call_id: function call answered by the agent.
        levels: depth of nested tools.
        end: time of the answer; None without an answer.
    """

    number: int
    call_id: str
    levels: int
    agent: str
    model: str
    at: float
    end: float | None
    first_word: float | None
    failed_attempts: int
    usage: Usage
    error: str

    @classmethod
    def of_record(cls, number: int, record: Any) -> Self | None:
        """Return the call in a record of an event; None for a record of another shape."""
        match record:
            case {"inside": [str(call_id), *_] as inside, "at": int() | float() as at}:
                pass
            case _:
                return None
        return cls(
            number=number,
            call_id=call_id,
            levels=len(inside),
            agent=str(record.get("agent") or ""),
            model=str(record.get("version") or record.get("model") or ""),
            at=at,
            end=_number(record.get("end")),
            first_word=_number(record.get("first_word")),
            failed_attempts=int(_number(record.get("failed_attempts")) or 0),
            usage=Usage.of_json(record.get("usage")),
            error=str(record.get("error") or ""),
        )


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) else None


@dataclass(frozen=True)
class TraceEntry:
    """An event, as far as a trace needs it.

    Attributes:
        at: its time, in seconds since the epoch.
        model: the model's version as the response names it.
        answers: ids of the calls answered by the event.
        call_seconds: measured durations of these calls.
        skills: names of the skills that these calls read or used.
        pending: ids of the calls to be answered later.
        recorded: times of the model call behind the event; None without a record.
        child_calls: model calls of the agents run as tools whose answers are in the event.
        node: path of the run of a workflow's node; empty for an event of no node.
        ends_node: True if the run ended with this event.
    """

    seq: int
    at: float
    author: str
    kind: str
    branch: str = ""
    model: str = ""
    error: str = ""
    is_interrupted: bool = False
    usage: Usage = field(default_factory=Usage)
    calls: tuple[CallEntry, ...] = ()
    answers: frozenset[str] = frozenset()
    call_seconds: Mapping[str, float] = field(default_factory=dict)
    skills: Mapping[str, str] = field(default_factory=dict)
    pending: frozenset[str] = frozenset()
    recorded: RecordedTimes | None = None
    child_calls: tuple[ChildCall, ...] = ()
    node: str = ""
    ends_node: bool = False

    @classmethod
    def of_row(cls, row: Mapping[str, Any], at: float) -> Self:
        """Return the entry of a row of `entries_of`. Values of unexpected types count as absent.

        Args:
            at: time of the entry if the row has no time, in seconds since the epoch.
        """
        facts = row["facts"]
        if row["happened_at"]:
            at = row["happened_at"].timestamp()
        recorded = None
        if facts["recorded"]:
            recorded = RecordedTimes(**facts["recorded"])
        calls = [ChildCall.of_record(number, record) for number, record in enumerate(facts["children"] or ())]
        return cls(
            seq=row["seq"],
            at=at,
            author=facts["author"] or "",
            kind=row["kind"] or EventKind.STATE,
            branch=facts["branch"] or "",
            model=facts["model"] or "",
            error=facts["error"] or "",
            is_interrupted=facts["interrupted"],
            usage=Usage.of_json(facts["usage"]),
            calls=tuple(CallEntry(call[0], call[1] or "", call[2] or "") for call in facts["calls"] or ()),
            answers=frozenset(facts["answers"] or ()),
            call_seconds=facts["seconds"] or {},
            skills=facts["skills"] or {},
            pending=frozenset(facts["pending"] or ()),
            node=facts["node"] or "",
            ends_node=facts["ends_node"],
            recorded=recorded,
            child_calls=tuple(filter(None, calls)),
        )

    @property
    def is_model_response(self) -> bool:
        """True if a model call ended with this event."""
        if self.recorded:
            return True
        if self.author == "user" or self.answers:
            return False
        if self.usage or self.model:
            return True
        if self.node:  # The call of a tool, or a text that is the output of a function.
            return False
        # Without usage and version in the response, its content decides.
        return self.kind in (EventKind.MESSAGE, EventKind.CALL) and not self.asks_person

    @property
    def asks_person(self) -> bool:
        """True if the event has a question of the framework to the person."""
        return any(call.name in FRAMEWORK_CALLS and call.id in self.pending for call in self.calls)


def entries_of(session_id: UUID, invocation_id: str) -> list[TraceEntry]:
    """Return the entries of an invocation, oldest first; `MAX_ENTRIES` + 1 entries of a longer invocation."""
    events = Event.objects.filter(session=session_id, invocation_id=invocation_id).order_by("seq")
    return _read(events.values("seq", "kind", "happened_at", facts=_FACTS)[: MAX_ENTRIES + 1])


def answers_of_person(session_id: UUID, after: int, call_ids: frozenset[str]) -> list[TraceEntry]:
    """Return the person's messages after the event `after`, of any invocation, with an answer to one of the calls."""
    if not call_ids:
        return []
    answered = RawSQL(f"({_ANSWERS}) && %s", (list(call_ids),))  # noqa: S611  # a parameter
    events = (
        Event.objects.filter(session=session_id, seq__gt=after, author="user", kind=EventKind.RESPONSE)
        .annotate(is_answer=answered)
        .filter(is_answer=True)
        .order_by("seq")
    )
    return _read(events.values("seq", "kind", "happened_at", facts=_FACTS)[:MAX_ENTRIES])


def _read(rows: Any) -> list[TraceEntry]:
    entries: list[TraceEntry] = []
    # An event of a client may have an unreadable time: it takes the time of the event before.
    before = 0.0
    for row in rows:
        entry = TraceEntry.of_row(row, before)
        entries.append(entry)
        before = entry.at
    return entries


def _numbers(name: str, path: str) -> str:
    """Return SQL for a name and the numbers up to `MAX_TOKENS` in the object at a path of the event."""
    found = f"body #> '{{{path}}}'"
    return f"""'{name}', (
        SELECT jsonb_object_agg(key, value)
        FROM jsonb_each(CASE WHEN jsonb_typeof({found}) = 'object' THEN {found} END)
        WHERE jsonb_typeof(value) = 'number' AND value::text::numeric BETWEEN 0 AND {MAX_TOKENS}
    )"""  # noqa: S608  # no value from outside


_ANSWERS = f"""
SELECT coalesce(array_agg(left(p #>> '{{functionResponse,id}}', {_NAME_LENGTH})), '{{}}')
FROM jsonb_path_query(sessions_app_event.body, '$.content.parts[*] ? (exists(@.functionResponse))') p"""  # noqa: S608
# The response of a tool of `SkillToolset`, under any prefix. The pattern is that of a name, so no other text is read.
_SKILLS = f"""
SELECT jsonb_object_agg(left(p #>> '{{id}}', {_NAME_LENGTH}), p #> '{{response,skill_name}}')
FROM jsonb_path_query(body, '$.content.parts[*].functionResponse ? (
    @.name like_regex "(load_skill|load_skill_resource|run_skill_script)$"
    && !exists(@.response.error) && @.response.skill_name.type() == "string"
    && @.response.skill_name like_regex "^[a-z0-9-]{{1,64}}$" && @.id.type() == "string"
)') p"""  # noqa: S608
_FACTS = RawSQL(  # noqa: S611  # no value from outside
    f"""
    jsonb_build_object(
        'author', left(author, {_NAME_LENGTH}),
        'branch', left(body ->> 'branch', {_NAME_LENGTH}),
        'model', left(body ->> 'modelVersion', {_NAME_LENGTH}),
        'error', left(body ->> 'errorCode', {_NAME_LENGTH}),
        'node', CASE WHEN body ->> 'isolationScope' IS NULL THEN left(body #>> '{{nodeInfo,path}}', {_NAME_LENGTH}) END,
        'ends_node', body @> '{{"nodeInfo": {{"hasEnded": true}}}}',
        'interrupted', body @> '{{"interrupted": true}}',
        {_numbers("usage", "usageMetadata")},
        {_numbers("seconds", f"customMetadata,{SECONDS_KEY}")},
        'recorded', CASE WHEN jsonb_typeof(model_call -> 'at') = 'number' THEN jsonb_build_object(
            'at', model_call -> 'at',
            'first_word', model_call -> 'first_word',
            'failed_attempts', coalesce(model_call -> 'failed_attempts', '0'),
            'model', coalesce(left(model_call ->> 'model', {_NAME_LENGTH}), '')
        ) END,
        'children', jsonb_path_query_array(model_call, '$.children[0 to {MAX_CHILD_CALLS - 1}]'),
        'pending', jsonb_path_query_array(body, '$.longRunningToolIds[*] ? (@.type() == "string")'),
        'answers', to_jsonb(array_remove(({_ANSWERS}), NULL)),
        'skills', ({_SKILLS}),
        'calls', (
            SELECT jsonb_agg(jsonb_build_array(
                coalesce(left(p #>> '{{functionCall,id}}', {_NAME_LENGTH}), ''),
                left(p #>> '{{functionCall,name}}', {_NAME_LENGTH}),
                left(p #>> '{{functionCall,args,originalFunctionCall,name}}', {_NAME_LENGTH})
            ))
            FROM (
                SELECT p FROM jsonb_path_query(body, '$.content.parts[*] ? (exists(@.functionCall))') p
                LIMIT {_MAX_CALLS_OF_EVENT}
            ) calls
        )
    )""",  # noqa: S608
    (),
    output_field=JSONField(),
)
