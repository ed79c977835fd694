"""Contract: a person sees and changes their own settings on one page, exports their data and deletes the account."""

from __future__ import annotations

import json
from io import BytesIO
from urllib.parse import urlencode
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from sessions_app.models import LegalHold, SavedCredential, Session, Tombstone
from tests.integration.chat.pages.page_helpers import body_of

pytestmark = pytest.mark.usefixtures("background_end")
PAGE = "/settings/"
FORM = "application/x-www-form-urlencoded"
FORMS = (
    "/settings/instructions/",
    "/settings/known/pause/",
    "/settings/known/change/",
    "/settings/known/forget/",
    "/settings/known/1/",
    "/settings/sign-ins/1/forget/",
    "/settings/export/",
    "/settings/delete/",
)
HOSTILE_NAMES = ("", "ADA", "ad\u202ea", "a\x00da", "\ud800", "a" * 10_000_000)


def keep_credential(user: User, app_name: str) -> SavedCredential:
    return SavedCredential.objects.create(app_name=app_name, user=user, key="k", saved_at=timezone.now())


def test_the_account_menu_leads_to_the_page(browser_of_person: Client) -> None:
    html = browser_of_person.get("/").content.decode()
    assert f'href="{PAGE}"' in html and reverse("chat:keys") not in html
    html = browser_of_person.get(PAGE).content.decode()
    assert f'href="{reverse("chat:keys")}"' in html


def test_a_sign_in_of_an_agent_is_forgotten_only_by_its_owner(
    browser_of_person: Client, person: User, session_of_another: Session
) -> None:
    own = keep_credential(person, "help_desk")
    foreign = keep_credential(session_of_another.user, "travel_agency")
    html = browser_of_person.get(PAGE).content.decode()
    assert "Help desk" in html and "Travel agency" not in html
    for credential in (own, own, foreign):
        response = browser_of_person.post(reverse("chat:forget_sign_in", args=[credential.pk]), follow=True)
        assert "The sign-in is forgotten." in response.content.decode()
    assert SavedCredential.objects.get() == foreign


def test_the_archive_has_the_data_of_the_person_and_of_nobody_else(
    browser_of_person: Client, session: Session, session_of_another: Session
) -> None:
    response = browser_of_person.post("/settings/export/")
    assert response["Content-Disposition"] == 'attachment; filename="data.zip"'
    archive = ZipFile(BytesIO(body_of(response)))
    assert json.loads(archive.read("person.json"))["name"] == "ada"
    names = archive.namelist()
    assert f"sessions/{session.pk}.json" in names and f"sessions/{session_of_another.pk}.json" not in names


def test_an_account_is_deleted_with_all_data_and_its_sign_in(
    browser_of_person: Client, person: User, session: Session, session_of_another: Session
) -> None:
    response = browser_of_person.post("/settings/delete/", {"name": " ada "})
    assert (response.status_code, response["Location"]) == (302, "/")
    assert not User.objects.filter(pk=person.pk).exists()
    assert Session.objects.get() == session_of_another
    assert Tombstone.objects.get().reason == "The account was deleted by its user."
    assert browser_of_person.get(PAGE).status_code == 302  # to the sign-in page


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda name: ascii(name[:10]))
def test_without_the_name_of_the_account_nothing_is_deleted(
    browser_of_person: Client, person: User, session: Session, name: str
) -> None:
    body = urlencode({"name": name.encode(errors="surrogatepass")})
    response = browser_of_person.post("/settings/delete/", body, content_type=FORM)
    assert response.status_code in (400, 413)
    assert User.objects.filter(pk=person.pk).exists() and Session.objects.filter(pk=session.pk).exists()


@pytest.mark.parametrize("of", ["user", "session"])
def test_a_legal_hold_keeps_the_account_and_the_page_says_so(
    browser_of_person: Client, person: User, session: Session, of: str
) -> None:
    LegalHold.objects.create(reason="A dispute", **{of: person if of == "user" else session})
    response = browser_of_person.post("/settings/delete/", {"name": "ada"})
    assert response.status_code == 409
    assert "nothing that it covers may be erased" in response.content.decode()
    assert User.objects.filter(pk=person.pk).exists() and Session.objects.filter(pk=session.pk).exists()


def test_staff_delete_no_account_here(client: Client, admin_user: User) -> None:
    client.force_login(admin_user)
    assert "Delete my account" not in client.get(PAGE).content.decode()
    assert client.post("/settings/delete/", {"name": admin_user.username}).status_code == 403
    assert User.objects.filter(pk=admin_user.pk).exists()


@pytest.mark.parametrize("is_on", [True, False])
def test_a_site_offers_voice_and_the_microphone_or_neither(
    browser_of_person: Client, session: Session, settings: Settings, is_on: bool
) -> None:
    settings.ADK = {**settings.ADK, "voice": is_on}
    response = browser_of_person.get(f"/chat/{session.pk}/")
    html = response.content.decode()
    assert ('id="dictate"' in html, 'data-act="read"' in html) == (is_on, is_on)
    assert response["Permissions-Policy"].endswith("microphone=(self)" if is_on else "microphone=()")


@pytest.mark.parametrize("address", FORMS)
def test_a_form_of_another_site_is_refused(person: User, address: str) -> None:
    forged = Client(enforce_csrf_checks=True)
    forged.force_login(person)
    assert forged.post(address, {"name": "ada"}).status_code == 403
    assert User.objects.filter(pk=person.pk).exists()
