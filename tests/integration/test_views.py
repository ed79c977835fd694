"""The pages and downloads: whole, of their owner only, and with a known number of queries (issue 2, "Security")."""

import json
import re
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from sessions_app import agent_registry
from sessions_app.models import Artifact, Event, Invocation, Session, ToolJob, UserState

SIGNED_IN = 2  # Django's session and the person
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def person(db: None) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def browser_of_person(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


@pytest.fixture
def session(person: User) -> Session:
    return Session.objects.create(app_name="help_desk", user=person, key="s-1", title="Broken lamp")


@pytest.fixture
def someone_elses(db: None) -> Session:
    return Session.objects.create(
        app_name="help_desk", user=User.objects.create_user("eve"), key="s-2", title="Secret"
    )


def add(session: Session, text: str = "", author: str = "help_desk", **body: Any) -> Event:
    session.last_seq += 1
    session.save()
    content = {"content": {"role": "model", "parts": [{"text": text}]}} if text else {}
    whole = {
        "id": f"id-{session.last_seq}",
        "author": author,
        "timestamp": 1.0,
        "actions": {},
        **content,
        **body,
    }
    return Event.objects.create(session=session, seq=session.last_seq, body=whole)


def keep(session: Session, filename: str, content: bytes = b"a,b", /, **fields: Any) -> Artifact:
    given = {"session": session, "version": 0, "mime_type": "text/csv", "part_kind": "blob", **fields}
    made = Artifact(
        app_name=session.app_name,
        user=session.user,
        filename=filename,
        size=len(content),
        sha256=f"{hash(content):064x}"[:64],
        **given,
    )
    made.file.save("x", ContentFile(content))
    return made


def page(session: Session) -> str:
    return reverse("chat:session", args=[session.id])


def file_url(session: Session, filename: str) -> str:
    return reverse("chat:artifact", args=[session.id, filename])


def seqs(html: str) -> list[int]:
    return [int(seq) for seq in re.findall(r'id="event-(\d+)"', html)]


def told_invocations(html: str) -> list[dict[str, Any]]:
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', html)
    told: list[dict[str, Any]] = json.loads(data)
    return told


def body_of(response: Any) -> bytes:
    """The whole body; a page of async views sends it with an async iterator."""

    async def read() -> bytes:
        return b"".join([piece async for piece in response])

    return async_to_sync(read)()


ADDRESSES: list[Callable[[Session], str]] = [
    page,
    lambda session: reverse("chat:events", args=[session.id]) + "?before=5",
    lambda session: file_url(session, "notes.csv"),
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_belongs_to_someone_else_is_not_found(
    browser_of_person: Client, someone_elses: Session, address: Callable[[Session], str]
) -> None:
    add(someone_elses, "secret")
    keep(someone_elses, "notes.csv")
    response = browser_of_person.get(address(someone_elses))
    assert response.status_code == 404
    assert b"Secret" not in response.content


@pytest.mark.parametrize("address", ADDRESSES)
def test_one_signs_in_first(client: Client, session: Session, address: Callable[[Session], str]) -> None:
    response = client.get(address(session))
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/?next=")


def test_an_event_of_another_version_of_the_site_spoils_no_page(
    browser_of_person: Client, session: Session
) -> None:
    for text in ("before", "written later", "behind"):
        add(session, text)
    stored = session.events.get(seq=2)
    session.events.filter(pk=stored.pk).update(body={**stored.body, "actions": {"unheardOf": 1}})
    shown = browser_of_person.get(page(session)).content.decode()
    assert "before" in shown and "behind" in shown and "written later" not in shown
    assert "another version of the site" in shown


def test_the_home_page_asks_to_sign_in_too(client: Client) -> None:
    assert client.get("/")["Location"] == "/accounts/login/?next=/"


def test_a_file_of_somebody_elses_chat_is_not_reached_through_ones_own(
    browser_of_person: Client, session: Session, someone_elses: Session
) -> None:
    keep(someone_elses, "notes.csv")
    keep(someone_elses, "user:notes.csv", session=None)
    assert browser_of_person.get(file_url(session, "notes.csv")).status_code == 404
    assert browser_of_person.get(file_url(session, "user:notes.csv")).status_code == 404


def test_home_lists_ones_own_chats_newest_first(
    browser_of_person: Client, session: Session, someone_elses: Session
) -> None:
    Session.objects.create(app_name="help_desk", user=session.user, key="s-3", title="Newer")
    html = browser_of_person.get("/").content.decode()
    assert html.index("Newer") < html.index("Broken lamp")
    assert "Secret" not in html


def test_home_comes_in_pages(browser_of_person: Client, person: User) -> None:
    for number in range(25):
        Session.objects.create(app_name="help_desk", user=person, key=f"k{number}", title=f"Chat {number:02}")
    first = browser_of_person.get("/").content.decode()
    second = browser_of_person.get("/?page=2").content.decode()
    assert re.findall(r"Chat \d\d", first) == [f"Chat {number:02}" for number in range(24, 4, -1)]
    assert re.findall(r"Chat \d\d", second) == [f"Chat {number:02}" for number in range(4, -1, -1)]
    assert 'rel="next"' in first and 'rel="next"' not in second


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 30])
def test_a_page_number_that_is_none_is_the_first(
    browser_of_person: Client, session: Session, number: str
) -> None:
    assert "Broken lamp" in browser_of_person.get(f"/?page={number}").content.decode()


def test_home_costs_one_query(
    browser_of_person: Client, person: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        Session.objects.create(app_name="help_desk", user=person, key=f"k{number}")
    agent_registry.apps()
    with django_assert_num_queries(SIGNED_IN + 1):
        browser_of_person.get("/")


def test_a_chat_costs_the_same_however_much_it_shows(
    browser_of_person: Client, session: Session, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(60):
        call = {"functionCall": {"id": f"c{number}", "name": "write_report", "args": {}}}
        add(
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
    with django_assert_num_queries(
        SIGNED_IN + 7
    ):  # session, list, rewinds, events, jobs, invocations, the person's state
        html = browser_of_person.get(page(session)).content.decode()
    assert html.count('class="job"') == 50


def test_a_chat_shows_its_last_events_and_loads_the_older_ones(
    browser_of_person: Client, session: Session
) -> None:
    for number in range(1, 121):
        add(session, f"text {number}")
    html = browser_of_person.get(page(session)).content.decode()
    assert seqs(html) == list(range(71, 121))
    assert 'data-last-seq="120"' in html
    older = browser_of_person.get(f"{page(session)}events/?before=71").content.decode()
    assert seqs(older) == list(range(21, 71))
    assert 'data-first-seq="21" data-has-more="true"' in older
    oldest = browser_of_person.get(f"{page(session)}events/?before=21").content.decode()
    assert seqs(oldest) == list(range(1, 21))
    assert 'data-has-more="false"' in oldest


def say(session: Session, invocation_id: str, *texts: str) -> None:
    """What the person said, and the answers, as an invocation that is over."""
    Invocation.objects.create(
        session=session,
        invocation_id=invocation_id,
        client_id=invocation_id,
        message={"parts": [{"text": texts[0]}]} if texts else {},
        status="completed",
    )
    for text in texts:
        author = "user" if text == texts[0] else "help_desk"
        add(session, text, author, invocationId=invocation_id, timestamp=time.time())


def rewind(session: Session, invocation_id: str) -> None:
    actions = {"rewindBeforeInvocationId": invocation_id, "stateDelta": {"colour": "red"}}
    add(session, author="user", invocationId="rewind", actions=actions, timestamp=time.time())


def test_what_was_rewound_is_not_shown(browser_of_person: Client, session: Session) -> None:
    say(session, "e-1", "one", "first")
    say(session, "e-2", "two", "second")
    rewind(session, "e-2")
    say(session, "e-3", "three", "third")
    rewind(session, "e-3")
    say(session, "e-4", "four", "fourth")
    html = browser_of_person.get(page(session)).content.decode()
    assert seqs(html) == [1, 2, 9, 10]
    assert [one["id"] for one in told_invocations(html)] == ["e-1", "e-4"]
    assert 'data-first-seq="1" data-has-more="false"' in html and 'data-last-seq="10"' in html
    rewind(session, "e-1")
    html = browser_of_person.get(page(session)).content.decode()
    assert (seqs(html), told_invocations(html)) == ([], [])
    assert 'data-has-more="false"' in html and 'data-last-seq="11"' in html


def test_a_message_that_was_never_answered_goes_with_what_was_rewound(
    browser_of_person: Client, session: Session
) -> None:
    say(session, "e-1", "one", "first")
    say(session, "e-2", "two", "second")
    for invocation_id in ("e-stopped", "e-after"):
        say(session, invocation_id)
        Invocation.objects.filter(invocation_id=invocation_id).update(status="cancelled")
        if invocation_id == "e-stopped":
            rewind(session, "e-2")
    told = told_invocations(browser_of_person.get(page(session)).content.decode())
    assert [one["id"] for one in told] == ["e-1", "e-after"]


def test_a_rewind_leaves_stretches_full_and_costs_one_query(
    browser_of_person: Client, session: Session, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(60):
        say(session, f"e-{number}", f"text {number}")
    for number in range(4):
        rewind(session, f"e-{59 - number}")
    with django_assert_num_queries(
        SIGNED_IN + 7
    ):  # all of the others, and the numbers of the rewound; no jobs
        html = browser_of_person.get(page(session)).content.decode()
    assert seqs(html) == list(range(7, 57))
    older = browser_of_person.get(f"{page(session)}events/?before=7").content.decode()
    assert seqs(older) == list(range(1, 7))
    assert 'data-first-seq="1" data-has-more="false"' in older


@pytest.mark.parametrize("query", ["", "?before=", "?before=x", "?before=-1"])
def test_older_events_need_a_number(browser_of_person: Client, session: Session, query: str) -> None:
    assert browser_of_person.get(f"{page(session)}events/{query}").status_code == 400


def test_an_event_that_shows_nothing_still_counts_as_seen(
    browser_of_person: Client, session: Session
) -> None:
    add(session, "text")
    add(session)
    html = browser_of_person.get(page(session)).content.decode()
    assert seqs(html) == [1]
    assert 'data-last-seq="2"' in html


def test_the_page_tells_what_became_of_the_messages(browser_of_person: Client, session: Session) -> None:
    add(session, "hello", author="user", invocationId="e-1")
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
    told = told_invocations(browser_of_person.get(page(session)).content.decode())
    assert told[0] == {"id": "e-1", "client_id": "client of e-1", "status": "failed", "error": "It broke."}
    assert [(one["id"], one["status"], one["text"]) for one in told[1:]] == [
        ("e-2", "queued", "still here"),
        ("e-3", "cancelled", "still here"),
    ]


def test_a_message_that_closes_a_script_tag_stays_data(browser_of_person: Client, session: Session) -> None:
    message = {"role": "user", "parts": [{"text": "</script><script>alert(1)</script>"}]}
    Invocation.objects.create(session=session, invocation_id="e-1", client_id="1", message=message)
    html = browser_of_person.get(page(session)).content.decode()
    assert "<script>alert" not in html
    assert told_invocations(html)[0]["text"] == "</script><script>alert(1)</script>"


def test_the_page_shows_the_state_of_the_chat_and_the_person(
    browser_of_person: Client, session: Session
) -> None:
    session.state = {"order": "A-1", "closed": None}
    session.save()
    UserState.objects.create(app_name="help_desk", user=session.user, state={"language": "en"})
    UserState.objects.create(app_name="other", user=session.user, state={"language": "xx"})
    html = browser_of_person.get(page(session)).content.decode()
    assert "<dt>order</dt><dd>A-1</dd>" in html and "<dt>closed</dt>" not in html
    assert "<dt>user:language</dt><dd>en</dd>" in html
    assert "xx" not in re.findall(r"<dd>(.*?)</dd>", html)


def test_pages_allow_no_inline_scripts_or_styles_and_have_none(
    browser_of_person: Client, session: Session
) -> None:
    add(session, "| a |\n|--:|\n| 1 |\n\n```js\nx\n```", actions={"artifactDelta": {"x.png": 0}})
    for address in ("/", page(session)):
        response = browser_of_person.get(address)
        policy = response["Content-Security-Policy"]
        assert "script-src 'self'" in policy and "unsafe" not in policy
        html = response.content.decode()
        assert not re.findall(r"<style|\sstyle=|\son\w+=|<script(?! type=)", html)
        assert not re.findall(r'(?:src|href)="(?:https?:)?//', html)


def test_the_banner_is_on_the_pages_when_the_site_has_one(
    browser_of_person: Client, session: Session, settings: Settings
) -> None:
    settings.ADK_BANNER = "A built-in demo model answers."
    assert settings.ADK_BANNER in browser_of_person.get("/").content.decode()
    assert settings.ADK_BANNER in browser_of_person.get(page(session)).content.decode()
    settings.ADK_BANNER = ""
    assert 'class="banner"' not in browser_of_person.get("/").content.decode()


async def test_a_new_chat_is_made_by_post_and_opened(
    async_client: Any, transactional_db: None, loop_end: None
) -> None:
    person = await User.objects.acreate(username="ada")
    await async_client.aforce_login(person)
    app_name = next(iter(agent_registry.apps()))
    address = reverse("chat:new", args=[app_name])
    assert (await async_client.get(address)).status_code == 405
    response = await async_client.post(address)
    made = await Session.objects.aget()
    assert (made.app_name, made.user_id) == (app_name, person.pk)
    assert response["Location"] == page(made)


def test_a_chat_with_an_unknown_app_is_not_found(browser_of_person: Client) -> None:
    assert browser_of_person.post(reverse("chat:new", args=["nobody"])).status_code == 404
    assert not Session.objects.exists()


def test_making_a_chat_needs_the_csrf_token(person: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(person)
    assert strict.post(reverse("chat:new", args=["help_desk"])).status_code == 403


@pytest.mark.parametrize(
    ("filename", "mime_type", "disposition", "content_type"),
    [
        ("table.csv", "text/csv", 'attachment; filename="table.csv"', "text/csv"),
        ("page.html", "text/html", 'attachment; filename="page.html"', "text/html"),
        ("drawing.svg", "image/svg+xml", 'attachment; filename="drawing.svg"', "image/svg+xml"),
        ("chart.png", "image/png", 'inline; filename="chart.png"', "image/png"),
        ("text", "", 'attachment; filename="text"', "text/plain; charset=utf-8"),
        ("folder/of/notes.txt", "text/plain", 'attachment; filename="notes.txt"', "text/plain"),
        ("a\r\nSet-Cookie: x", "text/plain", 'attachment; filename="a__Set-Cookie: x"', "text/plain"),
        ("odd", "text/html\r\nX: y", 'attachment; filename="odd"', "application/octet-stream"),
        ("Größe.txt", "text/plain", "attachment; filename*=utf-8''Gr%C3%B6%C3%9Fe.txt", "text/plain"),
        ('q"<b>.txt', "text/plain", r'attachment; filename="q\"<b>.txt"', "text/plain"),
    ],
)
def test_a_file_is_saved_unless_it_is_a_plain_picture(
    browser_of_person: Client,
    session: Session,
    filename: str,
    mime_type: str,
    disposition: str,
    content_type: str,
) -> None:
    made = keep(session, filename, b"bytes", mime_type=mime_type)
    response = browser_of_person.get(file_url(session, made.filename))
    assert response["Content-Disposition"] == disposition
    assert response["Content-Type"] == content_type
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Length"] == "5"
    assert body_of(response) == b"bytes"


def test_a_file_has_versions(browser_of_person: Client, session: Session) -> None:
    keep(session, "a.csv", b"old")
    keep(session, "a.csv", b"new", version=1)
    address = file_url(session, "a.csv")
    assert body_of(browser_of_person.get(address)) == b"new"
    assert body_of(browser_of_person.get(f"{address}?version=0")) == b"old"
    assert browser_of_person.get(f"{address}?version=2").status_code == 404
    assert browser_of_person.get(f"{address}?version=x").status_code == 404


def test_a_file_of_the_person_is_there_in_each_of_their_chats_with_the_app(
    browser_of_person: Client, session: Session
) -> None:
    keep(session, "user:photo.png", PNG, session=None, mime_type="image/png")
    response = browser_of_person.get(file_url(session, "user:photo.png"))
    assert body_of(response) == PNG
    assert response["Content-Disposition"] == 'inline; filename="photo.png"'
    elsewhere = Session.objects.create(app_name="other", user=session.user, key="o")
    assert browser_of_person.get(file_url(elsewhere, "user:photo.png")).status_code == 404


def test_a_file_that_the_browser_has_is_not_sent_again(browser_of_person: Client, session: Session) -> None:
    keep(session, "a.csv")
    first = browser_of_person.get(file_url(session, "a.csv"))
    again = browser_of_person.get(file_url(session, "a.csv"), headers={"if-none-match": first["ETag"]})
    assert again.status_code == 304
    assert "private" in first["Cache-Control"]


def test_a_chat_that_never_was_is_not_found(browser_of_person: Client) -> None:
    assert browser_of_person.get(reverse("chat:session", args=[uuid4()])).status_code == 404


def test_signing_in_and_out(client: Client, db: None) -> None:
    User.objects.create_user("ada", password="secret")
    wrong = client.post(reverse("login"), {"username": "ada", "password": "wrong"}).content.decode()
    assert 'role="alert"' in wrong and 'value="ada"' in wrong
    assert client.post(reverse("login"), {"username": "ada", "password": "secret"})["Location"] == "/"
    assert client.get(reverse("logout")).status_code == 405
    client.post(reverse("logout"))
    assert client.get("/").status_code == 302
