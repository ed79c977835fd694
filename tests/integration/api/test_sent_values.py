"""Values that programs send: state and answers that cannot be stored are refused, and what is told has no secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from runtime import types
from runtime.agents import LlmAgent
from runtime.events import Event as RuntimeEvent
from runtime.events import EventActions
from runtime.tools import LongRunningFunctionTool, ToolContext
from sessions_app import use_cases
from sessions_app.api.adk.adk_encoder import AdkEncoder
from sessions_app.api.site_streams import SiteEncoder
from sessions_app.base import actors
from sessions_app.invocations.state_delta import MAX_STATE_CHARACTERS
from sessions_app.invocations.worker import worker
from sessions_app.live.updates import EventUpdate
from sessions_app.models import AnswerRequest, Event, Invocation, Session, UserState
from sessions_app.store import DjangoSessionService
from tests.fakes import ScriptedModel, call
from tests.integration.api.api_stream import open_stream
from tests.integration.api.conftest import Program, body_of
from tests.served_agents import Served, asking_workflow

pytestmark = pytest.mark.usefixtures("loop_end", "servers")
DEPTHS = (200, 251, 260, 600)
ODD = ("1e400", "Infinity", *("[" * depth + "]" * depth for depth in DEPTHS))
ODD_NAMES = ("1e400", "Infinity", *(f"depth {depth}" for depth in DEPTHS))
SECRET = "s3cret-of-oauth"
CREDENTIAL = {"authType": "oauth2", "oauth2": {"clientId": "site", "clientSecret": SECRET}}


def approve() -> None:
    """Have something approved."""


@pytest.fixture(autouse=True)
def model(served: Served) -> ScriptedModel:
    tool = LongRunningFunctionTool(approve, answered_by="person")
    model = ScriptedModel()
    served(LlmAgent(name="shop", model=model, tools=[tool]))
    return model


@pytest.fixture
async def session(person: User) -> Session:
    return await use_cases.create_session(person, "shop")


async def post(program: Program, address: str, body: str | dict[str, Any]) -> tuple[int, str]:
    """Send JSON; return the status and the text of the response."""
    text = body if isinstance(body, str) else json.dumps(body)
    response = await program.post(address, text, content_type="application/json")
    return response.status_code, (await body_of(response)).decode()


@pytest.mark.parametrize("key", ["a", "user:a", "temp:a"])
@pytest.mark.parametrize("value", ODD, ids=ODD_NAMES)
async def test_state_that_cannot_be_stored_starts_no_run(
    program: Program, session: Session, key: str, value: str
) -> None:
    delta = f'{{"{key}": {value}}}'
    address = f"/api/v1/sessions/{session.pk}/runs"
    assert (await post(program, address, f'{{"text": "x", "state_delta": {delta}}}'))[0] == 400
    names = f'"appName": "shop", "userId": "ada", "sessionId": "{session.key}"'
    asked = f'{{{names}, "newMessage": {{"parts": [{{"text": "x"}}]}}, "stateDelta": {delta}}}'
    for path, statuses in (("/adk/run", (400, 422)), ("/adk/run_sse", (200, 422))):
        async with open_stream(path, program.sent, method="POST", body=asked.encode()) as stream:
            assert stream.status in statuses
            await stream.rest()
    assert not await Invocation.objects.aexists()


@pytest.mark.parametrize("value", ODD[2:], ids=ODD_NAMES[2:])
async def test_an_answer_that_is_nested_too_deeply_is_refused_and_may_be_given_again(
    program: Program, person: User, session: Session, model: ScriptedModel, value: str
) -> None:
    model.turns = [call("approve"), "done"]
    run_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m-1", "go")
    await worker().wait_until_idle()
    waiting = await AnswerRequest.objects.aget()
    for address, answer in (
        (f"/api/v1/approvals/{waiting.pk}/answer", f'{{"response": {{"a": {value}}}}}'),
        (
            f"/api/v1/runs/{run_id}/responses",
            f'{{"call_id": "{waiting.call_id}", "response": {{"a": {value}}}}}',
        ),
    ):
        status, problem = await post(program, address, answer)
        assert (status, "Use fewer levels" in problem) == (400, True)
    assert (await post(program, f"/api/v1/approvals/{waiting.pk}/answer", {"response": {"a": 1}}))[0] == 204
    await worker().wait_until_idle()
    assert not await Invocation.objects.exclude(status="completed").aexists()


async def test_the_values_that_a_tool_asks_for_are_shown_and_changed(
    program: Program, session: Session, person: User, served: Served, model: ScriptedModel
) -> None:
    def book(tool_context: ToolContext) -> dict[str, Any]:
        """Book a room."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="How long?", payload={"days": 3, "view": "sea"})
            return {"status": "asked"}
        return {"booked": tool_context.tool_confirmation.payload}

    served(LlmAgent(name="shop", model=model, tools=[book]))
    model.turns = [call("book"), "Wait.", "Done."]
    await use_cases.send_message(actors.person(person), session.pk, "m-1", "go")
    await worker().wait_until_idle()
    [asked] = json.loads(await body_of(await program.get("/api/v1/approvals")))["items"]
    assert asked["payload"] == {"days": 3, "view": "sea"}
    answer = {"confirmed": True, "changes": {"days": 5}}
    assert (await post(program, f"/api/v1/approvals/{asked['approval_id']}/answer", answer))[0] == 204
    await worker().wait_until_idle()
    parts = model.requests[-1].contents[-1].parts or []
    booked = parts[0].function_response
    assert booked and (booked.response or {})["booked"] == {"days": 5, "view": "sea"}


@pytest.mark.parametrize("by", ["approval", "run"])
async def test_the_question_of_a_workflow_is_answered_and_a_wrong_answer_may_be_given_again(
    program: Program, person: User, session: Session, served: Served, by: str
) -> None:
    served(asking_workflow("shop"))
    run_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m-1", "go")
    await worker().wait_until_idle()
    waiting = await AnswerRequest.objects.aget()
    address = f"/api/v1/approvals/{waiting.pk}/answer"
    if by == "run":
        address = f"/api/v1/runs/{run_id}/responses"
    sent = {"call_id": waiting.call_id} if by == "run" else {}
    status, problem = await post(program, address, {**sent, "response": {"result": "some"}})
    assert (status, "does not fit the question" in problem) == (400, True)
    assert json.loads(problem)["errors"][0]["field"] == "body.response"
    status, _ = await post(program, address, {**sent, "response": {"result": 3}})
    await worker().wait_until_idle()
    assert status in (202, 204)
    assert (await Event.objects.filter(session=session).alatest("seq")).body["output"] == "3 it is"


async def test_an_answer_belongs_to_the_run_that_asks(
    program: Program, person: User, session: Session, model: ScriptedModel
) -> None:
    model.turns = ["hello", call("approve"), "done"]
    other, _ = await use_cases.send_message(actors.person(person), session.pk, "m-1", "hi")
    await worker().wait_until_idle()
    asking, _ = await use_cases.send_message(actors.person(person), session.pk, "m-2", "go")
    await worker().wait_until_idle()
    answer = {"call_id": (await AnswerRequest.objects.aget()).call_id, "response": {"a": 1}}
    status, problem = await post(program, f"/api/v1/runs/{other}/responses", answer)
    assert (status, "Another run asks" in problem) == (404, True)
    assert [(await post(program, f"/api/v1/runs/{asking}/responses", answer))[0] for _ in "12"] == [202, 409]
    await worker().wait_until_idle()


async def test_an_edit_commits_its_state_delta_and_is_refused_before_it_rewinds(
    program: Program, person: User, session: Session, model: ScriptedModel
) -> None:
    model.turns = ["one", "two"]
    run_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m-1", "first")
    await worker().wait_until_idle()
    address = f"/api/v1/runs/{run_id}/edit"
    assert (await post(program, address, {"text": "x", "state_delta": {"app:rate": 1}}))[0] == 403
    assert await Event.objects.filter(session=session).acount() == 2
    status, _ = await post(program, address, {"text": "x", "state_delta": {"topic": "birds"}})
    await worker().wait_until_idle()
    assert (status, (await Session.objects.aget()).state) == (202, {"topic": "birds"})


async def test_the_state_of_a_person_has_a_limit_by_every_address(
    program: Program, person: User, session: Session, model: ScriptedModel
) -> None:
    half = "x" * (MAX_STATE_CHARACTERS // 2)
    await UserState.objects.filter(user=person).aupdate(state={"a": half})
    await Session.objects.filter(pk=session.pk).aupdate(state={"b": half[:-300]})
    more = {"user:c": "x" * 300}
    own = f"/adk/apps/shop/users/ada/sessions/{session.key}"
    run = f"/api/v1/sessions/{session.pk}/runs"
    response = await program.patch(own, json.dumps({"stateDelta": more}), content_type="application/json")
    assert response.status_code == 413
    assert (await post(program, run, {"text": "x", "state_delta": more}))[0] == 413
    new = {"state": {"a": half, "user:b": "x" * 300}}
    assert (await post(program, "/adk/apps/shop/users/ada/sessions", new))[0] == 413
    # A value in the place of another counts alone.
    model.turns = ["one"]
    assert (await post(program, run, {"text": "x", "state_delta": {"b": half[:200_000], **more}}))[0] == 202
    await worker().wait_until_idle()
    assert (await UserState.objects.aget()).state["c"] == more["user:c"]


async def test_credentials_are_not_told(program: Program, person: User, session: Session) -> None:
    service = DjangoSessionService()
    loaded = await service.get_session(app_name="shop", user_id=str(person.pk), session_id=session.key)
    assert loaded is not None
    asked = types.FunctionCall(id="c", name="adk_request_credential", args={"rawAuthCredential": CREDENTIAL})
    content = types.Content(role="model", parts=[types.Part(function_call=asked)])
    state = {"cred": CREDENTIAL, "user:cred": CREDENTIAL, "topic": "birds"}
    for event in (
        RuntimeEvent(author="shop", invocation_id="e-1", content=content),
        RuntimeEvent(author="shop", invocation_id="e-1", actions=EventActions(state_delta=state)),
    ):
        await service.append_event(loaded, event)
    rows = [row async for row in Event.objects.filter(session=session).order_by("seq")]
    assert all(SECRET in json.dumps(row.body) for row in rows)
    for row in rows:
        for encoder in (SiteEncoder(), AdkEncoder("e-1", streams_text=False, splits_artifacts=False)):
            (frame,) = encoder.frames(EventUpdate(row.seq, json.dumps(row.body)))
            assert "invocationId" in frame and SECRET not in frame
    address = f"/api/v1/sessions/{session.pk}"
    page = await body_of(await program.get(f"{address}/events"))
    assert page.count(b"[masked]") == 3 and SECRET.encode() not in page
    assert (await program.get(f"{address}/state")).json() == {"state": {"topic": "birds"}}
