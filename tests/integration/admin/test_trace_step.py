"""Contract: the trace shows each model request as it was sent, and what changed in the instruction since another."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from sessions_app.models import Event, Session
from tests.integration.admin.audit_rows import HOSTILE, START, append_event, read
from tests.integration.admin.test_trace_page import call, response, rows_of, trace_of
from tests.integration.session_helpers import request_text

pytestmark = pytest.mark.django_db

FIRST = "You sell lamps.\nThe person is new.\nBe brief."
SECOND = "You sell lamps.\nThe person is Ada.\nBe brief."
TOOLS = [{"functionDeclarations": [{"name": "look_up", "description": "Look a lamp up."}]}]


def answer(session: Session, text: str, instruction: str, **record: Any) -> Event:
    """Append the answer of a model with the record of its request."""
    session.last_seq += 1
    session.save()
    at = START + session.last_seq * 2.5
    body = {
        "id": f"id-{session.last_seq}",
        "invocationId": "e-1",
        "author": "clerk",
        "timestamp": at,
        "actions": {},
    }
    body["content"] = {"role": "model", "parts": [{"text": text}]}
    texts = {
        "system": request_text(instruction),
        "tools": request_text(TOOLS),
        "config": request_text({"temperature": 0.5}),
    }
    call = {"agent": "clerk", "seq": session.last_seq - 1, "model": "gemini-2.5-flash", "at": at - 2}
    recorded = {**call, **texts, "first_word": 0.5, **record}
    return Event.objects.create(session=session, seq=session.last_seq, body=body, model_call=recorded)


@pytest.fixture
def asked(session: Session) -> Session:
    append_event(session, {"text": "Is the lamp broken?"}, author="user")
    answer(session, "It is whole.", FIRST)
    append_event(session, {"text": "I am Ada."}, author="user")
    answer(session, "Hello, Ada.", SECOND)
    return session


def step_of(session: Session, seq: int, **query: int) -> str:
    return f"{trace_of(session)}&step={seq}" + "".join(f"&{key}={value}" for key, value in query.items())


def test_13_a_step_shows_the_request_as_it_was_sent_and_the_response(auditor: Client, asked: Session) -> None:
    assert f'href="{step_of(asked, 4).replace("&", "&amp;")}#step"' in read(auditor, trace_of(asked))
    html = read(auditor, step_of(asked, 4))
    step = html.split('id="step"')[1]
    shown = (
        SECOND,
        "look_up",
        "Look a lamp up.",
        "temperature",
        "Is the lamp broken?",
        "It is whole.",
        "I am Ada.",
    )
    for text in shown:
        assert text in step, text
    assert "Hello, Ada." in step.split("<h3>Response")[1]
    assert "Hello, Ada." not in step.split("<h3>Contents")[1].split("<h3>Response")[0]
    assert "500 ms" in html


@pytest.fixture
def advised(session: Session) -> Session:
    """A session whose agent has asked an expert, an agent that runs as a tool, in two model calls."""
    use = {"modelVersion": "gemini-2.5-flash", "usageMetadata": {"promptTokenCount": 30}}
    append_event(session, {"text": "Is the lamp broken?"}, author="user")
    append_event(session, call("expert"), author="clerk")
    contents = [request_text({"role": "user", "parts": [{"text": text}]}) for text in ("Broken?", HOSTILE)]
    child = {"agent": "expert", "model": "gemini-2.5-flash", "inside": ["c-1"], "system": request_text(FIRST)}
    first = {**child, "at": START + 5.5, "contents": contents[:1], "usage": {"promptTokenCount": 10}}
    answer = request_text({"content": {"parts": [{"text": "It is whole. password=hunter2"}]}})
    second = {"at": START + 6, "end": START + 7, "contents": [[0, 1], contents[1]], "answer": answer}
    recorded = {"children": [first, {**child, **second, "error": "SAFETY"}]}
    append_event(session, response("expert"), author="clerk", model_call=recorded, **use)
    return session


def test_13_the_model_calls_of_an_agent_that_runs_as_a_tool_are_steps_too(
    auditor: Client, advised: Session
) -> None:
    html = read(auditor, trace_of(advised))
    model = "expert : gemini-2.5-flash"
    rows = rows_of(html)
    tool = next(number for number, row in enumerate(rows) if row.startswith("tool expert"))
    assert rows[tool + 1].startswith(f"model {model} 3.0 s 2.0 s 10 → 0")
    assert rows[tool + 2].startswith(f"model {model} SAFETY 3.5 s 1.0 s")
    assert "30 in (0 cached)" in html, "the tokens of the tool are those of its agent, once"
    url = f"{step_of(advised, 3)}&child=1"
    assert f'href="{url.replace("&", "&amp;")}#step"' in html
    step = read(auditor, url).split('id="step"')[1]
    shown = ("within the tool of event #3", "You sell lamps.", "Broken?", "It is whole.", "&lt;script&gt;")
    for text in shown:
        assert text in step, text
    assert HOSTILE not in step and "hunter2" not in step
    assert "Broken?" in read(auditor, f"{step_of(advised, 3)}&child=0").split("<h3>Contents")[1]
    sent = reverse("admin:sessions_app_session_event_request", args=[advised.pk, 3])
    assert f'href="{sent}?child=1"' in step
    request = json.loads(auditor.get(f"{sent}?child=1").content)
    texts = [part["text"] for content in request["contents"] for part in content["parts"]]
    assert (request["systemInstruction"], texts) == (FIRST, ["Broken?", HOSTILE])
    for child in ("2", "x", "-1", "", "4" * 30, "%C2%B2"):
        assert auditor.get(f"{sent}?child={child}").status_code == 404, child
        assert auditor.get(f"{step_of(advised, 3)}&child={child}").status_code == 404, child


@pytest.mark.parametrize(
    "children",
    [
        "x",
        {"items": 1},
        [None, 5, "x", [], {}],
        [{"inside": "c-1", "at": 1}],
        [{"inside": [], "at": 1}],
        [{"inside": ["c-1"], "at": "soon"}],
        [
            {
                "inside": ["c-1"],
                "at": 1,
                "end": "x",
                "usage": 5,
                "failed_attempts": [],
                "agent": 7,
                "answer": [],
            }
        ],
    ],
)
def test_a_record_of_odd_shape_takes_no_trace_down(auditor: Client, session: Session, children: Any) -> None:
    append_event(session, {"text": "Is the lamp broken?"}, author="user")
    append_event(session, call("expert"), author="clerk")
    append_event(session, response("expert"), author="clerk", model_call={"children": children})
    assert "tool expert" in " ".join(rows_of(read(auditor, trace_of(session))))
    assert auditor.get(f"{step_of(session, 3)}&child=0").status_code in (200, 404)


def test_what_changed_in_the_instruction_since_another_step_is_shown(auditor: Client, asked: Session) -> None:
    for url in (step_of(asked, 4), step_of(asked, 4, compare=2)):
        html = read(auditor, url)
        assert "<del>- The person is new.</del>" in html and "<ins>+ The person is Ada.</ins>" in html
        assert "<span>  You sell lamps.</span>" in html
    assert "<del>- The person is Ada.</del>" in read(auditor, step_of(asked, 2, compare=4))
    assert "Changes of the system instruction" not in read(auditor, step_of(asked, 2))


def test_the_request_can_be_downloaded_whole(auditor: Client, asked: Session) -> None:
    response = auditor.get(reverse("admin:sessions_app_session_event_request", args=[asked.pk, 4]))
    assert response["X-Content-Type-Options"] == "nosniff" and "attachment" in response["Content-Disposition"]
    request = json.loads(response.content)
    assert (request["model"], request["systemInstruction"], request["tools"]) == (
        "gemini-2.5-flash",
        SECOND,
        TOOLS,
    )
    texts = [part["text"] for content in request["contents"] for part in content["parts"]]
    assert texts == ["Is the lamp broken?", "It is whole.", "I am Ada."]


def test_a_step_without_a_record_is_not_found(auditor: Client, asked: Session) -> None:
    for query in ("3", "99", "x", "-1", "4" * 30, "%C2%B2"):
        assert auditor.get(f"{trace_of(asked)}&step={query}").status_code == 404, query
    assert auditor.get(step_of(asked, 4) + "&compare=x").status_code == 200
    assert (
        auditor.get(reverse("admin:sessions_app_session_event_request", args=[asked.pk, 3])).status_code
        == 404
    )


def test_hostile_and_odd_records_are_inert(auditor: Client, asked: Session) -> None:
    answer(asked, HOSTILE, f"{HOSTILE}\u202e", agent=HOSTILE)
    answer(
        asked,
        "x",
        "y",
        contents=[request_text({"role": HOSTILE, "parts": [{"text": HOSTILE}]}), [0, 10**9], "gone"],
    )
    answer(asked, "x", "y", seq="many", tools="gone", config=5)
    for seq in (5, 6):
        html = read(auditor, step_of(asked, seq))
        assert HOSTILE not in html and "\u202e" not in html and "&lt;script&gt;" in html
    assert "no longer stored" in read(auditor, step_of(asked, 6))
    assert auditor.get(step_of(asked, 7)).status_code == 404


def test_a_request_of_ten_megabytes_makes_a_bounded_page_in_time(auditor: Client, asked: Session) -> None:
    large = {"role": "user", "parts": [{"text": "lamp " * 2_000_000}]}
    append_event(asked, {"text": "lamp " * 2_000_000}, author="user")
    answer(asked, "Large.", "lamp " * 2_000_000, contents=[request_text(large), [0, 5]])
    started = time.process_time()
    html = read(auditor, step_of(asked, 6))
    assert time.process_time() - started < 1.5, "the bound is 0.3 s on a machine that does nothing else"
    assert len(html) < 300_000
    assert "truncated" in html


def test_the_number_of_queries_of_a_step_does_not_grow(
    auditor: Client, asked: Session, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for last in (4, 44):
        while asked.last_seq < last:
            append_event(asked, {"text": "And?"}, author="user")
            answer(asked, "Nothing.", f"{SECOND}\n{asked.last_seq}")
        with django_assert_num_queries(17):
            read(auditor, step_of(asked, last))
    assert len(re.findall("<option", read(auditor, step_of(asked, 44)))) == 21
