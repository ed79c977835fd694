"""Contract: the text of an answer can be copied, and its person can give, change and withdraw feedback."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from sessions_app.models import Feedback, Session
from tests.integration.chat.pages.page_helpers import add_event, page


def feedback_url(session: Session, seq: int) -> str:
    return reverse("chat:feedback", args=[session.id, seq])


def rate(client: Client, session: Session, seq: int = 1, **fields: Any) -> Any:
    return client.post(feedback_url(session, seq), fields)


def shown(client: Client, session: Session) -> dict[str, Any]:
    """The feedback that the chat page embeds."""
    html = client.get(page(session)).content.decode()
    found = re.search(r'data-feedback="([^"]*)"', html)
    assert found
    return dict(json.loads(unescape(found[1])))


def test_the_text_is_returned_as_it_was_written_without_thoughts(
    browser_of_person: Client, session: Session
) -> None:
    parts = [{"text": "secret", "thought": True}, {"text": "# A <b>title</b>\n"}, {"text": "*end*"}]
    add_event(session, content={"role": "model", "parts": parts})
    response = browser_of_person.get(reverse("chat:answer_text", args=[session.id, 1]))
    assert response.content.decode() == "# A <b>title</b>\n*end*"
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert browser_of_person.get(reverse("chat:answer_text", args=[session.id, 2])).status_code == 404


def test_feedback_is_changed_shown_and_withdrawn(browser_of_person: Client, session: Session) -> None:
    add_event(session, "An answer")
    assert rate(browser_of_person, session, rating="good").status_code == 204
    assert rate(browser_of_person, session, rating="bad", comment='"Wrong" <b>').status_code == 204
    assert shown(browser_of_person, session) == {"1": {"rating": "bad", "comment": '"Wrong" <b>'}}
    assert Feedback.objects.count() == 1
    assert rate(browser_of_person, session).status_code == 204
    assert shown(browser_of_person, session) == {}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"rating": "fine"}, "'fine' is no rating"),
        ({"rating": "good", "comment": "x" * 2_001}, "the limit is 2000"),
    ],
)
def test_bad_feedback_is_refused_with_the_remedy(
    browser_of_person: Client, session: Session, fields: dict[str, Any], sentence: str
) -> None:
    add_event(session, "An answer")
    response = rate(browser_of_person, session, **fields)
    assert (response.status_code, Feedback.objects.count()) == (400, 0)
    assert sentence in response.json()["error"]


def test_only_answers_of_ones_own_sessions_can_be_rated(
    browser_of_person: Client, session: Session, session_of_another: Session
) -> None:
    add_event(session, "A question", author="user")
    add_event(session_of_another, "An answer")
    assert rate(browser_of_person, session, rating="good").status_code == 404
    missing = rate(browser_of_person, session, seq=7, rating="good")
    assert missing.status_code == 404 and missing.json()["error"].endswith(".")
    assert rate(browser_of_person, session, seq=10**20, rating="good").status_code == 404
    assert rate(browser_of_person, session_of_another, rating="good").status_code == 404
    assert Feedback.objects.count() == 0


def test_a_comment_that_postgresql_refuses_is_kept_as_far_as_possible(
    browser_of_person: Client, session: Session
) -> None:
    add_event(session, "An answer")
    rate(browser_of_person, session, rating="good", comment="a\x00b")
    assert Feedback.objects.count() <= 1
    assert not Feedback.objects.exclude(comment="ab").exists()


def test_the_cost_is_for_staff_only(browser_of_person: Client, session: Session, person: User) -> None:
    add_event(session, "An answer", usageMetadata={"totalTokenCount": 1_234})
    assert "data-tokens" not in browser_of_person.get(page(session)).content.decode()
    User.objects.filter(pk=person.pk).update(is_staff=True)
    assert 'data-tokens="1234"' in browser_of_person.get(page(session)).content.decode()


def test_suggestions_are_a_page_for_an_iframe_in_which_nothing_runs(
    browser_of_person: Client, session: Session
) -> None:
    html = '<style>.chip{color:red}</style><a class="chip" href="https://search.example/">Más</a><script>alert(1)</script>'
    add_event(session, "Blue.", "orders", groundingMetadata={"searchEntryPoint": {"renderedContent": html}})
    address = reverse("chat:suggestions", args=[session.pk, 1])
    assert (
        f'<iframe class="suggestions" src="{address}"'
        in browser_of_person.get(page(session)).content.decode()
    )
    response = browser_of_person.get(address)
    assert response.content.decode().endswith(html)
    policy = response["Content-Security-Policy"].split("; ")
    assert {"sandbox allow-popups allow-popups-to-escape-sandbox", "default-src 'none'"} <= set(policy)
    assert "frame-ancestors 'self'" in policy and response["X-Frame-Options"] == "SAMEORIGIN"


@pytest.mark.parametrize("html", ["", " ", "x" * 10_000_000])
def test_no_and_endless_suggestions_are_not_shown(
    browser_of_person: Client, session: Session, html: str
) -> None:
    add_event(session, "Blue.", "orders", groundingMetadata={"searchEntryPoint": {"renderedContent": html}})
    assert browser_of_person.get(reverse("chat:suggestions", args=[session.pk, 1])).status_code == 404
    shown = browser_of_person.get(page(session)).content.decode()
    assert "Blue." in shown and "suggestions" not in shown
