"""Compaction on PostgreSQL: the summary is stored, and summarized events are not loaded (contract R4)."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from runtime.agents import LlmAgent
from runtime.apps import App, EventsCompactionConfig
from runtime.apps.base_events_summarizer import BaseEventsSummarizer
from runtime.events import Event, EventActions, EventCompaction
from runtime.events.summaries import without_superseded
from runtime.runners import Runner
from runtime.sessions import GetSessionConfig, Session
from runtime.tools import ToolContext
from sessions_app import models
from sessions_app.store import DjangoSessionService
from sessions_app.store.history_cache import cache
from sessions_app.store.sql import event_log
from tests.fakes import ScriptedModel, call, say, text_content
from tests.unit.runtime.engine.histories import story

pytestmark = pytest.mark.usefixtures("loop_end")
AS_INVOCATION = GetSessionConfig(without_superseded=True)


class CountingSummarizer(BaseEventsSummarizer):
    """Summarizes events by their number."""

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        compaction = EventCompaction(
            start_timestamp=0.0, end_timestamp=0.0, compacted_content=text_content(f"{len(events)} events")
        )
        return Event(author="user", actions=EventActions(compaction=compaction))


def count(tool_context: ToolContext) -> int:
    """Count up."""
    tool_context.state["count"] = (tool_context.state.get("count") or 0) + 1
    return int(tool_context.state["count"])


class Chat:
    """A session whose agent counts its invocations and is compacted after every third one."""

    def __init__(self, person: User, overlap: int = 1) -> None:
        self.model = ScriptedModel()
        self.name: dict[str, Any] = {"user_id": str(person.pk), "session_id": "s"}
        config = EventsCompactionConfig(
            compaction_interval=3, overlap_size=overlap, summarizer=CountingSummarizer()
        )
        agent = LlmAgent(name="agent", model=self.model, tools=[count])
        self.service = DjangoSessionService()
        self.runner = Runner(
            app=App(name="shop", root_agent=agent, events_compaction_config=config),
            session_service=self.service,
        )

    async def say(self, text: str) -> str:
        self.model.turns = [call("count"), "done"]
        run = self.runner.run_async(**self.name, new_message=say(text))
        return [event async for event in run][-1].invocation_id

    async def load(self, config: GetSessionConfig | None = None) -> Session:
        session = await self.service.get_session(app_name="shop", config=config, **self.name)
        assert session is not None
        return session

    async def load_afresh(self) -> Session:
        """Load the session as a process without a cached history does."""
        self.forget()
        return await self.load(AS_INVOCATION)

    def forget(self) -> None:
        cache.forget(("shop", self.name["user_id"], "s"))


@pytest.fixture
async def chat(person: User) -> Chat:
    chat = Chat(person)
    await chat.service.create_session(app_name="shop", **chat.name)
    return chat


async def rows_read(chat: Chat) -> tuple[int, int]:
    """Return number and size of the events that the query of an invocation reads."""
    key = ("shop", int(chat.name["user_id"]), "s")
    loaded = await event_log.load(key, whole=False)
    assert loaded is not None
    return len(loaded.events), sum(map(len, loaded.events))


async def test_an_invocation_of_a_long_session_reads_no_more_than_of_a_short_one(chat: Chat) -> None:
    read = []
    for turn in range(1, 16):
        await chat.say(f"message {turn:02}")
        if turn % 3 == 0:
            read.append(await rows_read(chat))
    assert [rows for rows, _ in read] == [2] * 5
    assert max(size for _, size in read) - min(size for _, size in read) < 100
    row = await models.Session.objects.aget(key="s")
    assert row.last_seq == 15 * 4 + 5
    assert row.state == {"count": 15} == (await chat.load_afresh()).state


async def test_another_process_reads_all_events_of_a_session_without_a_summary(chat: Chat) -> None:
    for turn in range(2):
        await chat.say(f"message {turn}")
    everything = (await chat.load()).events
    assert len(everything) == 2 * 4
    assert (await chat.load_afresh()).events == everything
    assert (await rows_read(chat))[0] == 2 * 4


async def test_a_summary_whose_end_is_not_in_the_log_hides_nothing(chat: Chat) -> None:
    """As when the summary was copied from another session."""
    for turn in range(3):
        await chat.say(f"message {turn}")
    everything = (await chat.load()).events
    compaction = everything[-1].actions.compaction
    assert compaction is not None
    foreign = compaction.model_copy(update={"end_timestamp": compaction.end_timestamp + 0.5})
    event = Event(
        author="user",
        custom_metadata=everything[-1].custom_metadata,
        actions=EventActions(compaction=foreign),
    )
    await chat.service.append_event(await chat.load(), event)
    assert (await rows_read(chat))[0] == len(everything) + 1


async def test_a_process_with_a_cached_history_drops_the_summarized_events(chat: Chat) -> None:
    for turn in range(7):
        await chat.say(f"message {turn}")
    await chat.load(AS_INVOCATION)
    history = cache.get(("shop", chat.name["user_id"], "s"))
    assert history is not None and len(history.events) == 2 + 4
    assert story(chat.model.requests[-1].contents)[0] == "model: 17 events"


async def test_a_session_loaded_by_get_session_has_all_its_events(chat: Chat) -> None:
    """Only an invocation leaves summarized events out (contract S2)."""
    for turn in range(4):
        await chat.say(f"message {turn}")
    turn_events = (await chat.load_afresh()).events
    everything = (await chat.load()).events
    assert len(everything) == 4 * 4 + 1
    assert without_superseded(everything) == turn_events == (await chat.load(AS_INVOCATION)).events
    assert len((await chat.load(GetSessionConfig(num_recent_events=15))).events) == 15


async def test_a_rewind_to_before_a_summary_brings_the_summarized_events_back(chat: Chat) -> None:
    """In the process that rewinds, and in others."""
    ids = [await chat.say(f"message {turn}") for turn in range(4)]
    await chat.load_afresh()
    await chat.runner.rewind_async(**chat.name, rewind_before_invocation_id=ids[1])
    events = (await chat.load(AS_INVOCATION)).events
    assert [event.text() for event in events if event.text()] == ["message 0", "done"]
    assert (await chat.load_afresh()).events == events
    await chat.say("again")
    assert story(chat.model.requests[-1].contents)[0] == "user: message 0"
    assert (await chat.load_afresh()).state == {"count": 2}


async def test_a_rewind_to_after_a_summary_keeps_the_summary(chat: Chat) -> None:
    ids = [await chat.say(f"message {turn}") for turn in range(4)]
    await chat.runner.rewind_async(**chat.name, rewind_before_invocation_id=ids[3])
    events = (await chat.load_afresh()).events
    assert len(events) == 2 and events[1].actions.compaction
    assert (await rows_read(chat))[0] == 2 + 4 + 1


async def test_a_session_whose_first_message_was_rewound_is_compacted(chat: Chat) -> None:
    first = await chat.say("rewound")
    await chat.runner.rewind_async(**chat.name, rewind_before_invocation_id=first)
    for turn in range(3):
        await chat.say(f"message {turn}")
    assert (await rows_read(chat))[0] == 2
    assert len((await chat.load_afresh()).events) == 2


async def test_a_summary_is_stored_while_another_process_has_the_lease(chat: Chat) -> None:
    """A summary has no content, so it needs no lease."""
    chat.runner._compacts = False
    ids = [await chat.say(f"message {turn}") for turn in range(3)]
    row = await models.Session.objects.aget(key="s")
    await models.Session.objects.filter(pk=row.pk).aupdate(
        lease_owner="other", lease_token=7, lease_expires_at="2999-01-01T00:00Z"
    )
    event = await chat.runner.compact_async(**chat.name, invocation_id=ids[-1])
    assert event is not None
    assert await chat.runner.compact_async(**chat.name, invocation_id=ids[-1]) is None
    assert (await rows_read(chat))[0] == 2


async def test_a_return_to_what_a_summary_covers_and_back_brings_the_right_events(chat: Chat) -> None:
    """In the process that undoes the rewind, and in others."""
    ids = [await chat.say(f"message {turn}") for turn in range(4)]
    compacted = (await chat.load_afresh()).events
    rewind = await chat.runner.rewind_async(**chat.name, rewind_before_invocation_id=ids[1])
    for turn in range(4):
        await chat.say(f"other {turn}")
    other = (await chat.load_afresh()).events
    undo = await chat.runner.undo_rewind_async(**chat.name, rewind_event_id=rewind.id)
    assert (await chat.load(AS_INVOCATION)).events == compacted
    assert (await chat.load_afresh()).events == compacted
    await chat.runner.undo_rewind_async(**chat.name, rewind_event_id=undo.id)
    assert (await chat.load(AS_INVOCATION)).events == other
    assert (await chat.load_afresh()).events == other
    for turn in range(4):
        await chat.say(f"more {turn}")
    assert (await rows_read(chat))[0] < 10  # a new summary covers the rewinds
