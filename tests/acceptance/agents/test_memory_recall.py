"""Memory recall: what one session held is found in the next, with `load_memory` and `preload_memory` (F3, T9)."""

from __future__ import annotations

import json

from runtime.agents import BaseAgent
from tests.acceptance.agents.memory_recall import (
    info_capture_agent,
    memory_recall_agent,
    preloading_agent,
)
from tests.acceptance.agents.stage import Stage
from tests.fakes import call
from tests.unit.runtime.conversation import outline


async def after_being_told(agent: BaseAgent, **scripts: list[object]) -> Stage:
    """A stage whose person said something in an earlier session, to the capturing agent."""
    earlier = Stage(info_capture_agent, InfoCaptureAgent=["I will remember."])
    await earlier.open("earlier")
    assert outline(await earlier.say("My favorite project is Project Alpha.", "earlier")) == [
        "InfoCaptureAgent: I will remember."
    ]
    stage = Stage(agent, **scripts)
    stage.memory = earlier.memory
    stage.new_process()
    await stage.open("later")
    return stage


async def test_the_model_searches_the_memory_when_it_needs_to() -> None:
    stage = await after_being_told(
        memory_recall_agent,
        MemoryRecallAgent=[call("load_memory", query="favorite project"), "It is Project Alpha."],
    )
    events = await stage.say("What is my favorite project?", "later")
    assert outline(events) == [
        "MemoryRecallAgent: load_memory()",
        "MemoryRecallAgent: =load_memory",
        "MemoryRecallAgent: It is Project Alpha.",
    ]
    [found] = events[1].get_function_responses()
    assert "My favorite project is Project Alpha." in json.dumps(found.response)
    assert "load_memory" in stage.models["MemoryRecallAgent"].requests[0].tools_dict


async def test_the_memory_is_in_the_instruction_before_the_model_is_asked() -> None:
    stage = await after_being_told(preloading_agent, PreloadingAgent=["It is Project Alpha."])
    events = await stage.say("What is my favorite project?", "later")
    assert outline(events) == ["PreloadingAgent: It is Project Alpha."]
    assert "My favorite project is Project Alpha." in stage.instruction("PreloadingAgent")
    assert "preload_memory" not in stage.models["PreloadingAgent"].requests[0].tools_dict


async def test_what_has_no_word_in_common_is_not_recalled() -> None:
    stage = await after_being_told(preloading_agent, PreloadingAgent=["Hello."])
    await stage.say("Hello", "later")
    assert "Alpha" not in stage.instruction("PreloadingAgent")
