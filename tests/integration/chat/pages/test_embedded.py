"""Pages of a chat in a frame: their headers, and the way to the sign-in page and back."""

from __future__ import annotations

import pytest
from django.http import HttpResponseBase
from django.template import Context, Template
from django.test import Client
from django.urls import reverse

from sessions_app.models import Session
from tests.integration.chat.pages.page_helpers import add_event

NEW = "/embedded/help_desk/"


def address(session: Session, app: str = "help_desk") -> str:
    return reverse("chat:embedded", args=[app, session.id])


def may_be_framed(response: HttpResponseBase) -> bool:
    is_own_only = "frame-ancestors 'self'" in response["Content-Security-Policy"]
    return is_own_only and response["X-Frame-Options"] == "SAMEORIGIN"


def test_a_person_gets_the_chat_without_the_list(browser_of_person: Client, session: Session) -> None:
    add_event(session, "The lamp is broken.")
    response = browser_of_person.get(address(session))
    assert may_be_framed(response)
    html = response.content.decode()
    assert "The lamp is broken." in html
    assert 'id="chats"' not in html and "Sign out" not in html


def test_a_chat_of_another_person_or_app_gives_way_to_a_new_one(
    browser_of_person: Client, session: Session, session_of_another: Session
) -> None:
    Session.objects.filter(pk=session.pk).update(app_name="another")
    for other in (session, session_of_another):
        assert browser_of_person.get(address(other))["Location"] == NEW
    assert browser_of_person.get(NEW)["Location"].startswith(NEW)


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        ("http://testserver/shop/?page=2", "/accounts/login/?next=http%3A//testserver/shop/%3Fpage%3D2"),
        ("https://elsewhere.example/shop/", "/accounts/login/?next=/start/"),
        ("", "/accounts/login/?next=/start/"),
    ],
)
@pytest.mark.django_db
def test_the_sign_in_leads_back_to_the_page_around_the_frame(
    client: Client, around: str, expected: str
) -> None:
    response = client.get(NEW, headers={"Referer": around})
    assert may_be_framed(response)
    assert f'href="{expected}" target="_top"' in response.content.decode()


def test_an_app_that_the_site_has_not_is_a_sentence_in_the_frame(browser_of_person: Client) -> None:
    response = browser_of_person.get("/embedded/<b>/")
    assert (response.status_code, may_be_framed(response)) == (404, True)
    assert "This site has no agent “&lt;b&gt;”." in response.content.decode()


def test_the_tag_escapes_the_name_of_an_app() -> None:
    shown = Template("{% load adk_chat %}{% adk_chat app=app bubble=True %}").render(
        Context({"app": '"><b>'})
    )
    assert "<b>" not in shown and " bubble>" in shown
