"""Sessions with long histories, written as rows at once."""

from __future__ import annotations

import json

from django.contrib.auth.models import User
from django.db import connection

from runtime import types
from runtime.events import Event
from sessions_app.base.codec import event_to_json
from sessions_app.models import Event as EventRow
from sessions_app.models import Session
from tests.benchmarks.people import WORDS, message_event


def make_history(person: User, app_name: str, events: int) -> Session:
    """Create a session of invocations with four events each: a message, a call, its response, and an answer."""
    row = Session.objects.create(app_name=app_name, user=person, key=f"{app_name}-{events}", last_seq=events)
    bodies = [event_to_json(_event(number)) for number in range(events)]
    EventRow.objects.bulk_create(
        [EventRow(session=row, seq=seq, body=json.loads(body)) for seq, body in enumerate(bodies, 1)], 1_000
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_event")
    return row


def _event(number: int) -> Event:
    invocation_id, call_id = f"e-{number // 4}", f"adk-{number // 4}"
    match number % 4:
        case 0:
            return message_event("user", f"{WORDS} {number}", invocation_id)
        case 1:
            part = types.Part(
                function_call=types.FunctionCall(id=call_id, name="look_up", args={"word": "fox"})
            )
        case 2:
            response = types.FunctionResponse(id=call_id, name="look_up", response={"result": WORDS})
            part = types.Part(function_response=response)
        case _:
            return message_event("large", f"{WORDS} {number}", invocation_id)
    role = "user" if number % 4 == 2 else "model"
    content = types.Content(role=role, parts=[part])
    return Event(author="large", invocation_id=invocation_id, content=content)
