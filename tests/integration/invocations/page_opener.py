"""An agent whose MCP server wants a page, a form or an answer of the model, and a program with a message or an answer.

`test_killed_elicitation.py` kills the program.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any
from unittest.mock import patch
from uuid import UUID

import django

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools.mcp_tool import McpToolset
from tests.fakes import ScriptedModel, call
from tests.mcp_process import http_params
from tests.mcp_server import WHICH_FOLDER

NAME = "clerk"


def page_opener(port: int, run_log: str, wants: str) -> App:
    """Return the app, for the server at a port."""

    def next_turn(request: Any) -> Any:
        asked = request.contents[-1].parts[0]
        if asked.text == WHICH_FOLDER:
            return "notes"
        response = asked.function_response
        return str(response.response) if response else call("open_page", run_log=run_log, wants=wants)

    model = ScriptedModel(rule=next_turn)
    return App(
        name=NAME,
        root_agent=LlmAgent(name=NAME, model=model, tools=[McpToolset(connection_params=http_params(port))]),
    )


async def act(session_id: UUID) -> None:
    """Answer the question of the session with yes on the page of the person's inbox; without one, send a message."""
    from django.test import AsyncClient

    from sessions_app import use_cases
    from sessions_app.base import actors
    from sessions_app.invocations.worker import worker
    from sessions_app.models import AnswerRequest, Session

    session = await Session.objects.select_related("user").aget(pk=session_id)
    by = actors.person(session.user)
    asked = await AnswerRequest.objects.filter(session=session).afirst()
    if asked is None:
        await use_cases.send_message(by, session_id, "m1", "My files?")
    else:
        browser = AsyncClient()
        await browser.aforce_login(session.user)
        page = (await browser.get("/activity/")).content.decode()
        [address] = re.findall(r'data-asked\s+data-frames="(.+?)"', page)
        [call_id] = re.findall('data-call-id="(.+?)"', page)
        filled_in = dict.fromkeys(re.findall(r'<input\s+dir="auto"\s+name="(.+?)"', page), "notes")
        frame = {"v": 1, "type": "confirm", "call_id": call_id, "confirmed": True, "changes": filled_in}
        answered = await browser.post(address, json.dumps(frame), content_type="text/plain")
        assert answered.status_code == 204, answered.content
    await worker().wait_until_idle()


def main() -> None:
    from sessions_app.agent_apps import registry
    from sessions_app.process import threads

    session_id, port, run_log, wants = sys.argv[1:]
    app = page_opener(int(port), run_log, wants)
    with patch.object(registry, "apps", lambda: {app.name: app}):
        threads.run(act(UUID(session_id)))


if __name__ == "__main__":
    django.setup()
    main()
