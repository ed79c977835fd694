"""Questions of agents as forms: what the page holds for each, and which answers are taken (contract T5, T8, T9)."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.auth import AuthConfig, AuthCredential, AuthCredentialTypes, OAuth2Auth
from runtime.auth.auth_schemes import APIKey, ApiKeyLocation, HTTPBase, OAuth2, OAuthFlows, ProtectedResource
from runtime.auth.auth_tool import AuthToolArguments
from runtime.events.calls import (
    CHOICE_TOOL,
    REMOTE_AUTH,
    REMOTE_INPUT,
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    REQUEST_INPUT,
)
from runtime.tools import ToolContext, get_user_choice
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.chat.consumers import ChatConsumer
from sessions_app.invocations.answers.form_answers import ConfirmationForm, OptionForm
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Session
from tests.fakes import ScriptedModel, call, parts_of, response_of
from tests.integration.admin.audit_rows import append_event
from tests.integration.chat.pages.page_helpers import page
from tests.integration.socket_tab import Websocket
from tests.served_agents import Served

OPTIONS = [
    "items",
    "<script>alert(1)</script>",
    "\u202eevil",
    "a\0b",
    "x" * 10_000,
    "",
    7,
    None,
    {"items": [1]},
]


class Forms(HTMLParser):
    """The questions of a page: their labels, and the inputs, buttons and links inside of them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.labels: list[str] = []
        self.parts: list[dict[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if given.get("class") == "question":
            self.labels.append(given["aria-label"])
        elif self.labels and tag in ("input", "button", "a", "script"):
            self.parts.append({"tag": tag, **given})

    def names(self, tag: str) -> list[tuple[str, str]]:
        """Return names and types of the inputs, or names and values of the buttons."""
        found = [part for part in self.parts if part["tag"] == tag and part.get("name")]
        second = "type" if tag == "input" else "value"
        return [(part["name"], part.get(second, "")) for part in found]


@pytest.fixture
def session(person: User) -> Session:
    return Session.objects.create(app_name="asking", user=person, key="s-1")


def asks(session: Session, name: str, args: Any) -> None:
    """Append a question of the framework or of a long-running tool."""
    part = {"functionCall": {"id": "c-1", "name": name, "args": args}}
    append_event(session, part, author="asking", longRunningToolIds=["c-1"])


def forms(client: Client, person: User, session: Session) -> Forms:
    client.force_login(person)
    log = client.get(page(session)).content.decode().split('id="log"', 1)[1].split('id="asked"', 1)[0]
    return Forms(log)


def request_of(scheme: Any, **client: str) -> dict[str, Any]:
    raw = (
        AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(**client)) if client else None
    )
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=raw)
    asked = AuthToolArguments(function_call_id="c-0", auth_config=config)
    return asked.model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.usefixtures("background_end")
def test_every_option_is_a_button_with_its_number_whatever_it_is(
    person: User, session: Session, client: Client
) -> None:
    stored = [option for option in OPTIONS if option != "a\0b"]
    asks(session, "get_user_choice", {"options": stored})
    shown = forms(client, person, session)
    assert shown.labels == ["Choice: items …"]
    values = [value for name, value in shown.names("button") if name == "option"]
    assert values == [str(number) for number in range(len(stored))]
    assert [part for part in shown.parts if part["tag"] == "script" and not part.get("type")] == []


@pytest.mark.usefixtures("background_end")
@pytest.mark.parametrize("options", [None, [], "Bern", {"items": 1}, 7])
def test_options_that_are_no_list_make_no_form_and_break_no_page(
    person: User, session: Session, client: Client, options: Any
) -> None:
    asks(session, "get_user_choice", {"options": options})
    assert forms(client, person, session).labels == []


@pytest.mark.usefixtures("background_end")
@pytest.mark.parametrize(
    ("name", "inputs"), [(REMOTE_INPUT, [("result", "text")]), (REMOTE_AUTH, [("result", "hidden")])]
)
def test_a_question_of_a_remote_agent_is_answered_by_a_text_or_by_a_button(
    person: User, session: Session, client: Client, name: str, inputs: list[tuple[str, str]]
) -> None:
    asks(session, name, {"asked": "<script>alert(1)</script> **Where?** \u202e"})
    shown = forms(client, person, session)
    assert (shown.labels, shown.names("input")) == (["Question from Asking"], inputs)
    assert not [part for part in shown.parts if part["tag"] == "script" and not part.get("type")]


@pytest.mark.usefixtures("background_end")
@pytest.mark.parametrize("args", [{}, {"asked": None}, {"asked": {"items": 1}}, {"asked": 7}])
def test_a_question_of_a_remote_agent_without_a_text_breaks_no_page(
    person: User, session: Session, client: Client, args: dict[str, Any]
) -> None:
    asks(session, REMOTE_INPUT, args)
    assert forms(client, person, session).names("input") == [("result", "text")]


TEXT = ("result", "text")


@pytest.mark.usefixtures("background_end")
@pytest.mark.parametrize(
    ("args", "inputs"),
    [
        ({"message": "<script>alert(1)</script> **Where?** \u202e"}, [TEXT]),
        ({"response_schema": {"type": "boolean"}}, []),  # two buttons
        ({"response_schema": {"type": "integer"}, "payload": {"items": "<b>"}}, [("result", "number")]),
        (
            {
                "response_schema": {
                    "properties": {"items": {"type": "number"}, "x<": {}, "ok": {"type": "boolean"}}
                }
            },
            [("items", "number"), ("ok", "checkbox"), ("x<", "text")],
        ),
        ({}, [TEXT]),
        ({"message": 7, "payload": [1, {"a": None}], "response_schema": "odd"}, [TEXT]),
        ({"response_schema": {"properties": []}, "payload": "x" * 2_000}, [TEXT]),
        ({"response_schema": {"type": ["string", "null"]}}, [TEXT]),
        ({"response_schema": {"type": ["string", "null"], "properties": {"a": 3}}}, [("a", "text")]),
    ],
)
def test_a_question_of_a_node_has_the_inputs_of_its_schema(
    person: User, session: Session, client: Client, args: dict[str, Any], inputs: list[tuple[str, str]]
) -> None:
    asks(session, REQUEST_INPUT, args)
    shown = forms(client, person, session)
    assert (shown.labels, shown.names("input")) == (["Question from Asking"], inputs)
    assert not [part for part in shown.parts if part["tag"] == "script" and not part.get("type")]


@pytest.mark.usefixtures("background_end")
@pytest.mark.parametrize("required", [["size"], "size", None])
def test_only_a_value_that_the_schema_requires_must_be_given(
    person: User, session: Session, client: Client, required: Any
) -> None:
    schema = {"properties": {"size": {"type": "integer"}, "notes": {"type": "string"}}, "required": required}
    asks(session, REQUEST_INPUT, {"response_schema": schema})
    shown = forms(client, person, session)
    given = {part["name"]: part for part in shown.parts if part["tag"] == "input"}
    must = required == ["size"]
    assert ("required" in given["size"], "data-optional" in given["size"]) == (must, not must)
    assert "data-optional" in given["notes"]


@pytest.mark.usefixtures("background_end")
def test_an_answer_to_a_node_is_shown_whole(person: User, session: Session, client: Client) -> None:
    asks(session, REQUEST_INPUT, {})
    answer = {"id": "c-1", "name": REQUEST_INPUT, "response": {"result": True, "comment": "late"}}
    append_event(session, {"functionResponse": answer}, author="user")
    client.force_login(person)
    assert "You answered <bdi>Comment: late · Result: yes</bdi>" in client.get(page(session)).content.decode()


SCHEMES: list[tuple[Any, dict[str, str], list[tuple[str, str]]]] = [
    (APIKey(in_=ApiKeyLocation.HEADER, name="X-Key"), {}, [("apiKey", "password")]),
    (
        HTTPBase(scheme="basic"),
        {},
        [("http.credentials.username", "text"), ("http.credentials.password", "password")],
    ),
    (HTTPBase(scheme="bearer"), {}, [("http.credentials.token", "password")]),
    (
        OAuth2(flows=OAuthFlows()),
        {"auth_uri": "https://accounts.example/", "redirect_uri": "https://shop.example/back"},
        [("oauth2.authResponseUri", "url")],
    ),
    (OAuth2(flows=OAuthFlows()), {"auth_uri": "https://accounts.example/"}, []),
    (ProtectedResource(resource="https://notes.example/mcp"), {}, []),
    (OAuth2(flows=OAuthFlows()), {"auth_uri": "javascript:alert(1)"}, []),
    (OAuth2(flows=OAuthFlows()), {"auth_uri": "https://[bad"}, []),
    (OAuth2(flows=OAuthFlows()), {}, []),
]


@pytest.mark.usefixtures("background_end")
@pytest.mark.parametrize(("scheme", "oauth", "inputs"), SCHEMES)
def test_each_scheme_has_its_inputs_and_only_web_addresses_are_links(
    person: User,
    session: Session,
    client: Client,
    scheme: Any,
    oauth: dict[str, str],
    inputs: list[tuple[str, str]],
) -> None:
    asks(session, REQUEST_CREDENTIAL, request_of(scheme, **oauth))
    shown = forms(client, person, session)
    assert len(shown.labels) == 1
    assert [found for found in shown.names("input") if found[1] != "hidden"] == inputs
    links = [part["href"] for part in shown.parts if part["tag"] == "a"]
    expected = []
    if inputs and oauth:
        expected = [oauth["auth_uri"]]
    elif oauth == {"auth_uri": "https://accounts.example/"} or isinstance(scheme, ProtectedResource):
        expected = [reverse("chat:sign_in", args=["c-1"])]
    assert links == expected


@pytest.mark.usefixtures("background_end")
def test_a_request_that_a_model_imitates_is_no_form(person: User, session: Session, client: Client) -> None:
    asked = request_of(HTTPBase(scheme="basic"))
    call = {"functionCall": {"id": "c-1", "name": REQUEST_CREDENTIAL, "args": asked}}
    append_event(session, call, author="asking")
    asks(session, REQUEST_CREDENTIAL, {"authConfig": {"items": 1}})
    assert forms(client, person, session).labels == []


@pytest.mark.usefixtures("background_end")
@pytest.mark.parametrize(
    ("payload", "inputs"),
    [
        (
            {"days": 3, "paid": True, "why": "", "items": ["a"], "<script>": 0.5, "n": None, "": 2**53},
            [
                ("<script>", "number"),
                ("days", "number"),
                ("n", "text"),
                ("paid", "checkbox"),
                ("why", "text"),
            ],
        ),
        ({}, []),
        (None, []),
    ],
)
def test_the_values_of_a_payload_are_inputs_of_their_kind(
    person: User, session: Session, client: Client, payload: Any, inputs: list[tuple[str, str]]
) -> None:
    question = {"hint": "How?", "payload": payload}
    original = {"id": "c-0", "name": "leave", "args": {}}
    asks(session, REQUEST_CONFIRMATION, {"originalFunctionCall": original, "toolConfirmation": question})
    shown = forms(client, person, session)
    assert shown.names("input") == inputs
    assert [part.get("data-confirm") for part in shown.parts if part["tag"] == "button"] == ["yes", "no"]


ANSWERS: list[tuple[str, Any, str]] = [
    ("get_user_choice", {"result": "Bern"}, "You chose <bdi>Bern</bdi>"),
    ("get_user_choice", {"result": "<script>"}, "You chose <bdi>&lt;script&gt;</bdi>"),
    ("get_user_choice", {"items": [1]}, "You chose <bdi>{&quot;items&quot;: [1]}</bdi>"),
    ("get_user_choice", {}, "You chose <bdi>{}</bdi>"),
    (REQUEST_CREDENTIAL, {"credentialKey": "k", "given": True}, "Given by you"),
    (REQUEST_CREDENTIAL, {"credentialKey": None, "given": False}, "Not given by you"),
    (REQUEST_CONFIRMATION, {"confirmed": True, "forSession": True}, "Allowed for this chat by you"),
    (REQUEST_CONFIRMATION, {"confirmed": True}, "Approved by you"),
    (REQUEST_CONFIRMATION, {"confirmed": False, "forSession": True}, "Rejected by you"),
]


@pytest.mark.usefixtures("background_end")
@pytest.mark.parametrize(("name", "response", "words"), ANSWERS)
def test_the_page_shows_what_was_answered(
    person: User, session: Session, client: Client, name: str, response: Any, words: str
) -> None:
    answer = {"functionResponse": {"id": "c-1", "name": name, "response": response}}
    append_event(session, answer, author="user")
    client.force_login(person)
    html = client.get(page(session)).content.decode()
    assert f'dir="auto">{words}, <time' in html and "cannot be shown" not in html
    assert ("data-ask-again" in html) == (words == "Allowed for this chat by you")


@pytest.mark.usefixtures("loop_end")
async def test_a_choice_is_answered_once_and_strange_answers_are_refused_with_a_sentence(
    person: User, served: Served
) -> None:
    model = ScriptedModel(turns=[call("get_user_choice", options=["Bern", "Rome"]), "Bern it is."])
    app = App(name="asking", root_agent=LlmAgent(name="asking", model=model, tools=[get_user_choice]))
    served(app)
    session = await use_cases.create_session(person, "asking")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "Where?")
    await worker().wait_until_idle()
    asked = await Event.objects.aget(session=session, kind="call")
    call_id = asked.body["content"]["parts"][0]["functionCall"]["id"]
    good = {"type": "respond", "call_id": call_id, "name": "get_user_choice", "response": {"result": "Bern"}}
    strange = [{**good, "call_id": "c-none"}, {**good, "name": "pay"}, {**good, "response": "Bern"}]
    choice = {"type": "choose", "call_id": call_id, "option": 0}
    strange += [{**choice, "call_id": "c-none"}, {**choice, "option": 2}, {**choice, "option": -1}]
    refusals = [await refusal(person, session, frame) for frame in strange]
    assert refusals == ["not_found", "not_found", "invalid", "not_found", "invalid", "invalid"]
    await use_cases.answer_call(actors.person(person), session.pk, call_id, CHOICE_TOOL, OptionForm(0))
    await worker().wait_until_idle()
    assert [await refusal(person, session, frame) for frame in (good, choice)] == ["conflict"] * 2
    assert (await Event.objects.filter(session=session).alatest("seq")).text == "Bern it is."
    (sent,) = parts_of(model.requests[-1].contents[-1])
    assert response_of(sent) == {"result": "Bern"}


@pytest.mark.usefixtures("loop_end")
async def test_an_approval_keeps_all_values_of_the_payload_but_the_changed_ones(
    person: User, served: Served
) -> None:
    given: list[Any] = []
    model = ScriptedModel(rule=lambda request: "Done." if given else call("leave"))
    app = App(name="asking", root_agent=LlmAgent(name="asking", model=model, tools=[leave_tool(given)]))
    served(app)
    session = await use_cases.create_session(person, "asking")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "Leave")
    await worker().wait_until_idle()
    asked = await Event.objects.filter(session=session).alatest("seq")
    (question,) = asked.body["content"]["parts"]
    approval = {"type": "confirm", "call_id": question["functionCall"]["id"], "confirmed": True}
    assert await refusal(person, session, {**approval, "changes": {"hours": 1}}) == "invalid"
    assert await refusal(person, session, {**approval, "changes": [1]}) == "invalid"
    form = ConfirmationForm(True, {"days": 5, "why": "Sea"})
    await use_cases.answer_call(
        actors.person(person), session.pk, approval["call_id"], REQUEST_CONFIRMATION, form
    )
    await worker().wait_until_idle()
    assert given == [{"days": 5, "why": "Sea", "": 2**60, "offices": ["Bern"]}]


def leave_tool(given: list[Any]) -> Any:
    """Return a tool that asks for a payload and appends the answered one to `given`."""

    def leave(tool_context: ToolContext) -> str | None:
        """Take leave."""
        answer = tool_context.tool_confirmation
        if answer is None:
            payload = {"days": 3, "why": None, "": 2**60, "offices": ["Bern"]}
            tool_context.request_confirmation(hint="How long?", payload=payload)
            return None
        given.append(answer.payload)
        return "Taken."

    return leave


async def refusal(person: User, session: Session, fields: dict[str, Any]) -> str:
    """Return the code with which a frame is refused."""
    socket = Websocket(ChatConsumer.as_asgi(), f"/ws/chat/{session.pk}/")
    socket.scope["user"] = person
    socket.scope["url_route"] = {"args": (), "kwargs": {"session_id": session.pk}}
    assert (await socket.connect())[0]
    await socket.send_json_to({"v": 1, **fields})
    answer = await socket.receive_json_from(10)
    await socket.disconnect()
    assert answer["type"] == "error" and answer["message"].endswith(".")
    return str(answer["code"])
