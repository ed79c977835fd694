import asyncio

import pytest

from runtime import types
from runtime.agents import BaseAgent, LlmAgent, ParallelAgent
from runtime.engine.history import contents_of
from runtime.events import Event
from runtime.models import LlmResponse
from runtime.runners import InMemoryRunner
from tests.fakes import ScriptedModel, call, say
from tests.unit.runtime.conversation import Conversation
from tests.unit.runtime.engine.histories import *


async def test_include_none_in_parallel():
    gate = asyncio.Event()

    class Slow(ScriptedModel):
        pass

    a = LlmAgent(name="a", model=ScriptedModel(turns=["a said"]))

    def ping():
        "x"
        return 1

    b = LlmAgent(
        name="b", model=ScriptedModel(turns=[call("ping"), "b said"]), tools=[ping], include_contents="none"
    )
    c = Conversation(ParallelAgent(name="p", sub_agents=[a, b]))
    await c.say("question")
    print([r.contents for r in b.model.requests])
    assert all("question" in str(r.contents) for r in b.model.requests)


async def test_same_response_object_twice_gets_new_ids():
    canned = LlmResponse(content=types.Content(role="model", parts=[call("ping")]))
    n = []

    def before(callback_context, llm_request):
        n.append(1)
        return canned if len(n) < 3 else None

    def ping():
        "x"
        return 1

    a = LlmAgent(name="a", model=ScriptedModel(turns=["done"]), tools=[ping], before_model_callback=before)
    ev = await Conversation(a).say("go")
    ids = [c.id for e in ev for c in e.get_function_calls()]
    assert len(set(ids)) == len(ids)


async def test_callback_edits_of_old_contents_do_not_accumulate():
    def before(callback_context, llm_request):
        for c in llm_request.contents:
            c.parts.append(types.Part(text="!"))

    a = LlmAgent(name="a", model=ScriptedModel(turns=["1", "2", "3"]), before_model_callback=before)
    c = Conversation(a)
    s = await c.session()

    # Django shares events between loads: same identity
    async def get_session(**k):
        return s

    c.runner.session_service.get_session = get_session
    for i in range(3):
        await c.say(f"m{i}")
    assert [len(x.parts) for x in a.model.requests[-1].contents] == [2] * 5


def test_run_early_stop_stops_agent():
    import time

    ran = []

    def ping():
        "x"
        time.sleep(0.05)
        ran.append(1)
        return 1

    a = LlmAgent(
        name="a",
        model=ScriptedModel(rule=lambda r: call("ping") if len(r.contents) < 21 else "done"),
        tools=[ping],
    )
    r = InMemoryRunner(a)
    s = asyncio.run(r.session_service.create_session(app_name=r.app_name, user_id="u"))
    g = r.run(user_id="u", session_id=s.id, new_message=say("go"))
    next(g)
    g.close()
    n = len(ran)
    time.sleep(0.5)
    assert len(ran) <= n + 1


async def test_text_beside_function_response_is_sent():
    from runtime.tools import LongRunningFunctionTool

    def approve():
        "x"

    a = LlmAgent(
        name="a",
        model=ScriptedModel(turns=[call("approve", "c1"), "ok"]),
        tools=[LongRunningFunctionTool(approve)],
    )
    c = Conversation(a)
    await c.say("go")
    await c.say(
        types.Content(
            role="user",
            parts=[
                types.Part(
                    function_response=types.FunctionResponse(id="c1", name="approve", response={"v": 1})
                ),
                types.Part(text="and hurry"),
            ],
        )
    )
    assert "hurry" in str(a.model.requests[-1].contents)


def test_failed_construction_leaves_children_free():
    a, b = BaseAgent(name="a"), BaseAgent(name="b")
    BaseAgent(name="p", sub_agents=[b])
    with pytest.raises(ValueError):
        BaseAgent(name="q", sub_agents=[a, b])
    assert a.parent_agent is None


def test_deltas_nul_key():
    from runtime.errors import StateValueError
    from runtime.sessions.deltas import as_json

    with pytest.raises(StateValueError):
        as_json({"a\0": 1})


async def test_skewed_clock_with_summary_keeps_order():
    from runtime.events import EventActions, EventCompaction

    comp = EventCompaction(
        start_timestamp=0,
        end_timestamp=1,
        compacted_content=types.Content(role="model", parts=[types.Part(text="sum")]),
    )
    ev = [
        user("old", timestamp=1.0),
        Event(author="user", timestamp=1.5, actions=EventActions(compaction=comp)),
        user("first", timestamp=10.0),
        said("second", timestamp=9.0),
    ]
    assert story(contents_of(ev, "agent", None)) == ["model: sum", "user: first", "model: second"]
