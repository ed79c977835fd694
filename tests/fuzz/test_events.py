"""Stored events of any shape: the pages of a session show the others, and the odd one as one row."""

from __future__ import annotations

import copy
import json
import re
from itertools import islice
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.models import Session
from tests.fuzz.conftest import Errors, add_event, said
from tests.fuzz.profile import examples
from tests.fuzz.values import json_values, storable
from tests.integration.tampering import tamper

pytestmark = pytest.mark.usefixtures("marked_rows")
CALL = {"functionCall": {"id": "c-1", "name": "look", "args": {"a": 1}}}
RESPONSE = {"functionResponse": {"id": "c-1", "name": "look", "response": {"result": 1}}}
FILE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
WHOLE = said(
    "whole",
    longRunningToolIds=["c-1"],
    branch="a.b",
    errorCode="E",
    errorMessage="It broke.",
    interrupted=True,
    customMetadata={"a": 1},
    usageMetadata={"promptTokenCount": 1, "candidatesTokenCount": 2},
    actions={
        "stateDelta": {"a": 1},
        "artifactDelta": {"a.png": 0},
        "transferToAgent": "other",
        "requestedToolConfirmations": {"c-1": {"hint": "Go on?"}},
        "compaction": {"startTimestamp": 1.0, "endTimestamp": 2.0},
    },
    content={
        "role": "model",
        "parts": [{"text": "whole"}, CALL, RESPONSE, FILE, {"text": "why", "thought": True}],
    },
)


def places(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Each place in a JSON value, the value itself first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [before, *(place for key, one in inner for place in places(one, (*before, key)))]


def replaced(body: Any, place: tuple[Any, ...], value: Any) -> Any:
    """The body with another value at the place."""
    if not place:
        return value
    changed = copy.deepcopy(body)
    holder = changed
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = value
    return changed


SHAPES: list[Any] = ["x", 5, True, None, [], {}, ["x"], {"a": None}]
CHANGED = {
    f"{'.'.join(map(str, place)) or 'body'} = {json.dumps(shape)}": replaced(WHOLE, place, shape)
    for place in places(WHOLE)
    for shape in SHAPES
}
ON_ONE_PAGE = 48
NAMES = list(CHANGED)
BATCHES = [
    {name: CHANGED[name] for name in NAMES[start : start + ON_ONE_PAGE]}
    for start in range(0, len(NAMES), ON_ONE_PAGE)
]
KNOWN = {
    "nothing at all": {},
    "parts of texts": said("odd", content={"parts": ["x"]}),
    "actions as a list": said("odd", actions=[]),
    "a number as text": said("odd", content={"parts": [{"text": 5}]}),
    "a late timestamp": said("odd", timestamp=1e300),
    "the year 33658": said("odd", timestamp=1e12),
    "an early timestamp": said("odd", timestamp=-1e12),
    "text and call in a part": said("odd", content={"parts": [{"text": "a", "functionCall": {"name": "x"}}]}),
    "odd files": said("odd", actions={"artifactDelta": {"": 0, "a/../b": -1, "user:": 1, ".": 10**30}}),
    "rewind to a number": said("odd", actions={"rewindBeforeInvocationId": 5}),
    "rewind to nothing": said("odd", actions={"rewindBeforeInvocationId": None}),
    "rewind to an object": said("odd", actions={"rewindBeforeInvocationId": {}}),
    "a scheduled number": said("odd", customMetadata={"adk_scheduled": 5}, author="user"),
    "odd numbers of tokens": said(
        "odd", usageMetadata={"promptTokenCount": 2**40, "candidatesTokenCount": -5}
    ),
}


def store(session: Session, bodies: list[Any]) -> list[int]:
    """Store the events between two good ones, but those that PostgreSQL refuses; return their numbers."""
    tamper(session.events.all().delete)
    session.last_seq = 0
    add_event(session, said("good-before"))
    for body in bodies:
        last_seq = session.last_seq
        try:
            with transaction.atomic():
                add_event(session, body)
        except DatabaseError:
            session.last_seq = last_seq
    add_event(session, said("good-behind"))
    return list(range(2, session.last_seq))


def broken_pages(client: Client, session: Session, errors: Errors, bodies: list[Any]) -> list[str]:
    """A sentence for each page that does not show the good events, or has not a row for each odd one."""
    odd = store(session, bodies)
    admin = reverse("admin:sessions_app_session_change", args=[session.pk])
    good = ["good-before", "good-behind"]
    pages = {
        reverse("chat:session", args=[session.pk]): good,
        reverse("chat:events", args=[session.pk]) + f"?before={session.last_seq + 1}": good,
        f"{admin}?at={session.last_seq}": [*good, *(f'id="event-{seq}"' for seq in odd)],
        reverse("admin:sessions_app_event_changelist"): good,
    }
    found = [sentence for url, wanted in pages.items() for sentence in wrong_with(client, url, wanted)]
    return [re.sub(r"[0-9a-f-]{36}", "<id>", sentence) for sentence in [*found, *errors.taken()]]


def wrong_with(client: Client, url: str, wanted: list[str]) -> list[str]:
    with transaction.atomic():
        response = client.get(url)
        transaction.set_rollback(response.status_code == 500)  # a query that failed spoils the transaction
    html = response.content.decode()
    if response.status_code != 200:
        return [f"{url}: {response.status_code}"]
    return [f"{url}: {text} is missing" for text in wanted if text not in html]


def spoilers(
    client: Client, session: Session, errors: Errors, bodies: dict[str, Any]
) -> dict[str, list[str]]:
    """The events that spoil a page, at most five, with what is wrong."""
    if not broken_pages(client, session, errors, list(bodies.values())):
        return {}
    alone = ((name, broken_pages(client, session, errors, [body])) for name, body in bodies.items())
    return dict(islice(((name, wrong) for name, wrong in alone if wrong), 5))


@pytest.mark.parametrize("bodies", [*BATCHES, KNOWN], ids=lambda bodies: next(iter(bodies)))
def test_odd_events_spoil_no_page(
    browser: Client, session: Session, errors: Errors, bodies: dict[str, Any]
) -> None:
    wrong = spoilers(browser, session, errors, bodies)
    assert not wrong, json.dumps(wrong, indent=1)


@given(
    st.lists(st.tuples(st.sampled_from(places(WHOLE)), json_values.map(storable)), min_size=1, max_size=20)
)
@examples(8)
def test_events_with_any_values_spoil_no_page(
    browser: Client, session: Session, errors: Errors, changes: list[tuple[tuple[Any, ...], Any]]
) -> None:
    bodies = {str(change): replaced(WHOLE, *change) for change in changes}
    wrong = spoilers(browser, session, errors, bodies)
    assert not wrong, json.dumps(wrong, indent=1)
