"""Home page of the admin: what waits, failed and runs for the user who looks, and the models in four groups."""

from __future__ import annotations

import html as html_module
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from sessions_app.models import (
    AnswerRequest,
    DayFigure,
    DayMetric,
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

pytestmark = pytest.mark.django_db
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
    found = re.findall(r"<dt>([^<]*)</dt><dd>(?:<a [^>]*>)?([^<]*)", page)
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
