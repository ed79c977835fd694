"""Badge of a session's log: green as long as the log is as it was written, and red at the place where it is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from runtime.events import Event as AdkEvent
from sessions_app.history.evidence.integrity import check_some_logs
from sessions_app.models import Event, Session
from sessions_app.process import threads
from sessions_app.store import DjangoSessionService
from tests.fakes import text_content
from tests.integration.admin.audit_rows import page_of, read, sign_in
from tests.integration.tampering import tamper


@pytest.fixture
def written(transactional_db: None, background_end: None) -> Session:
    """A session of four events that its service appended."""

    async def write() -> str:
        service = DjangoSessionService()
        person = await User.objects.acreate_user("ada")
        session = await service.create_session(app_name="shop", user_id=str(person.pk))
        for number in range(4):
            await service.append_event(
                session, AdkEvent(author="clerk", content=text_content(f"no. {number}"))
            )
        return session.id

    return Session.objects.get(key=threads.run(write()))


def swap() -> None:
    for seq, other in ((2, -1), (3, 2), (-1, 3)):
        Event.objects.filter(seq=seq).update(seq=other)


CHANGES: dict[str, tuple[Callable[[], object], str, int]] = {
    "altered": (lambda: Event.objects.filter(seq=2).update(body={"author": "x"}), "Event #2 was altered", 2),
    "removed": (lambda: Event.objects.filter(seq=2).delete(), "Events before #3 are missing", 3),
    "reordered": (swap, "Event #2 was altered", 2),
    "cut off": (lambda: Event.objects.filter(seq=4).delete(), "Events up to #4 were cut off", 4),
    "altered at the end": (lambda: Event.objects.filter(seq=4).update(body={}), "Event #4 was altered", 4),
}


def badge_of(client: Client, session: Session) -> str:
    return read(client, reverse("admin:sessions_app_session_integrity", args=[session.pk]))


def test_a_log_as_it_was_written_is_green(client: Client, written: Session) -> None:
    sign_in(client, "session")
    assert "audit-good" in badge_of(client, written)
    assert reverse("admin:sessions_app_session_integrity", args=[written.pk]) in read(
        client, page_of(written)
    )


@pytest.mark.parametrize("name", CHANGES)
def test_21_a_log_that_was_changed_in_sql_is_red_at_its_place(
    client: Client, written: Session, name: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    change, words, seq = CHANGES[name]
    tamper(change)
    sign_in(client, "session")
    with django_assert_max_num_queries(13):
        html = badge_of(client, written)
    assert words in html and "audit-bad" in html and "audit-good" not in html
    assert f'href="{page_of(written)}?event={seq}#event-{seq}"' in html


@pytest.mark.parametrize("by_night", [True, False])
def test_a_log_with_a_flaw_is_on_the_home_page_from_its_check_until_it_is_whole_again(
    client: Client, written: Session, by_night: bool
) -> None:
    sign_in(client, "session")

    def check() -> None:
        check_some_logs() if by_night else badge_of(client, written)

    body = Event.objects.get(seq=2).body
    # Also true before the first check.
    assert "No check has found a changed log." in read(client, "/admin/")
    check()
    assert "No check has found a changed log." in read(client, "/admin/")
    tamper(lambda: Event.objects.filter(seq=2).update(body={"author": "x"}))
    check()
    assert f"{page_of(written)}?event=2#event-2" in read(client, "/admin/")
    user = User.objects.get(username="staff")
    user.user_permissions.remove(Permission.objects.get(codename="view_text"))
    assert page_of(written) not in read(client, "/admin/")
    user.user_permissions.add(Permission.objects.get(codename="view_text"))
    tamper(lambda: Event.objects.filter(seq=2).update(body=body))
    check()
    assert "No check has found a changed log." in read(client, "/admin/")
