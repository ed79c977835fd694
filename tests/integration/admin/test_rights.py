"""Rights of staff: reading the words of conversations is one of its own, and remits narrow all of them."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.db.models import ProtectedError
from django.test import Client
from django.urls import reverse

from sessions_app.migrations._groups import create_groups
from sessions_app.models import (
    Annotation,
    Invocation,
    LegalHold,
    Remit,
    Session,
    SessionAct,
    ShareLink,
    StaffAccess,
    StaffAct,
    Tombstone,
)
from tests.integration.admin.audit_rows import (
    MODELS,
    append_event,
    create_one_of_each,
    list_url,
    make_job,
    page_of,
    read,
    sign_in,
)

pytestmark = pytest.mark.django_db
WORDS = ("Broken lamp", "The bulb", "Water the plants", "notes.txt", "Ada's name")


@pytest.fixture
def rows(session: Session, person: User) -> dict[str, Any]:
    append_event(session, {"text": "The bulb"}, author="user")
    made = create_one_of_each(session, person)
    made["userstate"].state = {"name": "Ada's name"}
    made["userstate"].save()
    return made


def other_session(person: User) -> Session:
    return Session.objects.create(app_name="shop", user=person, key="s-2", title="Red boots")


def page(model: str, row: Any, name: str = "change") -> str:
    return reverse(f"admin:sessions_app_{model}_{name}", args=[row.pk])


def with_remit(
    client: Client, *models: str, rights: tuple[str, ...] = ("view_text",), **remit: Any
) -> Client:
    sign_in(client, *models, rights=rights)
    group = Group.objects.create(name="clerks")
    User.objects.get(username="staff").groups.add(group)
    Remit.objects.create(group=group, **remit)
    return client


def test_17_without_the_right_no_page_has_words_of_a_conversation(
    client: Client, rows: dict[str, Any]
) -> None:
    sign_in(client, *MODELS, rights=())
    for model in MODELS:
        for url in (list_url(model), page(model, rows[model])):
            response = client.get(url)
            is_refused = response.status_code == 403
            assert is_refused or (response.status_code == 200 and "model-session" not in url), url
            html = response.content.decode()
            assert not any(word in html for word in WORDS), url
    assert "help_desk s-1" in read(client, list_url("tooljob"))


def test_without_the_right_no_row_links_to_a_page_that_is_refused(
    client: Client, rows: dict[str, Any]
) -> None:
    act = SessionAct.objects.create(
        session=rows["session"], seq=1, action="stop", actor_kind="staff", actor_name="root"
    )
    run = f"schedule:{rows['scheduledtask'].pk}:1"
    Invocation.objects.create(session=rows["session"], invocation_id="e-2", client_id=run, message={})
    sign_in(client, *MODELS, "sessionact", rights=())
    readable = {**rows, "sessionact": act}
    pages_by_link = {}
    for model in {*readable} - {"session", "event", "artifact", "appstate", "userstate"}:
        for url in (list_url(model), page(model, readable[model])):
            links = re.findall(r'href="(/admin/sessions_app/[^"]+)"', read(client, url))
            pages_by_link.update(dict.fromkeys(links, url))
    refused = {link for link in pages_by_link if client.get(unescape(link)).status_code == 403}
    assert {link: pages_by_link[link] for link in refused} == {}
    assert page_of(rows["session"]) not in read(client, list_url("session"))


def test_accounts_are_links_for_staff_who_may_open_them(client: Client, rows: dict[str, Any]) -> None:
    sign_in(client, *MODELS)
    account = reverse("admin:auth_user_change", args=[rows["userstate"].user_id])
    for expected in (False, True):
        for model in ("artifact", "feedback", "userstate"):
            html = read(client, page(model, rows[model]))
            assert (account in html, "ada" in html) == (expected, True), model
        User.objects.get(username="staff").user_permissions.add(Permission.objects.get(codename="view_user"))


def test_without_the_right_nobody_searches(client: Client, rows: dict[str, Any]) -> None:
    sign_in(client, *MODELS, rights=())
    for model in ("session", "invocation", "tooljob", "scheduledtask", "feedback"):
        assert client.get(list_url(model, "?q=lamp")).status_code == 403
        assert 'name="q"' not in read(client, list_url(model))


def test_the_right_alone_opens_nothing(client: Client, rows: dict[str, Any]) -> None:
    sign_in(client, rights=("view_text", "approve_answerrequest", "export_data", "unmask_data", "erase_data"))
    for model in MODELS:
        assert client.get(list_url(model)).status_code == 403
        assert client.get(page(model, rows[model])).status_code == 403


def test_staff_see_the_apps_of_their_remit_only(client: Client, rows: dict[str, Any], person: User) -> None:
    with_remit(client, *MODELS, app_name="shop")
    shop = other_session(person)
    append_event(shop, {"text": "Boots"})
    for model in MODELS:
        html = read(client, list_url(model))
        assert "help_desk" not in html and "Broken lamp" not in html, model
        assert client.get(page(model, rows[model]), follow=False).status_code in (302, 404), model
    assert "Red boots" in read(client, list_url("session"))
    assert "Boots" in read(client, page_of(shop))
    assert "Broken lamp" not in read(client, list_url("session", "?q=lamp"))
    assert client.get(page_of(rows["session"])).status_code == 404
    for url in (
        reverse("admin:sessions_app_session_event_raw", args=[rows["session"].pk, 1]),
        page("artifact", rows["artifact"], "download"),
    ):
        assert client.get(url).status_code == 404, url


def test_a_remit_names_the_people_whose_sessions_are_seen(client: Client, session: Session) -> None:
    customers = Group.objects.create(name="customers")
    eve = User.objects.create_user("eve")
    eve.groups.add(customers)
    mine = Session.objects.create(app_name="help_desk", user=eve, key="s-9", title="Green lamp")
    with_remit(client, "session", people=customers)
    html = read(client, list_url("session"))
    assert "Green lamp" in html and "Broken lamp" not in html
    assert client.get(page_of(session)).status_code == 404
    assert client.get(page_of(mine)).status_code == 200


def test_no_filter_names_what_is_outside_of_a_remit(
    client: Client, rows: dict[str, Any], person: User
) -> None:
    customers = Group.objects.create(name="customers")
    person.groups.add(customers)
    eve = User.objects.create_user("eve")
    hidden = Session.objects.create(app_name="secret_app", user=eve, key="s-3")
    make_job(hidden, tool_name="secret_tool")
    with_remit(client, *MODELS, people=customers)
    for model in {*MODELS} - {"appstate"}:
        html = read(client, list_url(model))
        assert "secret_app" not in html and "secret_tool" not in html, model
    jobs = read(client, list_url("tooljob"))
    assert "?tool_name=report" in jobs and "?session__app_name=help_desk" in jobs


def test_a_remit_shows_what_staff_did_and_read_within_it_and_their_own(
    client: Client, rows: dict[str, Any], person: User
) -> None:
    shop = other_session(person)
    with_remit(client, "staffact", "staffaccess", "tombstone", app_name="shop")
    own = User.objects.get(username="staff").pk
    job = make_job(shop)
    subjects = [
        ("session", rows["session"].pk), ("session", shop.pk), ("tooljob", rows["tooljob"].pk), ("tooljob", job.pk),
        ("appstate", "help_desk"), ("appstate", "shop"), ("session", ""), ("group", 1), ("user", person.pk),
    ]  # fmt: skip
    for number, (kind, key) in enumerate(subjects):
        values = {
            "subject_kind": kind,
            "subject_id": str(key),
            "reason": f"reason-{number}",
            "actor_name": "root",
        }
        StaffAct.objects.create(action="stop", actor_kind="staff", actor_id="0", **values)
        StaffAccess.objects.create(kind="open", actor_kind="staff", actor_id="0", **values)
    mine = {"subject_kind": "group", "subject_id": "7", "actor_kind": "staff", "actor_id": str(own)}
    StaffAct.objects.create(action="add", reason="reason-mine", **mine)
    StaffAccess.objects.create(kind="search", reason="reason-mine", **mine)
    Tombstone.objects.create(kind="session", subject_id="gone-1", user_id="1", reason="x")
    Tombstone.objects.create(kind="session", subject_id="gone-2", user_id="1", reason="x", by_id=own)
    for model in ("staffact", "staffaccess"):
        shown = set(re.findall(r"reason-\w+", read(client, list_url(model))))
        assert shown == {"reason-1", "reason-3", "reason-5", "reason-mine"}, model
    tombstones = read(client, list_url("tombstone"))
    assert "gone-2" in tombstones and "gone-1" not in tombstones
    Remit.objects.all().delete()
    assert "reason-0" in read(client, list_url("staffaccess")) and "gone-1" in read(
        client, list_url("tombstone")
    )


def test_staff_with_a_remit_do_not_read_the_metrics_of_all(client: Client, session: Session) -> None:
    with_remit(client, "invocation", app_name="shop")
    assert client.get("/metrics").status_code == 403
    Remit.objects.all().delete()
    assert client.get("/metrics").status_code in (200, 501)


def test_a_privacy_officer_finds_exports_and_erases_people(client: Client, session: Session) -> None:
    # A test that ran earlier in this process may have emptied the tables.
    create_groups(apps, None)
    officer = User.objects.create_user("officer", is_staff=True)
    officer.groups.add(Group.objects.get(name="privacy officer"))
    root = User.objects.create_superuser("root")
    client.force_login(officer)
    users = read(client, reverse("admin:auth_user_changelist"))
    person = session.user
    for name in ("export", "delete"):
        url = reverse(f"admin:auth_user_{name}", args=[person.pk])
        assert url in users and "Reason" in read(client, url)
    delete = reverse("admin:auth_user_delete", args=[root.pk])
    assert client.post(delete, {"reason": "Because.", "post": "yes"}).status_code == 403
    delete = reverse("admin:auth_user_delete", args=[person.pk])
    assert client.post(delete, {"reason": "She asked.", "post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=person.pk).exists() and User.objects.filter(pk=root.pk).exists()


def test_several_remits_add_up_and_a_superuser_has_none(
    client: Client, rows: dict[str, Any], person: User
) -> None:
    other_session(person)
    with_remit(client, "session", app_name="shop")
    Remit.objects.create(group=Group.objects.get(name="clerks"), app_name="help_desk")
    html = read(client, list_url("session"))
    assert "Red boots" in html and "Broken lamp" in html
    User.objects.update(is_superuser=True)
    Remit.objects.filter(app_name="help_desk").delete()
    assert "Broken lamp" in read(client, list_url("session"))


def test_staff_act_within_their_remit_only(client: Client, rows: dict[str, Any], person: User) -> None:
    rights = ("view_text", "cancel_tooljob", "set_legalhold", "lift_legalhold", "revoke_sharelink")
    with_remit(client, *MODELS, "legalhold", "sharelink", rights=rights, app_name="shop")
    hold = LegalHold.objects.create(session=rows["session"], reason="A court asked.")
    link = ShareLink.objects.create(session=rows["session"])
    assert client.post(page("tooljob", rows["tooljob"], "stop")).status_code == 404
    assert client.post(page("legalhold", hold, "lift"), {"reason": "x"}).status_code == 404
    assert client.post(page("sharelink", link, "revoke"), {"reason": "x"}).status_code == 404
    add = reverse("admin:sessions_app_legalhold_add")
    assert "Select a valid choice" in read_posted(client, add, {"session": rows["session"].pk, "reason": "x"})
    assert not StaffAct.objects.exists()
    assert LegalHold.objects.count() == 1


def test_people_outside_of_a_remit_are_neither_seen_nor_deleted(client: Client, session: Session) -> None:
    customers = Group.objects.create(name="customers")
    eve = User.objects.create_user("eve")
    eve.groups.add(customers)
    with_remit(client, "session", rights=("erase_data", "delete_user", "view_user"), people=customers)
    users = reverse("admin:auth_user_changelist")
    assert "eve" in read(client, users) and session.user.get_username() not in read(client, users)
    for key in (session.user.pk, 2**30):
        for name in ("change", "history", "delete"):
            assert client.get(reverse(f"admin:auth_user_{name}", args=[key])).status_code == 404, (key, name)
        delete = reverse("admin:auth_user_delete", args=[key])
        assert client.post(delete, {"reason": "They asked."}).status_code == 404, key
    assert User.objects.filter(pk=session.user.pk).exists()
    Remit.objects.update(people=None, app_name="shop")
    assert "eve" not in read(client, users)


def test_labels_are_offered_with_the_right_to_read_them_and_within_the_remit(
    client: Client, session: Session, person: User
) -> None:
    Annotation.objects.create(session=session, label="fraud", by_name="root")
    Annotation.objects.create(session=other_session(person), label="refunds", by_name="root")
    with_remit(client, "session", rights=("view_text",), app_name="shop")
    assert "?label=" not in read(client, list_url("session"))
    staff = User.objects.get(username="staff")
    staff.user_permissions.add(Permission.objects.get(codename="view_annotation"))
    html = read(client, list_url("session"))
    assert "?label=refunds" in html and "fraud" not in html


def read_posted(client: Client, url: str, data: dict[str, Any]) -> str:
    response = client.post(url, data)
    assert response.status_code == 200
    return response.content.decode()


def test_a_group_with_a_remit_cannot_be_deleted_so_that_nobody_sees_more(session: Session) -> None:
    group = Group.objects.create(name="clerks")
    Remit.objects.create(group=group, app_name="shop")
    with pytest.raises(ProtectedError):
        group.delete()


def test_remits_are_given_in_the_admin_and_recorded(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root"))
    group = Group.objects.create(name="clerks")
    add = reverse("admin:sessions_app_remit_add")
    assert client.post(add, {"group": group.pk, "app_name": "shop"}).status_code == 302
    assert "already exists" in read_posted(client, add, {"group": group.pk, "app_name": "shop"})
    assert StaffAct.objects.get().subject_kind == "remit"


def test_the_groups_are_created_once_and_a_changed_group_stays_as_it_is() -> None:
    Group.objects.all().delete()
    create_groups(apps, None)
    rights = {
        group.name: set(group.permissions.values_list("codename", flat=True)) for group in Group.objects.all()
    }
    assert set(rights) == {"auditor", "operator", "privacy officer"}
    assert all({"view_dayfigure", "view_evaluation", "view_webhook"} <= rights[name] for name in rights)
    assert "view_text" not in rights["operator"] and "cancel_tooljob" in rights["operator"]
    assert {"view_text", "export_data"} <= rights["auditor"]
    assert {"export_data", "unmask_data", "erase_data", "set_legalhold"} <= rights["privacy officer"]
    writing = {
        right for of in rights.values() for right in of if right.startswith(("add_", "change_", "delete_"))
    }
    assert writing == {"add_annotation", "delete_annotation", "add_casefile", "delete_user"}
    Group.objects.get(name="auditor").permissions.clear()
    create_groups(apps, None)
    assert not Group.objects.get(name="auditor").permissions.exists()
    assert Group.objects.count() == 3


@pytest.mark.parametrize(
    ("rights", "name", "missing"),
    [
        ((), "change", "permission “Can view session”"),
        (("view_session",), "change", "permission “{view_text}”"),
        (("view_session", "view_text"), "erase", "permission “{erase_data}”"),
        (("view_session", "view_text"), "export", "permission “{export_data}”"),
    ],
)
def test_a_refusal_names_the_missing_permission_who_gives_it_and_the_way_back(
    client: Client, session: Session, rights: tuple[str, ...], name: str, missing: str
) -> None:
    sign_in(client, rights=rights)
    names = dict(Permission.objects.values_list("codename", "name"))
    for referring_page, back in (
        ("http://testserver/admin/?x=1", None),
        ("https://evil.example/", "/admin/"),
    ):
        response = client.get(page("session", session, name), headers={"Referer": referring_page})
        shown = response.content.decode()
        assert response.status_code == 403 and missing.format_map(names) in shown
        assert "Who may change users or groups can give it" in shown
        assert f'<a href="{back or referring_page}">Go back</a>' in shown


def test_a_refusal_that_no_permission_explains_says_so(client: Client, rows: dict[str, Any]) -> None:
    client.force_login(User.objects.create_superuser("root"))
    response = client.post(page("session", rows["session"]), {"title": "x"})
    assert response.status_code == 403 and "not possible for anybody" in response.content.decode()


def test_a_stop_that_is_refused_names_its_permission(client: Client, rows: dict[str, Any]) -> None:
    sign_in(client, "invocation")
    response = client.get(page("invocation", rows["invocation"], "stop"))
    name = Permission.objects.get(codename="cancel_invocation").name
    assert response.status_code == 403 and f"“{name}”" in response.content.decode()
