"""Objects of an ended invocation are freed without a scan of the garbage collector."""

from __future__ import annotations

import gc
from weakref import ref

from runtime.agents import LlmAgent
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, outline


async def test_the_sessions_of_a_runner_are_freed_with_it() -> None:
    """The task of a call has them in its context variables."""

    def look_up() -> str:
        return "found"

    model = ScriptedModel(turns=[call("look_up"), "done"])
    conversation = Conversation(LlmAgent(name="clerk", model=model, tools=[look_up]))
    sessions = ref(conversation.runner.session_service)
    gc.disable()
    try:
        events = await conversation.say("x")
        del conversation
        assert outline(events)[-1] == "clerk: done"
        assert sessions() is None
    finally:
        gc.enable()
