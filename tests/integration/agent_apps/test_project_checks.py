"""Settings that the chats lack are sentences of `manage.py check`.

`tests/browser/test_embedding.py` checks a project that has none of them.
"""

from __future__ import annotations

from types import ModuleType

import pytest
from django.test.utils import modify_settings, override_settings
from django.urls import include, path, set_script_prefix

from tests.integration.agent_apps.reported_problems import messages

# With Django 6.1 the checks ask PostgreSQL for its version.
pytestmark = pytest.mark.django_db

IN_MEMORY = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("CHANNEL_LAYERS", {}, "sessions_app.E012"),
        ("CHANNEL_LAYERS", IN_MEMORY, "sessions_app.W006"),
        ("LOGIN_URL", "/no/such/page/", "sessions_app.W010"),
        ("LOGIN_URL", "no-such-name", "sessions_app.W010"),
    ],
)
def test_a_setting_that_the_chats_lack_is_reported(name: str, value: object, expected: str) -> None:
    with override_settings(**{name: value}):
        assert [message.id for message in messages()] == [expected]


def test_a_sign_in_page_may_be_elsewhere() -> None:
    with override_settings(LOGIN_URL="https://sign-in.example.org/"):
        assert messages() == []


def test_the_page_of_the_http_api_has_its_files_from_an_app() -> None:
    with modify_settings(INSTALLED_APPS={"remove": "ninja"}):
        assert [message.id for message in messages()] == ["sessions_app.W011"]


def test_the_http_api_has_its_addresses_at_the_root() -> None:
    elsewhere = ModuleType("elsewhere")
    elsewhere.urlpatterns = [path("chats/", include("adk_site.urls"))]  # type: ignore[attr-defined]
    with override_settings(ROOT_URLCONF=elsewhere):
        assert [message.id for message in messages()] == ["sessions_app.E015"]


def test_a_site_below_a_path_has_no_problem() -> None:
    set_script_prefix("/shop/")
    try:
        with override_settings(FORCE_SCRIPT_NAME="/shop"):
            assert messages() == []
    finally:
        set_script_prefix("/")
