"""Connection of a program: the stream of its session, and a request for each message, by the HTTP API with a key."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx

from tests.chaos.connections import REQUEST_SECONDS, TLS, Connection, Frame, StreamedFrames
from tests.chaos.page import parts

SILENCE: Frame = {"type": "pong"}
RUNS: dict[str, str] = {}
"""Runs by the ids of their calls. Kept for all connections: a stream tells only the events since."""
ALIVE_SECONDS = 30.0
"""A stream sends a comment every 15 seconds."""


class ApiClient(StreamedFrames):
    """Reads the stream of a session. Turns its events into the frames of a tab, which the checks read."""

    def __init__(self, client: httpx.AsyncClient, origin: str, session: str, after: int) -> None:
        super().__init__()
        self._client, self._origin, self._session, self._seq = client, origin, session, after
        self._fields: dict[str, str] = {}

    @classmethod
    @asynccontextmanager
    async def open(
        cls, sites: list[str], session_id: UUID, key: str, after: int
    ) -> AsyncIterator[Connection]:
        """Follow the session at the first site, after the event `after`; messages go to the last site."""
        session = f"/api/v1/sessions/{session_id}"
        headers = {"Authorization": f"Bearer {key}"}
        last = {"Last-Event-ID": str(after)} if after else {}
        async with (
            httpx.AsyncClient(headers=headers, timeout=REQUEST_SECONDS, verify=TLS) as client,
            client.stream(
                "GET",
                f"http://{sites[0]}{session}/stream",
                headers=last,
                timeout=httpx.Timeout(REQUEST_SECONDS, read=ALIVE_SECONDS),
            ) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise httpx.HTTPError(f"the stream was answered with {response.status_code}")
            opened = cls(client, f"http://{sites[-1]}", session, after)
            async with opened.reading(response):
                yield opened

    async def send(self, frame: Frame) -> None:
        """Send a message or an answer; a repeated message is answered with the run that it has started."""
        if frame["type"] == "ping":
            self._received.put_nowait(SILENCE)
            return
        if frame["type"] == "respond":
            body = {"call_id": frame["call_id"], "response": frame["response"]}
            address = f"{self._origin}/api/v1/runs/{RUNS[frame['call_id']]}/responses"
        else:
            body = {"client_id": frame["id"], "text": frame["text"]}
            address = f"{self._origin}{self._session}/runs"
        response = await self._client.post(address, json=body)
        if response.status_code == httpx.codes.ACCEPTED:
            self._received.put_nowait({**_invocation(response.json()), "is_reply": True})
        elif response.status_code in (httpx.codes.NOT_FOUND, httpx.codes.CONFLICT):
            error = response.json()
            self._received.put_nowait({"type": "error", "code": error["code"], "message": error["detail"]})
        else:
            raise httpx.HTTPError(f"a {frame['type']} was answered with {response.status_code}")

    def take_line(self, line: str) -> None:
        name, _, value = line.partition(": ")
        if name:
            self._fields[name] = value
        elif line == "" and self._fields.get("data"):
            fields, self._fields = self._fields, {}
            self._take(fields["event"], fields.get("id"), json.loads(fields["data"]))

    def _take(self, name: str, seq: str | None, data: Any) -> None:
        match name:
            case "event":
                assert int(seq or 0) == self._seq + 1, f"event {seq} came after {self._seq} on one stream"
                self._seq += 1
                RUNS.update({call["id"]: data["invocationId"] for call in parts([data], "functionCall")})
                self._received.put_nowait({"type": "event", "seq": self._seq, "event": data})
            case "status":
                self._received.put_nowait({"type": "ready", "jobs": []})
            case "run":
                self._received.put_nowait(_invocation(data))
            case "text":
                self._received.put_nowait({"type": "partial", "invocation_id": data["run_id"]})
            case "job":
                self._received.put_nowait({"type": "job", **data})


def _invocation(run: Any) -> Frame:
    """Return the frame of a tab for a run."""
    return {"type": "invocation", "id": run["run_id"], "client_id": run["client_id"], "status": run["status"]}
