"""Contract: a body that nobody sends is refused by every address that takes one, and is never an error of the site."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from slack_sdk.signature import SignatureVerifier

from runtime.agents import LlmAgent
from tests.fakes import ScriptedModel
from tests.integration.api.api_stream import open_stream
from tests.integration.api.conftest import Program, program
from tests.integration.conftest import loop_end, person, request_forgotten
from tests.served_agents import Served
from tests.slack_server import SECRET, TEAM, TOKEN

__all__ = ["loop_end", "person", "program", "request_forgotten"]  # fixtures
pytestmark = pytest.mark.django_db(transaction=True)
APP = "desk"
BODIES = {
    "nothing": b"",
    "a list": b"[]",
    "null": b"null",
    "a text": b'"x"',
    "a number": b"5",
    "a long number": b"9" * 5_000,
    "no number": b"NaN",
    "half an object": b"{",
    "no UTF-8": b"\xff\xfe",
    "a deep list": b"[" * 100_000,
    "a deep object": b'{"a":' * 100_000,
    "a deep value": b'{"eval_set": ' + b"[" * 900 + b"]" * 900 + b"}",
    "half a surrogate": b'{"\\ud800": "\\udfff"}',
    "an object": b"{}",
    "10 MB of blanks": b" " * 10_000_000,
    "10 MB of text": b'"%s"' % (b"x" * 10_000_000),
    "10 MB in an object": b'{"a": "%s"}' % (b"x" * 10_000_000),
}
ADDRESSES = {
    "/ag-ui/desk": "POST",
    "/mcp": "POST",
    "/a2a/desk/": "POST",
    "/adk/run": "POST",
    "/adk/run_sse": "POST",
    "/adk/apps/desk/users/ada/sessions": "POST",
    "/adk/apps/desk/users/ada/sessions/s1": "PATCH",
    "/adk/apps/desk/users/ada/memory": "PATCH",
    "/adk/dev/apps/desk/eval-sets": "POST",
    "/adk/dev/apps/desk/eval_sets/s/add_session": "POST",
    "/adk/dev/apps/desk/eval_sets/s/evals/c": "PUT",
    "/adk/dev/apps/desk/eval-sets/s/run": "POST",
    "/api/v1/sessions": "POST",
    "/api/v1/keys": "POST",
    "/api/v1/webhooks": "POST",
    "/slack/events": "POST",
}
OF_SLACK = (
    b'{"event": "x"}',
    b'{"event": {"type": []}}',
    b'{"type": "event_callback", "event": []}',
    b'{"team": "x", "type": "block_actions"}',
    b'{"authorizations": [5]}',
    b"payload=[]",
    b"payload=" + b"[" * 100_000,
)


@pytest.fixture(autouse=True)
def site(served: Served, configure: Callable[..., None], model: ScriptedModel) -> None:
    served(LlmAgent(name=APP, model=model))
    configure(
        a2a_apps=[APP], slack_signing_secret=SECRET, slack_tokens={TEAM: TOKEN}, slack_agents={TEAM: APP}
    )


def signed(body: bytes, content_type: str) -> dict[str, str]:
    sent_at = str(int(time.time()))
    signature = SignatureVerifier(SECRET).generate_signature(timestamp=sent_at, body=body)
    return {
        "x-slack-request-timestamp": sent_at,
        "x-slack-signature": signature or "",
        "content-type": content_type,
    }


async def answer_to(address: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
    async with open_stream(address, headers, method=ADDRESSES[address], body=body) as response:
        return response.status, await response.rest()


@pytest.mark.parametrize("address", [address for address in ADDRESSES if address != "/slack/events"])
async def test_a_hostile_body_is_refused_in_words(
    address: str, person: User, program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    for name, body in BODIES.items():
        status, text = await answer_to(address, body, {**program.sent, "content-type": "application/json"})
        assert status < 500, (name, text)
        if status >= 400 or address in ("/mcp", "/a2a/desk/"):
            refusal = json.loads(text)
            assert refusal.get("detail") or refusal["error"]["message"], name
            assert refusal.get("error", {}).get("code") != -32603, name  # an internal error
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/x-www-form-urlencoded", "text/plain"]
)
async def test_a_signed_body_that_slack_never_sends_is_refused_in_words(
    loop_end: None, content_type: str, caplog: pytest.LogCaptureFixture
) -> None:
    signable = [body for name, body in BODIES.items() if name != "no UTF-8"]
    for body in (*signable, *OF_SLACK):
        status, text = await answer_to("/slack/events", body, signed(body, content_type))
        assert status < 500, (body[:60], text)
    status, text = await answer_to("/slack/events", b"[]", signed(b"[]", "application/json"))
    assert (status, json.loads(text)["detail"]) == (
        400,
        "The body is no JSON object with an event or an action of Slack.",
    )
    assert not [record for record in caplog.records if record.exc_info]
