"""The developer's page: who may have it, its policy, its configuration, and a site without its files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.api import dev_ui

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def files(tmp_path: Path, configure: Callable[..., None]) -> Path:
    """Files in place of those of adk-web."""
    folder = tmp_path / "browser"
    folder.mkdir()
    (folder / "index.html").write_text("<h1>adk-web</h1>")
    (folder / "main.js").write_text("start()")
    (tmp_path / "secret.txt").write_text("secret")
    configure(dev_ui=True, dev_ui_directory=str(folder))
    return folder


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_user("Grace & Co", is_staff=True))
    return client


def test_the_page_is_for_staff(files: Path, client: Client, person: User) -> None:
    assert client.get("/dev-ui/").headers["Location"] == "/accounts/login/?next=/dev-ui/"
    client.force_login(person)
    for address in ("/dev-ui/", "/dev-ui/main.js", "/dev-ui/assets/config/runtime-config.json"):
        assert client.get(address).status_code == 403


def test_the_page_names_the_person_and_gives_a_token(files: Path, staff: Client) -> None:
    assert staff.get("/dev-ui/?app=echo")["Location"] == "/dev-ui/?app=echo&userId=Grace+%26+Co"
    page = staff.get("/dev-ui/?userId=Grace")
    assert page.content == b"<h1>adk-web</h1>"
    cookie = page.cookies["XSRF-TOKEN"]
    assert cookie.value and cookie["path"] == "/dev-ui/" and not cookie["httponly"]
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    assert "gstatic" not in staff.get("/").headers["Content-Security-Policy"]


def test_its_files_are_served_and_no_others(files: Path, staff: Client) -> None:
    script = staff.get("/dev-ui/main.js")
    assert script.content == b"start()" and script["Content-Type"].endswith("javascript")
    for name in (
        "none.js",
        "../secret.txt",
        "%2e%2e/secret.txt",
        "..%2fsecret.txt",
        "/etc/passwd",
        "assets",
        "x" * 500,
    ):
        assert staff.get(f"/dev-ui/{name}").status_code == 404


def test_its_configuration_is_that_of_the_site(files: Path, staff: Client) -> None:
    answer = staff.get("/dev-ui/assets/config/runtime-config.json")
    assert answer.json() == {"backendUrl": "/adk", "telemetry": False}


def test_a_site_without_its_files_says_what_to_install(
    files: Path, staff: Client, configure: Callable[..., None]
) -> None:
    configure(dev_ui=True, dev_ui_directory=str(files / "none"))
    answer = staff.get("/dev-ui/")
    assert (answer.status_code, answer.content.decode()) == (501, dev_ui.MISSING)
    assert "pip install" in dev_ui.MISSING
