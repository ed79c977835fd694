"""Steps of an agent in memory, in one package: `python -m tests.benchmarks.alone_program runtime` or `google-adk`.

Prints JSON: CPU seconds of the import, megabytes after the import, and steps per CPU second by length of the history.
"""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import sys
import time
from collections.abc import AsyncGenerator
from typing import Any

from tests.side_by_side.google_adk import use_google_adk

if sys.argv[1] == "google-adk":
    use_google_adk()
began = time.process_time()

from google.genai import types  # noqa: E402

from runtime.agents import LlmAgent  # noqa: E402
from runtime.events import Event  # noqa: E402
from runtime.models import BaseLlm, LlmRequest, LlmResponse  # noqa: E402
from runtime.runners import Runner  # noqa: E402
from runtime.sessions import InMemorySessionService  # noqa: E402

IMPORT_SECONDS = time.process_time() - began
IMPORT_MEGABYTES = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
HISTORIES = (10, 100, 1_000)
SECONDS = 2.0
"""CPU time for each history."""
STEPS_OF_A_TURN = 2


class AlternatingModel(BaseLlm):
    """Model that calls a tool, and answers when it has the result."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = (llm_request.contents[-1].parts or [])[-1]
        call = types.FunctionCall(name="look_up", args={"word": "fox"})
        part = types.Part(text="Done.") if last.function_response else types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def look_up(word: str) -> str:
    """Look a word up."""
    return word


async def steps_per_second(events: int) -> float:
    """Return the steps per CPU second of turns that begin after this number of events."""
    sessions = InMemorySessionService()
    runner = Runner(
        app_name="bench",
        agent=LlmAgent(name="agent", model=AlternatingModel(model="alternating"), tools=[look_up]),
        session_service=sessions,
    )
    steps, spent = 0, 0.0
    while spent < SECONDS:
        session = await sessions.create_session(app_name="bench", user_id="ada")
        for number in range(events):
            author = "agent" if number % 2 else "user"
            content = types.Content(role="model" if number % 2 else "user", parts=[types.Part(text="words")])
            event = Event(author=author, invocation_id=f"e-{number // 2}", content=content)
            await sessions.append_event(session, event)
        began = time.process_time()
        for _ in range(5):
            message = types.Content(role="user", parts=[types.Part(text="go")])
            async for _event in runner.run_async(user_id="ada", session_id=session.id, new_message=message):
                pass
            steps += STEPS_OF_A_TURN
        spent += time.process_time() - began
    return steps / spent


async def _measure() -> dict[str, Any]:
    return {
        "import_seconds": IMPORT_SECONDS,
        "import_megabytes": IMPORT_MEGABYTES,
        "steps": [await steps_per_second(events) for events in HISTORIES],
    }


if __name__ == "__main__":
    logging.disable()
    print(json.dumps(asyncio.run(_measure())))
