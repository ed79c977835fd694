"""Query strings of lists and pages: look-ups that no filter offers are refused, and nothing odd is a 500."""

from __future__ import annotations

import logging
from itertools import cycle, product

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import Session
from tests.integration.admin.audit_rows import append_event, page_of

pytestmark = pytest.mark.django_db
LISTS = [
    f"/admin/sessions_app/{model._meta.model_name}/"
    for model in admin.site._registry
    if model._meta.app_label == "sessions_app"
]
WITHOUT_HIDDEN_COLUMNS = ("/admin/sessions_app/remit/", "/admin/sessions_app/knowledgebase/")
OVERVIEW = "/admin/sessions_app/dayfigure/"
"""A page of its own, which reads no look-ups."""
LOOKUPS = (
    "session__user__password__startswith",
    "user__password__regex",
    "body__contains",
    "session__events__body__contains",
    "error_detail__contains",
    "past_attempts__0__detail__contains",
    "detail__regex",
    "credentials__startswith",
    "actor_name__regex",
    "state__a",
)
OWN_COLUMNS = ("id__gt", "app_name__regex")
"""Look-ups of columns that the list of remits, which staff edit, shows to all who open it."""
ODD = ("%00", "%ED%A0%80", "9" * 400, "%E2%80%AE", "-1", "2026-13-45", "x" * 3000)


@pytest.fixture
def root(client: Client, caplog: pytest.LogCaptureFixture) -> Client:
    caplog.set_level(logging.CRITICAL, "django.security")  # hundreds of refusals, each with a traceback
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_a_look_up_that_no_filter_offers_is_refused(root: Client) -> None:
    """Such look-ups would reveal a column that no page shows, character by character."""
    for path, name in product([path for path in LISTS if path != OVERVIEW], LOOKUPS + OWN_COLUMNS):
        if path in WITHOUT_HIDDEN_COLUMNS and name in OWN_COLUMNS:
            continue
        answer = root.get(f"{path}?{name}=1")
        if answer.status_code != 400:
            # A list answers an unknown name by showing itself without the query string.
            assert answer.status_code == 302, (path, name)
            assert answer.headers["Location"].endswith("?e=1"), (path, name)


def test_an_odd_value_of_a_filter_is_answered(root: Client) -> None:
    """A name that the list refuses gets one value: the list does not look at the value.

    Any other gets three, which differ from list to list: all lists read the values by the same code.
    """
    names = ("status", "action", "actor_kind", "at__gte", "created_at__lt", "p", "q", "kind")
    first, *others = ODD[::-1]
    next_value = cycle(others)
    for path in LISTS:
        more = [next(next_value), next(next_value)]
        for name in names:
            status = root.get(f"{path}?{name}={first}").status_code
            assert status < 500, (path, name)
            if status == 400:
                continue
            for value in more:
                assert root.get(f"{path}?{name}={value}").status_code < 500, (path, name, value)
        assert root.get(f"{path}?status=%00").status_code == 400, path


def test_an_odd_value_of_a_session_page_is_answered(root: Client, session: Session) -> None:
    append_event(session, {"text": "hello"})
    names = ("view", "kind", "author", "invocation", "branch", "tool", "failed", "q", "at", "event", "page")
    answers = {
        (name, value): root.get(page_of(session, f"?{name}={value}")).status_code
        for name in names
        for value in ODD
    }
    assert {pair: status for pair, status in answers.items() if status >= 500} == {}
