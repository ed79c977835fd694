"""Baseline of the streaming benchmark: a consumer that answers each message with 50 messages."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

CHUNKS = 50


class BareConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Consumer without login, database or channel layer."""

    channel_layer_alias = "none"

    async def connect(self) -> None:
        await self.accept()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        message = json.loads(text_data or "")
        self.task = asyncio.create_task(self._answer(float(message["text"].split()[1])))

    async def _answer(self, seconds_between: float) -> None:
        due = time.perf_counter()
        for _ in range(CHUNKS):
            due += seconds_between
            await asyncio.sleep(due - time.perf_counter() if seconds_between else 0)
            frame: dict[str, Any] = {"type": "partial", "text": f"{time.time():.6f} "}
            await self.send(text_data=json.dumps(frame))
        await self.send(text_data=json.dumps({"type": "invocation", "status": "completed"}))


application = BareConsumer.as_asgi()
