"""The call behind a request of the inbox, as stored in the log."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from runtime.events.tool_confirmation import args_to_confirm, own_hint, question_in
from sessions_app.admin.framework.stored_events import with_stored
from sessions_app.admin.session.timeline.calls import MAX_ARGUMENT_BYTES, parse_object, parts_in_json
from sessions_app.admin.session.timeline.event_links import find_call
from sessions_app.admin.session.timeline.event_rows import read_stored_or_none
from sessions_app.base.codec import json_object
from sessions_app.models import AnswerRequest, Event
from sessions_app.models.staff_act import DETAIL_LENGTH
from sessions_app.process.replica import reading_connection
from sessions_app.rendering.audit_values import format_json
from sessions_app.secrets.masking import mask

_ARGUMENTS = """
SELECT r.id, CASE WHEN octet_length(called.args) <= %(most)s THEN called.args END
FROM sessions_app_answerrequest r, LATERAL (
    SELECT (call -> 'args')::text AS args
    FROM sessions_app_event e, jsonb_path_query(e.body, '$.content.parts[*].functionCall') call
    WHERE e.session_id = r.session_id AND e.invocation_id = r.invocation_id AND e.kind = 'call'
        AND call ->> 'id' = r.call_id
    LIMIT 1
) called WHERE r.id = ANY(%(requests)s)"""


class StoredCall:
    """The stored call of a request.

    Attributes:
        seq: number of the event with the call; None without such an event.
        args: arguments of the call, with secrets masked; empty if the event is too large for the page.
        values: names and values for staff: of a confirmation, those of the call to confirm.
        shown: the same, the values as JSON.
        hint: question of the tool; empty for the default question.
    """

    def __init__(self, seq: int | None, args: Mapping[str, Any]) -> None:
        self.seq = seq
        self.args = mask(args)
        self.hint = own_hint(self.args)
        values = {**args_to_confirm(self.args)}
        payload = question_in(self.args).get("payload")
        if payload is not None:
            values["payload"] = payload
        self.values = dict(sorted(values.items()))
        self.shown = [(name, format_json(value)) for name, value in self.values.items()]

    def without_words(self, tool_name: str) -> str:
        """Return the tool, the numbers among its arguments and the event, such as `refund(amount=40)#17`."""
        # Texts of a conversation must not outlive an erasure.
        numbers = [f"{name}={value}" for name, value in self.values.items() if isinstance(value, int | float)]
        end = f")#{self.seq}" if self.seq else ")"
        return f"{tool_name}({', '.join(numbers)}"[: DETAIL_LENGTH - len(end)] + end

    @classmethod
    def of(cls, row: AnswerRequest) -> Self:
        """Return the call of a request, in two queries."""
        seq = find_call(row.session, row.call_id)
        # A question of a job is not in the call: the job has the arguments.
        if row.job is not None:
            return cls(seq, json_object(row.job.args))
        event = with_stored(Event.objects.filter(session=row.session_id, seq=seq or 0), opened=seq).first()
        stored = event and read_stored_or_none(event)
        return cls(seq, _args_in(stored and stored.body, row.call_id))

    @classmethod
    def of_all(cls, rows: Sequence[AnswerRequest]) -> dict[int, Self]:
        """Return the calls of requests by the primary key of the request, in one query, without their `seq`."""
        args: dict[int, Mapping[str, Any]] = {}
        keys = []
        for row in rows:
            args[row.pk] = {}
            if row.job is None:
                keys.append(row.pk)
            else:
                args[row.pk] = json_object(row.job.args)
        with reading_connection().cursor() as cursor:
            cursor.execute(_ARGUMENTS, {"requests": keys, "most": MAX_ARGUMENT_BYTES})
            for key, text in cursor.fetchall():
                args[key] = parse_object(text)
        return {key: cls(None, of_call) for key, of_call in args.items()}


def _args_in(body: Any, call_id: str) -> Mapping[str, Any]:
    for part in parts_in_json(body):
        call = json_object(part, "functionCall")
        if call.get("id") == call_id:
            return json_object(call, "args")
    return {}
