"""Access matrix: each address and each static file of the site, and who may have it.

`tests/integration/test_access_of_frames.py` is the matrix of the websocket, `tests/integration/api/test_access.py` that
of the HTTP API. A new address without a row fails here.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib import admin
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.staticfiles.finders import get_finders
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from pytest_django import Settings

from adk_site.asgi import application
from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import agent_registry
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

# Expected statuses; `login` is a redirect to a sign-in page. "staff" has no permission that opens the address: neither
# none, nor one, nor all others. "opened by" has the permissions (+), or their alternatives (|), that give staff what a
# superuser gets; READ and STOP are below. `*` is each model that the admin shows; a row with a model's name goes first.
# A person whose account was deactivated gets what the anonymous get, for their own rows too.
TABLE = """
method anonymous person owner staff superuser opened by  address

GET    login     200    200   200   200       -          /
POST   405       405    405   405   405       -          /
GET    login     302    302   302   302       -          /start/
POST   405       405    405   405   405       -          /start/
GET    405       405    405   405   405       -          /preferences/
POST   302       302    302   302   302       -          /preferences/
GET    login     200    200   200   200       -          /keys/
POST   login     400    400   400   400       -          /keys/
GET    405       405    405   405   405       -          /keys/<key_id>/revoke/
POST   login     404    302   404   404       -          /keys/<key_id>/revoke/
GET    login     200    200   200   200       -          /chats/
POST   405       405    405   405   405       -          /chats/
GET    403       403    403   403   200       view_invocation /metrics
POST   405       405    405   405   405       -          /metrics
GET    login     200    200   200   200       -          /activity/
POST   405       405    405   405   405       -          /activity/
GET    404       404    404   404   404       -          /dev-ui/
POST   405       405    405   405   405       -          /dev-ui/
GET    404       404    404   404   404       -          /dev-ui/<name>
POST   405       405    405   405   405       -          /dev-ui/<name>
GET    login     302    302   302   302       -          /chat/new/<app_name>/
POST   405       405    405   405   405       -          /chat/new/<app_name>/
GET    login     404    200   404   404       -          /chat/<session_id>/
POST   405       405    405   405   405       -          /chat/<session_id>/
GET    200       302    302   302   302       -          /embedded/<app_name>/
POST   405       405    405   405   405       -          /embedded/<app_name>/
GET    200       302    200   302   302       -          /embedded/<app_name>/<session_id>/
POST   405       405    405   405   405       -          /embedded/<app_name>/<session_id>/
GET    login     404    200   404   404       -          /chat/<session_id>/events/
POST   405       405    405   405   405       -          /chat/<session_id>/events/
GET    login     404    200   404   404       -          /chat/<session_id>/events/alternatives/
POST   405       405    405   405   405       -          /chat/<session_id>/events/alternatives/
GET    login     404    200   404   404       -          /chat/<session_id>/events/<seq>/text/
POST   405       405    405   405   405       -          /chat/<session_id>/events/<seq>/text/
GET    405       405    405   405   405       -          /chat/<session_id>/events/<seq>/feedback/
POST   login     404    204   404   404       -          /chat/<session_id>/events/<seq>/feedback/
GET    405       405    405   405   405       -          /chat/<session_id>/<change>/
POST   login     404    204   404   404       -          /chat/<session_id>/<change>/
GET    login     404    200   404   404       -          /chat/<session_id>/export/markdown/
POST   405       405    405   405   405       -          /chat/<session_id>/export/markdown/
GET    login     404    200   404   404       -          /chat/<session_id>/export/json/
POST   405       405    405   405   405       -          /chat/<session_id>/export/json/
GET    login     404    200   404   404       -          /chat/<session_id>/export/page/
POST   405       405    405   405   405       -          /chat/<session_id>/export/page/
GET    login     404    200   404   404       -          /chat/<session_id>/share/
POST   login     404    200   404   404       -          /chat/<session_id>/share/
GET    405       405    405   405   405       -          /chat/<session_id>/share/revoke/
POST   login     404    200   404   404       -          /chat/<session_id>/share/revoke/
GET    login     200    200   200   200       -          /shared/<token>/
POST   405       405    405   405   405       -          /shared/<token>/
GET    login     404    200   404   404       -          /chat/<session_id>/artifacts/<filename>
POST   405       405    405   405   405       -          /chat/<session_id>/artifacts/<filename>
GET    login     404    200   404   404       -          /chat/<session_id>/preview/<filename>
POST   405       405    405   405   405       -          /chat/<session_id>/preview/<filename>
GET    login     404    200   404   404       -          /chat/<session_id>/files/
POST   login     404    400   404   404       -          /chat/<session_id>/files/
GET    405       405    405   405   405       -          /chat/<session_id>/frames/
POST   login     404    400   404   404       -          /chat/<session_id>/frames/
GET    405       405    405   405   405       -          /chat/<session_id>/files/remove/
POST   login     404    204   404   404       -          /chat/<session_id>/files/remove/

GET    200       302    302   302   302       -          /accounts/login/
POST   200       302    302   302   302       -          /accounts/login/
GET    405       405    405   405   405       -          /accounts/logout/
POST   login     login  login login login     -          /accounts/logout/

GET    login     login  login 200   200       -          /admin/
POST   login     login  login 200   200       -          /admin/
GET    200       200    200   302   302       -          /admin/login/
POST   200       200    200   200   200       -          /admin/login/
GET    302       302    302   405   405       -          /admin/logout/
POST   302       302    302   login login     -          /admin/logout/
GET    login     login  login 200   200       -          /admin/password_change/
POST   login     login  login 200   200       -          /admin/password_change/
GET    login     login  login 200   200       -          /admin/password_change/done/
POST   login     login  login 405   405       -          /admin/password_change/done/
GET    login     login  login 403   403       -          /admin/autocomplete/
POST   login     login  login 405   405       -          /admin/autocomplete/
GET    login     login  login 200   200       -          /admin/jsi18n/
POST   login     login  login 405   405       -          /admin/jsi18n/
GET    login     login  login 404   404       -          /admin/r/<content_type_id>/<object_id>/
POST   login     login  login 404   404       -          /admin/r/<content_type_id>/<object_id>/
GET    login     login  login 404   200       any        /admin/<app_label>/
POST   login     login  login 404   200       any        /admin/<app_label>/
GET    login     login  login 404   404       -          /admin/<url>
POST   login     login  login 404   404       -          /admin/<url>

GET    login     login  login 403   200       set_*      /admin/sessions_app/legalhold/add/
POST   login     login  login 403   200       set_*      /admin/sessions_app/legalhold/add/
GET    login     login  login 403   200       lift_*     /admin/sessions_app/legalhold/<object_id>/lift/
POST   login     login  login 403   200       lift_*     /admin/sessions_app/legalhold/<object_id>/lift/
GET    login     login  login 403   200       add+text   /admin/sessions_app/annotation/add/
POST   login     login  login 403   200       add+text   /admin/sessions_app/annotation/add/
GET    login     login  login 403   200       delete+text   /admin/sessions_app/annotation/<object_id>/delete/
POST   login     login  login 403   200       delete+text   /admin/sessions_app/annotation/<object_id>/delete/
GET    login     login  login 403   200       evalset    /admin/sessions_app/annotation/evalset.json
POST   login     login  login 403   403       -          /admin/sessions_app/annotation/evalset.json
GET    login     login  login 403   200       read       /admin/sessions_app/remit/
POST   login     login  login 403   200       read       /admin/sessions_app/remit/
GET    login     login  login 403   200       add_*      /admin/sessions_app/remit/add/
POST   login     login  login 403   200       add_*      /admin/sessions_app/remit/add/
GET    login     login  login 403   200       read       /admin/sessions_app/remit/<object_id>/change/
POST   login     login  login 403   200       change_*   /admin/sessions_app/remit/<object_id>/change/
GET    login     login  login 403   200       delete_*   /admin/sessions_app/remit/<object_id>/delete/
POST   login     login  login 403   200       delete_*   /admin/sessions_app/remit/<object_id>/delete/
GET    login     login  login 403   200       view_error_detail /admin/sessions_app/callerror/
GET    login     login  login 403   200       view_error_detail /admin/sessions_app/callerror/<object_id>/change/
GET    login     login  login 403   200       view_error_detail /admin/sessions_app/callerror/<object_id>/history/
POST   login     login  login 403   200       view_error_detail /admin/sessions_app/callerror/<object_id>/history/
GET    login     login  login 403   200       read       /admin/sessions_app/*/
POST   login     login  login 403   403       -          /admin/sessions_app/*/
GET    login     login  login 403   403       -          /admin/sessions_app/*/add/
POST   login     login  login 403   403       -          /admin/sessions_app/*/add/
GET    login     login  login 403   302       read       /admin/sessions_app/event/<object_id>/change/
GET    login     login  login 403   200       text       /admin/sessions_app/session/<object_id>/change/
GET    login     login  login 403   200       read       /admin/sessions_app/*/<object_id>/change/
POST   login     login  login 403   403       -          /admin/sessions_app/*/<object_id>/change/
GET    login     login  login 403   200       read       /admin/sessions_app/*/<object_id>/history/
POST   login     login  login 403   200       read       /admin/sessions_app/*/<object_id>/history/
GET    login     login  login 403   403       -          /admin/sessions_app/*/<object_id>/delete/
POST   login     login  login 403   403       -          /admin/sessions_app/*/<object_id>/delete/
GET    login     login  login 302   302       -          /admin/sessions_app/*/<object_id>/
POST   login     login  login 302   302       -          /admin/sessions_app/*/<object_id>/
GET    login     login  login 403   200       export-text /admin/sessions_app/session/<session_id>/export/
POST   login     login  login 403   200       export-text /admin/sessions_app/session/<session_id>/export/
GET    login     login  login 403   200       unmask     /admin/sessions_app/session/<session_id>/unmask/
POST   login     login  login 403   200       unmask     /admin/sessions_app/session/<session_id>/unmask/
GET    login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/mask/
POST   login     login  login 403   302       text       /admin/sessions_app/session/<session_id>/mask/
GET    login     login  login 403   200       erase-text /admin/sessions_app/session/<session_id>/erase/
POST   login     login  login 403   200       erase-text /admin/sessions_app/session/<session_id>/erase/
GET    login     login  login 403   200       text       /admin/sessions_app/session/<session_id>/event/<seq>/raw.json
POST   login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/event/<seq>/raw.json
GET    login     login  login 403   200       text       /admin/sessions_app/session/<session_id>/event/<seq>/sent.json
POST   login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/event/<seq>/sent.json
GET    login     login  login 403   200       text       /admin/sessions_app/session/<session_id>/integrity/
POST   login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/integrity/
GET    login     login  login 403   200       text       /admin/sessions_app/session/<session_id>/news/
POST   login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/news/
GET    login     login  login 403   200       text       /admin/sessions_app/session/<session_id>/trace/
POST   login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/trace/
GET    login     login  login 403   200       export     /admin/sessions_app/session/export.csv
POST   login     login  login 403   403       -          /admin/sessions_app/session/export.csv
GET    login     login  login 403   200       export     /admin/sessions_app/session/export.jsonl
POST   login     login  login 403   403       -          /admin/sessions_app/session/export.jsonl
GET    login     login  login 403   200       read       /admin/sessions_app/artifact/<artifact_id>/download/
POST   login     login  login 403   403       -          /admin/sessions_app/artifact/<artifact_id>/download/
GET    login     login  login 403   200       correct    /admin/sessions_app/session/<session_id>/state/
POST   login     login  login 403   200       correct    /admin/sessions_app/session/<session_id>/state/
GET    login     login  login 403   302       decide     /admin/sessions_app/answerrequest/<object_id>/answer/
POST   login     login  login 403   200       decide     /admin/sessions_app/answerrequest/<object_id>/answer/
GET    login     login  login 403   200       stop       /admin/sessions_app/invocation/<object_id>/stop/
POST   login     login  login 403   302       stop       /admin/sessions_app/invocation/<object_id>/stop/
GET    login     login  login 403   200       stop       /admin/sessions_app/tooljob/<object_id>/stop/
POST   login     login  login 403   302       stop       /admin/sessions_app/tooljob/<object_id>/stop/
GET    login     login  login 403   200       stop       /admin/sessions_app/scheduledtask/<object_id>/stop/
POST   login     login  login 403   302       stop       /admin/sessions_app/scheduledtask/<object_id>/stop/
GET    login     login  login 403   200       stop-run   /admin/sessions_app/evaluation/<object_id>/stop/
POST   login     login  login 403   302       stop-run   /admin/sessions_app/evaluation/<object_id>/stop/
GET    login     login  login 403   200       revoke_*   /admin/sessions_app/sharelink/<object_id>/revoke/
POST   login     login  login 403   200       revoke_*   /admin/sessions_app/sharelink/<object_id>/revoke/
GET    login     login  login 403   200       add_*      /admin/sessions_app/apikey/add/
POST   login     login  login 403   200       add_*      /admin/sessions_app/apikey/add/
GET    login     login  login 403   200       revoke_*   /admin/sessions_app/apikey/<object_id>/revoke/
POST   login     login  login 403   200       revoke_*   /admin/sessions_app/apikey/<object_id>/revoke/

GET    login     login  login 403   200       read       /admin/axes/*/
POST   login     login  login 403   403       -          /admin/axes/*/
GET    login     login  login 403   403       -          /admin/axes/*/add/
POST   login     login  login 403   403       -          /admin/axes/*/add/
GET    login     login  login 403   200       read       /admin/axes/*/<object_id>/change/
POST   login     login  login 403   403       -          /admin/axes/*/<object_id>/change/
GET    login     login  login 403   200       read       /admin/axes/*/<object_id>/history/
POST   login     login  login 403   200       read       /admin/axes/*/<object_id>/history/
GET    login     login  login 403   403       -          /admin/axes/*/<object_id>/delete/
POST   login     login  login 403   403       -          /admin/axes/*/<object_id>/delete/
GET    login     login  login 302   302       -          /admin/axes/*/<object_id>/
POST   login     login  login 302   302       -          /admin/axes/*/<object_id>/

GET    login     login  login 403   200       read       /admin/auth/*/
POST   login     login  login 403   200       read       /admin/auth/*/
GET    login     login  login 403   200       add+change /admin/auth/user/add/
POST   login     login  login 403   200       add+change /admin/auth/user/add/
GET    login     login  login 403   200       add_*      /admin/auth/*/add/
POST   login     login  login 403   200       add_*      /admin/auth/*/add/
GET    login     login  login 403   200       read       /admin/auth/*/<object_id>/change/
POST   login     login  login 403   200       change_*   /admin/auth/*/<object_id>/change/
GET    login     login  login 403   200       read       /admin/auth/*/<object_id>/history/
POST   login     login  login 403   200       read       /admin/auth/*/<object_id>/history/
GET    login     login  login 403   200       erase      /admin/auth/user/<object_id>/delete/
POST   login     login  login 403   200       erase      /admin/auth/user/<object_id>/delete/
GET    login     login  login 403   200       delete_*   /admin/auth/*/<object_id>/delete/
POST   login     login  login 403   200       delete_*   /admin/auth/*/<object_id>/delete/
GET    login     login  login 403   200       export-text /admin/auth/user/<id>/export/
POST   login     login  login 403   200       export-text /admin/auth/user/<id>/export/
GET    login     login  login 302   302       -          /admin/auth/*/<object_id>/
POST   login     login  login 302   302       -          /admin/auth/*/<object_id>/
GET    login     login  login 403   200       change_*   /admin/auth/*/<id>/password/
POST   login     login  login 403   200       change_*   /admin/auth/*/<id>/password/
"""
TEXTS = {"answerrequest", "event", "artifact", "appstate", "userstate", "failure", "annotation"}
"""Models whose rows are words of conversations: reading them needs that right, too."""
WORDS = {
    "read": "view_*|change_*",
    "text": "view_*+view_text|change_*+view_text",
    "add+text": "add_*+view_text",
    "delete+text": "delete_*+view_text",
    "evalset": "export_data+view_*+view_text",
    "erase": "delete_*+erase_data",
    "export-text": "export_data+view_*+view_text|export_data+change_*+view_text",
    "unmask": "unmask_data+view_*+view_text|unmask_data+change_*+view_text",
    "erase-text": "erase_data+view_*+view_text|erase_data+change_*+view_text",
    "stop": "cancel_*+view_*|cancel_*+change_*|cancel_*+view_session",
    "stop-run": "cancel_*+view_*|cancel_*+change_*",
    "correct": "correct_state+view_*+view_text|correct_state+change_*+view_text",
    "decide": "approve_*+view_*+view_text|approve_*+change_*+view_text",
    "add+change": "add_*+change_*",
    "export": "export_data+view_*|export_data+change_*",
    "any": "|".join(
        f"{verb}_{name}" + ("+view_text" if name in TEXTS else "")
        for name in (
            model._meta.model_name
            for model in admin.site._registry
            if model._meta.app_label == "sessions_app"
        )
        for verb in (
            "view",
            "change",
            "set",
            *(("add", "delete") if name in ("remit", "annotation", "apikey") else ()),
        )
    )
    + "|view_error_detail",
}
QUERIES = {
    "/admin/sessions_app/annotation/evalset.json": "?label=refunds",
    "/chat/<session_id>/events/": "?before=2",
    "/admin/sessions_app/session/<session_id>/trace/": "?invocation=<run_id>",
}
PLACEHOLDER = re.compile(r"<(\w+)>")
OUTSIDE_DJANGO = {"/healthz"}
STATIC_KINDS = {".css", ".js", ".map", ".svg", ".png", ".txt", ".md", ""}


@dataclass(frozen=True)
class Row:
    """Expected statuses at one address for one method."""

    method: str
    anonymous: str
    person: str
    owner: str
    staff: str
    superuser: str
    opened_by: str
    address: str

    def about(self, model: str) -> str:
        """The permissions that open the address of a page about `model`."""
        word = "text" if self.opened_by == "read" and model in TEXTS else self.opened_by
        return WORDS.get(word, word).replace("*", model)


@dataclass(frozen=True)
class World:
    """Things of a person who is active, and of one who is not any more; browsers by name and by permissions."""

    things: Things
    things_of_deactivated: Things
    clients: dict[str, Client]
    staff: dict[Permissions, Client]


@lru_cache(maxsize=1)
def rows() -> dict[tuple[str, str], Row]:
    lines = [line.split() for line in TABLE.strip().splitlines()[1:] if line.strip()]
    return {(line[0], line[-1]): Row(*line) for line in lines}


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
    caplog: pytest.LogCaptureFixture,
) -> World:
    """The people and their things, stored once for all cases."""
    settings.MEDIA_ROOT = tmp_path
    settings.ADK = {**settings.ADK, "share_links": True}
    caplog.set_level(logging.CRITICAL, "django.request")  # thousands of refusals, each with a traceback
    app = App(name=APP, root_agent=LlmAgent(name=APP, model=ScriptedModel()))
    monkeypatch.setattr(agent_registry, "apps", lambda: {APP: app})
    monkeypatch.setattr(job_response, "send_run_session", lambda session_id: None)
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
    sets = [
        opening(row.about(model_of(address)))
        for method, address in CASES
        if (row := row_for(method, address))
    ]
    permissions = {one for several in sets for one in {*several, *refused_by(several)}}
    staff = {one: signed_in(make_staff(one)) for one in permissions}
    return World(make_things(owner), make_things(leaver), clients, staff)


def read(response: Any) -> None:
    """Read a file to its end, which closes it."""
    if response.streaming and not response.is_async:
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
    asked += [(f"staff with {named(one)}", world.staff[one], row.staff) for one in refused_by(sets)]
    asked += [(f"staff with {named(one)}", world.staff[one], row.superuser) for one in sets]
    for name, client, status in asked:
        things = world.things_of_deactivated if name == "deactivated" else world.things
        got = told(client, row.method, address, things)
        if got != status:
            yield f"{name}: {got} instead of {status}"


def refused_by(sets: list[Permissions]) -> set[Permissions]:
    """None, and the largest sets that open nothing. Permissions only ever open, so smaller sets open nothing either."""
    return {frozenset(), *largest_refused(sets)} - {*sets}


def named(permissions: Permissions) -> str:
    if len(permissions) < 4:
        return "+".join(sorted(permissions)) or "no permission"
    return f"all permissions but {sorted(all_permissions() - permissions)}"


def test_each_address_has_a_row() -> None:
    missing = [f"{method} {address}" for method, address in CASES if row_for(method, address) is None]
    assert missing == [], "Add a row to TABLE for each address and method, that says who may have it."


def test_each_person_gets_what_the_table_says(world: World) -> None:
    rows_of_cases = [(row_for(method, address), address) for method, address in CASES]
    wrong = [
        f"{row.method} {address} for {difference}"
        for row, address in rows_of_cases
        if row is not None
        for difference in differences(world, row, address)
    ]
    assert "\n".join(wrong) == ""


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


def test_the_stored_files_have_no_address_of_their_own(world: World) -> None:
    stored = world.things.rows["artifact"].file.name  # type: ignore[attr-defined]
    for path in (f"/media/{stored}", f"/static/{stored}", f"/{stored}"):
        assert world.clients["owner"].get(path).status_code == 404
