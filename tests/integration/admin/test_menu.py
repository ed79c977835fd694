"""The menu of the admin stands on each page: what the user may see, with a mark at the page that is open."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.integration.admin.audit_rows import list_url, read, sign_in

pytestmark = pytest.mark.django_db
USERS = "/admin/auth/user/"


def links_of(page: str) -> list[str]:
    """Return the addresses of the models and of pages that add one, in the menu of a page."""
    menu = page.split('id="nav-sidebar"')[1].split("</nav>")[0]
    return re.findall(r'<a href="([^"#]*)"', menu)


def marked(page: str) -> list[str]:
    return re.findall(r'<a href="([^"]*)" aria-current="page"', page)


def test_each_page_marks_its_model_in_the_menu(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root"))
    for url in (list_url("session"), USERS, f"{USERS}add/", list_url("session")):
        page = read(client, url)
        assert marked(page) == [url.removesuffix("add/")]
        assert page.count(" current-model") == 1


def test_the_menu_has_what_the_user_may_see_and_add(client: Client) -> None:
    root = User.objects.create_superuser("root")
    client.force_login(root)
    whole = links_of(read(client, list_url("session")))
    assert {list_url("session"), USERS, f"{USERS}add/"} < {*whole}
    sign_in(client, "session", "artifact", "user")
    assert links_of(read(client, list_url("session"))) == [list_url("session"), list_url("artifact"), USERS]
    client.force_login(root)
    assert links_of(read(client, list_url("session"))) == whole


def test_pages_of_an_app_have_links_to_change_its_models(client: Client) -> None:
    sign_in(client, "group", rights=["change_group", "view_user"])
    page = read(client, "/admin/auth/")
    kinds = re.findall(r'<td><a href="([^"]*)" class="(view|change)link" aria-describedby="auth-\w+">', page)
    assert kinds == [("/admin/auth/group/", "change"), (USERS, "view")]
