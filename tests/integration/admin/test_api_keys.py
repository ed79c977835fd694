"""Contract: staff see all API keys, revoke them, and make the key of a service, which is shown once."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from sessions_app.models import AccountAct, ApiKey, Remit, StaffAct
from sessions_app.use_cases import keys
from tests.integration.admin.audit_rows import sign_in

pytestmark = pytest.mark.usefixtures("background_end")
LIST = "admin:sessions_app_apikey_changelist"


@pytest.fixture
def key(person: User) -> ApiKey:
    return ApiKey.objects.all().make(user=person, name="Laptop", scopes=["read"])[0]


def new_key(user: User, **fields: object) -> dict[str, object]:
    limits = {"requests_per_minute": 60, "tokens_per_day": 1000}
    return {"name": "Robot", "user": user.pk, "scopes": ["run"], **limits, **fields}


def test_the_list_tells_whose_key_it_is_and_never_the_digest(client: Client, key: ApiKey) -> None:
    sign_in(client, "apikey")
    for query in ("", "?in_force=yes", "?people__isempty=1"):
        html = client.get(reverse(LIST) + query).content.decode()
        assert key.prefix in html and "Laptop" in html and "ada" in html
        assert key.digest not in html
    assert key.prefix not in client.get(reverse(LIST) + "?in_force=no").content.decode()


def test_the_page_of_a_key_says_that_zero_is_no_limit(client: Client, key: ApiKey) -> None:
    sign_in(client, "apikey")
    page = reverse("admin:sessions_app_apikey_change", args=[key.pk])
    html = client.get(page).content.decode()
    assert "as many as a person may send" in html and "no limit of the key" in html
    ApiKey.objects.update(requests_per_minute=61, tokens_per_day=1001)
    html = client.get(page).content.decode()
    assert ">61</div>" in html and ">1001</div>" in html


def test_staff_revoke_a_key_with_a_reason(client: Client, key: ApiKey) -> None:
    sign_in(client, "apikey", rights=["revoke_apikey"])
    url = reverse("admin:sessions_app_apikey_revoke", args=[key.pk])
    assert client.post(url, {"reason": "It leaked"}).status_code == 302
    key.refresh_from_db()
    assert key.revoked_at and key.revoked_by_name == "staff"
    assert StaffAct.objects.get().reason == AccountAct.objects.get().reason == "It leaked"


def test_the_key_of_a_service_is_shown_once_and_acts_for_its_people(client: Client) -> None:
    sign_in(client, "apikey", rights=["add_apikey"])
    robot = User.objects.create_user("robot")
    customers = Group.objects.create(name="customers")
    add = reverse("admin:sessions_app_apikey_add")
    response = client.post(add, new_key(robot, people=customers.pk))
    found = re.search(r"<code>(adk_[\w-]{43})</code>", response.content.decode())
    assert found, response.content.decode()
    assert "no-store" in response["Cache-Control"]
    row = ApiKey.objects.get()
    assert (row.user, row.people, row.tokens_per_day) == (robot, customers, 1000)
    told = Client(headers={"authorization": f"Bearer {found[1]}"}).get("/api/v1/me")
    assert told.json()["username"] == "robot"
    assert AccountAct.objects.get().actor_name == "staff"


def test_the_page_tells_that_a_service_has_as_many_keys_as_are_allowed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "MAX_KEYS", 1)
    sign_in(client, "apikey", rights=["add_apikey"])
    robot = User.objects.create_user("robot")
    add = reverse("admin:sessions_app_apikey_add")
    client.post(add, new_key(robot))
    assert "There are 1 keys already." in client.post(add, new_key(robot)).content.decode()
    assert ApiKey.objects.count() == 1


def test_nobody_makes_a_key_of_staff_or_outside_of_the_remit(client: Client) -> None:
    sign_in(client, "apikey", rights=["add_apikey"])
    add = reverse("admin:sessions_app_apikey_add")
    root = User.objects.create_superuser("root")
    assert "Select a valid choice" in client.post(add, new_key(root)).content.decode()
    clerks, customers, others = (
        Group.objects.create(name=name) for name in ("clerks", "customers", "others")
    )
    User.objects.get(username="staff").groups.add(clerks)
    Remit.objects.create(group=clerks, people=customers)
    robot = User.objects.create_user("robot")
    assert "Select a valid choice" in client.post(add, new_key(robot)).content.decode()
    robot.groups.add(customers)
    assert "Select a valid choice" in client.post(add, new_key(robot, people=others.pk)).content.decode()
    assert not ApiKey.objects.exists()
    client.post(add, new_key(robot, people=customers.pk))
    assert ApiKey.objects.get().people == customers
