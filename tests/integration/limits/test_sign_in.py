"""Sign-ins with wrong passwords, for the chat and the admin (docs/limits.md)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.db.models import F
from django.test import AsyncClient, Client
from pytest_django.fixtures import Settings

Configure = Callable[..., None]
PAGES = ("/accounts/login/", "/admin/login/")


@pytest.fixture(autouse=True)
def staff(person: User) -> None:
    """Ada, who may use the admin, too."""
    User.objects.update(is_staff=True, is_superuser=True)


def sign_in(client: Client, password: str, name: str = "ada", page: str = PAGES[0], **extra: Any) -> Any:
    return client.post(page, {"username": name, "password": password}, **extra)


def codes(client: Client, *passwords: str, **more: Any) -> list[int]:
    return [sign_in(client, password, **more).status_code for password in passwords]


@pytest.mark.parametrize("page", PAGES)
def test_the_right_password_works_until_the_limit_of_wrong_ones(
    client: Client, configure: Configure, page: str
) -> None:
    configure(sign_in_failures=3)
    assert codes(client, "no", "no", "secret", page=page) == [200, 200, 302]
    client.logout()
    assert codes(client, "no", "no", "no", page=page) == [
        200,
        200,
        429,
    ]  # the sign-in made the count begin anew
    locked = sign_in(client, "secret", page=page)
    assert locked.status_code == 429
    assert 890 < int(locked["Retry-After"]) <= 900
    assert "too many wrong passwords for this user name. Try again in 15 minutes." in locked.text
    assert "_auth_user_id" not in client.session


def test_a_failed_sign_in_is_a_line_of_the_log_without_the_name(
    client: Client, configure: Configure, caplog: pytest.LogCaptureFixture
) -> None:
    configure(sign_in_failures=2)
    codes(client, "no", "no", "secret")
    failed = "A sign-in from 127.0.0.1 failed: the user name or the password was wrong."
    refused = "A sign-in from 127.0.0.1 was refused: there were too many."
    about_sign_ins = [line for line in caplog.messages if "/accounts/login/" not in line]
    assert about_sign_ins == [failed, refused, refused]


def test_a_lock_ends_by_itself_and_trying_does_not_prolong_it(client: Client, configure: Configure) -> None:
    configure(sign_in_failures=2)
    assert codes(client, "no", "no") == [200, 429]
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(seconds=890))
    assert codes(client, "no", "secret") == [429, 429]
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(seconds=10))
    assert codes(client, "secret") == [302]


def test_a_lock_holds_for_one_name_at_one_address(client: Client, configure: Configure) -> None:
    configure(sign_in_failures=2)
    User.objects.create_user("eve", password="secret")
    assert codes(client, "no", "no") == [200, 429]
    assert codes(client, "secret", name="eve") == [302]
    client.logout()
    assert codes(client, "secret", REMOTE_ADDR="198.51.100.7") == [302]


def test_a_client_cannot_escape_by_headers_or_another_browser(client: Client, configure: Configure) -> None:
    configure(sign_in_failures=2)
    for number in range(2):
        forged = {"X-Forwarded-For": f"203.0.113.{number}", "User-Agent": f"browser {number}"}
        sign_in(client, "no", headers=forged)
    assert codes(client, "secret", headers={"X-Forwarded-For": "203.0.113.9"}) == [429]


def test_a_trusted_proxy_names_the_client(client: Client, configure: Configure) -> None:
    configure(sign_in_failures=2, trusted_proxies=1)
    attacker, person = ({"X-Forwarded-For": f"198.51.100.{end}"} for end in (7, 8))
    assert codes(client, "no", "no", headers=attacker) == [200, 429]
    assert codes(client, "secret", headers=person) == [302]


def test_all_addresses_of_an_ipv6_network_are_one(client: Client, configure: Configure) -> None:
    configure(sign_in_failures=2)
    for end in (1, 2):
        sign_in(client, "no", REMOTE_ADDR=f"2001:db8:0:1::{end}")
    assert codes(client, "secret", REMOTE_ADDR="2001:db8:0:1::3") == [429]


def test_an_address_that_tries_many_names_is_refused(client: Client, configure: Configure) -> None:
    configure(max_sign_ins_per_address=3)
    assert [sign_in(client, "no", name=f"name-{n}").status_code for n in range(3)] == [200] * 3
    refused = sign_in(client, "secret")
    assert refused.status_code == 429
    assert "too many sign-ins from your network. Try again in 60 minutes." in refused.text
    assert codes(client, "secret", REMOTE_ADDR="198.51.100.7") == [302]


def test_without_redis_sign_ins_are_still_limited(
    client: Client, configure: Configure, settings: Settings
) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    configure(sign_in_failures=2, max_sign_ins_per_address=4)
    assert codes(client, "no", "no", "secret") == [200, 429, 429]
    assert codes(client, "no", "no", name="eve") == [200, 429]
    assert codes(client, "no", name="bob") == [429]


def test_without_limits_nobody_is_locked_out(client: Client, configure: Configure) -> None:
    configure(sign_in_failures=0, max_sign_ins_per_address=0)
    assert codes(client, *["no"] * 12, "secret") == [200] * 12 + [302]


async def test_a_lock_holds_for_asynchronous_requests(
    async_client: AsyncClient, configure: Configure
) -> None:
    configure(sign_in_failures=1)
    form = {"username": "ada", "password": "no"}
    assert (await async_client.post(PAGES[0], form)).status_code == 429


def test_staff_see_who_is_locked_out_and_can_change_nothing(
    client: Client, admin_client: Client, configure: Configure
) -> None:
    configure(sign_in_failures=1)
    sign_in(client, "hunter2-no")
    page = admin_client.get("/admin/axes/accessattempt/")
    assert "127.0.0.1" in page.text and 'alt="True"' in page.text
    row = AccessAttempt.objects.get()
    assert "hunter2-no" not in row.post_data + row.get_data
    url = f"/admin/axes/accessattempt/{row.pk}/"
    assert admin_client.get(f"{url}change/").status_code == 200
    for refused in (f"{url}change/", f"{url}delete/"):
        assert admin_client.post(refused, {"post": "yes"}).status_code == 403
    assert AccessAttempt.objects.filter(pk=row.pk).exists()


def test_an_erased_account_leaves_no_attempts(client: Client, person: User) -> None:
    sign_in(client, "no")
    assert AccessAttempt.objects.exists()
    person.delete()
    assert not AccessAttempt.objects.exists()
