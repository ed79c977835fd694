"""Slack's Web API on this machine, as far as the site uses it, and the requests that Slack sends to an app."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlencode

import httpx
from slack_sdk.signature import SignatureVerifier
from starlette.types import Receive, Scope, Send

TEAM = "T1"
BOT = "U0BOT"
TOKEN = "xoxb-test"
SECRET = "signing-secret"
LOST = "lost"
"""Failure of a call that Slack carries out, but whose response does not arrive."""


@dataclass
class SlackServer:
    """Keeps what is posted.

    Attributes:
        messages: the messages, changed ones as they are now.
        whispers: messages that one person sees.
        said: what people have written.
        failures: by method, or name of a file, the failures of the next calls: an HTTP status, `LOST`, or a function to
            await before the response is sent.
        calls: methods that were called, with their arguments.
        files: contents of files by their path.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    whispers: list[dict[str, Any]] = field(default_factory=list)
    said: list[dict[str, Any]] = field(default_factory=list)
    failures: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=lambda: count(1))

    @property
    def texts(self) -> list[str]:
        """Texts of the answers of agents."""
        blocks = [block for message in self.messages for block in message["blocks"]]
        return [block["text"] for block in blocks if block["type"] == "markdown"]

    @property
    def buttons(self) -> list[dict[str, Any]]:
        """Blocks with buttons and fields that can still be used."""
        blocks = [block for message in self.messages for block in message["blocks"]]
        return [block for block in blocks if block["type"] in ("actions", "input")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while (event := await receive())["type"] == "http.request":
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        assert (b"authorization", f"Bearer {TOKEN}".encode()) in scope["headers"]
        method = scope["path"].rpartition("/")[2]
        failure = self.failures[method].pop(0) if self.failures[method] else None
        if scope["path"] in self.files:
            if callable(failure):
                await failure()
            await _respond(send, 200, self.files[scope["path"]])
            return
        given: dict[str, Any] = dict(parse_qsl(scope["query_string"].decode()))
        given |= json.loads(body) if body.startswith(b"{") else dict(parse_qsl(body.decode()))
        self.calls.append((method, given))
        if isinstance(failure, int):
            limited = b'{"ok": false, "error": "ratelimited"}'
            await _respond(send, failure, limited, (b"retry-after", b"1"))
            return
        result = {"ok": True, **getattr(self, method.replace(".", "_"))(**given)}
        if failure == LOST:
            await _respond(send, 502, b"Bad gateway")
            return
        if callable(failure):
            await failure()
        await _respond(send, 200, json.dumps(result).encode())

    def chat_postMessage(self, **given: Any) -> dict[str, Any]:
        for block in given["blocks"]:
            text = block.get("text", "")
            if block["type"] == "markdown":
                assert len(text) <= 12_000
            elif block["type"] == "section":
                assert len(text["text"]) <= 3_000
        ts = f"1700000000.{next(self.numbers):06}"
        self.messages.append({"ts": ts, **given})
        return {"ts": ts}

    def chat_update(self, ts: str, **given: Any) -> dict[str, Any]:
        [message] = [message for message in self.messages if message["ts"] == ts]
        message.update(given)
        return {"ts": ts}

    def chat_postEphemeral(self, **given: Any) -> dict[str, Any]:
        self.whispers.append(given)
        return {}

    def conversations_replies(self, ts: str, **given: Any) -> dict[str, Any]:
        """Return a page of two messages, or the first and the named message."""
        thread = [
            message
            for message in (*self.said, *self.messages)
            if message.get("thread_ts", message["ts"]) == ts
        ]
        if "oldest" in given:
            return {"messages": [one for one in thread if one["ts"] in (ts, given["oldest"])]}
        start = int(given.get("cursor", 0))
        rest = str(start + 2) if start + 2 < len(thread) else ""
        return {"messages": thread[start : start + 2], "response_metadata": {"next_cursor": rest}}

    def users_info(self, user: str) -> dict[str, Any]:
        return {"user": {"name": f"\u202ename of {user}"}}


async def _respond(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    json_type = (b"content-type", b"application/json")
    await send({"type": "http.response.start", "status": status, "headers": [json_type, *headers]})
    await send({"type": "http.response.body", "body": body})


@dataclass
class SlackClient:
    """A person in Slack, whose messages and button presses Slack sends to the site."""

    site: str
    user: str = "U1"
    channel: str = "C1"
    server: SlackServer | None = None
    numbers: count[int] = field(default_factory=lambda: count(1))

    def event(self, text: str, thread_ts: str = "", **fields: Any) -> dict[str, Any]:
        """Return the event of a message that mentions the agent."""
        event = {
            "type": "app_mention",
            "user": self.user,
            "channel": self.channel,
            "ts": f"16000000{next(self.numbers):02}.000100",
            "text": f"<@{BOT}> {text}",
            **({"thread_ts": thread_ts} if thread_ts else {}),
            **fields,
        }
        if self.server:
            self.server.said.append(event)
        return {
            "type": "event_callback",
            "team_id": TEAM,
            "event_id": f"Ev{next(self.numbers)}",
            "event": event,
            "authorizations": [{"team_id": TEAM, "user_id": BOT, "is_bot": True}],
        }

    async def say(self, text: str, thread_ts: str = "", **fields: Any) -> str:
        """Send a message; return the id of its thread."""
        event = self.event(text, thread_ts, **fields)
        response = await self.send(event)
        assert response.status_code == 200, response.text
        return str(event["event"].get("thread_ts") or event["event"]["ts"])

    async def press(self, message: dict[str, Any], value: str) -> httpx.Response:
        """Press the button with this value below a message, or send it in its field."""
        [block] = [block for block in message["blocks"] if block["type"] in ("actions", "input")]
        elements = block.get("elements") or [block["element"]]
        chosen = [element for element in elements if element.get("value", value) == value]
        action = {
            "type": chosen[0]["type"],
            "action_id": chosen[0]["action_id"],
            "block_id": block["block_id"],
            "value": value,
        }
        body = {
            "type": "block_actions",
            "team": {"id": TEAM},
            "user": {"id": self.user, "team_id": TEAM},
            "channel": {"id": message["channel"]},
            "message": message,
            "actions": [action],
        }
        return await self.send_form(body)

    async def send(self, body: dict[str, Any], *, secret: str = SECRET, age: int = 0) -> httpx.Response:
        return await self._post(json.dumps(body), "application/json", secret, age)

    async def send_form(self, body: dict[str, Any]) -> httpx.Response:
        form = urlencode({"payload": json.dumps(body)})
        return await self._post(form, "application/x-www-form-urlencoded", SECRET, 0)

    async def _post(self, body: str, content_type: str, secret: str, age: int) -> httpx.Response:
        sent_at = str(int(time.time()) - age)
        headers = {
            "content-type": content_type,
            "x-slack-request-timestamp": sent_at,
            "x-slack-signature": SignatureVerifier(secret).generate_signature(timestamp=sent_at, body=body)
            or "",
        }
        async with httpx.AsyncClient(timeout=60) as client:
            return await client.post(f"{self.site}/slack/events", content=body, headers=headers)
