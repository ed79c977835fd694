"""Access matrix: each address and each static file of the site, and who may have it.

`tests/integration/test_access_of_frames.py` is the matrix of the websocket, `tests/integration/api/test_access.py` that
of the HTTP API. A new address without a row fails here.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.staticfiles.finders import get_finders
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from pytest_django import Settings

from adk_site.asgi import application
from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app.jobs import response as job_response
from sessions_app.shutdown import shut_down
from tests.fakes import ScriptedModel
from tests.integration.access import (
    APP,
    Permissions,
    Things,
    all_permissions,
    largest_refused,
    make_staff,
    make_things,
    opening,
)
from tests.integration.access_table import TO_HIDDEN, WITHOUT_ACCESS, Row, rows
from tests.served_agents import Served

QUERIES = {
    "/admin/sessions_app/annotation/evalset.json": "?label=refunds",
    "/chat/<session_id>/events/": "?before=2",
    "/admin/sessions_app/session/<session_id>/trace/": "?invocation=<run_id>",
}
PLACEHOLDER = re.compile(r"<(\w+)>")
OUTSIDE_DJANGO = {"/healthz"}
STATIC_KINDS = {".css", ".js", ".map", ".svg", ".png", ".txt", ".md", ""}


@dataclass(frozen=True)
class World:
    """Things of a person who is active, and of one who is not any more; browsers by name and by permissions."""

    things: Things
    things_of_deactivated: Things
    clients: dict[str, Client]
    _staff: dict[Permissions, Client] = field(default_factory=dict)

    def staff_with(self, permissions: Permissions) -> Client:
        """Return the browser of a member of the staff with these permissions."""
        if permissions not in self._staff:
            self._staff[permissions] = signed_in(make_staff(permissions))
        return self._staff[permissions]


def addresses(resolver: URLResolver, before: str = "/") -> Iterator[str]:
    """Each address that Django knows, its placeholders as `<name>`."""
    for pattern in resolver.url_patterns:
        text = before + re.sub(r"\(\?P<(\w+)>[^)]*\)", r"<\1>", str(pattern.pattern)).replace(
            "^", ""
        ).replace("$", "")
        text = re.sub(r"<\w+:(\w+)>", r"<\1>", text)
        if isinstance(pattern, URLPattern):
            yield text
        else:
            yield from addresses(pattern, text)


def model_of(address: str) -> str:
    """The model that an admin page is about; empty for other pages."""
    found = re.match(r"/admin/(?:sessions_app|auth|axes)/(\w+)/", address)
    return found[1] if found else ""


def row_for(method: str, address: str) -> Row | None:
    """The row with the model's name, else the one for all models."""
    table = rows()
    general = address.replace(f"/{model_of(address)}/", "/*/", 1) if model_of(address) else address
    return table.get((method, address)) or table.get((method, general))


OF_API = ("/api/", "/adk/")
ADDRESSES = sorted({address for address in addresses(get_resolver()) if not address.startswith(OF_API)})
CASES = [(method, address) for address in ADDRESSES for method in ("GET", "POST")]


def signed_in(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


@pytest.fixture
def world(
    transactional_db: None,
    background_end: None,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    served: Served,
    caplog: pytest.LogCaptureFixture,
) -> World:
    """The people and their things, stored once for all cases."""
    settings.MEDIA_ROOT = tmp_path
    settings.ADK = {**settings.ADK, "share_links": True}
    caplog.set_level(logging.CRITICAL, "django.request")  # thousands of refusals, each with a traceback
    app = App(name=APP, root_agent=LlmAgent(name=APP, model=ScriptedModel()))
    served(app)
    monkeypatch.setattr(job_response, "offer_session", lambda session_id: None)
    return make_world()


def make_world() -> World:
    owner, leaver = (User.objects.create_user(name) for name in ("ada", "leaver"))
    clients = {
        "anonymous": Client(raise_request_exception=False),
        "deactivated": signed_in(leaver),
        "person": signed_in(User.objects.create_user("eve")),
        "owner": signed_in(owner),
        "superuser": signed_in(User.objects.create_superuser("root")),
    }
    User.objects.filter(pk=leaver.pk).update(is_active=False)
    return World(make_things(owner), make_things(leaver), clients)


def read(response: Any) -> None:
    """Read a file to its end, which closes it, or only close it."""
    if response.streaming and response.is_async:
        response.close()
    elif response.streaming:
        b"".join(response)


def told(client: Client, method: str, address: str, things: Things) -> str:
    """The status that a browser gets, `login` for a redirect to a sign-in page."""
    model = model_of(address)
    whole = address + QUERIES.get(address, "")
    url = PLACEHOLDER.sub(lambda found: quote(things.segment(model, found[1])), whole)
    if address.endswith("/logout/") and SESSION_KEY in client.session:
        client = signed_in(
            User.objects.get(pk=client.session[SESSION_KEY])
        )  # the other cases need their sign-in
    response = client.generic(method, url)
    read(response)
    goes_to = response.headers.get("Location", "")
    return "login" if goes_to.startswith(("/accounts/login/", "/admin/login/")) else str(response.status_code)


def differences(world: World, row: Row, address: str) -> Iterator[str]:
    """A sentence for each person who does not get what the row says."""
    model = model_of(address)
    sets = opening(row.about(model))
    expected = {
        "anonymous": row.anonymous,
        "deactivated": row.anonymous,
        "person": row.person,
        "owner": row.owner,
        "superuser": row.superuser,
    }
    asked = [(name, world.clients[name], status) for name, status in expected.items()]
    asked += [(f"staff with {named(one)}", world.staff_with(one), row.staff) for one in refused_by(sets)]
    asked += [(f"staff with {named(one)}", world.staff_with(one), row.superuser) for one in sets]
    for name, client, status in asked:
        things = world.things_of_deactivated if name == "deactivated" else world.things
        got = told(client, row.method, address, things)
        if got != status:
            yield f"{name}: {got} instead of {status}"


def refused_by(sets: list[Permissions]) -> set[Permissions]:
    """None, and the largest sets that open nothing. Permissions only ever open, so smaller sets open nothing either."""
    return {frozenset(), *largest_refused(tuple(sets))} - {*sets}


def named(permissions: Permissions) -> str:
    if len(permissions) < 4:
        return "+".join(sorted(permissions)) or "no permission"
    return f"all permissions but {sorted(all_permissions() - permissions)}"


def test_each_address_has_a_row() -> None:
    missing = [f"{method} {address}" for method, address in CASES if row_for(method, address) is None]
    assert missing == [], "Add a row to TABLE for each address and method, that says who may have it."


@pytest.mark.timeout(1200)  # thousands of requests
def test_each_person_gets_what_the_table_says(world: World) -> None:
    rows_of_cases = [(row_for(method, address), address) for method, address in CASES]
    wrong = [
        f"{row.method} {address} for {difference}"
        for row, address in rows_of_cases
        if row is not None
        for difference in differences(world, row, address)
    ]
    assert "\n".join(wrong) == ""


@pytest.mark.parametrize("access", ["permission", "hidden"])
def test_owners_without_access_to_the_agent_get_what_the_tables_say(
    world: World, settings: Settings, access: str
) -> None:
    settings.ADK = {**settings.ADK, "apps": {APP: {"access": access}}}
    others = WITHOUT_ACCESS if access == "permission" else TO_HIDDEN
    expected: dict[str, str] = {}
    got: dict[str, str] = {}
    for method, address in CASES:
        row = row_for(method, address)
        if row is None or address.startswith("/admin/"):
            continue
        usual = row.owner if access == "permission" else row.person
        expected[f"{method} {address}"] = others.get(f"{method} {address}", usual)
        got[f"{method} {address}"] = told(world.clients["owner"], method, address, world.things)
    assert got == expected


def test_each_row_is_about_an_address_of_the_site() -> None:
    used = {row_for(method, address) for method, address in CASES}
    assert [row for row in rows().values() if row not in used] == []


@pytest.mark.django_db
async def test_anybody_may_ask_for_the_health_and_learns_one_word() -> None:
    for address in OUTSIDE_DJANGO:
        scope = {"type": "http", "method": "GET", "path": address, "headers": [(b"host", b"10.0.0.7")]}
        asked = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]
        await asked.send_input({"type": "http.request"})  # type: ignore[no-untyped-call]
        outputs = [await asked.receive_output(timeout=5) for _ in range(2)]  # type: ignore[no-untyped-call]
        assert (outputs[0]["status"], outputs[1]["body"]) == (200, b"ok\n")
    await shut_down()


@pytest.mark.django_db
def test_static_files_are_for_everybody_and_of_known_kinds() -> None:
    paths = [path for finder in get_finders() for path, _ in finder.list([])]
    unknown = [path for path in paths if PurePath(path).suffix not in STATIC_KINDS]
    assert unknown == [], "Everybody can read static files: add the kind to STATIC_KINDS if that is right."
    own = [path for path in paths if path.startswith("sessions_app/")]
    assert own
    for path in own:
        response = Client().get(f"/static/{path}")
        assert response.status_code == 200, path
        read(response)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    ["/static/../manage.py", "/static/%2e%2e/manage.py", "/static/..%2fmanage.py", "/media/", "/manage.py"],
)
def test_no_other_file_has_an_address(path: str) -> None:
    assert Client().get(path).status_code == 404


@pytest.mark.django_db
def test_the_stored_files_have_no_address_of_their_own(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    owner = User.objects.create_user("ada")
    stored = make_things(owner).rows["artifact"].file.name  # type: ignore[attr-defined]
    assert (tmp_path / stored).is_file()
    for path in (f"/media/{stored}", f"/static/{stored}", f"/{stored}"):
        assert signed_in(owner).get(path).status_code == 404
