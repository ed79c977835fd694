"""Facts of events for the figures: names, times and counts, read from the JSON by PostgreSQL.

The events themselves are not loaded: they may be large, and some cannot be parsed by Python. All texts are cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from django.db.models import F, JSONField
from django.db.models.expressions import RawSQL

from sessions_app.history.costs import Usage
from sessions_app.models import Event, EventKind
from sessions_app.models.figures import NAME_LENGTH
from sessions_app.secrets.masking import beginning_of

MAX_EVENTS = 5_000
"""Largest number of events of a batch. The next batch counts the rest of a long log."""
_TEXT_LENGTH = 400
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|«[^»]*»|`[^`]*`")
_NUMBERED = re.compile(r"\b(?=\w*\d)[\w-]+")


@dataclass(frozen=True)
class LogFacts:
    """Facts of an event.

    Attributes:
        answers: names of the tools with an answer in the event.
        failures: tool and cause of each failed answer; an error of the event itself has no tool.
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
    failures: tuple[tuple[str, str], ...]

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the facts of a row of the query. Values of unexpected types count as absent."""
        facts = row["facts"]
        answers = [(name or "", error) for name, error in facts["answers"] or ()]
        failures = [(name, cause_of(error)) for name, error in answers if error]
        if row["kind"] == EventKind.ERROR:
            failures.append(("", cause_of(facts["error"] or "")))
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
            answers=tuple(name for name, _ in answers),
            failures=tuple(failures),
        )

    @property
    def is_message_of_person(self) -> bool:
        return self.author == "user" and self.kind == EventKind.MESSAGE


def cause_of(error: str) -> str:
    """Return the first line of an error without its quotations and numbers."""
    first_line = next(iter(error.strip().splitlines()), "")
    # Ids and names in quotes differ from error to error. Without them, similar errors have the same cause.
    return beginning_of(_NUMBERED.sub("#", _QUOTED.sub("…", first_line)), NAME_LENGTH)


def uncounted_facts(session_ids: Iterable[UUID]) -> list[LogFacts]:
    """Return the facts of up to `MAX_EVENTS` uncounted events of these sessions, in the order of session and `seq`."""
    events = Event.objects.filter(session__in=list(session_ids), seq__gt=F("session__figures__seq"))
    rows = events.order_by("session_id", "seq").values("session_id", "seq", "kind", facts=_FACTS)
    return [LogFacts.of_row(row) for row in rows[:MAX_EVENTS]]


_BODY = "sessions_app_event.body"
# The answer of a cancelled job is no failure. JSON null, false and "" are no errors.
_ERROR = f"""
CASE WHEN p #>> '{{functionResponse,response,status}}' IS NOT DISTINCT FROM 'cancelled' THEN NULL
    ELSE left(nullif(nullif(p #>> '{{functionResponse,response,error}}', ''), 'false'), {_TEXT_LENGTH}) END"""
_FACTS = RawSQL(  # noqa: S611  # no value from outside
    f"""
    jsonb_build_object(
        'at', CASE WHEN happened_at BETWEEN '1970-01-02' AND '9998-12-31' THEN extract(epoch FROM happened_at) END,
        'author', left(author, {NAME_LENGTH}),
        'invocation', left(sessions_app_event.invocation_id, {NAME_LENGTH}),
        'has_text', text IS NOT NULL,
        'model', left({_BODY} ->> 'modelVersion', {NAME_LENGTH}),
        'usage', CASE WHEN pg_column_size({_BODY} -> 'usageMetadata') < 8192 THEN {_BODY} -> 'usageMetadata' END,
        'error', left(concat_ws(': ', {_BODY} ->> 'errorCode', {_BODY} ->> 'errorMessage'), {_TEXT_LENGTH}),
        'answers', CASE WHEN kind = 'response' THEN (
            SELECT jsonb_agg(jsonb_build_array(left(p #>> '{{functionResponse,name}}', {NAME_LENGTH}), {_ERROR}))
            FROM jsonb_path_query({_BODY}, '$.content.parts[*] ? (exists(@.functionResponse))') p
        ) END
    )""",  # noqa: S608
    (),
    output_field=JSONField(),
)
