"""Contract: a person makes API keys on a page, sees each once, and revokes them."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from sessions_app.models import AccountAct, ApiKey

pytestmark = pytest.mark.usefixtures("background_end")
WISH = {"name": "Laptop", "scopes": ["read", "run"], "days": "90"}
HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture
def page() -> str:
    return reverse("chat:keys")


def test_a_key_is_shown_once_and_works(browser_of_person: Client, page: str) -> None:
    response = browser_of_person.post(page, WISH)
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    found = re.search(r'value="(adk_[\w-]{43})"', response.content.decode())
    assert found
    again = browser_of_person.get(page).content.decode()
    assert found[1] not in again and found[1][:12] in again
    told = Client(headers={"authorization": f"Bearer {found[1]}"}).get("/api/v1/me").json()
    assert told["scopes"] == ["read", "run"]
    row = ApiKey.objects.get()
    assert row.expires_at
    assert timedelta(days=89) < row.expires_at - timezone.now() <= timedelta(days=90)
    assert AccountAct.objects.get().actor_name == "ada"


def test_a_revoked_key_is_refused_and_listed_as_ended(
    browser_of_person: Client, person: User, page: str
) -> None:
    row, key = ApiKey.objects.all().make(user=person, name="Laptop", scopes=["read"])
    assert browser_of_person.post(reverse("chat:revoke_key", args=[row.pk])).status_code == 302
    assert Client(headers={"authorization": f"Bearer {key}"}).get("/api/v1/me").status_code == 401
    html = browser_of_person.get(page).content.decode()
    assert "Ended keys" in html and "revoked <time" in html


@pytest.mark.parametrize(
    "wish", [{"name": ""}, {"name": "x" * 101}, {"scopes": []}, {"scopes": ["admin"]}, {"days": "9999999999"}]
)
def test_a_wrong_choice_is_told_and_makes_nothing(
    browser_of_person: Client, page: str, wish: dict[str, object]
) -> None:
    response = browser_of_person.post(page, {**WISH, **wish})
    assert response.status_code == 400
    assert 'role="alert"' in response.content.decode()
    assert not ApiKey.objects.exists()


def test_a_hostile_name_is_escaped(browser_of_person: Client, page: str) -> None:
    html = browser_of_person.post(page, {**WISH, "name": HOSTILE}).content.decode()
    assert "<script>alert" not in html and "&lt;script&gt;" in html
    # Its direction characters turn nothing around but the name itself.
    assert "“<bdi>&lt;script&gt;" in html


def test_the_page_proposes_the_same_before_and_after_a_key_is_made(
    browser_of_person: Client, page: str
) -> None:
    for response in (browser_of_person.get(page), browser_of_person.post(page, WISH)):
        html = response.content.decode()
        assert re.findall(r'value="(\w+)" checked', html) == ["read", "run"]
        assert '<option value="90" selected>' in html


@pytest.mark.parametrize(
    "language,heading", [("de", "API-Schlüssel"), ("es", "Claves de API"), ("ar", "مفاتيح API")]
)
def test_the_page_speaks_the_language_of_the_person(
    browser_of_person: Client, page: str, language: str, heading: str
) -> None:
    html = browser_of_person.get(page, headers={"accept-language": language}).content.decode()
    assert f'<h1 id="keys-title">{heading}</h1>' in html
