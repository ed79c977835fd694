"""Addresses, query strings and bodies that no browser would send: each gets an answer below 500."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from itertools import cycle, islice, product
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.contrib import admin
from django.db import transaction
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.api.adk.adk_api import adk_api
from sessions_app.api.site_api import site_api
from sessions_app.models import Evaluation, Invocation, Session, ToolJob
from tests.fuzz.conftest import Errors, add_event, said
from tests.fuzz.profile import examples
from tests.fuzz.values import RTL, texts

PLACEHOLDER = re.compile(r"\{(\w+)\}")
KNOWN = {"session_id": "{session}", "app_name": "echo", "user_id": "ada", "artifact_name": "a.txt"}
"""Values of placeholders that lead further than an odd one."""
API_READS = {
    path: [field["name"] for field in operations["get"]["parameters"] if field["in"] == "query"]
    for api in (site_api, adk_api)
    for path, operations in api.get_openapi_schema()["paths"].items()
    if "get" in operations
}
"""Each address that the documents of the HTTP APIs have for reading, with the parameters of its query."""


def api_address(path: str, odd: str = "") -> str:
    """The address with known values, the placeholder `odd` excepted, and without known ones of unknown things."""
    return PLACEHOLDER.sub(lambda found: "{odd}" if found[1] == odd else KNOWN.get(found[1], "{odd}"), path)


CHANGELISTS = [f"/admin/{model._meta.app_label}/{model._meta.model_name}/" for model in admin.site._registry]
LOOKUPS = """
    o all e _to_field _popup _facets status__exact app_name part_kind created_at__gte
    updated_at__gte next_at__gte next_at__isnull cancelled_at__gte lifted_at__isempty session__app_name tool_name
    is_staff__exact groups__id__exact state__has_key body__a pk__in seq user__sessions __class__ __ nonsense
""".split()
"""Besides those of `tests/integration/admin/test_hostile_queries.py`."""
PARAMETERS = {
    "/": ["page"],
    "/chat/{session}/": ["x"],
    "/chat/{session}/events/": ["before"],
    "/chat/{session}/artifacts/a.txt": ["version"],
    "/admin/sessions_app/invocation/{invocation}/stop/": ["next"],
    "/admin/sessions_app/evaluation/{evaluation}/change/": ["p"],
    "/accounts/login/": ["next"],
    **{api_address(path): names for path, names in API_READS.items() if names},
    "/admin/login/": ["next"],
    "/admin/autocomplete/": ["app_label", "model_name", "field_name", "term", "page"],
    **dict.fromkeys(CHANGELISTS, LOOKUPS),
}
ADDRESSED = [(path, name) for path, names in PARAMETERS.items() for name in names]
VALUES = [
    "",
    "\0",
    "\ud800",
    RTL,
    "9" * 5000,
    "x" * 300,
    "-1",
    "²",
    "'",
    "%00",
    str(uuid4()),
    str(2**63),
    "_5F",
]
MANY_NAMES = 20
"""A page with more names is asked for each of them with one value, which differs from page to page."""
QUERY_VALUES = ["\ud800", "9" * 5000, "2026-13-45"]
PATHS = [
    "/chat/{odd}/",
    "/chat/new/{odd}/",
    "/chat/{session}/artifacts/{odd}",
    "/chat/{session}/{odd}",
    "/{odd}",
    "/admin/{odd}",
    "/admin/sessions_app/{odd}/",
    "/static/{odd}",
    "/admin/r/{odd}/{odd}/",
    *(f"{changelist}{{odd}}/change/" for changelist in CHANGELISTS),
    "/admin/sessions_app/session/{odd}/history/",
    "/admin/sessions_app/session/{session}/event/{odd}/raw.json",
    "/admin/sessions_app/invocation/{odd}/stop/",
    "/admin/sessions_app/tooljob/{odd}/live/",
    "/admin/sessions_app/tooljob/{odd}/stop/",
    "/admin/sessions_app/legalhold/{odd}/lift/",
    "/admin/sessions_app/artifact/{odd}/download/",
]
API_PATHS = [api_address(path, odd) for path in API_READS for odd in PLACEHOLDER.findall(path)]
"""Each address for reading, with each of its placeholders once odd."""
POSTS = [
    "/accounts/login/",
    "/admin/login/",
    "/admin/sessions_app/invocation/{invocation}/stop/",
    "/chat/new/{odd}/",
]
CONTENT_TYPES = [
    "application/x-www-form-urlencoded",
    "application/x-www-form-urlencoded; charset=utf-16",
    "application/x-www-form-urlencoded; charset=nonsense",
    "application/json",
    "",
    "multipart/form-data",
    "multipart/form-data; boundary=x",
]
BODIES = [
    b"\0",
    b"\xff\xfe",
    b"username=%00&password=%00&reason=%00",
    b"username=\xff&reason=%ED%A0%80&csrfmiddlewaretoken=%00",
    b"a=1&" * 2000,
    b"next=//evil.example&password=b&username=" + b"x" * 100_000,
    b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n',
    b"--x" * 1000,
]


def encoded(text: str) -> str:
    """The text in an address, with all that is odd as percent signs."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


@pytest.fixture
def filled(session: Session) -> dict[str, str]:
    """A session with an event, an invocation and a job; what stands for their ids in an address."""
    add_event(session, said("hello"))
    names = {"session": session, "invocation_id": "e-1"}
    invocation = Invocation.objects.create(client_id="m-1", message={}, status="completed", **names)
    ToolJob.objects.create(call_id="c-1", tool_name="t", task_name="t", agent_name="a", **names)
    evaluation = Evaluation.objects.create(app_name="shop", set_id="prices", config={}, case_count=0)
    ids = {"session": session.pk, "invocation": invocation.pk, "evaluation": evaluation.pk}
    return {**{name: str(key) for name, key in ids.items()}, "odd": ""}


def status_of(
    browser: Client, method: str, url: str, errors: Errors, data: bytes = b"", content_type: str = ""
) -> tuple[int, list[str]]:
    """The status of the answer, and what was logged as an error."""
    with transaction.atomic():
        response = browser.generic(method, url, data, content_type)
        transaction.set_rollback(response.status_code == 500)
    return response.status_code, errors.taken()


def pairs_of(path: str) -> Iterator[tuple[str, str]]:
    """Pairs of a name and a value for the query string of the page."""
    names = PARAMETERS[path]
    if len(names) < MANY_NAMES:
        return product(names, QUERY_VALUES)
    return zip(names, islice(cycle(QUERY_VALUES), [*PARAMETERS].index(path), None), strict=False)


def test_a_query_string_is_answered(browser: Client, filled: dict[str, str], errors: Errors) -> None:
    broken = {}
    for path in PARAMETERS:
        for name, value in pairs_of(path):
            url = f"{path.format(**filled)}?{name}={encoded(value)}"
            status, told = status_of(browser, "GET", url, errors)
            if status >= 500 or told:
                broken[url[:120]] = [status, *told]
    assert not broken, json.dumps(broken, indent=1)


def test_a_path_is_answered(browser: Client, filled: dict[str, str], errors: Errors) -> None:
    broken = {}
    for path, value in product(dict.fromkeys([*PATHS, *API_PATHS]), VALUES):
        url = path.format(**{**filled, "odd": encoded(value)})
        status, told = status_of(browser, "GET", url, errors)
        if status >= 500 or told:
            broken[url[:150]] = [status, *told]
    assert not broken, json.dumps(broken, indent=1)


def test_a_body_is_answered(browser: Client, filled: dict[str, str], errors: Errors) -> None:
    stranger = Client(raise_request_exception=False)
    broken = {}
    for path, content_type, body, client in product(POSTS, CONTENT_TYPES, BODIES, (browser, stranger)):
        url = path.format(**{**filled, "odd": "nobody"})
        status, told = status_of(client, "POST", url, errors, data=body, content_type=content_type)
        if status >= 500 or told:
            broken[f"{url} {content_type} {body[:80]!r}"] = [status, *told]
    assert not broken, json.dumps(broken, indent=1)


@given(st.sampled_from(ADDRESSED), texts, texts)
@examples(40)
def test_any_query_string_is_answered(
    browser: Client, filled: dict[str, str], errors: Errors, addressed: tuple[str, str], value: str, more: str
) -> None:
    path, name = addressed
    url = f"{path.format(**filled)}?{name}={encoded(value)}&{encoded(more)}={encoded(value)}"
    status, told = status_of(browser, "GET", url, errors)
    assert status < 500
    assert told == []


def test_each_filter_that_a_list_offers_works(browser: Client, filled: dict[str, str]) -> None:
    statuses = {}
    for changelist in CHANGELISTS:
        html = browser.get(changelist).content.decode()
        for link in {unescape(link) for link in re.findall(r'href="(\?[^"]+=[^"]*)"', html)}:
            statuses[changelist + link] = browser.get(changelist + link).status_code
    assert statuses
    assert {link: status for link, status in statuses.items() if status != 200} == {}


def test_a_request_with_nul_is_refused(browser: Client, filled: dict[str, str]) -> None:
    addresses = ("?q=%00", "?status=%00", "?name=%00", "?%00=x", "%00/change/", "a%00/history/")
    for changelist, address in product(CHANGELISTS, addresses):
        assert browser.get(changelist + address).status_code == 400, changelist + address


def test_a_file_name_that_is_not_there_is_not_found(browser: Client, filled: dict[str, str]) -> None:
    for name in ("a/b", "../a", "a?b", "a#b", "%2e", "a\r\nX: y", RTL, "k" * 1024, "user:a"):
        url = reverse("chat:artifact", args=[filled["session"], name])
        assert browser.get(url).status_code == 404, name
