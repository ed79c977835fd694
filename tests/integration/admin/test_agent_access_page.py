"""Page "Who may use which agent": the people of each agent, the agents of a person, within rights and remits."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from runtime.agents import LlmAgent
from sessions_app.models import Remit
from sessions_app.sessions.agent_access import create_permissions
from tests.fakes import ScriptedModel
from tests.integration.admin.audit_rows import read, sign_in
from tests.integration.admin.test_all_acts import rows_of
from tests.served_agents import Served

pytestmark = pytest.mark.django_db
PAGE = reverse("admin:auth_user_agents")
TITLE = "Who may use which agent"


@pytest.fixture
def apps(settings: Settings, served: Served) -> list[str]:
    """Return the names of three apps: open to all, with a permission, hidden."""
    names = ["attic", "payroll", "shop"]
    served(*[LlmAgent(name=name, model=ScriptedModel()) for name in names])
    rules = {names[1]: {"access": "permission"}, names[2]: {"access": "hidden"}}
    settings.ADK = {**settings.ADK, "apps": rules}
    create_permissions()
    return names


def give(app_name: str) -> Group:
    """Give the permission to a group with bob and a former member, and to zoe by name."""
    permission = Permission.objects.get(codename=f"use_{app_name}")
    group = Group.objects.create(name="Payroll")
    group.permissions.add(permission)
    User.objects.create_user("bob").groups.add(group)
    User.objects.create_user("gone", is_active=False).groups.add(group)
    User.objects.create_user("zoe").user_permissions.add(permission)
    User.objects.create_superuser("root")
    return group


def cells(client: Client, apps: list[str], query: str = "") -> dict[str, list[str]]:
    """Return the cells of the apps' rows by app."""
    shown = {row[0]: row[1:] for row in rows_of(read(client, PAGE + query))}
    return {name: shown[name] for name in apps if name in shown}


def test_each_agent_names_those_who_may_use_it(client: Client, apps: list[str]) -> None:
    give(apps[1])
    sign_in(client, "user")
    assert cells(client, apps) == {
        apps[0]: ["open to everybody who is signed in", "", ""],
        apps[1]: ["with a permission", "Payroll (1)", "zoe, 1 superuser"],
        apps[2]: ["hidden from everybody", "", ""],
    }
    assert f'href="{PAGE}"' in read(client, reverse("admin:index"))


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("bob", "yes: Payroll"),
        ("zoe", "yes: a permission of their own"),
        ("root", "yes: superuser"),
        ("staff", "no"),
    ],
)
def test_a_person_has_an_answer_for_each_agent_with_what_gives_the_right(
    client: Client, apps: list[str], name: str, answer: str
) -> None:
    give(apps[1])
    sign_in(client, "user")
    shown = cells(client, apps, f"?person={name}")
    assert [shown[app][0] for app in apps] == ["yes", answer, "no"]
    # Narrow screens show the headings of the columns at their values.
    assert read(client, f"{PAGE}?person={name}").count('data-label="May this person?"') == len(apps)


@pytest.mark.parametrize("name", ["gone", "nobody", "<script>"])
def test_an_account_that_cannot_sign_in_has_no_answers(client: Client, apps: list[str], name: str) -> None:
    give(apps[1])
    page = read(sign_in(client, "user"), f"{PAGE}?person={name}")
    assert "There is no active account" in page and "May this person?" not in page and "<script>" not in page


def test_many_names_are_counted(client: Client, apps: list[str]) -> None:
    permission = Permission.objects.get(codename=f"use_{apps[1]}")
    for number in range(33):
        User.objects.create_user(f"person-{number:02}").user_permissions.add(permission)
    people = cells(sign_in(client, "user"), apps)[apps[1]][2]
    assert re.findall(r"person-\d+", people)[-1] == "person-29" and people.endswith("and 3 more")


def test_staff_with_a_remit_see_their_apps_and_people_only(client: Client, apps: list[str]) -> None:
    group = give(apps[1])
    sign_in(client, "user")
    clerks = Group.objects.create(name="clerks")
    User.objects.get(username="staff").groups.add(clerks)
    remit = Remit.objects.create(group=clerks, people=group)
    assert cells(client, apps)[apps[1]][1:] == ["Payroll (1)", ""]
    assert "There is no active account" in read(client, f"{PAGE}?person=zoe")
    remit.delete()
    Remit.objects.create(group=clerks, app_name=apps[0])
    assert set(cells(client, apps)) == {apps[0]}


def test_the_page_and_its_link_are_for_staff_who_may_view_accounts(client: Client) -> None:
    sign_in(client, "session")
    assert client.get(PAGE).status_code == 403
    assert TITLE not in read(client, reverse("admin:index"))
