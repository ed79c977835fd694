"""Sessions over ADK's addresses: ids of the client's choice, state, restored conversations, deletion, bounds."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.test import AsyncClient

from sessions_app.invocations.state_delta import MAX_STATE_CHARACTERS
from sessions_app.models import AppState, Event, LegalHold, Session, SessionAct, UserState
from tests.integration.access import APP
from tests.integration.api.adk.conftest import SESSIONS, Send
from tests.integration.api.conftest import Program, make_key

pytestmark = pytest.mark.django_db(transaction=True)
SAID = {"author": "user", "content": {"role": "user", "parts": [{"text": "Hi"}]}, "invocationId": "e-1"}


def refused(*claims: dict[str, Any]) -> list[Any]:
    return [pytest.param(claim, id=str(next(iter(claim)))) for claim in claims]


async def test_a_session_has_the_id_that_its_client_chose(send: Send, person: User) -> None:
    status, session = await send("POST", SESSIONS, {"sessionId": "s1", "state": {"a": 1, "user:b": 2}})
    assert status == 200
    assert session.pop("lastUpdateTime") > 1e9
    shown = {"id": "s1", "appName": APP, "userId": "ada", "state": {"a": 1, "user:b": 2}, "events": []}
    assert session == shown
    row = await Session.objects.aget()
    assert (row.key, row.user_id) == ("s1", person.pk) and str(row.pk) != "s1"
    status, again = await send("POST", f"{SESSIONS}/s1", {})
    assert status == 409 and "another id" in again["detail"]


async def test_a_session_without_an_id_has_that_of_its_page(send: Send) -> None:
    for body in (None, {}, {"sessionId": None}):
        status, session = await send("POST", SESSIONS, body)
        assert status == 200
        assert await Session.objects.filter(pk=session["id"], key=session["id"]).aexists()


async def test_the_body_of_a_creation_with_an_id_is_the_state(send: Send) -> None:
    assert (await send("POST", f"{SESSIONS}/s2", {"colour": "red"}))[1]["state"] == {"colour": "red"}
    assert (await send("POST", f"{SESSIONS}/s3"))[1]["state"] == {}


async def test_two_people_may_have_the_same_id(send: Send, person: User) -> None:
    other = await User.objects.acreate_user("eve")
    await send("POST", f"{SESSIONS}/s1")
    key = await sync_to_async(make_key)(other)
    client = Program(key)
    status, session = await send("POST", SESSIONS.replace("ada", "eve") + "/s1", client=client)
    assert (status, session["userId"]) == (200, "eve")
    assert (await send("GET", f"{SESSIONS}/s1", client=client))[0] == 404


async def test_a_service_key_names_the_people_for_whom_it_acts(send: Send, person: User) -> None:
    group = await Group.objects.acreate(name="customers")
    member = await User.objects.acreate_user("bob")
    await member.groups.aadd(group)
    key = await sync_to_async(make_key)(person, people=group)
    client = Program(key)
    assert (await send("POST", SESSIONS.replace("ada", "bob"), client=client))[0] == 200
    assert await Session.objects.filter(user=member).acount() == 1


async def test_a_session_is_read_with_its_events_without_the_state_of_the_app(
    send: Send, person: User
) -> None:
    await AppState.objects.acreate(app_name=APP, state={"secret": 1})
    await UserState.objects.acreate(
        app_name=APP, user=person, state={"browser_time_zone": "UTC", "name": "Ada"}
    )
    credential = {"authType": "oauth2", "oauth2": {"accessToken": "t0ken"}}
    state = {"kept": True, "login": credential}
    session = await Session.objects.acreate(app_name=APP, user=person, key="s1", last_seq=2, state=state)
    config = {"rawAuthCredential": {"oauth2": {"clientId": "c", "clientSecret": "s3cret"}}}
    actions = {"stateDelta": {"app:secret": 1, "x": 2}, "requestedAuthConfigs": {"c-1": config}}
    for seq in (1, 2, 3):  # the third is committed while the answer is sent
        body = {**SAID, "id": str(seq), "timestamp": seq / 2, "actions": actions if seq == 2 else {}}
        await Event.objects.acreate(session=session, seq=seq, body=body)
    status, shown = await send("GET", f"{SESSIONS}/s1")
    assert status == 200
    assert shown["state"] == {"kept": True, "user:name": "Ada"}
    assert [event["id"] for event in shown["events"]] == ["1", "2"]
    assert shown["events"][0] == {**SAID, "id": "1", "timestamp": 0.5, "actions": {}}
    assert shown["events"][1]["actions"]["stateDelta"] == {"x": 2}
    assert "s3cret" not in json.dumps(shown)


async def test_a_long_session_is_streamed_in_batches(send: Send, program: AsyncClient, person: User) -> None:
    session = await Session.objects.acreate(app_name=APP, user=person, key="s1", last_seq=450)
    bodies = [{**SAID, "id": f"é{seq}", "timestamp": seq} for seq in range(1, 451)]
    rows = [Event(session=session, seq=seq, body=body) for seq, body in enumerate(bodies, 1)]
    await Event.objects.abulk_create(rows)
    response: Any = await program.get(f"{SESSIONS}/s1")
    pieces = [piece async for piece in response.streaming_content]
    assert len(pieces) == 5  # the beginning, three batches, the end
    assert json.loads(b"".join(pieces))["events"] == bodies


async def test_sessions_are_listed_without_events_and_without_those_of_others(
    send: Send, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions_app.data_protection.transcripts.session_json.SESSIONS_OF_BATCH", 2)
    await Session.objects.acreate(app_name="other", user=person, key="x")
    await Session.objects.acreate(app_name=APP, user=await User.objects.acreate_user("eve"), key="y")
    keys = [f"s{number}" for number in range(5)]
    for key in keys:
        await Session.objects.acreate(app_name=APP, user=person, key=key, state={"key": key}, last_seq=1)
    status, sessions = await send("GET", SESSIONS)
    assert status == 200
    assert [one["id"] for one in sessions] == keys[::-1]
    assert all(one["events"] == [] and one["state"] == {"key": one["id"]} for one in sessions)
    assert (await send("GET", SESSIONS.replace(APP, "nothing")))[1] == []


async def test_a_change_of_state_is_an_event_and_an_act(send: Send, person: User) -> None:
    await send("POST", f"{SESSIONS}/s1", {"a": 1})
    change = {"stateDelta": {"a": None, "b": [1], "user:c": "d", "temp:e": 1}}
    status, session = await send("PATCH", f"{SESSIONS}/s1", change)
    assert status == 200
    assert session["state"] == {"a": None, "b": [1], "user:c": "d"}
    (event,) = session["events"]
    assert event["author"] == "user" and event["actions"]["stateDelta"] == {
        "a": None,
        "b": [1],
        "user:c": "d",
    }
    act = await SessionAct.objects.aget(subject_kind="state")
    assert (act.action, act.actor_kind) == ("change", "key")
    assert (await UserState.objects.aget(user=person)).state == {"c": "d"}


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_the_state_of_the_app_is_not_that_of_a_person(send: Send, method: str) -> None:
    await send("POST", f"{SESSIONS}/s1")
    state = {"app:rate": 2}
    body, address = (
        ({"state": state}, SESSIONS) if method == "POST" else ({"stateDelta": state}, f"{SESSIONS}/s1")
    )
    status, problem = await send(method, address, body)
    assert status == 403
    assert "app:rate" in problem["detail"] and "Leave it out" in problem["detail"]
    assert not (await AppState.objects.aget()).state


async def test_a_deleted_session_is_gone_and_its_id_is_free(send: Send, person: User) -> None:
    await send("POST", f"{SESSIONS}/s1")
    for _ in range(2):
        assert await send("DELETE", f"{SESSIONS}/s1") == (200, None)
        assert (await send("GET", f"{SESSIONS}/s1"))[0] == 404
    assert not await Session.objects.aexists()
    assert (await send("POST", f"{SESSIONS}/s1"))[0] == 200
    await LegalHold.objects.acreate(session=await Session.objects.aget(), reason="A dispute")
    assert (await send("DELETE", f"{SESSIONS}/s1"))[0] == 409
    assert (await send("GET", f"{SESSIONS}/s1"))[0] == 200


async def test_a_conversation_is_restored_in_a_new_session(send: Send, person: User) -> None:
    marks = {"adk_scheduled": "1", "__adk_internal_restored_event": True, "own": 1}
    call = {"functionCall": {"id": "c", "name": "look", "args": {"x": 1}}}
    said = {**SAID, "timestamp": 5.5, "id": "first", "customMetadata": marks}
    changed = {"stateDelta": {"a": 2, "temp:b": 3}, "artifactDelta": {"t.txt": 0}}
    asked = {"author": APP, "content": {"role": "model", "parts": [call]}, "actions": changed}
    status, session = await send("POST", SESSIONS, {"events": [said, asked], "state": {"a": 1}})
    assert status == 200
    first, second = session["events"]
    assert (first["id"], first["timestamp"], first["customMetadata"]) == ("first", 5.5, {"own": 1})
    assert second["content"]["parts"] == [call]
    assert (session["state"], second["actions"]["stateDelta"]) == ({"a": 2}, {"a": 2})
    assert not second["actions"].get("artifactDelta")
    assert await SessionAct.objects.filter(reason__startswith="Brought along").acount() == 1


@pytest.mark.parametrize(
    "claim",
    refused(
        {"longRunningToolIds": ["c"]},
        {"actions": {"escalate": True}},
        {"actions": {"stateDelta": {"a": 1}, "rewindBeforeInvocationId": "e-1"}},
        {"content": {"parts": [{"functionCall": {"name": "adk_request_confirmation", "args": {}}}]}},
        {"content": {"parts": [{"functionResponse": {"name": "adk_request_credential", "response": {}}}]}},
        {"timestamp": 1e18},
        {"timestamp": 253_402_000_000},
        {"timestamp": time.time() + 3600},
        {"timestamp": -1},
    ),
)
async def test_a_restored_conversation_claims_nothing_that_the_framework_does(
    send: Send, claim: dict[str, Any]
) -> None:
    status, _ = await send("POST", SESSIONS, {"events": [SAID, {**SAID, **claim}]})
    assert status == 400
    of_app = {**SAID, "actions": {"stateDelta": {"app:a": 1}}}
    assert (await send("POST", SESSIONS, {"events": [of_app]}))[0] == 403
    assert not await Session.objects.aexists()


@pytest.mark.parametrize("depth", [300, 900, 2_000])
async def test_values_that_are_nested_too_deeply_are_refused(send: Send, depth: int) -> None:
    await send("POST", f"{SESSIONS}/s1")
    nested = '{"a": ' + "[" * depth + "]" * depth + "}"
    for method, address, body in (
        ("PATCH", f"{SESSIONS}/s1", f'{{"stateDelta": {nested}}}'),
        ("POST", f"{SESSIONS}/s2", nested),
        ("POST", SESSIONS, f'{{"events": [{{"customMetadata": {nested}}}]}}'),
    ):
        assert (await send(method, address, body))[0] == 400
    assert await Session.objects.acount() == 1


HOSTILE: tuple[tuple[str, str, Any, int], ...] = (
    ("POST", SESSIONS, {"sessionId": "\0"}, 400),
    ("POST", SESSIONS, '{"sessionId": "\\ud800"}', 400),
    ("POST", SESSIONS, {"sessionId": "x" * 256}, 400),
    ("POST", SESSIONS, {"state": [1]}, 422),
    ("POST", SESSIONS, {"state": {"a": "\0"}}, 400),
    ("POST", SESSIONS, '{"state": {"a": NaN}}', 400),
    ("POST", SESSIONS, {"events": "no"}, 422),
    ("POST", SESSIONS, {"events": [{"content": {"parts": [{"nothing": 1}]}}]}, 422),
    ("POST", SESSIONS, "[" * 100_000, 400),
    ("POST", SESSIONS, "{", 400),
    ("POST", f"{SESSIONS}/s2", [1], 422),
    *(("POST", SESSIONS, body, 422) for body in ("[]", "[1]", '""', "0", "false")),
    ("POST", SESSIONS, '{"state": {"a": ' + "7" * 4_301 + "}}", 400),
    ("PATCH", f"{SESSIONS}/s1", {}, 422),
    ("PATCH", f"{SESSIONS}/s1", {"stateDelta": 1}, 422),
    ("PATCH", f"{SESSIONS}/s1", {"stateDelta": {"a\0": 1}}, 400),
    ("PATCH", f"{SESSIONS}/nothing", {"stateDelta": {}}, 404),
    ("GET", f"{SESSIONS}/items\u202e", None, 404),
    ("POST", SESSIONS.replace(APP, "nothing"), {}, 404),
    ("POST", SESSIONS.replace("ada", "eve"), {}, 404),
    ("POST", SESSIONS, {"state": {"a": "x" * 1_000_001}}, 413),
    ("PATCH", f"{SESSIONS}/s1", {"stateDelta": {"a": "x" * 1_000_001}}, 413),
    ("POST", SESSIONS, {"events": [{}] * 5_001}, 413),
    ("POST", SESSIONS, {"state": {"a": "x" * 10_000_000}}, 413),
)


@pytest.mark.parametrize(("method", "address", "body", "status"), HOSTILE)
async def test_hostile_requests_are_refused(
    send: Send, method: str, address: str, body: Any, status: int
) -> None:
    await send("POST", f"{SESSIONS}/s1")
    assert (await send(method, address, body))[0] == status
    assert await Session.objects.acount() == 1


async def test_ids_and_keys_named_as_methods_of_dicts_are_ordinary(send: Send) -> None:
    status, session = await send("POST", f"{SESSIONS}/items", {"items": 1, "\u202ekeys": {"get": 2}})
    assert (status, session["id"], session["state"]) == (200, "items", {"items": 1, "\u202ekeys": {"get": 2}})
    assert (await send("GET", f"{SESSIONS}/items"))[1] == session


async def test_a_browser_writes_with_the_token_of_angular_only(person: User, loop_end: None) -> None:
    client = AsyncClient(enforce_csrf_checks=True)
    await client.aforce_login(person)
    client.cookies["csrftoken"] = token = "a" * 32
    for headers, status in (({}, 403), ({"x-xsrf-token": "b" * 32}, 403), ({"x-xsrf-token": token}, 200)):
        response = await client.post(SESSIONS, "{}", content_type="application/json", headers=headers)
        assert response.status_code == status
    assert await Session.objects.acount() == 1
    assert MAX_STATE_CHARACTERS < 2_621_440  # Django refuses larger bodies
