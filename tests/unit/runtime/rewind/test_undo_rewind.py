"""Undo of a rewind: contents, state and artifacts come back, and every way can be returned to (contract R3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import types
from runtime.errors import InvocationNotFoundError
from runtime.events import Event
from runtime.events.effective_path import find_path
from runtime.events.event_actions import EventActions
from runtime.events.rewound import UNDONE_REWIND_KEY, drop_rewound, effective_path_of
from tests.fakes import call
from tests.unit.runtime.rewind.test_rewind import ADA, Chat, opened, remember, write


async def undo(chat: Chat, rewind: Event) -> Event:
    return await chat.runner.undo_rewind_async(**ADA, rewind_event_id=rewind.id)


async def test_the_model_sees_the_earlier_way_again_and_not_the_later_one() -> None:
    chat = await opened()
    await chat.say("one")
    second = await chat.say("two")
    rewind = await chat.rewind(second)
    third = await chat.say("three")
    event = await undo(chat, rewind)
    await chat.say("four")
    assert chat.latest_contents() == ["user: one", "model: done", "user: two", "model: done", "user: four"]
    assert (event.author, event.content, event.actions.rewind_before_invocation_id) == ("user", None, third)
    assert event.custom_metadata == {UNDONE_REWIND_KEY: rewind.id}
    await undo(chat, event)
    await chat.say("five")
    assert chat.latest_contents() == ["user: one", "model: done", "user: three", "model: done", "user: five"]


async def test_state_and_files_are_those_of_the_way_that_comes_back() -> None:
    chat = await opened(remember, write, given="at creation")
    await chat.say("one", call("remember", key="kept", value="one"))
    both = [call("remember", key="kept", value="two"), call("remember", key="user:name", value="two")]
    second = await chat.say("two", [*both, call("write", name="a.txt", text="two")])
    rewind = await chat.rewind(second)
    both = [call("remember", key="kept", value="three"), call("remember", key="new", value="three")]
    await chat.say("three", [*both, call("write", name="a.txt", text="three")])
    event = await undo(chat, rewind)
    assert event.actions.state_delta == {"kept": "two", "new": None}
    assert await chat.file("a.txt") == types.Part(text="two")
    await undo(chat, event)
    state = (await chat.session()).state
    assert (state["kept"], state["new"], state["user:name"]) == ("three", "three", "two")
    assert await chat.file("a.txt") == types.Part(text="three")


async def test_an_inner_way_is_as_it_was_left() -> None:
    chat = await opened()
    first = await chat.say("one")
    second = await chat.say("two")
    inner = await chat.rewind(second)
    await chat.say("two b")
    outer = await chat.rewind(first)
    await chat.say("one b")
    await undo(chat, outer)
    await chat.say("more")
    assert chat.latest_contents() == ["user: one", "model: done", "user: two b", "model: done", "user: more"]
    await undo(chat, inner)
    await chat.say("most")
    assert chat.latest_contents() == ["user: one", "model: done", "user: two", "model: done", "user: most"]


async def test_only_a_rewind_is_undone() -> None:
    chat = await opened()
    await chat.say("one")
    message = (await chat.session()).events[0]
    for unknown in (message.id, "nothing"):
        with pytest.raises(InvocationNotFoundError, match=unknown):
            await chat.runner.undo_rewind_async(**ADA, rewind_event_id=unknown)
    assert len((await chat.session()).events) == 2


Act = tuple[str, int]
"""`say`, `continue`, `rewind` or `undo`, with a number that chooses what is continued, rewound or undone."""


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    acts = st.tuples(st.sampled_from(["say", "say", "continue", "rewind", "undo"]), st.integers(0, 1000))
    log: list[Event] = []
    for number, (act, choice) in enumerate(draw(st.lists(acts, max_size=40))):
        log.append(_event(log, number, act, choice))
    return log


def _event(log: list[Event], number: int, act: str, choice: int) -> Event:
    """Return the next event of a log; what it names may be rewound, or may never have been there."""
    fields: dict[str, Any] = {"author": "user", "invocation_id": f"e-{number}", "timestamp": float(number)}
    names = [event.invocation_id for event in log] or ["none"]
    rewinds = [event.id for event in log if event.actions.rewind_before_invocation_id]
    if act == "continue":
        fields["invocation_id"] = names[choice % len(names)]
    if act in ("rewind", "undo"):
        fields["actions"] = EventActions(rewind_before_invocation_id=names[choice % len(names)])
    if act == "undo" and rewinds:
        fields["custom_metadata"] = {UNDONE_REWIND_KEY: rewinds[choice % len(rewinds)]}
    return Event(**fields)


def model_of_rewinds(log: list[Event]) -> list[Event]:
    """Return the effective events, by copies of the whole list: slow, and easy to believe."""
    kept: list[Event] = []
    copies: dict[str, list[Event]] = {}
    for event in log:
        back_to = event.actions.rewind_before_invocation_id
        if back_to is None:
            kept.append(event)
            continue
        copies[event.id] = list(kept)
        undone = (event.custom_metadata or {}).get(UNDONE_REWIND_KEY)
        first = next((i for i, one in enumerate(kept) if one.invocation_id == back_to), len(kept))
        kept = list(copies[undone]) if undone in copies else kept[:first]
    return kept


@given(logs())
def test_effective_events_are_those_of_a_simple_model(log: list[Event]) -> None:
    assert [event.id for event in drop_rewound(log)] == [event.id for event in model_of_rewinds(log)]


@given(logs())
def test_each_event_is_effective_or_was_undone_by_the_last_rewind_that_left_it(log: list[Event]) -> None:
    path = effective_path_of(log)
    for position, event in enumerate(log):
        if event.actions.rewind_before_invocation_id is not None:
            continue
        by = path.undone_by(position)
        assert (by is None) == (position in path)
        if by is not None:
            assert event in model_of_rewinds(log[: by.position])
            later = [
                log[: step.rewind.position + 1] for step in path.steps if step.rewind.position >= by.position
            ]
            assert all(event not in model_of_rewinds(part) for part in later)


def test_a_log_without_rewinds_is_one_span() -> None:
    assert find_path([], {}, first=1, end=4).spans == (range(1, 4),)
    assert find_path([], {}, first=1, end=1).spans == ()
