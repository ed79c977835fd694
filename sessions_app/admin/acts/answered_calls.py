"""Source of answered calls for the page "Who did what": calls of tools, and answers of people and API keys.

Calls and answers are parts of events: an event may have several, and the call is in an earlier event than its answer.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext

from runtime.events.calls import (
    FRAMEWORK_CALLS,
    REMOTE_AUTH,
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    REQUEST_INPUT,
    unwrapped,
)
from runtime.events.tool_confirmation import args_to_confirm, call_to_confirm
from sessions_app.admin.acts.sources import EFFECTS, QUESTIONS, ActEntry, ActSource, Filters
from sessions_app.admin.framework.links import event_link
from sessions_app.admin.session.timeline.calls import MAX_ARGUMENT_BYTES, answer_state, parse_object
from sessions_app.base import actors
from sessions_app.base.actors import ActionKind, ActorKind
from sessions_app.base.codec import json_object
from sessions_app.history.call_state import CallState
from sessions_app.history.event_marks import ANSWER
from sessions_app.models import Event, EventKind, Invocation, SessionAct
from sessions_app.process.replica import reading_connection
from sessions_app.rendering.audit_values import ARGUMENT_LENGTH, excerpt, one_line_json, status_badge
from sessions_app.rendering.outline import outline
from sessions_app.secrets.masking import mask

MAX_DISTANCE = 2_000
"""Number of events before an answer among which its call is looked for."""


class AnswerSource(ActSource):
    """Answered calls: tools that agents have called, and answers of people and API keys."""

    model = Event
    time_field = "happened_at"
    kinds = frozenset({ActorKind.AGENT, ActorKind.PERSON, ActorKind.KEY})

    def rows(self, filters: Filters) -> QuerySet[Any]:
        # With only their keys: the statement below reads the short parts of an event, which may be large.
        found = super().rows(filters).filter(kind=EventKind.RESPONSE)
        of_people = Q(author="user")
        if filters.kind:
            found = found.filter(~of_people if filters.kind == ActorKind.AGENT else of_people)
        if filters.actor:
            found = found.filter(of_people | Q(author=filters.actor))
        if filters.tool:
            named = [{"functionResponse": {"name": filters.tool}}]
            # The answer of a person to a request or a question has the name of the framework's call.
            found = found.filter(of_people | Q(body__content__parts__contains=named))
        keys: QuerySet[Any] = found.exclude(happened_at=None).values_list("pk", flat=True)
        return keys

    def entries(self, rows: Iterable[int]) -> Iterator[ActEntry]:
        parameters: dict[str, Any] = {
            "events": list(rows), "most": MAX_ARGUMENT_BYTES, "distance": MAX_DISTANCE, "mark": ANSWER,
            "questions": list(QUESTIONS),
        }  # fmt: skip
        with reading_connection().cursor() as cursor:
            cursor.execute(_ANSWERS, parameters)
            answers = [_Answer(*row) for row in cursor.fetchall()]
        # An answer of a person is in an event of the invocation that it has asked for, which has the actor.
        asked = Invocation.objects.filter(invocation_id__in={answer.invocation_id for answer in answers})
        columns = ("session_id", "invocation_id", "actor_kind", "actor_id", "actor_name", "address", "reason")
        # An imported event may have the id of an invocation of another session.
        invocations = {(row.session_id, row.invocation_id): row for row in asked.only(*columns)}
        for answer in answers:
            by = None
            if answer.author == "user":
                by = invocations.get((answer.session_id, answer.invocation_id))
            # The answer of a member of staff is an act in the admin, which outlives the conversation.
            if by is None or by.actor_kind != ActorKind.STAFF:
                yield from answer.entries(by)


@dataclass(frozen=True)
class _Answer:
    """A row of `_ANSWERS`.

    Attributes:
        answer: JSON of the answer to a question; None for an answer that is too large for the list.
    """

    key: int
    session_id: Any
    seq: int
    author: str
    at: datetime
    invocation_id: str
    name: str
    status: str | None
    error: str | None
    is_confirmed: bool | None
    answer: str | None
    call: str | None

    def entries(self, by: Invocation | None) -> Iterator[ActEntry]:
        """Yield the entry of the answer; none for a call that waits or did not run.

        Args:
            by: the invocation with the actor of a person's answer; None for a call of an agent.
        """
        given = {"status": self.status, "error": self.error, "confirmed": self.is_confirmed}
        state = answer_state(self.author, self.name, given)
        args = json_object(parse_object(self.call), "args")
        if self.author == "user":
            yield self._answer_of_person(by, state, args)
        elif state not in (CallState.PENDING, CallState.DECLINED) and self.name not in FRAMEWORK_CALLS:
            tool = QUESTIONS.get(self.name, self.name)
            yield self._entry(None, gettext("Call"), tool, arguments_in_words(args), state)

    def _answer_of_person(self, by: Invocation | None, state: CallState, args: Mapping[str, Any]) -> ActEntry:
        if self.name == REQUEST_CONFIRMATION:
            action = ActionKind.REJECT
            if state == CallState.APPROVED:
                action = ActionKind.APPROVE
            tool = str(call_to_confirm(args).get("name") or self.name)
            return self._entry(by, action.label, tool, arguments_in_words(args_to_confirm(args)), state)
        if self.name in QUESTIONS:
            response = None
            if self.answer is not None:
                response = parse_object(self.answer)
            words = question_in_words(self.name, args, response)
        else:
            words = arguments_in_words(args)
        effect: str = state
        if state == CallState.OK:
            effect = EFFECTS[ActionKind.ANSWER]
        tool = QUESTIONS.get(self.name, self.name)
        return self._entry(by, ActionKind.ANSWER.label, tool, words, effect)

    def _entry(
        self, by: Invocation | None, action: str | Promise, tool: str, arguments: str, effect: str
    ) -> ActEntry:
        return ActEntry(
            self.key,
            self.at,
            by or SessionAct(**_actor_of(self.author).columns()),
            str(action),
            tool,
            arguments,
            status_badge(effect),
            event_link(self.session_id, self.seq),
            by.reason if by else "",
        )


_ANSWERS = """
SELECT e.id, e.session_id, e.seq, e.author, e.happened_at,
    coalesce(e.body #>> ARRAY['customMetadata', %(mark)s, 'invocation'], e.invocation_id), given ->> 'name',
    left(given #>> '{response,status}', 40), left(given #>> '{response,error}', 200),
    given #> '{response,confirmed}' = 'true',
    CASE WHEN given ->> 'name' = ANY(%(questions)s) AND octet_length(coalesce(given ->> 'response', '')) <= %(most)s
        THEN coalesce(given ->> 'response', '') END,
    called.call
FROM sessions_app_event e
    CROSS JOIN LATERAL jsonb_path_query(e.body, '$.content.parts[*].functionResponse') given
    LEFT JOIN LATERAL (
        SELECT CASE WHEN octet_length(call::text) <= %(most)s THEN call::text END AS call
        FROM sessions_app_event m, jsonb_path_query(m.body, '$.content.parts[*].functionCall') call
        WHERE m.session_id = e.session_id AND m.seq BETWEEN e.seq - %(distance)s AND e.seq - 1 AND m.kind = 'call'
            AND call ->> 'id' = given ->> 'id'
        ORDER BY m.seq DESC LIMIT 1
    ) called ON true
WHERE e.id = ANY(%(events)s) AND given ->> 'name' <> ''
ORDER BY e.id DESC
"""


def _actor_of(author: str) -> actors.Actor:
    if author != "user":
        return actors.agent(author)
    return actors.Actor(ActorKind.PERSON, "")


def question_in_words(name: str, args: Mapping[str, Any], response: Mapping[str, Any] | None) -> str:
    """Return a question with the data that it is about, and its answer: "Refund it? (amount: 40) Answer: yes".

    Both are cut. The answer is left out where it may be a secret.

    Args:
        response: None for a response that is too large to be shown.
    """
    if name == REQUEST_CREDENTIAL:
        return ""
    if name == REQUEST_INPUT:
        question = _value_in_words(args.get("message") or gettext("An answer is needed."))
        if args.get("payload") is not None:
            question = excerpt(f"{question} ({_value_in_words(args['payload'])})")
    else:
        question = _value_in_words(next(iter(args.values()), ""))
    if name == REMOTE_AUTH:
        return question
    if response is None:
        answer = gettext("(too large for this list)")
    else:
        answer = _value_in_words(unwrapped({**response}))
    return gettext("%(question)s Answer: %(answer)s") % {"question": question, "answer": answer}


def _value_in_words(value: object) -> str:
    if isinstance(value, dict):
        return arguments_in_words(value)
    text, _ = outline(mask(value), MAX_ARGUMENT_BYTES)
    return excerpt(text)


def arguments_in_words(args: Mapping[str, Any]) -> str:
    """Return names and values, such as "amount: 40, order: 1001"."""
    words = []
    for name, value in sorted(mask(args).items()):
        text = value if isinstance(value, str) else one_line_json(value)
        words.append(f"{name}: {excerpt(text, ARGUMENT_LENGTH)}")
    return excerpt(", ".join(words))
