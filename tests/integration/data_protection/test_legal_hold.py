"""Legal hold: nothing that it covers is erased; staff set and lift it with a permission for each."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from sessions_app.base import actors
from sessions_app.data_protection.erase import ErasureOrder, erase_session, erase_user
from sessions_app.errors import LegalHoldError
from sessions_app.models import LegalHold, Session, StaffAct, Tombstone
from sessions_app.process.threads import in_thread
from sessions_app.sessions.sharing import make_link
from sessions_app.store.erasing import delete_session_row
from tests.integration.data_protection.people import person_with_rows
from tests.integration.locks import blocked, held

pytestmark = pytest.mark.usefixtures("transactional_db", "loop_end")

ORDER = ErasureOrder(reason="She asked for it.")
ADD = "admin:sessions_app_legalhold_add"


@pytest.fixture
async def ada(transactional_db: None) -> User:
    return await person_with_rows("ada-lovelace", 900_041)


def staff(client: Client, *permissions: str) -> User:
    user = User.objects.create_user("staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client.force_login(user)
    return user


@pytest.mark.parametrize("subject", ["session", "person"])
def test_a_hold_blocks_every_way_to_erase(ada: User, client: Client, subject: str) -> None:
    session = Session.objects.first()
    assert session is not None
    LegalHold.objects.create(
        reason="A court asked.", **({"session": session} if subject == "session" else {"user": ada})
    )
    with pytest.raises(LegalHoldError, match="There is a legal hold"):
        erase_session(session.pk, ORDER)
    with pytest.raises(LegalHoldError):
        erase_user(ada.pk, ORDER)
    with pytest.raises(LegalHoldError):
        ada.delete()
    with pytest.raises(LegalHoldError):
        delete_session_row(Session.objects.filter(pk=session.pk))
    client.force_login(User.objects.create_superuser("root"))
    page = client.post(
        reverse("admin:auth_user_delete", args=[ada.pk]), {"reason": "They asked."}
    ).content.decode()
    assert "Cannot delete user" in page
    assert "legal hold" in page
    assert Session.objects.filter(user=ada).count() == 2
    assert not Tombstone.objects.exists()


def test_staff_delete_a_user_with_sessions_in_the_admin(ada: User, client: Client) -> None:
    user = staff(client, "view_user", "delete_user", "erase_data")
    url = reverse("admin:auth_user_delete", args=[ada.pk])
    page = client.get(url).content.decode()
    assert "Sessions: 2" in page
    assert "Events: 4" in page
    assert client.post(url, {"reason": "They asked."}).status_code == 302
    assert not User.objects.filter(pk=ada.pk).exists()
    tombstone = Tombstone.objects.get()
    assert (tombstone.by, tombstone.counts["events"]) == (user, 4)


def test_tombstones_and_holds_name_staff_whose_account_is_gone(ada: User, client: Client) -> None:
    grace = User.objects.create_superuser("grace")
    client.force_login(grace)
    kept, erased = Session.objects.all()
    client.post(reverse(ADD), {"session": kept.pk, "reason": "A court asked."})
    hold = LegalHold.objects.get()
    client.post(reverse("admin:sessions_app_legalhold_lift", args=[hold.pk]), {"reason": "It is over."})
    erase = reverse("admin:sessions_app_session_erase", args=[erased.pk])
    client.post(erase, {"reason": "She asked for it."})
    grace.delete()
    tombstone = Tombstone.objects.get(kind="session")
    assert (tombstone.by, tombstone.by_name) == (None, "grace")
    hold.refresh_from_db()
    assert (hold.set_by, hold.set_by_name, hold.lifted_by_name) == (None, "grace", "grace")
    client.force_login(User.objects.create_superuser("root"))
    for page, row in (("tombstone", tombstone), ("legalhold", hold)):
        for url in (
            reverse(f"admin:sessions_app_{page}_changelist"),
            reverse(f"admin:sessions_app_{page}_change", args=[row.pk]),
        ):
            assert "grace" in client.get(url).content.decode(), url


def test_the_tombstone_of_a_session_that_its_person_deleted_has_no_name(ada: User) -> None:
    session = Session.objects.first()
    assert session is not None
    erase_session(session.pk, ErasureOrder(reason="Deleted by its user.", by=ada.pk))
    assert (Tombstone.objects.get().by, Tombstone.objects.get().by_name) == (ada, "")


def test_the_list_of_users_deletes_nobody(ada: User, client: Client) -> None:
    client.force_login(User.objects.create_superuser("root"))
    users = reverse("admin:auth_user_changelist")
    assert "delete_selected" not in client.get(users).content.decode()
    chosen = {"action": "delete_selected", "_selected_action": [ada.pk], "post": "yes", "reason": "mine"}
    client.post(users, {**chosen, "index": "0"})
    client.post(users, chosen)
    assert User.objects.filter(pk=ada.pk).exists()
    assert Session.objects.filter(user=ada).count() == 2
    assert not StaffAct.objects.exists()


def test_the_record_of_a_deletion_and_the_tombstone_have_the_reason_of_its_page(
    ada: User, client: Client
) -> None:
    client.force_login(User.objects.create_superuser("root"))
    client.post(reverse("admin:auth_user_delete", args=[ada.pk]), {"reason": " They asked. "})
    assert StaffAct.objects.get().reason == Tombstone.objects.get().reason == "They asked."


def test_the_page_of_a_deletion_keeps_the_fields_of_a_popup(ada: User, client: Client) -> None:
    client.force_login(User.objects.create_superuser("root"))
    url = reverse("admin:auth_user_delete", args=[ada.pk])
    fields = {"_popup": "1", "_to_field": "id"}
    hidden = [f'<input type="hidden" name="{name}" value="{value}">' for name, value in fields.items()]
    assert not any(field in client.get(url).content.decode() for field in hidden)
    popup = f"{url}?{urlencode(fields)}"
    for page in (client.get(popup), client.post(popup, {**fields, "reason": ""})):
        assert all(field in page.content.decode() for field in hidden)
    answer = client.post(popup, {**fields, "reason": "They asked."})
    assert "data-popup-response" in answer.content.decode()


def test_staff_set_and_lift_a_hold(ada: User, client: Client) -> None:
    user = staff(client, "view_legalhold", "set_legalhold", "lift_legalhold")
    assert client.post(reverse(ADD), {"user": ada.pk, "reason": "A court asked."}).status_code == 302
    hold = LegalHold.objects.get()
    assert (hold.user, hold.reason, hold.set_by) == (ada, "A court asked.", user)
    page = client.get(reverse("admin:sessions_app_legalhold_change", args=[hold.pk])).content.decode()
    url = reverse("admin:sessions_app_legalhold_lift", args=[hold.pk])
    assert url in page
    assert client.post(url, {"reason": ""}).status_code == 200
    assert client.post(url, {"reason": "The case is closed."}).status_code == 302
    hold.refresh_from_db()
    assert (hold.lifted_by, hold.lift_reason) == (user, "The case is closed.")
    erase_user(ada.pk, ORDER)
    assert not Session.objects.exists()


async def test_two_people_at_once_lift_a_hold_and_revoke_a_link_once(ada: User, client: Client) -> None:
    session = await Session.objects.afirst()
    assert session is not None
    hold = await LegalHold.objects.acreate(user=ada, reason="A court asked.")
    link = await in_thread(make_link, session, actors.person(ada))
    await in_thread(staff, client, "lift_legalhold", "view_legalhold", "revoke_sharelink", "view_sharelink")
    for kind, action, row in (("legalhold", "lift", hold), ("sharelink", "revoke", link)):
        url = reverse(f"admin:sessions_app_{kind}_{action}", args=[row.pk])
        # Both have read the row before either of them changes it.
        async with held(f"SELECT FROM sessions_app_{kind} FOR UPDATE"):
            posts = [
                asyncio.create_task(in_thread(client.post, url, {"reason": reason}))
                for reason in ("The case is closed.", "It is over.")
            ]
            await blocked(2)
        assert [(await post).status_code for post in posts] == [302, 302]
        assert await StaffAct.objects.filter(subject_kind=kind, subject_id=str(row.pk)).acount() == 1


async def test_a_hold_on_a_person_is_set_when_the_erasure_of_a_session_has_ended(
    ada: User, client: Client
) -> None:
    first, second = [pk async for pk in Session.objects.order_by("pk").values_list("pk", flat=True)]
    await in_thread(staff, client, "view_legalhold", "set_legalhold")
    async with held(f"SELECT FROM sessions_app_event WHERE session_id = '{first}' FOR UPDATE"):
        erasing = asyncio.create_task(in_thread(erase_session, first, ORDER))
        await blocked(1)
        order = {"user": ada.pk, "reason": "A court asked."}
        setting = asyncio.create_task(in_thread(client.post, reverse(ADD), order))
        await blocked(2)
    await erasing
    assert (await setting).status_code == 302
    with pytest.raises(LegalHoldError):
        await in_thread(erase_session, second, ORDER)
    assert [pk async for pk in Session.objects.values_list("pk", flat=True)] == [second]


def test_a_hold_has_one_subject(ada: User, client: Client) -> None:
    staff(client, "view_legalhold", "set_legalhold")
    session = Session.objects.first()
    assert session is not None
    both = {"user": ada.pk, "session": session.pk, "reason": "A court asked."}
    assert "not both" in client.post(reverse(ADD), both).content.decode()
    assert not LegalHold.objects.exists()


def test_viewing_holds_is_not_enough_to_set_lift_change_or_delete_one(ada: User, client: Client) -> None:
    hold = LegalHold.objects.create(user=ada, reason="A court asked.")
    staff(client, "view_legalhold", "view_tombstone")
    for name, args in (("add", []), ("change", [hold.pk]), ("delete", [hold.pk]), ("lift", [hold.pk])):
        url = reverse(f"admin:sessions_app_legalhold_{name}", args=args)
        assert client.post(url, {"reason": "mine", "user": ada.pk}).status_code == 403, name
    for model in ("legalhold", "tombstone"):
        assert client.get(reverse(f"admin:sessions_app_{model}_changelist")).status_code == 200
    assert LegalHold.objects.active().count() == 1
