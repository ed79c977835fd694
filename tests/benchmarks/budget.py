"""CPU of each hop of a turn in the web process: the budget in docs/performance.md.

Turns as in `chats`, without time of the model. The site's ASGI application runs in this process, without Daphne, and a
timer of the process's CPU time samples the stack. A sample counts for the innermost hop on it.
"""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any
from uuid import uuid4

from runtime.engine.function_calls import run_function_calls
from runtime.engine.model_call import stream_model_events
from runtime.engine.request import build_request
from runtime.runners import Runner
from sessions_app.chat.consumers import ChatConsumer
from sessions_app.chat.viewer import SessionViewer
from sessions_app.invocations.ending import write_ending
from sessions_app.invocations.execution import Execution
from sessions_app.live.hub import Hub
from sessions_app.live.session_feed import SessionFeed
from sessions_app.process.threads import in_thread
from sessions_app.rendering.event_html import html_now
from sessions_app.store.session_service import DjangoSessionService
from sessions_app.store.sql import appends, invocation_queue
from tests.benchmarks.doors import Door, make_doors
from tests.benchmarks.paced.agents import PacedModel
from tests.benchmarks.work import Work

WORK = Work(people=10, turns=20, seconds_between=0.0)
SECONDS_BETWEEN_SAMPLES = 0.001
HOPS: Mapping[str, tuple[Any, ...]] = {
    "frame read, limits, use case": (ChatConsumer.receive,),
    "queue and claim (SQL)": (invocation_queue.enqueue,),
    "session loaded": (DjangoSessionService.get_session,),
    "run of the agents": (Execution.run, Runner.run_async),
    "request to the model": (build_request,),
    "the benchmark's model": (PacedModel.generate_content_async,),
    "pieces of the answer as events": (stream_model_events,),
    "function calls": (run_function_calls,),
    "event as JSON, history": (DjangoSessionService._store,),
    "append (SQL)": (appends.append,),
    "HTML of events": (html_now,),
    "news to the tabs": (Hub.publish_event, Hub.publish_notice, Hub.publish_text, Hub._flush),
    "frames to the socket": (SessionFeed.take, SessionViewer._send_updates),
    "end of the invocation (SQL)": (write_ending,),
}
REST = "event loop and all else"


async def measure() -> list[str]:
    """Return one line for each hop with its microseconds in a turn."""
    doors = await in_thread(make_doors, WORK.people, "paced")
    people = [_Person(door) for door in doors]
    sockets = [asyncio.create_task(person.connect()) for person in people]
    await _talk(people, turns=3)  # fills the caches
    samples: Counter[str] = Counter()
    started = time.process_time()
    with _sampling(samples):
        await _talk(people, turns=WORK.turns)
    seconds = time.process_time() - started
    for socket in sockets:
        socket.cancel()
    turn = 1e6 * seconds / (WORK.people * WORK.turns)
    shares = [(hop, samples[hop] / samples.total()) for hop in (*HOPS, REST)]
    return [
        f"{WORK}, without Daphne: {turn:,.0f} µs of CPU a turn",
        *(f"  {hop:32} {share * turn:6,.0f} µs {share:4.0%}" for hop, share in shares),
    ]


async def _talk(people: list[_Person], turns: int) -> None:
    await asyncio.gather(*(person.take_turns(turns) for person in people))


@contextmanager
def _sampling(samples: Counter[str]) -> Iterator[None]:
    """Count the hops that run while the block is active."""
    hops: dict[CodeType, str] = {part.__code__: hop for hop, parts in HOPS.items() for part in parts}

    def count(_signal: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code not in hops:
            frame = frame.f_back
        samples[hops[frame.f_code] if frame else REST] += 1

    signal.signal(signal.SIGPROF, count)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_BETWEEN_SAMPLES, SECONDS_BETWEEN_SAMPLES)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class _Person:
    """One tab, as an ASGI server sees it."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._received: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._received.put_nowait({"type": "websocket.connect"})
        self._has_ended = asyncio.Event()
        self._say(type="hello", after=0)

    async def connect(self) -> None:
        from adk_site.asgi import application

        path, host = self._door.path, b"127.0.0.1"
        headers = [(b"cookie", self._door.cookie.encode()), (b"host", host), (b"origin", b"http://" + host)]
        scope: Any = {
            "type": "websocket",
            "scheme": "ws",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": headers,
            "subprotocols": [],
            "client": ("127.0.0.1", 1),
        }
        receive: Any = self._received.get
        await application(scope, receive, self._send)

    async def take_turns(self, turns: int) -> None:
        for _ in range(turns):
            self._has_ended.clear()
            self._say(type="message", id=uuid4().hex, text=WORK.text)
            await self._has_ended.wait()

    def _say(self, **frame: Any) -> None:
        self._received.put_nowait({"type": "websocket.receive", "text": json.dumps({"v": 1, **frame})})

    async def _send(self, message: Any) -> None:
        if '"completed"' in message.get("text", ""):
            self._has_ended.set()
