"""Records of acts and accesses: their subjects are links with names for staff who may open these, and else keys."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from sessions_app.models import AccountAct, ApiKey, Remit, Session, StaffAccess, StaffAct
from tests.integration.admin.audit_rows import list_url, make_job, page_of, read, sign_in

pytestmark = pytest.mark.django_db
RECORDS = ("staffact", "staffaccess")


def record_all(kind: str, key: object) -> None:
    """Store an act and an access with a subject."""
    names = {"actor_kind": "staff", "actor_name": "grace", "subject_kind": kind, "subject_id": str(key)}
    StaffAct.objects.create(action="stop", **names)
    StaffAccess.objects.create(kind="open", **names)


def pages_of_records() -> list[str]:
    """Return the addresses of all lists and pages of acts and accesses."""
    rows: list[Any] = [*StaffAct.objects.all(), *StaffAccess.objects.all()]
    pages = [reverse(f"admin:sessions_app_{row._meta.model_name}_change", args=[row.pk]) for row in rows]
    return [*pages, *map(list_url, RECORDS)]


def link(url: str, name: str) -> str:
    return f'<a href="{url}"><bdi>{name}</bdi></a>'


def test_the_subject_is_a_link_with_a_name(client: Client, session: Session) -> None:
    sign_in(client, *RECORDS, "session")
    record_all("session", session.pk)
    for url in pages_of_records():
        assert link(page_of(session), "Broken lamp") in read(client, url), url


def test_people_jobs_and_keys_are_links_too(client: Client, session: Session, person: User) -> None:
    sign_in(client, *RECORDS, "tooljob", "user", "accountact", "apikey", rights=())
    job, key = (
        make_job(session),
        ApiKey.objects.create(user=person, name="Laptop", prefix="adk_1", scopes=["read"]),
    )
    record_all("tooljob", job.pk)
    record_all("user", person.pk)
    AccountAct.objects.create(user=person, action="add", subject_kind="apikey", subject_id=str(key.pk))
    job_link = link(reverse("admin:sessions_app_tooljob_change", args=[job.pk]), str(job))
    person_link = link(reverse("admin:auth_user_change", args=[person.pk]), "ada")
    for model in RECORDS:
        html = read(client, list_url(model))
        assert job_link in html and person_link in html, model
    key_link = link(reverse("admin:sessions_app_apikey_change", args=[key.pk]), str(key))
    assert key_link in read(client, list_url("accountact"))


@pytest.mark.parametrize(
    ("models", "rights"), [((), ("view_text",)), (("session",), ())], ids=["no sessions", "no texts"]
)
def test_staff_who_may_not_open_the_subject_read_its_key(
    client: Client, session: Session, models: tuple[str, ...], rights: tuple[str, ...]
) -> None:
    sign_in(client, *RECORDS, *models, rights=rights)
    record_all("session", session.pk)
    for url in pages_of_records():
        html = read(client, url)
        assert str(session.pk) in html and page_of(session) not in html, url
        assert "Broken lamp" not in html, url


def test_a_subject_outside_of_the_remit_is_its_key(client: Client, session: Session) -> None:
    sign_in(client, *RECORDS, "session")
    group = Group.objects.create(name="clerks")
    User.objects.get(username="staff").groups.add(group)
    Remit.objects.create(group=group, app_name="shop")
    record_all("session", session.pk)
    for url in pages_of_records():
        assert str(session.pk) not in client.get(url).content.decode(), url
    own = {"actor_kind": "staff", "actor_id": str(User.objects.get(username="staff").pk)}
    StaffAct.objects.update(**own)
    StaffAccess.objects.update(**own)
    for url in pages_of_records():
        html = read(client, url)
        assert str(session.pk) in html and "Broken lamp" not in html, url


def test_the_subject_of_a_list_of_an_unknown_kind_or_that_is_gone_is_its_key(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root"))
    for kind, key in (("session", ""), ("session", "no-uuid"), ("tooljob", 2**70), ("state", "total")):
        record_all(kind, key)
    for url in pages_of_records():
        read(client, url)
    assert "no-uuid" in read(client, list_url("staffact"))


@pytest.mark.parametrize("model", RECORDS)
def test_the_number_of_queries_does_not_grow_with_the_records(
    client: Client, person: User, model: str, django_assert_max_num_queries: Any
) -> None:
    client.force_login(User.objects.create_superuser("root"))
    counts = []
    for number in range(12):
        session = Session.objects.create(app_name="help_desk", user=person, key=f"s-{number}")
        record_all("session", session.pk)
        record_all("tooljob", make_job(session).pk)
        record_all("user", person.pk)
        with django_assert_max_num_queries(13) as queries:
            read(client, list_url(model))
        counts.append(len(queries))
    assert counts[0] == counts[-1]
