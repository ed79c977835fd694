"""No page of another site reads the API: no response allows it, and the question of a browser is refused."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.integration.api.conftest import make_key

pytestmark = pytest.mark.usefixtures("background_end")
ASKED = {
    "origin": "https://evil.example",
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization, content-type",
}
ADDRESSES = (
    "/api/v1/me",
    "/api/v1/keys",
    "/api/v1/openapi.json",
    "/adk/list-apps",
    "/accounts/login/",
    "/keys/",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_response_lets_another_site_read_it(person: User, address: str) -> None:
    browser, program = Client(), Client(headers={"authorization": f"Bearer {make_key(person)}"})
    browser.force_login(person)
    for client in (Client(), browser, program):
        for method in ("GET", "POST", "OPTIONS"):
            response = client.generic(method, address, headers=ASKED)
            assert [name for name in response.headers if name.lower().startswith("access-control")] == []


@pytest.mark.parametrize(
    "address",
    [address for address in ADDRESSES if address.startswith(("/api/v1/", "/adk/")) and "." not in address],
)
def test_a_preflight_is_refused(person: User, address: str) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(person)
    assert client.options(address, headers=ASKED).status_code in (401, 403, 405)
