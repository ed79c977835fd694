"""Home page of the admin: what waits, failed and runs for the user who looks, and the models in four groups."""

from __future__ import annotations

import html as html_module
import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urljoin

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from adk_site.embedded.paths import CHECKOUT
from sessions_app.base import actors
from sessions_app.history.figures.batches import count_figures
from sessions_app.models import (
    AnswerRequest,
    DayFigure,
    DayMetric,
    Evaluation,
    Failure,
    Invocation,
    Remit,
    Session,
    SessionFigures,
)
from tests.integration.admin.audit_rows import (
    HOSTILE,
    append_event,
    list_url,
    make_job,
    page_of,
    read,
    sign_in,
)
from tests.integration.admin.test_large_lists import statements_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]
HOME = "/admin/"
MODELS = ("answerrequest", "dayfigure", "failure", "session", "invocation", "tooljob")


def fill(session: Session, name: str = "1") -> None:
    """Give the session a request that waits, failures, and work that runs."""
    Invocation.objects.create(
        session=session, invocation_id=f"e-{name}", client_id=f"m-{name}", message={}, status="waiting"
    )
    AnswerRequest.objects.create(
        session=session, invocation_id=f"e-{name}", call_id=f"c-{name}", kind="confirmation",
        agent_name="clerk", tool_name="refund", effect=f"Refund order {name}", answered_by="person",
        asked_at=timezone.now() - timedelta(hours=3),
    )  # fmt: skip
    for number, age in enumerate((0, 9)):
        failed = Invocation.objects.create(
            session=session, invocation_id=f"f-{name}-{number}", client_id=f"f-{name}-{number}", message={},
            status="failed",
        )  # fmt: skip
        Invocation.objects.filter(pk=failed.pk).update(created_at=timezone.now() - timedelta(days=age))
        day = timezone.localdate() - timedelta(days=age)
        Failure.objects.create(
            session=session, seq=1, day=day, tool_name="refund", cause="Order # is closed."
        )
    make_job(session, status="running")
    for metric, amount in ((DayMetric.TOKENS, 700), (DayMetric.COST, 1.5)):
        app = f"{session.app_name}-{name}"
        DayFigure.objects.create(day=timezone.localdate(), app_name=app, metric=metric, amount=amount)
    SessionFigures.objects.update_or_create(session=session, defaults={"flaw_seq": 1})


def tiles_of(page: str) -> dict[str, str]:
    found = re.findall(r"<dt>([^<]*)</dt>\s*<dd>(?:<a [^>]*>)?([^<]*)", page)
    return {title: number.strip() for title, number in found}


def parts_of(page: str) -> set[str]:
    return set(re.findall(r'<h2 id="(\w+)"', page))


def test_the_home_page_shows_what_waits_what_failed_what_is_broken_and_what_runs(
    client: Client, session: Session
) -> None:
    fill(session)
    sign_in(client, *MODELS, rights=("view_text", "approve_answerrequest"))
    assert parts_of(read(client, HOME)) == {"waits", "failed", "broken", "runs", "today"}
    read(client, page_of(session))
    page = read(client, HOME)
    assert parts_of(page) == {"waits", "failed", "broken", "runs", "today", "opened"}
    assert tiles_of(page) == {
        "I may answer": "1", "Waiting for an answer": "1", "Failed invocations": "1", "Failed jobs": "0",
        "Failures": "1", "Running now": "0", "Waiting in the queue": "0", "Running jobs": "1", "Queued jobs": "0",
        "Cost": "1.50", "Tokens": "700",
    }  # fmt: skip
    assert "Refund order 1" in page and "ada, 3 h" in page and "oldest: 3 h" in page
    assert "refund: Order # is closed." in page and page.count(page_of(session)) == 2
    assert "What needs you | Agents</title>" in page
    for url in set(re.findall(r'href="(/admin/sessions_app/[^"]*)"', page)):
        assert client.get(html_module.unescape(url)).status_code == 200, url


def test_the_home_page_searches_the_sessions_for_staff_who_may_view_them(client: Client) -> None:
    form = f'action="{list_url("session")}" role="search"'
    assert form in read(sign_in(client, "session"), HOME)
    client.force_login(User.objects.create_user("other", is_staff=True))
    assert form not in read(client, HOME)


@pytest.mark.parametrize(
    ("models", "rights", "parts"),
    [
        ((), (), set()),
        (("session",), (), set()),
        (("session",), ("view_text",), {"broken"}),
        (("invocation", "tooljob"), (), {"failed", "runs"}),
        (("dayfigure",), (), {"today"}),
        (("answerrequest", "failure"), (), set()),
        (("answerrequest", "failure"), ("view_text",), {"waits", "failed"}),
    ],
)
def test_each_part_is_for_staff_who_may_see_its_list(
    client: Client, session: Session, models: tuple[str, ...], rights: tuple[str, ...], parts: set[str]
) -> None:
    fill(session)
    page = read(sign_in(client, *models, rights=rights), HOME)
    assert parts_of(page) == parts
    may_read = "view_text" in rights
    for words, list_ in (
        ("Refund order", "answerrequest"),
        ("is closed", "failure"),
        ("Broken lamp", "session"),
    ):
        assert (words in page) == (may_read and list_ in models), words
    for url in set(re.findall(r'href="(/admin/sessions_app/[^"]*)"', page)):
        assert client.get(html_module.unescape(url)).status_code == 200, url


def test_the_home_page_has_only_rows_within_the_remits(
    client: Client, session: Session, person: User
) -> None:
    other = Session.objects.create(app_name="travel", user=person, key="other", title="A trip")
    fill(session, "1")
    fill(other, "2")
    sign_in(client, *MODELS, rights=("view_text", "approve_answerrequest"))
    read(client, page_of(session))
    group = Group.objects.create(name="Travel")
    User.objects.get(username="staff").groups.add(group)
    Remit.objects.create(group=group, app_name="travel")
    page = read(client, HOME)
    assert "Refund order 2" in page and "A trip" in page and "Approvals inbox (1)" in page
    assert "Refund order 1" not in page and "Broken lamp" not in page and "opened" not in parts_of(page)
    numbers = tiles_of(page)
    assert [numbers[name] for name in ("I may answer", "Failed invocations", "Failures", "Running jobs")] == [
        "1"
    ] * 4


def test_the_queries_of_the_home_page_do_not_grow_and_read_no_log(
    client: Client, session: Session, person: User
) -> None:
    sign_in(client, *MODELS, rights=("view_text", "approve_answerrequest"))
    counts = []
    for number in range(3):
        more = Session.objects.create(app_name="help_desk", user=person, key=f"more-{number}")
        fill(more, str(number))
        append_event(more, {"text": "x"})
        read(client, page_of(more))
        statements = statements_of(client, HOME)
        assert not [statement for statement in statements if '"sessions_app_event"' in statement]
        counts.append(len(statements))
    assert len(set(counts)) == 1 and counts[0] <= 26, counts


def test_secrets_are_masked_and_texts_are_inert_on_the_home_page(client: Client, session: Session) -> None:
    fill(session)
    AnswerRequest.objects.update(effect=f"{HOSTILE} api_key=Tr0ub4dor \u202e")
    Session.objects.filter(pk=session.pk).update(title=HOSTILE)
    sign_in(client, *MODELS)
    read(client, page_of(session))
    page = read(client, HOME)
    assert "<script>alert" not in page and "Tr0ub" not in page and "\u202e" not in page
    assert page.count("&lt;script&gt;alert") == 3


def test_the_models_stand_in_four_groups_and_the_menu_counts_what_the_user_may_answer(
    client: Client, session: Session, settings: Any
) -> None:
    fill(session)
    admin = User.objects.create_superuser("root")
    client.force_login(admin)
    page = read(client, HOME)
    captions = re.findall(r'<a href="([^"]*)" class="section"[^>]*>([^<]*)</a>', page.replace("\n", " "))
    assert [title.strip() for _url, title in captions] == ["Conversations", "Work", "Evidence", "Settings"]
    shown = re.findall(r'<tr class="model-(\w+)', page)
    assert len(shown) == len(set(shown)) >= 26 and shown[:2] == ["session", "event"]
    assert shown.index("answerrequest") < shown.index("staffact") < shown.index("user")
    assert "Approvals inbox (1)" in page
    assert "Approvals inbox (1)" in read(client, reverse("admin:auth_user_changelist"))
    Session.objects.filter(pk=session.pk).update(user=admin)
    AnswerRequest.objects.update(answered_by="staff:sessions_app.cancel_invocation")
    assert "Approvals inbox (" not in read(client, HOME)
    settings.ADK = {**settings.ADK, "site_name": "The <shop>"}
    assert "| The &lt;shop&gt;</title>" in read(client, HOME)


class Reader:
    """Member of staff at the first page, who sends searches and clicks links."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.open(HOME)

    def open(self, url: str) -> None:
        self.url = url
        self.page = read(self.client, url)

    def search(self, words: str) -> None:
        """Send the search of the page."""
        form = re.search(r'<form [^>]*action="([^"]*)" role="search"', self.page)
        assert form, "The page has no search."
        self.open(f"{form[1]}?{urlencode({'q': words})}")

    def click(self, name: str, place: str = "") -> None:
        """Follow the first link with this name, or the number of the tile with this title.

        Args:
            place: id of the element in which the link is, or after which it comes.
        """
        page = self.page
        if place:
            page = page.split(f' id="{place}"', 1)[1]
        tiles = re.findall(r'<dt>([^<]*)</dt>\s*<dd><a href="([^"]*)"', page)
        links = re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', page, re.DOTALL)
        named = [(" ".join(re.sub("<[^>]*>", "", content).split()), url) for url, content in links]
        found = [url for title, url in tiles + named if title == name]
        assert found, f"The page has no link {name!r}."
        self.open(urljoin(self.url, html_module.unescape(found[0])))


WAYS = {
    "What did the agent tell this person, and why?": (
        ("search: ada", "Broken lamp", "As the person saw it"),
        ("Approved by", "It is refunded."),
    ),
    "Which agent said this?": (("Invocations",), ("help_desk:1.4@3fa9c2d1b0e4",)),
    "Who approved this refund?": (("search: ada", "Broken lamp"), ("approved #4 by <bdi>grace</bdi>",)),
    "Which tool failed most today?": (("Overview",), ("Tools that fail", "refund")),
    "Which sessions, apps and people cost most?": (("Cost",), ("Cost by app and person", "help_desk", "ada")),
    "Who mentioned order 1001?": (("search: order 1001",), ("Broken lamp", "<mark>1001</mark>")),
    "Is it still running?": (("Tool jobs",), ("Follow changes", 'data-status="running"')),
    "How is runaway work stopped?": (("Tool jobs", "report", "Stop…"), ('name="reason"',)),
    "What was the state when it went wrong?": (
        ("search: ada", "Broken lamp", "event-5: State after this event"),
        ("State after event #5", "<dt><code>refunded</code>", ">40</pre></dd>"),
    ),
    "How is a conversation exported?": (("Sessions", "Export…"), ('name="reason"',)),
    "How is a person's data deleted?": (("Users", "Delete…"), ('name="reason"',)),
    "Has the agent become worse?": (("Evaluations",), ("refunds",)),
}
"""Clicks and searches from the first page to the answer of each question of `docs/audit.md`, and what is there."""


def test_each_of_the_twelve_questions_is_answered_after_at_most_three_clicks(
    client: Client, session: Session
) -> None:
    table = re.findall(
        r"^\| ([^|]*\?) \| (\d) \|", (CHECKOUT / "docs" / "audit.md").read_text(), re.MULTILINE
    )
    documented = {question: int(clicks) for question, clicks in table}
    assert documented.keys() == WAYS.keys() and max(documented.values()) <= 3
    fill(session)
    refund_by_staff(session)
    while count_figures(60):
        pass
    client.force_login(User.objects.create_superuser("root"))
    for question, (steps, answers) in WAYS.items():
        assert len(steps) <= documented[question], question
        reader = Reader(client)
        for step in steps:
            before = reader.page
            if step.startswith("search: "):
                reader.search(step.removeprefix("search: "))
            elif step.startswith("event-"):
                place, name = step.split(": ")
                reader.click(name, place)
            else:
                reader.click(step)
        page = " ".join(reader.page.split())
        missing = [answer for answer in answers if answer not in page]
        assert missing == [], (question, reader.url)
        assert any(answer not in before for answer in answers), f"{question} is answered before the last step"


def refund_by_staff(session: Session) -> None:
    """Append a message, a refund that staff have approved, and the answer; store figures and an evaluation."""
    call = {"id": "c-0", "name": "refund", "args": {"order": "1001", "amount": 40}}
    asked = {"id": "r-0", "name": "adk_request_confirmation", "args": {"originalFunctionCall": call}}
    reason = "It is under guarantee"
    by = actors.Actor(actors.ActorKind.STAFF, "grace").columns()
    for name, columns in (("e-0", {}), ("e-1-answer", by | {"reason": reason})):
        Invocation.objects.create(
            session=session, invocation_id=name, client_id=name, message={}, status="completed",
            agent_version="help_desk:1.4@3fa9c2d1b0e4", **columns,
        )  # fmt: skip
    given = {"id": "r-0", "name": asked["name"], "response": {"confirmed": True, "reason": reason}}
    done = {"id": "c-0", "name": "refund", "response": {"result": "ok"}}
    append_event(session, {"text": "Where is order 1001?"}, author="user", invocationId="e-0")
    append_event(session, {"functionCall": call}, invocationId="e-0")
    append_event(session, {"functionCall": asked}, invocationId="e-0", longRunningToolIds=["r-0"])
    append_event(session, {"functionResponse": given}, author="user", invocationId="e-1-answer")
    delta = {"stateDelta": {"refunded": 40}}
    append_event(session, {"functionResponse": done}, invocationId="e-0", actions=delta)
    # The state is another one now than after the refund.
    append_event(
        session, {"text": "It is refunded."}, invocationId="e-0", actions={"stateDelta": {"refunded": 0}}
    )
    for metric in (DayMetric.CALLS, DayMetric.FAILURES):
        figure = {"day": timezone.localdate(), "app_name": session.app_name, "name": "refund"}
        DayFigure.objects.create(metric=metric, amount=1, **figure)
    Evaluation.objects.create(app_name=session.app_name, set_id="refunds", config={}, case_count=1)
