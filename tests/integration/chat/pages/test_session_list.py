"""Contract: the list of a person's sessions is paged, searched and changed by its person only."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from sessions_app.models import (
    AnswerRequest,
    Event,
    Invocation,
    LegalHold,
    Session,
    SessionFigures,
    Tombstone,
    ToolJob,
)
from sessions_app.sessions.list import listing
from sessions_app.sessions.list.changes import CHANGES
from sessions_app.sessions.list.search import MAX_RESULTS, search_sessions
from sessions_app.tasks import sweep
from tests.integration.chat.pages.page_helpers import add_event, page

MANY = 1_000


def titles(html: str) -> list[str]:
    return re.findall(r'class="item-title" dir="auto">([^<]*)<', html)


def listed(client: Client, **query: str) -> list[str]:
    response = client.get("/chats/", query)
    assert response.status_code == 200
    return titles(response.content.decode())


def searched(client: Client, words: str) -> str:
    return client.get("/chats/", {"q": words}).content.decode()


def make(person: User, title: str, **fields: Any) -> Session:
    return Session.objects.create(app_name="help_desk", user=person, key=title, title=title, **fields)


def change(client: Client, session: Session, what: str, **fields: str) -> int:
    return client.post(f"{page(session)}{what}/", fields).status_code


def test_pinned_sessions_lead_and_archived_ones_have_a_list_of_their_own(
    browser_of_person: Client, person: User
) -> None:
    first, second, third = (make(person, title) for title in ("First", "Second", "Third"))
    assert listed(browser_of_person) == ["Third", "Second", "First"]
    assert change(browser_of_person, first, "pin") == 204
    assert change(browser_of_person, third, "archive") == 204
    assert listed(browser_of_person) == ["First", "Second"]
    assert listed(browser_of_person, archived="1") == ["Third"]
    assert change(browser_of_person, first, "unpin") == change(browser_of_person, third, "unarchive") == 204
    assert listed(browser_of_person) == ["Third", "Second", "First"]
    assert second.title in titles(browser_of_person.get("/").content.decode())


def headings(client: Client, **query: str) -> list[str]:
    html = client.get("/chats/", query).content.decode()
    return re.findall(r'<div role="heading" aria-level="3">([^<]*)<', html)


def test_the_list_is_grouped_by_the_days_of_the_readers_calendar(
    browser_of_person: Client, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    midnight_in_tokyo = datetime(2026, 3, 10, 15, tzinfo=UTC)
    ages = {"Long ago": 3_000, "Last month": 24 * 30, "This week": 24 * 3, "Yesterday": 1, "Now": 0}
    for title, hours in ages.items():
        used_at = midnight_in_tokyo - timedelta(hours=hours)
        Session.objects.filter(pk=make(person, title).pk).update(updated_at=used_at)
    make(person, "Kept", is_pinned=True)
    monkeypatch.setattr(timezone, "now", lambda: midnight_in_tokyo + timedelta(minutes=5))
    in_utc = headings(browser_of_person)
    browser_of_person.cookies["adk_time_zone"] = "Asia/Tokyo"
    browser_of_person.cookies["django_language"] = "de"
    in_tokyo = headings(browser_of_person)
    assert in_utc == ["Pinned", "Today", "Previous 7 days", "February 2026", "November 2025"]
    assert in_tokyo == ["Angeheftet", "Heute", "Gestern", "Letzte 7 Tage", "Februar 2026", "November 2025"]
    assert headings(browser_of_person, q="Yesterday") == []


@pytest.mark.parametrize(("rows", "length"), [("", 30), ("1", 30), ("31", 31), ("40", 33), ("999999999", 33)])
def test_a_page_is_as_long_as_its_address_asks_for(
    browser_of_person: Client, person: User, rows: str, length: int
) -> None:
    for number in range(33):
        make(person, f"Chat {number}")
    assert len(listed(browser_of_person, rows=rows)) == length


@pytest.mark.parametrize("rows", ["x", "-1", "1" * 5000, "²"])
def test_a_length_that_is_no_number_is_refused(browser_of_person: Client, rows: str) -> None:
    response = browser_of_person.get("/chats/", {"rows": rows})
    assert (response.status_code, "is broken" in response.json()["error"]) == (400, True)


def test_an_archived_session_that_was_pinned_does_not_lead_its_list(
    browser_of_person: Client, person: User
) -> None:
    session = make(person, "Old")
    for what in ("pin", "archive"):
        change(browser_of_person, session, what)
    assert "data-pinned" not in browser_of_person.get("/chats/?archived=1").content.decode()


def test_a_renamed_session_has_its_title_on_one_line(browser_of_person: Client, session: Session) -> None:
    assert change(browser_of_person, session, "rename", title="  A new\n title ") == 204
    assert listed(browser_of_person) == ["A new title"]


@pytest.mark.parametrize("title", ["items", "a\x01b", "\u202egnp.exe", "x" * 200, "<b>&amp;</b>", "{{ 1 }}"])
def test_a_hostile_title_is_shown_as_it_is_and_turns_no_text_around(
    browser_of_person: Client, session: Session, title: str
) -> None:
    assert change(browser_of_person, session, "rename", title=title) == 204
    session.refresh_from_db()
    assert session.title == title
    for address in ("/", "/chats/", page(session)):
        html = browser_of_person.get(address).content.decode()
        assert "<b>&amp;</b>" not in html and "\u202e" not in html
        assert len(titles(html)) == 1


@pytest.mark.parametrize(
    ("title", "reason"),
    [("", "empty"), (" \n", "empty"), ("x" * 10_000, "10000 characters; the limit is 200")],
)
def test_a_title_that_cannot_be_is_refused_with_a_sentence(
    browser_of_person: Client, session: Session, title: str, reason: str
) -> None:
    response = browser_of_person.post(f"{page(session)}rename/", {"title": title})
    assert (response.status_code, reason in response.json()["error"]) == (400, True)
    session.refresh_from_db()
    assert session.title == "Broken lamp"


@pytest.mark.parametrize("what", CHANGES)
def test_nobody_changes_the_session_of_another(
    browser_of_person: Client, session_of_another: Session, what: str
) -> None:
    before = Session.objects.values().get(pk=session_of_another.pk)
    assert change(browser_of_person, session_of_another, what, title="Mine") == 404
    assert Session.objects.values().get(pk=session_of_another.pk) == before
    assert browser_of_person.get(f"{page(session_of_another)}{what}/").status_code == 405


def test_a_deleted_session_is_gone_until_it_is_restored(browser_of_person: Client, session: Session) -> None:
    add_event(session, "secret lamp")
    assert change(browser_of_person, session, "delete") == 204
    assert listed(browser_of_person) == listed(browser_of_person, q="lamp") == []
    assert browser_of_person.get(page(session)).status_code == 404
    assert change(browser_of_person, session, "rename", title="x") == 404
    assert change(browser_of_person, session, "restore") == 204
    assert listed(browser_of_person) == listed(browser_of_person, q="lamp") == ["Broken lamp"]


def test_a_sweep_erases_a_deleted_session_when_the_time_to_undo_is_over(
    browser_of_person: Client, session: Session, settings: Settings
) -> None:
    Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="1", message={}, status="running"
    )
    change(browser_of_person, session, "delete")
    sweep()
    assert Session.objects.filter(pk=session.pk).exists()
    settings.ADK = {"deletion_undo_seconds": 0}
    sweep()
    assert not Session.objects.filter(pk=session.pk).exists()
    tombstone = Tombstone.objects.get(subject_id=str(session.pk))
    assert (tombstone.by_id, tombstone.reason) == (session.user_id, "Deleted by its user.")
    response = browser_of_person.post(f"{page(session)}restore/")
    assert (response.status_code, response.json()["error"]) == (404, "This chat is deleted for good.")


def test_a_session_under_legal_hold_cannot_be_deleted(
    browser_of_person: Client, session: Session, settings: Settings
) -> None:
    hold = LegalHold.objects.create(session=session, reason="A dispute")
    response = browser_of_person.post(f"{page(session)}delete/")
    assert response.status_code == 409
    assert "nothing that it covers may be erased" in response.json()["error"]
    assert listed(browser_of_person) == ["Broken lamp"]
    hold.delete()
    settings.ADK = {"deletion_undo_seconds": 0}
    change(browser_of_person, session, "delete")
    LegalHold.objects.create(user=session.user, reason="A dispute")
    sweep()
    assert Session.objects.filter(pk=session.pk).exists()


def test_badges_tell_what_a_session_does(browser_of_person: Client, person: User) -> None:
    busy, asked, confirmed, at_work, reported, read = (
        make(person, title) for title in ("Busy", "Asked", "Confirm", "At work", "Reported", "Read")
    )
    make(person, "Unread", last_seq=3, seen_seq=2)
    Session.objects.filter(pk=read.pk).update(last_seq=3, seen_seq=3)
    make(person, "Older than the count", last_seq=3, seen_seq=None)
    for session, status in (
        (busy, "running"),
        (asked, "waiting"),
        (confirmed, "waiting"),
        (at_work, "waiting"),
        (reported, "waiting"),
    ):
        names = {"invocation_id": f"e-{session.key}", "client_id": "1"}
        Invocation.objects.create(session=session, message={}, status=status, **names)
    # The result of the job is being answered; until the end of that, the call waits.
    names = {"invocation_id": "e-2", "client_id": "job:1", "status": "running"}
    Invocation.objects.create(session=reported, message={}, **names)
    AnswerRequest.objects.create(
        session=confirmed, invocation_id=f"e-{confirmed.key}", call_id="c", kind="confirmation",
        tool_name="refund", answered_by="person", asked_at=timezone.now(),
    )  # fmt: skip
    for session, status in ((asked, "waiting"), (at_work, "running")):
        names = {"invocation_id": f"e-{session.key}", "call_id": "c", "tool_name": "t", "task_name": "t"}
        ToolJob.objects.create(session=session, status=status, **names)
    html = browser_of_person.get("/chats/").content.decode()
    badges = dict(
        re.findall(r'item-title" dir="auto">([^<]*)<.*?item-facts">(?:<span[^>]*>([^<]*))?', html, re.S)
    )
    assert badges == {
        "Older than the count": "", "Unread": "New answer", "Read": "", "Reported": "Answering", "At work": "",
        "Confirm": "Needs you", "Asked": "Needs you", "Busy": "Answering",
    }  # fmt: skip


SEARCHES = [
    ("lamp", ["Broken lamp", "Other"]),
    ("LAM", ["Broken lamp", "Other"]),
    ("amp", ["Broken lamp"]),
    ("bulb green", ["Other"]),
    ("ランプ", ["Japanese"]),
    ("& | ! : * ( ) '", []),
    ("!!!", []),
    ("\\", []),
    ("%", []),
    ("b", ["Broken lamp"]),
    ("a lamp", ["Broken lamp", "Other"]),
    ("ラ", ["Japanese"]),
    ("x" * 10_000, []),
    ("lamp " * 2_000, ["Broken lamp", "Other"]),
    ("a\x01'; DROP TABLE", []),
]


@pytest.mark.parametrize(("query", "expected"), SEARCHES)
def test_a_search_finds_titles_by_any_part_and_texts_by_the_beginnings_of_words(
    browser_of_person: Client, person: User, session_of_another: Session, query: str, expected: list[str]
) -> None:
    add_event(session_of_another, "lamp bulb green")
    make(person, "Broken lamp")
    add_event(make(person, "Other", archived_at=timezone.now()), "The green bulb of the lamp <b>")
    add_event(make(person, "Japanese"), "ランプが壊れた")
    assert sorted(listed(browser_of_person, q=query)) == expected


def test_a_hit_is_shown_with_the_words_around_it(browser_of_person: Client, person: User) -> None:
    add_event(make(person, "Other"), "before " * 20 + "the <i>Lamp</i> " + "after " * 20)
    html = browser_of_person.get("/chats/", {"q": "lam"}).content.decode()
    assert "before the &lt;i&gt;<mark>Lam</mark>p&lt;/i&gt; after" in html


def test_a_session_that_is_found_by_a_text_leads_to_the_event_with_it(
    browser_of_person: Client, session: Session
) -> None:
    add_event(session, "a green bulb")
    found = add_event(session, "a blue bulb")
    add_event(session, "nothing of the kind")
    assert f'href="{page(session)}?hit={found.seq}&amp;word=bulb"' in searched(browser_of_person, "bulb")
    assert f'href="{page(session)}"' in searched(browser_of_person, "broken")


def test_a_text_that_was_rewound_is_not_found(browser_of_person: Client, session: Session) -> None:
    add_event(session, "a green bulb", invocationId="e-1")
    assert listed(browser_of_person, q="green") == ["Broken lamp"]
    assert "Nothing found." in browser_of_person.get("/chats/", {"q": "blue"}).content.decode()
    add_event(session, author="user", actions={"rewindBeforeInvocationId": "e-1"}, invocationId="e-2")
    assert listed(browser_of_person, q="green") == []


def test_the_newest_text_that_no_rewind_has_undone_is_the_hit(
    browser_of_person: Client, session: Session
) -> None:
    add_event(session, "the oldest lamp", invocationId="e-1")
    add_event(session, "a kept lamp", invocationId="e-2")
    add_event(session, "an undone lamp", invocationId="e-3")
    add_event(session, author="user", actions={"rewindBeforeInvocationId": "e-3"}, invocationId="e-4")
    add_event(session, "no more of it", invocationId="e-5")
    assert "a kept <mark>lamp</mark>" in browser_of_person.get("/chats/", {"q": "lamp"}).content.decode()


def test_a_hit_shows_the_word_and_not_a_single_letter_beside_it(
    browser_of_person: Client, session: Session
) -> None:
    add_event(session, "about a green lamp")
    html = browser_of_person.get("/chats/", {"q": "a lamp"}).content.decode()
    assert "about a green <mark>lamp</mark>" in html


def test_a_search_with_too_many_results_says_so(browser_of_person: Client, person: User) -> None:
    for number in range(MAX_RESULTS):
        make(person, f"Lamp {number}")
    assert "Only the latest" not in searched(browser_of_person, "lamp")
    make(person, "Lamp again")
    assert "Only the latest 30 are shown." in searched(browser_of_person, "lamp")
    assert listed(browser_of_person, q="lamp")[0] == "Lamp again"


def test_a_search_reads_no_more_texts_than_it_shows(person: User, session: Session) -> None:
    for number in range(50):
        add_event(session, f"lamp {number}")
    with CaptureQueriesContext(connection) as queries:
        assert search_sessions(person, "lamp").sessions == [session]
    with connection.cursor() as cursor:
        assert [cursor.execute(query["sql"]).rowcount for query in queries] == [1, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("time", "status"),
    [
        ("2026-11-22T12:00:00+23:00", 200),
        ("2026-11-22T12:00:00-23:59", 200),
        ("0001-01-01T00:00:00+23:00", 400),
        ("9999-12-31T23:00:00-23:00", 400),
        ("2026-11-22T12:00:00", 400),
        ("yesterday", 400),
    ],
)
def test_a_cursor_with_an_odd_time_is_read_or_called_broken(
    browser_of_person: Client, session: Session, time: str, status: int
) -> None:
    response = browser_of_person.get("/chats/", {"before": f"{time}_{session.pk}"})
    assert response.status_code == status


def test_a_text_of_very_many_words_can_be_stored_and_found(
    browser_of_person: Client, session: Session
) -> None:
    add_event(session, " ".join(f"word{number}" for number in range(300_000)))
    assert listed(browser_of_person, q="word17") == ["Broken lamp"]


@pytest.fixture
def many(person: User) -> None:
    """The person's sessions between as many of each of nine others: an index over all people is no help.

    The person "newcomer" has three.
    """
    now = timezone.now()
    others = [User.objects.create_user(f"person{number}") for number in range(9)]
    newcomer = User.objects.create_user("newcomer")
    Session.objects.bulk_create(
        Session(app_name="help_desk", user=user, key=str(number), title=f"Chat {number:05}",
                updated_at=now - timedelta(minutes=number // 3))
        for user in (person, *others)  # person by person: PostgreSQL takes the order of the rows into account
        for number in range(MANY)
    )  # fmt: skip
    for number in range(3):
        make(newcomer, f"New {number}")
    writers = Session.objects.filter(user__in=(person, newcomer))
    body = {
        "id": "1",
        "author": "user",
        "timestamp": 1.0,
        "actions": {},
        "content": {"parts": [{"text": "lamp"}]},
    }
    Event.objects.bulk_create(
        Event(session=session, seq=seq, body={**body, "content": {"parts": [{"text": f"word{session.key}"}]}})
        for session in writers.only("pk", "key")
        for seq in range(1, 6)
    )
    SessionFigures.objects.bulk_create(SessionFigures(session=session, words_seq=5) for session in writers)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sessions_app_eventwords (event_id, session_id, words, details)"
            " SELECT id, session_id, adk_event_words(text, ''), '' FROM sessions_app_event"
        )
        # Rows of earlier tests, and entries that are not sorted in yet, would make an index dearer than the table.
        cursor.execute("REINDEX TABLE sessions_app_eventwords")
        cursor.execute("ANALYZE sessions_app_session, sessions_app_event, sessions_app_eventwords")


def plans_of(request: Callable[[], object], marker: str) -> list[str]:
    """Return the plans of the statements of a request that contain the marker."""
    with CaptureQueriesContext(connection) as queries:
        request()
    plans = []
    with connection.cursor() as cursor:
        for query in queries:
            if marker in query["sql"]:
                cursor.execute(f"EXPLAIN {query['sql']}")
                plans.append("\n".join(row[0] for row in cursor.fetchall()))
    return plans


def test_a_list_of_thousands_of_sessions_is_read_and_searched_by_indexes(person: User, many: None) -> None:
    shown: list[str] = []
    before = ""
    while len(shown) < 300:
        result = listing.list_sessions(person, before=before)
        shown += [session.title for session in result.sessions]
        before = result.before
    assert len(set(shown)) == 300 and set(shown) == {f"Chat {number:05}" for number in range(300)}
    assert len(listing.list_sessions(person, rows="999").sessions) == listing.MAX_SESSIONS
    plan = plans_of(lambda: listing.list_sessions(person, before=before), "LIMIT 31")[0]
    assert "Seq Scan on sessions_app_session" not in plan and "session_in_list" in plan, plan
    assert [session.title for session in search_sessions(person, "word999").sessions] == ["Chat 00999"]
    plan = plans_of(lambda: search_sessions(person, "word999"), "@@")[0]
    assert "Seq Scan on sessions_app_event" not in plan, plan
    assert plans_of(lambda: search_sessions(person, "word999"), "adk_event_words") == []
    # A word that is in the texts of others: only the few of the person are read.
    newcomer = User.objects.get(username="newcomer")
    assert len(search_sessions(newcomer, "word").sessions) == 3
    plans = plans_of(lambda: search_sessions(newcomer, "word"), "sessions_app_event")
    assert len(plans) == 4
    for plan in plans:
        assert "Seq Scan on sessions_app_event" not in plan and "words_of_event" not in plan, plan
