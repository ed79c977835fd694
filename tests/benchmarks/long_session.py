"""A session of 100,000 events beside shorter ones: what its readers wait for, and what it costs.

Pages, searches and turns at one web process; appended events and answers to a workflow's question in this process.
`cold` has the first turn after a start, and how long the event loop then serves nobody else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from uuid import uuid4

import httpx2
import psutil
from django.contrib.auth.models import User
from django.db import connection
from websockets.asyncio.client import ClientConnection

from runtime.apps import App
from runtime.events import Event
from runtime.events.calls import REQUEST_INPUT
from runtime.events.request_input import RequestInput
from runtime.sessions import GetSessionConfig
from runtime.workflow import NodeContext, Workflow
from sessions_app import use_cases
from sessions_app.agent_apps import registry
from sessions_app.base import actors
from sessions_app.history.figures.batches import count_figures, recount_all_sessions
from sessions_app.invocations.worker import worker
from sessions_app.models import AnswerRequest, Session
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoSessionService
from tests.benchmarks.crowd import read_answer
from tests.benchmarks.doors import Door, enter, sign_in
from tests.benchmarks.histories import make_history
from tests.benchmarks.people import WORDS, make_person, message_event
from tests.benchmarks.shapes import Costs, site, summarize, visit
from tests.benchmarks.work import Measurements

EVENTS = (1_000, 10_000, 100_000)
ROUNDS = 20


async def measure() -> list[str]:
    """Return the lines of each length, the short one first."""
    flow = Workflow(name="flow", edges=[("START", ask, go_on, {"again": ask})])
    registry.apps = lambda: {"flow": App(name="flow", root_agent=flow)}
    lines = []
    for events in EVENTS:
        person, session, asking = await in_thread(_make_sessions, events)
        cookie = await in_thread(sign_in, person)
        async with site() as (port, process):
            lines += await _pages(port, process, cookie, session)
            lines += await _turns(port, process, Door(f"/ws/chat/{session.pk}/", cookie), session)
        lines += await _appends(session)
        lines += await _answers(person, asking)
    return lines


def ask() -> RequestInput:
    """Ask the person."""
    return RequestInput(message="On?")


def go_on(ctx: NodeContext) -> Event:
    """Choose the way back to the question."""
    return Event(route="again")


def _make_sessions(events: int) -> tuple[User, Session, Session]:
    """Make a member of staff who has a session of the large agent and one of the workflow; count their figures."""
    person = make_person()
    person.is_staff = person.is_superuser = True
    person.save()
    sessions = make_history(person, "large", events), make_history(person, "flow", events)
    recount_all_sessions()
    while count_figures(60):
        pass
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return person, *sessions


async def _pages(port: int, process: psutil.Process, cookie: str, session: Session) -> list[str]:
    site = f"http://127.0.0.1:{port}"
    staff = f"{site}/admin/sessions_app/session"
    pages = {
        "chat": f"{site}/chat/{session.pk}/",
        "earlier events": f"{site}/chat/{session.pk}/events/?before={session.last_seq // 2}",
        "a person's search": f"{site}/chats/?q=evening+{session.last_seq - 1}",
        "page of the session for staff": f"{staff}/{session.pk}/change/",
        "its page in the middle": f"{staff}/{session.pk}/change/?at={session.last_seq // 2}",
        "a search in it": f"{staff}/{session.pk}/change/?q=evening+{session.last_seq - 1}",
        "a search among the sessions for staff": f"{staff}/?q=evening+{session.last_seq - 1}",
    }
    async with httpx2.AsyncClient(headers={"Cookie": cookie}, timeout=120) as browser:
        return [
            f"{session.last_seq} events, {name}: {await visit(browser, address, process)}"
            for name, address in pages.items()
        ]


async def _turns(port: int, process: psutil.Process, door: Door, session: Session) -> list[str]:
    events = session.last_seq
    tab = await enter(port, door, events)
    seen = Measurements()
    await _say(tab, seen)
    seen.first_words.clear()
    costs = Costs(process)
    for _ in range(ROUNDS):
        await _say(tab, seen)
    await tab.close()
    costs_of_turn = await costs.line(ROUNDS, "a turn")
    return [f"{events} events, turns: first word {summarize(seen.first_words)}, {costs_of_turn}"]


async def _say(tab: ClientConnection, seen: Measurements) -> None:
    began = time.time()
    await tab.send(json.dumps({"v": 1, "type": "message", "id": uuid4().hex, "text": "hello"}))
    await read_answer(tab, seen, began)


async def _appends(session: Session) -> list[str]:
    service = DjangoSessionService()
    key = {"app_name": session.app_name, "user_id": str(session.user_id), "session_id": session.key}
    loaded = await service.get_session(**key, config=GetSessionConfig(num_recent_events=1))
    assert loaded

    async def append() -> None:
        await service.append_event(loaded, message_event("user", WORDS))

    return [f"{session.last_seq} events, an appended event: {await _measured(append)}"]


async def _answers(person: User, session: Session) -> list[str]:
    actor = actors.person(person)
    await use_cases.send_message(actor, session.pk, "m", "go")
    await _end_of_run()

    async def answer() -> None:
        asked = await AnswerRequest.objects.aget(session_id=session.pk)
        await use_cases.answer_call(actor, session.pk, asked.call_id, REQUEST_INPUT, {"result": "on"})
        await _end_of_run()

    return [
        f"{session.last_seq} events, from the answer to a workflow's question to the next: {await _measured(answer)}"
    ]


async def _measured(act: Callable[[], Awaitable[None]]) -> str:
    """Act again and again; return the times, and the costs in this process and in PostgreSQL."""
    await act()
    costs = Costs(psutil.Process())
    seconds = []
    for _ in range(ROUNDS):
        began = time.time()
        await act()
        seconds.append(time.time() - began)
    return f"{summarize(seconds)}, {await costs.line(ROUNDS, 'each')}"


async def _end_of_run() -> None:
    for running in list(worker()._running.values()):
        await running.task
