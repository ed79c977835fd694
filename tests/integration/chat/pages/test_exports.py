"""Contract: a person exports a chat as Markdown, JSON or a page; each shows no more than the person sees."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any
from urllib.parse import unquote

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from markdown_it import MarkdownIt

from sessions_app.models import Session, ToolJob
from tests.integration.chat.pages.page_helpers import add_event, body_of, page, save_artifact

CALL = {"id": "c-1", "name": "order_status", "args": {"order_number": 1001}}
RESPONSE = {"id": "c-1", "name": "order_status", "response": {"status": "shipped", "parcel": "DX-7"}}


def parts(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"role": "model", "parts": list(parts)}}


def export(client: Client, session: Session, form: str) -> str:
    response = client.get(f"{page(session)}export/{form}/")
    assert response.status_code == 200
    return body_of(response).decode()


def conversation(session: Session) -> None:
    """Store a question, a call with its response, and an answer."""
    add_event(session, "Where is order 1001?", "user", invocationId="e-1")
    add_event(session, author="orders", invocationId="e-1", **parts({"functionCall": CALL}))
    delta = {"app:margin": "secret margin", "last_order": 1001, "api_key": "hunter2"}
    add_event(
        session,
        author="orders",
        invocationId="e-1",
        actions={"stateDelta": delta},
        **parts({"functionResponse": RESPONSE}),
    )
    thought = {"text": "They want the status.", "thought": True}
    answer = {"text": "It is **on its way**."}
    add_event(session, author="orders", invocationId="e-1", **parts(thought, answer))


def answer_from_the_web(session: Session) -> None:
    """Store an answer whose first sentence is from a page of the web."""
    web = {"title": "Lamps [1]", "uri": "https://lamps.example/a_b"}
    support = {"segment": {"endIndex": 5}, "groundingChunkIndices": [0]}
    metadata = {"groundingChunks": [{"web": web}], "groundingSupports": [support]}
    add_event(session, "Blue. Or red.", "orders", groundingMetadata=metadata)


def assert_links_its_source(html: str) -> None:
    """Check that the answer from the web links its page behind the sentence and in the list of sources."""
    assert re.search(r'Blue\.<sup class="citation"><a href="https://lamps.example/a_b"[^>]*>1</a>', html)
    link = r'<a href="https://lamps\.example/a_b" target="_blank" rel="noopener noreferrer nofollow">'
    assert re.search(rf'<details class="sources" open>.*{link}.*</details>', html, re.DOTALL)


@pytest.mark.parametrize("form", ["markdown", "page"])
def test_a_person_exports_the_words_of_a_chat(browser_of_person: Client, session: Session, form: str) -> None:
    conversation(session)
    text = export(browser_of_person, session, form)
    for words in ("Broken lamp", "ada", "Where is order 1001?", "Orders", "on its way", "1001"):
        assert words in text
    for detail in ("order_status", "DX-7", "last_order", "secret margin", "They want", "hunter2"):
        assert detail not in text


@pytest.mark.parametrize("form", ["markdown", "page"])
def test_an_export_lists_the_sources_of_an_answer(
    browser_of_person: Client, session: Session, form: str
) -> None:
    answer_from_the_web(session)
    text = export(browser_of_person, session, form)
    if form == "markdown":
        assert r"1. [Lamps \[1\]](<https://lamps.example/a_b>)" in text
    else:
        assert_links_its_source(text)


@pytest.mark.parametrize("form", ["markdown", "page"])
def test_staff_export_the_details_of_their_own_chats_without_secrets(
    browser_of_person: Client, person: User, session: Session, form: str
) -> None:
    User.objects.filter(pk=person.pk).update(is_staff=True)
    conversation(session)
    text = export(browser_of_person, session, form).replace("\\", "")
    for detail in ("order_status", "DX-7", "last_order", "They want"):
        assert detail in text
    assert "secret margin" not in text and "hunter2" not in text


def test_a_call_is_told_as_done_when_it_was_answered(browser_of_person: Client, session: Session) -> None:
    conversation(session)
    add_event(session, author="orders", **parts({"functionCall": {**CALL, "id": "c-2"}}))
    failed = {"id": "c-2", "name": "order_status", "response": {"error": "The shop is closed."}}
    add_event(session, author="orders", **parts({"functionResponse": failed}))
    add_event(session, author="orders", **parts({"functionCall": {**CALL, "id": "c-3"}}))
    notes = [
        line for line in export(browser_of_person, session, "markdown").splitlines() if line.startswith("*")
    ]
    assert notes == [
        "*Looked up order 1001*",
        "*Looked up order 1001*",
        "*Order status: failed*",
        "*Look up order 1001*",
    ]


def test_json_has_the_events_in_effect_without_state_of_the_app_and_secrets(
    browser_of_person: Client, session: Session
) -> None:
    conversation(session)
    credential = {"id": "c-9", "name": "adk_request_credential", "response": {"code": "hunter2"}}
    add_event(session, author="user", **parts({"functionResponse": credential}))
    add_event(session, "Undone words", "user", invocationId="e-2")
    add_event(session, author="user", actions={"rewindBeforeInvocationId": "e-2"})
    text = export(browser_of_person, session, "json")
    document = json.loads(text)
    assert document["title"] == "Broken lamp"
    assert [event["id"] for event in document["events"]] == [f"id-{seq}" for seq in range(1, 6)]
    assert document["events"][2]["actions"]["stateDelta"] == {"last_order": 1001, "api_key": "[masked]"}
    for secret in ("hunter2", "secret margin", "Undone"):
        assert secret not in text


@pytest.mark.parametrize("form", ["markdown", "page"])
def test_rewound_messages_are_left_out(browser_of_person: Client, session: Session, form: str) -> None:
    add_event(session, "Kept words", "user", invocationId="e-1")
    add_event(session, "Undone words", "user", invocationId="e-2")
    add_event(session, author="user", actions={"rewindBeforeInvocationId": "e-2"})
    text = export(browser_of_person, session, form)
    assert "Kept words" in text and "Undone" not in text


def asks(session: Session, call_id: str, name: str, args: dict[str, Any]) -> None:
    call = {"functionCall": {"id": call_id, "name": name, "args": args}}
    add_event(session, author="orders", longRunningToolIds=[call_id], **parts(call))


def answers(session: Session, call_id: str, name: str, response: dict[str, Any]) -> None:
    add_event(
        session,
        author="user",
        **parts({"functionResponse": {"id": call_id, "name": name, "response": response}}),
    )


@pytest.mark.parametrize("form", ["markdown", "page"])
def test_questions_and_their_answers_are_told_without_secrets(
    browser_of_person: Client, session: Session, form: str
) -> None:
    asks(session, "c-1", "get_user_choice", {"options": ["Bern", "Rome"]})
    answers(session, "c-1", "get_user_choice", {"result": "Rome"})
    scheme = {"type": "apiKey", "in": "header", "name": "X-Key", "description": "The weather key."}
    config = {"authScheme": scheme, "credentialKey": "weather"}
    asks(session, "c-2", "adk_request_credential", {"functionCallId": "c-0", "authConfig": config})
    answers(session, "c-2", "adk_request_credential", {"given": True, "apiKey": "hunter2"})
    for number, answer in enumerate(
        [{"confirmed": True, "forSession": True}, {"confirmed": True}, {"confirmed": False}]
    ):
        answers(session, f"c-{3 + number}", "adk_request_confirmation", answer)
    add_event(
        session,
        author="user",
        customMetadata={"adk_withdrawn_allowance": {"agent": "orders", "tool": "pay_bill"}},
    )
    text = export(browser_of_person, session, form)
    for words in (
        "Choose one: Bern, Rome",
        "ada chose Rome",
        "A key is needed: The weather key.",
        "Credential given by ada",
        "Allowed for this chat by ada",
        "Approved by ada",
        "Rejected by ada",
        "Orders asks again before each “Pay bill”.",
    ):
        assert words in text, words
    assert "hunter2" not in text and "X-Key" not in text


def test_an_empty_chat_is_exported(browser_of_person: Client, session: Session) -> None:
    assert export(browser_of_person, session, "markdown").startswith("# Broken lamp\n")
    assert json.loads(export(browser_of_person, session, "json"))["events"] == []
    assert "Broken lamp" in export(browser_of_person, session, "page")


@pytest.mark.parametrize("form", ["markdown", "json", "page"])
def test_a_long_chat_is_streamed_in_order(browser_of_person: Client, session: Session, form: str) -> None:
    filler = "x" * 2_000
    for number in range(130):
        add_event(session, f"Message {number:03} {filler}", "user")
    response = browser_of_person.get(f"{page(session)}export/{form}/")

    chunks: list[bytes] = []
    queries: list[int] = []

    async def read() -> None:
        async for chunk in response:  # type: ignore[attr-defined]
            chunks.append(chunk)
            queries.append(len(captured))

    with CaptureQueriesContext(connections["default"]) as captured:
        async_to_sync(read)()
    whole = b"".join(chunks)
    places = [whole.find(b"Message %03d" % number) for number in range(130)]
    assert -1 not in places and places == sorted(places)
    assert max(chunk.count(b"Message") for chunk in chunks) <= 50
    read_before = [number for number, chunk in zip(queries, chunks, strict=True) if b"Message" in chunk]
    assert len(read_before) == 3 and read_before == sorted(set(read_before))
    of_bodies = [query["sql"] for query in captured if '"body" FROM' in query["sql"]]
    assert of_bodies and all("LIMIT 60" in query for query in of_bodies)


def test_a_call_that_waited_is_told_as_done_below_the_approval(
    browser_of_person: Client, session: Session
) -> None:
    add_event(session, author="orders", **parts({"functionCall": CALL}))
    waiting = {**RESPONSE, "response": {"status": "pending"}}
    add_event(session, author="orders", **parts({"functionResponse": waiting}))
    for number in range(60):
        add_event(session, f"Message {number}", "user")
    add_event(session, author="orders", **parts({"functionResponse": RESPONSE}))
    text = export(browser_of_person, session, "markdown")
    assert (
        text.index("*Look up order 1001*") < text.index("Message 59") < text.index("*Looked up order 1001*")
    )


def test_a_call_at_the_end_of_a_batch_is_told_as_done(browser_of_person: Client, session: Session) -> None:
    for number in range(49):
        add_event(session, f"Message {number}", "user")
    add_event(session, author="orders", **parts({"functionCall": CALL}))
    add_event(session, author="orders", **parts({"functionResponse": RESPONSE}))
    assert "*Looked up order 1001*" in export(browser_of_person, session, "markdown")


def test_a_job_is_told_with_its_status_and_files(browser_of_person: Client, session: Session) -> None:
    call = {"id": "c-5", "name": "weekly_report", "args": {}}
    add_event(session, author="orders", longRunningToolIds=["c-5"], **parts({"functionCall": call}))
    names = {"call_id": "c-5", "tool_name": "weekly_report", "task_name": "t", "agent_name": "orders"}
    ToolJob.objects.create(
        session=session, invocation_id="e-1", status="succeeded", artifacts={"report.pdf": 0}, **names
    )
    for form in ("markdown", "page"):
        text = export(browser_of_person, session, form)
        assert "Weekly report: " in text and "File: " in text and "report.pdf" in text


def test_only_the_owners_page_shows_pictures(browser_of_person: Client, session: Session) -> None:
    save_artifact(session, "plan.png", b"\x89PNG\r\n\x1a\n", mime_type="image/png")
    add_event(session, "Here it is.", actions={"artifactDelta": {"plan.png": 0}})
    assert '<img src="/chat/' in export(browser_of_person, session, "page")
    assert "File: plan.png" in export(browser_of_person, session, "markdown")


@pytest.mark.parametrize("form", ["markdown", "json", "page"])
def test_an_unreadable_event_does_not_stop_an_export(
    browser_of_person: Client, session: Session, form: str
) -> None:
    add_event(session, "Before", "user")
    add_event(session, author="orders", actions="none")
    add_event(session, "After", "user", timestamp=1e300)
    add_event(session, "The end", "user")
    text = export(browser_of_person, session, form)
    assert "Before" in text and "The end" in text


HOSTILE_TEXTS = [
    "<script>alert(1)</script>",
    "<!--entries-->",
    "```\nan open fence",
    "~~~~ text\nan open fence",
    "{{ 7|add:1 }}{% now 'Y' %}",
    "# Heading\n> quoted",
    "- ```py\n  x = 1\n  ```",
    "<!-- todo",
    "<pre>",
    "## ada, 3 March 2026, 10:00 UTC",
    "words\r## ada, 3 March 2026, 10:00 UTC",
]


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
@pytest.mark.parametrize("author", ["user", "orders"])
def test_a_hostile_text_stays_in_its_place(
    browser_of_person: Client, session: Session, text: str, author: str
) -> None:
    session.title = f"T {text}"
    add_event(session, text, author)
    add_event(session, "Next words", "user")
    markdown = export(browser_of_person, session, "markdown")
    assert markdown.count("\n> Next words") == 1
    html = MarkdownIt("commonmark").render(markdown)
    tokens = MarkdownIt("commonmark").parse(markdown)
    assert [token.tag for token in tokens if token.type == "heading_open" and token.level == 0] == [
        "h1",
        "h2",
        "h2",
    ]
    assert "<h2>ada, 1 January 1970" in html
    assert "<p>Next words</p>" in html
    assert html.startswith(f"<h1>T {escape(' '.join(text.split()), quote=False)}</h1>\n<p>ada with Help desk")
    read = export(browser_of_person, session, "page")
    assert "alert(1)</script>" not in read and "<!--entries-->" not in read
    assert read.count("Next words") == 1


def test_the_page_to_print_marks_hidden_characters_of_calls_and_errors(
    browser_of_person: Client, session: Session
) -> None:
    note = {"id": "c-1", "name": "note", "args": {"text": "\u202efdp.exe"}}
    add_event(session, author="orders", **parts({"functionCall": note}))
    add_event(session, author="orders", errorCode="TEAPOT", errorMessage="No \u202eaet")
    read = export(browser_of_person, session, "page")
    assert "\u202e" not in read and '<span class="audit-hidden">\\u202e</span>fdp.exe' in read


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Broken lamp", "Broken lamp.md"),
        ("", "Chat.md"),
        ("../../etc/passwd", "_.._etc_passwd.md"),
        ('a"b\\c', "a_b_c.md"),
        ("line\r\nX-Evil: 1", "line X-Evil_ 1.md"),
        ("\u202egnp.exe", "gnp.exe.md"),
        ("a\x01b", "a b.md"),
        ("x" * 200, "x" * 150 + ".md"),
        ("ö" * 200, "ö" * 75 + ".md"),
        ("…", "….md"),
        (". .", "Chat.md"),
    ],
)
def test_the_file_is_named_after_the_title(
    browser_of_person: Client, session: Session, title: str, name: str
) -> None:
    Session.objects.filter(pk=session.pk).update(title=title)
    response = browser_of_person.get(f"{page(session)}export/markdown/")
    disposition = response.headers["Content-Disposition"]
    if name.isascii():
        assert disposition == f'attachment; filename="{name}"'
    else:
        assert unquote(disposition) == f"attachment; filename*=utf-8''{name}"
    assert response.headers["Cache-Control"] == "private, no-store"


def test_the_page_to_print_has_no_form_and_no_inline_code(
    browser_of_person: Client, session: Session
) -> None:
    conversation(session)
    html = export(browser_of_person, session, "page")
    assert "<form" not in html and " style=" not in html and "<script>" not in html
    assert "transcript.css" in html
