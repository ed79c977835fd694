"""Memory recall: `load_memory` and `preload_memory` find text of an earlier session (contract F3, T9)."""

from __future__ import annotations

import json
from typing import Any

from runtime.agents import BaseAgent
from tests.acceptance.agents.memory_recall import (
    info_capture_agent,
    memory_recall_agent,
    preloading_agent,
)
from tests.acceptance.agents.stage import Stage
from tests.fakes import call
from tests.unit.runtime.conversation import outline


async def stage_with_memory(agent: BaseAgent, **scripts: Any) -> Stage:
    """Return a stage with an earlier session in its memory."""
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


async def test_the_model_searches_memory_with_a_tool_call() -> None:
    stage = await stage_with_memory(
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


async def test_preloaded_memory_stands_before_the_message_in_the_first_request() -> None:
    stage = await stage_with_memory(preloading_agent, PreloadingAgent=["It is Project Alpha."])
    events = await stage.say("What is my favorite project?", "later")
    assert outline(events) == ["PreloadingAgent: It is Project Alpha."]
    recalled, message = stage.contents("PreloadingAgent")
    assert "My favorite project is Project Alpha." in recalled
    assert message == "What is my favorite project?"
    assert "preload_memory" not in stage.models["PreloadingAgent"].requests[0].tools_dict


async def test_entries_without_a_common_word_are_not_recalled() -> None:
    stage = await stage_with_memory(preloading_agent, PreloadingAgent=["Hello."])
    await stage.say("Hello", "later")
    assert stage.contents("PreloadingAgent") == ["Hello"]
