"""Pages of the chat: of their owner only, and with a known number of queries."""

import json
import re
import time
from html import escape, unescape
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app.agent_apps import registry
from sessions_app.models import Invocation, Session, ToolJob, UserState
from tests.integration.chat.pages.page_helpers import add_event, body_of, file_url, page
from tests.integration.tampering import tamper
from tests.served_agents import Served

LOGIN_QUERIES = 2  # Django's session and the user


def seqs(html: str) -> list[int]:
    return [int(seq) for seq in re.findall(r'id="event-(\d+)"', html)]


def page_invocations(html: str) -> list[dict[str, Any]]:
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', html)
    invocations: list[dict[str, Any]] = json.loads(data)
    return invocations


def test_an_unreadable_event_does_not_break_the_page(browser_of_person: Client, session: Session) -> None:
    for text in ("before", "written later", "behind"):
        add_event(session, text)
    stored = session.events.get(seq=2)
    body = {**stored.body, "actions": {"unheardOf": 1}}
    tamper(lambda: session.events.filter(pk=stored.pk).update(body=body))
    shown = browser_of_person.get(page(session)).content.decode()
    assert "before" in shown and "behind" in shown and "written later" not in shown
    assert "another version of the site" in shown


def test_home_lists_ones_own_sessions_newest_first(
    browser_of_person: Client, session: Session, session_of_another: Session
) -> None:
    Session.objects.create(app_name="help_desk", user=session.user, key="s-3", title="Newer")
    html = browser_of_person.get("/").content.decode()
    assert html.index("Newer") < html.index("Broken lamp")
    assert "Secret" not in html


def test_home_is_paginated(browser_of_person: Client, person: User) -> None:
    for number in range(35):
        Session.objects.create(app_name="help_desk", user=person, key=f"k{number}", title=f"Chat {number:02}")
    first = browser_of_person.get("/").content.decode()
    (older,) = re.findall(r'rel="next" href="([^"]+)"', first)
    second = browser_of_person.get(unescape(older)).content.decode()
    title = r'item-title" dir="auto">(Chat \d\d)<'
    assert re.findall(title, first) == [f"Chat {number:02}" for number in range(34, 4, -1)]
    assert re.findall(title, second) == [f"Chat {number:02}" for number in range(4, -1, -1)]
    assert 'rel="next"' not in second


@pytest.mark.parametrize("cursor", ["x", "_", "2026-01-01_1", "2026-01-01T00:00:00+00:00", "9" * 5_000])
def test_an_invalid_cursor_is_refused(browser_of_person: Client, cursor: str) -> None:
    for address in ("/", "/chats/"):
        assert browser_of_person.get(address, {"before": cursor}).status_code == 400


def test_home_needs_three_queries(
    browser_of_person: Client, person: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        Session.objects.create(app_name="help_desk", user=person, key=f"k{number}")
    registry.apps()
    with django_assert_num_queries(LOGIN_QUERIES + 3):  # pinned sessions, the others, the number of questions
        browser_of_person.get("/")


def test_a_session_page_needs_the_same_queries_however_much_it_shows(
    browser_of_person: Client, session: Session, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(60):
        call = {"functionCall": {"id": f"c{number}", "name": "write_report", "args": {}}}
        add_event(
            session,
            content={"role": "model", "parts": [call]},
            longRunningToolIds=[f"c{number}"],
            invocationId="e-1",
        )
        ToolJob.objects.create(
            session=session,
            invocation_id="e-1",
            call_id=f"c{number}",
            tool_name="write_report",
            task_name="t",
        )
    # session, lists, questions, rewinds, events, jobs, invocations, feedback
    with django_assert_num_queries(LOGIN_QUERIES + 9):
        html = browser_of_person.get(page(session)).content.decode()
    assert html.count('class="job"') == 50


def test_a_session_page_shows_the_last_events_and_loads_older_ones(
    browser_of_person: Client, session: Session
) -> None:
    for number in range(1, 121):
        add_event(session, f"text {number}")
    html = browser_of_person.get(page(session)).content.decode()
    assert seqs(html) == list(range(71, 121))
    assert 'data-last-seq="120"' in html
    older = browser_of_person.get(f"{page(session)}events/?before=71").content.decode()
    assert seqs(older) == list(range(21, 71))
    assert 'data-first-seq="21"' in older and 'data-has-more="true"' in older
    oldest = browser_of_person.get(f"{page(session)}events/?before=21").content.decode()
    assert seqs(oldest) == list(range(1, 21))
    assert 'data-has-more="false"' in oldest


def say(session: Session, invocation_id: str, *texts: str) -> None:
    """Add a completed invocation with the events of a message and its answers."""
    Invocation.objects.create(
        session=session,
        invocation_id=invocation_id,
        client_id=invocation_id,
        message={"parts": [{"text": texts[0]}]} if texts else {},
        status="completed",
    )
    for text in texts:
        author = "user" if text == texts[0] else "help_desk"
        add_event(session, text, author, invocationId=invocation_id, timestamp=time.time())


def rewind(session: Session, invocation_id: str) -> None:
    actions = {"rewindBeforeInvocationId": invocation_id, "stateDelta": {"colour": "red"}}
    add_event(session, author="user", invocationId="rewind", actions=actions, timestamp=time.time())


def test_rewound_events_are_not_shown(browser_of_person: Client, session: Session) -> None:
    say(session, "e-1", "one", "first")
    say(session, "e-2", "two", "second")
    rewind(session, "e-2")
    say(session, "e-3", "three", "third")
    rewind(session, "e-3")
    say(session, "e-4", "four", "fourth")
    html = browser_of_person.get(page(session)).content.decode()
    assert seqs(html) == [1, 2, 9, 10]
    assert [each["id"] for each in page_invocations(html)] == ["e-1", "e-4"]
    assert all(
        value in html for value in ('data-first-seq="1"', 'data-has-more="false"', 'data-last-seq="10"')
    )
    rewind(session, "e-1")
    html = browser_of_person.get(page(session)).content.decode()
    assert (seqs(html), page_invocations(html)) == ([], [])
    assert 'data-has-more="false"' in html and 'data-last-seq="11"' in html


def test_a_withdrawn_allowance_stays_withdrawn_after_a_rewind(
    browser_of_person: Client, session: Session
) -> None:
    say(session, "e-1", "one", "first")
    tool = {"agent": "orders", "tool": "pay_bill"}
    add_event(session, author="user", invocationId="w", customMetadata={"adk_withdrawn_allowance": tool})
    rewind(session, "e-1")
    html = browser_of_person.get(page(session)).content.decode()
    assert seqs(html) == [3]
    transcript = body_of(browser_of_person.get(reverse("chat:export_markdown", args=[session.pk])))
    assert "asks again before each" in transcript.decode()


def test_a_rewound_message_without_events_is_not_shown(browser_of_person: Client, session: Session) -> None:
    say(session, "e-1", "one", "first")
    say(session, "e-2", "two", "second")
    for invocation_id in ("e-stopped", "e-after"):
        say(session, invocation_id)
        Invocation.objects.filter(invocation_id=invocation_id).update(status="cancelled")
        if invocation_id == "e-stopped":
            rewind(session, "e-2")
    invocations = page_invocations(browser_of_person.get(page(session)).content.decode())
    assert [each["id"] for each in invocations] == ["e-1", "e-after"]


def test_pages_of_a_rewound_session_are_full_and_need_one_more_query(
    browser_of_person: Client, session: Session, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(60):
        say(session, f"e-{number}", f"text {number}")
    for number in range(4):
        rewind(session, f"e-{59 - number}")
    # all of the others, and the numbers of the rewound; no jobs
    with django_assert_num_queries(LOGIN_QUERIES + 9):
        html = browser_of_person.get(page(session)).content.decode()
    assert seqs(html) == list(range(7, 57))
    older = browser_of_person.get(f"{page(session)}events/?before=7").content.decode()
    assert seqs(older) == list(range(1, 7))
    assert 'data-first-seq="1"' in older and 'data-has-more="false"' in older


@pytest.mark.parametrize("query", ["", "?before=", "?before=x", "?before=-1"])
def test_older_events_need_a_number(browser_of_person: Client, session: Session, query: str) -> None:
    assert browser_of_person.get(f"{page(session)}events/{query}").status_code == 400


def test_an_event_without_content_counts_for_the_last_seq(
    browser_of_person: Client, session: Session
) -> None:
    add_event(session, "text")
    add_event(session)
    html = browser_of_person.get(page(session)).content.decode()
    assert seqs(html) == [1]
    assert 'data-last-seq="2"' in html


def test_the_page_has_the_status_of_each_message(browser_of_person: Client, session: Session) -> None:
    add_event(session, "hello", author="user", invocationId="e-1")
    message = {"role": "user", "parts": [{"text": "still here"}]}
    for invocation_id, status in [("e-1", "failed"), ("e-2", "queued"), ("e-3", "cancelled")]:
        Invocation.objects.create(
            session=session,
            invocation_id=invocation_id,
            client_id=f"client of {invocation_id}",
            message=message,
            status=status,
            error_message="It broke." if status == "failed" else "",
        )
    invocations = page_invocations(browser_of_person.get(page(session)).content.decode())
    assert invocations[0] == {
        "id": "e-1",
        "client_id": "client of e-1",
        "status": "failed",
        "error": "It broke.",
    }
    assert [(each["id"], each["status"], each["text"]) for each in invocations[1:]] == [
        ("e-2", "queued", "still here"),
        ("e-3", "cancelled", "still here"),
    ]


def test_a_message_that_closes_a_script_tag_stays_data(browser_of_person: Client, session: Session) -> None:
    message = {"role": "user", "parts": [{"text": "</script><script>alert(1)</script>"}]}
    Invocation.objects.create(session=session, invocation_id="e-1", client_id="1", message=message)
    html = browser_of_person.get(page(session)).content.decode()
    assert "<script>alert" not in html
    assert page_invocations(html)[0]["text"] == "</script><script>alert(1)</script>"


def test_the_page_shows_the_state_of_the_session_and_the_person(
    browser_of_person: Client, session: Session, settings: Settings
) -> None:
    settings.ADK = {"show_details": True}
    session.state = {"order": "A-1", "closed": None}
    session.save()
    UserState.objects.filter(app_name="help_desk", user=session.user).update(state={"language": "en"})
    UserState.objects.create(app_name="other", user=session.user, state={"language": "xx"})
    html = browser_of_person.get(page(session)).content.decode()
    assert (
        '<dt dir="auto">order</dt><dd dir="auto">A-1</dd>' in html
        and '<dt dir="auto">closed</dt>' not in html
    )
    assert '<dt dir="auto">user:language</dt><dd dir="auto">en</dd>' in html
    assert "xx" not in re.findall(r"<dd[^>]*>(.*?)</dd>", html)


def test_pages_have_no_inline_scripts_or_styles_and_forbid_them(
    browser_of_person: Client, session: Session
) -> None:
    add_event(session, "| a |\n|--:|\n| 1 |\n\n```js\nx\n```", actions={"artifactDelta": {"x.png": 0}})
    for address in ("/", page(session)):
        response = browser_of_person.get(address)
        policy = response["Content-Security-Policy"]
        assert "script-src 'self'" in policy and "unsafe" not in policy
        html = response.content.decode()
        assert not re.findall(r"<style|\sstyle=|\son\w+=|<script(?! type=)", html)
        assert not re.findall(r'(?:src|href)="(?:https?:)?//', html)


def test_pages_of_agents_that_ask_the_demo_model_show_the_banner_of_the_site(
    browser_of_person: Client, session: Session, settings: Settings
) -> None:
    settings.ADK_BANNER = "A built-in demo model answers."
    assert settings.ADK_BANNER in browser_of_person.get("/").content.decode()
    assert settings.ADK_BANNER in browser_of_person.get(page(session)).content.decode()
    settings.ADK_MODEL = "another"
    assert 'class="banner"' not in browser_of_person.get(page(session)).content.decode()
    settings.ADK_MODEL = "demo"
    settings.ADK_BANNER = ""
    assert 'class="banner"' not in browser_of_person.get("/").content.decode()


def test_a_new_chat_opens_an_empty_page_and_leaves_no_row(browser_of_person: Client) -> None:
    address = reverse("chat:new", args=["help_desk"])
    assert browser_of_person.post(address).status_code == 405
    opened = browser_of_person.get(browser_of_person.get(address)["Location"])
    session_id = opened.request["PATH_INFO"].split("/")[2]
    html = opened.content.decode()
    assert f'data-socket="/ws/chat/{session_id}/?new=help_desk" data-new' in html
    assert "writes reports, opens tickets" in html
    for starter in registry.starters("help_desk"):
        assert escape(starter) in html
    assert not Session.objects.exists()


def test_a_new_chat_with_an_unknown_app_is_not_found(browser_of_person: Client) -> None:
    assert browser_of_person.get(reverse("chat:new", args=["nobody"])).status_code == 404
    assert browser_of_person.get(f"/chat/{uuid4()}/?new=nobody").status_code == 404


def test_a_chat_that_exists_is_not_new(
    browser_of_person: Client, session: Session, session_of_another: Session
) -> None:
    html = browser_of_person.get(f"{page(session)}?new=help_desk").content.decode()
    assert "data-new" not in html and "Broken lamp" in html
    assert browser_of_person.get(f"{page(session_of_another)}?new=help_desk").status_code == 404


def test_an_unknown_session_is_not_found(browser_of_person: Client) -> None:
    assert browser_of_person.get(reverse("chat:session", args=[uuid4()])).status_code == 404


def test_the_sign_in_and_the_first_page_say_what_the_site_is(
    browser_of_person: Client, admin_client: Client, settings: Settings
) -> None:
    def pages(language: str) -> list[str]:
        clients = (Client(), "/accounts/login/"), (browser_of_person, "/")
        headers = {"Accept-Language": language}
        return [client.get(path, headers=headers).content.decode() for client, path in clients]

    for html in pages("de"):
        assert html.count("Agenten, die Fragen beantworten und Arbeit für Sie erledigen.") == 2
        assert '<meta name="description" content="Agenten' in html
    settings.ADK = {"site_name": "The <shop>", "site_description": "Lamps & more."}
    for html in pages("en"):
        assert "The &lt;shop&gt;</title>" in html and "Lamps &amp; more." in html
    settings.ADK = {"site_description": ""}
    assert all("description" not in html for html in pages("en"))
    assert "| Agents</title>" in admin_client.get("/admin/").content.decode()


def test_signing_in_and_out(client: Client, db: None) -> None:
    User.objects.create_user("ada", password="secret")
    wrong = client.post(reverse("login"), {"username": "ada", "password": "wrong"}).content.decode()
    assert 'role="alert"' in wrong and 'value="ada"' in wrong
    form = {"username": "ada", "password": "secret"}
    assert client.post(reverse("login"), {**form, "next": "/"})["Location"] == "/start/"
    assert client.get("/start/")["Location"] == "/chat/new/help_desk/"  # the site has one app
    assert client.get(reverse("logout")).status_code == 405
    client.post(reverse("logout"))
    assert client.get("/").status_code == 302


def test_a_number_of_5000_digits_and_a_file_name_with_nul_are_refused(
    browser_of_person: Client, session: Session
) -> None:
    earlier = browser_of_person.get(f"{page(session)}events/", {"before": "9" * 5_000})
    assert earlier.status_code == 400
    assert browser_of_person.get(file_url(session, "a\0b")).status_code == 400


@pytest.mark.parametrize(
    "path", ["/", "/keys/", "/chats/", "/activity/", "/activity/list/", "{page}", "{page}events/?before=1"]
)
def test_no_cache_keeps_a_page(browser_of_person: Client, session: Session, path: str) -> None:
    response = browser_of_person.get(path.format(page=page(session)))
    assert response.status_code == 200
    assert response["Cache-Control"] == "private, no-store"


def test_a_page_of_the_admin_is_kept_by_no_cache(admin_client: Client) -> None:
    answer = admin_client.get(reverse("admin:sessions_app_session_changelist"))
    assert {"private", "no-store"} <= set(answer["Cache-Control"].split(", "))


def test_a_page_offers_the_models_of_its_app_and_the_other_apps(
    browser_of_person: Client, settings: Settings, served: Served
) -> None:
    served(*(App(name=name, root_agent=LlmAgent(name=name, model="demo")) for name in ("desk", "help_desk")))
    settings.ADK = {"apps": {"desk": {"chat_models": {"items": '<b>"All"'}}}}
    html = browser_of_person.get("/chat/new/desk/", follow=True).content.decode()
    assert '<input type="radio" name="model" value="items"' in html
    assert "&lt;b&gt;&quot;All&quot;" in html
    assert 'data-app="help_desk"' in html and 'data-app="desk"' not in html
    framed = browser_of_person.get("/embedded/desk/", follow=True).content.decode()
    assert 'value="items"' in framed and "data-app=" not in framed
