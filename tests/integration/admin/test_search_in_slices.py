"""Searches of staff find what a slow search of all rows finds, within filters and remits, and say how far they got."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from string import punctuation
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.test import Client, RequestFactory
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sessions_app.admin.framework import keyset_list
from sessions_app.history import word_search
from sessions_app.history.figures import event_words
from sessions_app.history.figures.batches import count_figures
from sessions_app.models import (
    Event,
    EventKind,
    EventWords,
    Failure,
    FiguresProgress,
    Invocation,
    Remit,
    Session,
    SessionFigures,
    StaffAccess,
    ToolJob,
)
from sessions_app.models.session import TitleSource
from sessions_app.secrets.masking import mask, mask_text
from sessions_app.store.erasing import delete_session_row
from tests.integration.admin.audit_rows import append_event, list_url, make_job, read, sign_in

pytestmark = pytest.mark.django_db
WORDS = (
    "refund",
    "items",
    "Straße",
    "ÉTÉ",
    "退款",
    "x",
    "100%",
    "a_b",
    "c:\\temp",
    "o'hara",
    '"quoted"',
    "🚲",
)
ODD = ("%", "_", "\\", "''", "&", "!x", "x & y", ":*", "ITEMS", "refun", "r" * 500)
SECRET = "hunter2"
DAY = timedelta(days=1)
TOOLS = ("refund_order", "look_up", "files-read.all", "items")
FILES = ("Straße.pdf", "report-7.csv")
PARTS = (
    "report",
    "7",
    "csv",
    "REPORT-7",
    "7.csv",
    "report.csv",
    "read",
    "files-read",
    "files/read",
    "read.all",
    "-7",
)
NAMES = (*TOOLS, *FILES, *PARTS, "order_id", "look up refund", "OVERLOADED", "refund 1001", "null", "true")
IDS = ("s-3", "e-2", "m-4", "c-1", "id-2", "10.0.0.7")
EXACT_TERMS = (*ODD, *IDS, SECRET, "nobody", "bob", "AD")
TERMS = (*WORDS, *NAMES, *EXACT_TERMS, "refund items", "Broken lamp")


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make slices and limits so small that few rows need all ways of a search."""
    monkeypatch.setattr(word_search, "MAX_SLICE", 12)
    monkeypatch.setattr(word_search, "MAX_EVENTS_OF_SLICE", 9)
    monkeypatch.setattr(word_search, "COMMON", 2)
    monkeypatch.setattr(keyset_list, "RECENT_ROWS", (3, 8))

    def choose(first_slice: int, few: int, seconds: float) -> None:
        monkeypatch.setattr(word_search, "FIRST_SLICE", {Session: first_slice})
        monkeypatch.setattr(word_search, "OTHER_FIRST_SLICE", first_slice)
        monkeypatch.setattr(word_search, "MAX_FEW", few)
        monkeypatch.setattr(word_search, "SEARCH_SECONDS", seconds)

    return choose


@pytest.fixture
def conversations() -> None:
    dice = random.Random(7)
    people = [User.objects.create_user(name) for name in ("ada", "bob", "cleo")]
    for n in range(14):
        session = Session.objects.create(
            app_name=dice.choice(("shop", "travel")), user=dice.choice(people), key=f"s-{n}"
        )
        if n % 5 == 0:
            session.title = f"{dice.choice(WORDS)} Broken lamp, {dice.choice(FILES)} password={SECRET}"
            session.title_source = TitleSource.PERSON
        session.save()
        Invocation.objects.create(
            session=session, invocation_id=f"e-{n}", client_id=f"m-{n}", message={},
            error_message=dice.choice(("", sentence(dice))),
        )  # fmt: skip
        make_job(
            session, invocation_id=f"e-{n}", call_id=f"c-{n % 5}", tool_name=dice.choice(TOOLS),
            error=dice.choice(("", sentence(dice))),
        )  # fmt: skip
        StaffAccess.objects.create(
            kind="open", subject_kind="session", subject_id=str(session.pk), actor_kind="staff",
            actor_name=dice.choice(("Adam", "bob", "Bobby")), address=dice.choice((None, "10.0.0.7")),
        )  # fmt: skip
        for _ in range(dice.randrange(7)):
            parts = parts_with(sentence(dice), dice)
            append_event(session, *parts, invocationId=f"e-{n}", **odd_members(dice))
        Session.objects.filter(pk=session.pk).update(updated_at=Now() - n % 4 * DAY)


def sentence(dice: random.Random) -> str:
    """Return some words; some of them with a secret."""
    text = " ".join(dice.choices(WORDS, k=dice.randrange(1, 4)))
    return f"{text} password={SECRET}" if dice.random() < 0.2 else text


def parts_with(text: str, dice: random.Random) -> list[dict[str, Any]]:
    """Return a message, a call, a result or a file with the text."""
    name = dice.choice(TOOLS)
    values = {"order_id": 1001, "note": {"items": [text, None, True]}, "api_key": f"{SECRET} {text}"}
    said: dict[str, Any] = dice.choice(
        (
            {"text": text},
            {"functionCall": {"id": "c", "name": name, "args": values}},
            {"functionResponse": {"id": "c", "name": name, "response": {"result": f"\n{text}\t\\{text}"}}},
            {"inlineData": {"displayName": dice.choice(FILES), "mimeType": "text/csv", "data": "eA=="}},
            {"executableCode": {"code": f"print('{text}')", "language": "PYTHON"}},
        )
    )
    return [said, {"text": text}] if dice.random() < 0.2 else [said]


def odd_members(dice: random.Random) -> dict[str, Any]:
    members: tuple[dict[str, Any], ...] = (
        {},
        {},
        {"errorCode": "OVERLOADED", "errorMessage": f"No paper; password={SECRET}"},
        {"actions": {"artifactDelta": {dice.choice(FILES): 1}}},
    )
    return dice.choice(members)


def document_of(event: Event) -> str:
    """Return all words of an event that a search may find, masked."""
    body = event.body
    values = [body.get("errorCode", ""), body.get("errorMessage", "")]
    values += body.get("actions", {}).get("artifactDelta", {})
    for part in body.get("content", {}).get("parts", ()):
        for said in part.values():
            if isinstance(said, dict):
                values += [
                    said[key] for key in ("name", "args", "response", "code", "displayName") if key in said
                ]
    return "\n".join([mask_text(event.text or ""), *words_in(mask(values))])


def words_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from words_in(member)
    elif isinstance(value, list):
        for item in value:
            yield from words_in(item)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


def store_words_of(part: str) -> None:
    """Store the words of no event, of all, or of all but the newest of some sessions."""
    for model in (EventWords, SessionFigures, FiguresProgress):
        model._default_manager.all().delete()
    if part == "none":
        return
    while count_figures(60):
        pass
    if part == "some":
        behind = Session.objects.filter(key__endswith="3", last_seq__gt=1)
        EventWords.objects.filter(session__in=behind, event__seq__gt=1).delete()
        SessionFigures.objects.filter(session__in=behind).update(words_seq=1)


def without_marks(text: str) -> str:
    return "".join(" " if letter in punctuation else letter for letter in text)


def matching(texts: dict[Any, str], term: str) -> set[Any]:
    """Return the keys of the texts with all words of the term, by reading each text."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT n FROM unnest(%s::text[]) WITH ORDINALITY AS t(words, n)"
            " WHERE to_tsvector('simple', words) @@ plainto_tsquery('simple', %s)",
            [[without_marks(text) for text in texts.values()], without_marks(term)],
        )
        places = [n - 1 for (n,) in cursor.fetchall()]
    keys = list(texts)
    return {keys[place] for place in places}


def exact_events(term: str) -> set[Any]:
    events = list(Event.objects.all())
    named = {event.pk for event in events if term in (event.event_id, event.invocation_id)}
    return named | matching({event.pk: document_of(event) for event in events}, term)


def named_sessions(term: str) -> set[Any]:
    """Return the sessions with the term in their title, or as id or key of one of their rows."""
    sessions = list(Session.objects.all())
    titles = {row.pk: mask_text(row.title) for row in sessions if row.title_source != TitleSource.MESSAGE}
    named = {row.pk for row in sessions if term in (row.key, str(row.pk))}
    runs = {row.session_id for row in Invocation.objects.all() if term in (row.invocation_id, row.client_id)}
    calls = {job.session_id for job in ToolJob.objects.all() if term == job.call_id}
    return matching(titles, term) | named | runs | calls


def failed_invocations(term: str) -> set[Any]:
    return matching({row.pk: mask_text(row.error_message) for row in Invocation.objects.all()}, term)


def failed_jobs(term: str) -> set[Any]:
    return matching({job.pk: mask_text(job.error) for job in ToolJob.objects.all()}, term)


def exact_sessions(term: str) -> set[Any]:
    with_hit = {event.session_id for event in Event.objects.filter(pk__in=exact_events(term))}
    with_hit |= {row.session_id for row in Invocation.objects.filter(pk__in=failed_invocations(term))}
    with_hit |= {job.session_id for job in ToolJob.objects.filter(pk__in=failed_jobs(term))}
    of_person = {row.pk for row in Session.objects.select_related("user") if row.user.username == term}
    return with_hit | of_person | named_sessions(term)


def exact_invocations(term: str) -> set[Any]:
    of_sessions = named_sessions(term)  # those of the ids of the invocation itself are among them
    return failed_invocations(term) | {
        row.pk for row in Invocation.objects.all() if row.session_id in of_sessions
    }


def exact_jobs(term: str) -> set[Any]:
    of_sessions = named_sessions(term)
    named = {
        job.pk
        for job in ToolJob.objects.all()
        if term in (job.call_id, job.invocation_id, job.tool_name) or job.session_id in of_sessions
    }
    return named | failed_jobs(term)


def exact_accesses(term: str) -> set[Any]:
    return {
        access.pk
        for access in StaffAccess.objects.all()
        if access.actor_name.lower().startswith(term.lower()) or term in (access.subject_id, access.address)
    }


EXACT: dict[Any, Callable[[str], set[Any]]] = {
    Session: exact_sessions,
    Event: exact_events,
    Invocation: exact_invocations,
    ToolJob: exact_jobs,
    StaffAccess: exact_accesses,
}


def rows_within(model: Any, sessions: QuerySet[Session]) -> QuerySet[Any]:
    """Return the rows that are or belong to the sessions, or tell who read them."""
    keys = list(sessions.values_list("pk", flat=True))
    if model is Session:
        return sessions
    if model is StaffAccess:
        return StaffAccess.objects.filter(subject_id__in=[str(key) for key in keys])
    rows: QuerySet[Any] = model.objects.filter(session__in=keys)
    return rows


def found_on_all_pages(model: Any, user: User, query: dict[str, str]) -> Iterator[Any]:
    """Yield the primary keys of all pages of a search, in their order."""
    model_admin = admin.site.get_model_admin(model)
    request = RequestFactory().get("/", query)
    request.user = user
    changelist: Any = model_admin.get_changelist_instance(request)
    position = ""
    while True:
        page = changelist.page_after(position, 6)
        yield from (row.pk for row in page.rows)
        assert bool(page.next_position) == bool(page.searched_to)
        position = page.next_position
        if not position:
            return


def staff_for(app: str, people: Iterable[str]) -> User:
    """Return a member of staff with a remit for an app and some people; empty for all."""
    staff = User.objects.create_user("staff", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(content_type__app_label="sessions_app"))
    group = Group.objects.create(name="staff")
    staff.groups.add(group)
    seen = None
    if people:
        seen = Group.objects.create(name="people")
        seen.user_set.set(User.objects.filter(username__in=people))
    Remit.objects.create(group=group, app_name=app, people=seen)
    return staff


@settings(
    max_examples=25,
    phases=[Phase.generate],  # a smaller example takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_12_a_search_finds_what_reading_every_row_finds(
    data: st.DataObject, small_slices: Callable[..., None], conversations: None
) -> None:
    small_slices(
        data.draw(st.integers(2, 6)),
        data.draw(st.sampled_from((0, 3, 99))),
        data.draw(st.sampled_from((0, 9))),
    )
    model: Any = data.draw(st.sampled_from((Session, Event)))
    app_filter = "app_name" if model is Session else "session__app_name"
    term = data.draw(st.sampled_from(TERMS))
    app = data.draw(st.sampled_from(("", "shop", "travel")))
    people = data.draw(st.sampled_from((["ada", "bob", "cleo"], ["bob"], ["bob", "cleo"])))
    query = {"q": term}
    sessions = Session.objects.filter(user__username__in=people)
    if app:
        sessions = sessions.filter(app_name=app)
    rows = rows_within(model, sessions)
    if app and data.draw(st.booleans()):
        query[app_filter] = app
    chosen = [name for name in ("user", "since", "until", "kind") if data.draw(st.booleans())]
    if model is Event and "kind" in chosen:
        query["kind"] = data.draw(st.sampled_from(EventKind.values))
        rows = rows.filter(kind=query["kind"])
    if model is Session and "user" in chosen:
        query["user"] = data.draw(st.sampled_from(("ada", "bob")))
        rows = rows.filter(user__username=query["user"])
    for name, bound in (("since", "gte"), ("until", "lte")):
        if model is Session and name in chosen:
            day = timezone.localdate() - data.draw(st.integers(0, 4)) * DAY
            query[name] = day.isoformat()
            rows = rows.filter(**{f"updated_at__date__{bound}": day})
    User.objects.filter(username="staff").delete()
    Remit.objects.all().delete()
    Group.objects.all().delete()
    staff = staff_for("" if app_filter in query else app, people)
    store_words_of(data.draw(st.sampled_from(("none", "all", "some"))))
    require_exact(model, staff, query, rows)


@pytest.mark.parametrize(
    ("model", "terms"), [(Invocation, TERMS), (ToolJob, TERMS), (StaffAccess, EXACT_TERMS)]
)
@pytest.mark.parametrize(("first_slice", "few", "seconds"), [(2, 0, 0), (4, 99, 9)])
def test_12_a_search_of_runs_and_accesses_finds_what_reading_every_row_finds(
    small_slices: Callable[..., None],
    conversations: None,
    model: Any,
    terms: tuple[str, ...],
    first_slice: int,
    few: int,
    seconds: int,
) -> None:
    small_slices(first_slice, few, seconds)
    people = ["ada", "cleo"]
    staff = staff_for("", people)
    rows = rows_within(model, Session.objects.filter(user__username__in=people))
    for term in (*terms, str(Session.objects.earliest("created_at").pk)):
        require_exact(model, staff, {"q": term}, rows)


def require_exact(model: Any, staff: User, query: dict[str, str], rows: QuerySet[Any]) -> None:
    """Require that the search finds those of the rows that have the term, in the order of the list."""
    term = word_search.cleaned(query["q"])
    if term:
        ordered = rows.order_by(*(admin.site.get_model_admin(model).ordering or ()))
        expected = [row.pk for row in ordered.filter(pk__in=EXACT[model](term))]
        assert list(found_on_all_pages(model, staff, query)) == expected, term


def test_a_page_says_how_far_it_has_searched_and_continues_there(
    client: Client, small_slices: Callable[..., None], conversations: None
) -> None:
    sign_in(client, "session", "event")
    small_slices(2, 0, 0)
    for model in ("session", "event"):
        html = read(client, list_url(model, "?q=refund"))
        assert re.search(r"Searched back to \d+ \w+ (\d{4} )?\d\d:\d\d\.", html), model
        pages = 1
        while link := re.search(r'<a href="(\?[^"]*)" rel="next">Continue the search', html):
            html = read(client, list_url(model, link[1].replace("&amp;", "&")))
            pages += 1
        assert pages > 2
        assert "Everything that you may see within the filters was searched." in html, model


def test_a_page_says_that_a_search_has_no_words(client: Client, session: Session) -> None:
    sign_in(client, "session")
    assert "has no letters or digits" in read(client, list_url("session", "?q=%25"))
    assert "has no letters or digits" not in read(client, list_url("session", "?q=%25x"))


def test_a_rare_word_is_found_although_the_time_is_over(
    client: Client, small_slices: Callable[..., None], conversations: None
) -> None:
    count_figures(60)  # the word is in no index yet
    append_event(Session.objects.order_by("updated_at")[0], {"text": "a zebra"})
    sign_in(client, "session", "event")
    small_slices(1, 99, 0)
    for model in ("session", "event"):
        html = read(client, list_url(model, "?q=zebra"))
        assert "<mark>zebra</mark>" in html and "Everything that you may see" in html, model


def test_19_nobody_finds_a_masked_word(client: Client, session: Session) -> None:
    append_event(session, {"text": "my lamp, the older text"})
    append_event(session, {"text": f"password={SECRET} lamp"})
    sign_in(client, "session", "event", rights=("view_text", "unmask_data"))
    for model in ("session", "event"):
        assert str(session.pk) not in read(client, list_url(model, f"?q={SECRET}")), model
        assert str(session.pk) not in read(client, list_url(model, f"?q=lamp+{SECRET}")), model
        assert "<mark>lamp</mark>" in read(client, list_url(model, "?q=lamp")), model
    assert "the older <mark>text</mark>" in read(client, list_url("session", "?q=text"))


@pytest.mark.parametrize("is_stored", [False, True])
def test_19_nobody_finds_a_masked_argument_or_a_part_of_it(
    client: Client, session: Session, is_stored: bool
) -> None:
    card = "4111 1111 1111 1111"
    # The words end in the middle of the card, and the stored details after it.
    filling = "z " * ((19_000 - len('"refund" {"note": "') - 10) // 2)
    for args in (
        {"password": f"{SECRET} lamp", "token": {"deep": [SECRET]}, "note": "shown"},
        {"note": f"{filling}{card} lamp"},
    ):
        append_event(session, {"functionCall": {"id": "c", "name": "refund", "args": args}})
    credential = {"id": "c", "name": "adk_request_credential", "response": {"scheme": SECRET}}
    append_event(session, {"functionResponse": credential}, author="user")
    if is_stored:
        count_figures(60)
    sign_in(client, "session", "event", rights=("view_text", "unmask_data"))
    for model in ("session", "event"):
        assert "<mark>shown</mark>" in read(client, list_url(model, "?q=refund+shown")), model
        for term in (SECRET, "lamp", "4111", "1111", f"shown {SECRET}"):
            assert str(session.pk) not in read(client, list_url(model, f"?q={term}")), (model, term)


@pytest.mark.parametrize("is_stored", [False, True])
def test_the_beginning_of_a_large_event_is_found(client: Client, session: Session, is_stored: bool) -> None:
    # PostgreSQL refuses more than a megabyte of words: the longest letters, each word alone and in a compound.
    letters = [chr(0x20000 + n) for n in range(40_000)]
    text = "-".join("".join(letters[n : n + 9]) for n in range(0, 40_000, 9))
    result = {"a": "needle", "b": text, "c": "x " * 5_000_000, "d": "haystack"}
    response = {"functionResponse": {"id": "c", "name": "report", "response": result}}
    append_event(session, response, {"text": 3 * text})
    if is_stored:
        count_figures(60)
    sign_in(client, "session", "event")
    for model in ("session", "event"):
        assert "<mark>needle</mark>" in read(client, list_url(model, "?q=report+needle")), model
        assert str(session.pk) not in read(client, list_url(model, "?q=haystack")), model


def test_words_are_erased_with_their_session(session: Session) -> None:
    append_event(session, {"text": "a zebra"})
    count_figures(60)
    assert EventWords.objects.count() == 1
    delete_session_row(Session.objects.filter(pk=session.pk))
    assert not EventWords.objects.exists()


def test_a_sweep_of_an_older_version_leaves_no_gap(client: Client, session: Session) -> None:
    count_figures(60)
    append_event(session, {"text": "a zebra"})
    # The older version counts the event without its words, and moves its progress.
    SessionFigures.objects.update_or_create(session=session, defaults={"seq": 1, "is_settled": True})
    Session.objects.update(updated_at=Now() - 9 * DAY)
    FiguresProgress.objects.update(newest=Now())
    assert event_words.events_without_words(99) is None
    while count_figures(60):
        pass
    assert event_words.events_without_words(99) == [] and EventWords.objects.count() == 1


def test_causes_of_failures_are_found_by_staff_who_may_see_them(client: Client, session: Session) -> None:
    Failure.objects.create(
        session=session,
        seq=1,
        day="2026-11-21",
        tool_name="weigh",
        cause="KeyError, /srv/shop.py:12 in weigh",
    )
    staff = sign_in(client, "session")
    assert str(session.pk) not in read(client, list_url("session", "?q=KeyError"))
    User.objects.get(username="staff").user_permissions.add(
        Permission.objects.get(codename="view_error_detail")
    )
    html = read(staff, list_url("session", "?q=KeyError+shop.py"))
    assert "<mark>KeyError</mark>, /srv/<mark>shop</mark>.<mark>py</mark>:12" in html
    search = word_search.Search.of(Session, "KeyError", with_causes=True)
    assert search is not None
    of_causes = replace(search, sources=search.sources[-1:])
    assert of_causes.few_keys() == of_causes.hits_among([session.pk]).keys() == {session.pk}


@pytest.mark.parametrize("few", [0, 99])
def test_12_tools_and_causes_of_errors_are_found(
    client: Client, session: Session, small_slices: Callable[..., None], few: int
) -> None:
    call = {"id": "c-1", "name": "refund_order", "args": {}}
    append_event(session, {"functionCall": call})
    append_event(session, {"functionResponse": {**call, "response": {}}})
    make_job(session, error="No paper in Oslo")
    Invocation.objects.create(
        session=session,
        invocation_id="e-9",
        client_id="m",
        message={},
        error_message="The model is overloaded",
    )
    count_figures(60)
    for n in range(4):  # newer, so the look-ups come to their turn
        other = Session.objects.create(
            app_name="shop", user=session.user, key=f"s-{n}", updated_at=Now() + DAY
        )
        append_event(other, {"text": "nothing"})
    sign_in(client, "session")
    small_slices(2, few, 9)
    for words in ("refund_order", "paper", "overloaded"):
        html = read(client, list_url("session", f"?q={words}"))
        assert str(session.pk) in html and html.count("field-app_name") == 1, words
