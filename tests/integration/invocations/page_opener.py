"""An agent whose MCP server wants a page to be opened, and a program in which it takes a message or an answer.

`test_killed_elicitation.py` kills the program.
"""

from __future__ import annotations

import sys
from typing import Any
from unittest.mock import patch
from uuid import UUID

import django

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.tools.mcp_tool import McpToolset
from tests.fakes import ScriptedModel, call
from tests.mcp_process import http_params

NAME = "clerk"


def page_opener(port: int, run_log: str) -> App:
    """Return the app, for the server at a port."""

    def next_turn(request: Any) -> Any:
        response = request.contents[-1].parts[0].function_response
        return str(response.response) if response else call("open_page", run_log=run_log)

    model = ScriptedModel(rule=next_turn)
    return App(
        name=NAME,
        root_agent=LlmAgent(name=NAME, model=model, tools=[McpToolset(connection_params=http_params(port))]),
    )


async def act(session_id: UUID) -> None:
    """Answer the question of the session with yes; without one, send a message."""
    from sessions_app import use_cases
    from sessions_app.base import actors
    from sessions_app.invocations.answers.form_answers import ConfirmationForm
    from sessions_app.invocations.worker import worker
    from sessions_app.models import AnswerRequest, Session

    session = await Session.objects.select_related("user").aget(pk=session_id)
    by = actors.person(session.user)
    asked = await AnswerRequest.objects.filter(session=session).afirst()
    if asked is None:
        await use_cases.send_message(by, session_id, "m1", "My files?")
    else:
        yes = ConfirmationForm(confirmed=True, changes={})
        await use_cases.answer_call(by, session_id, asked.call_id, REQUEST_CONFIRMATION, yes)
    await worker().wait_until_idle()


def main() -> None:
    from sessions_app.agent_apps import registry
    from sessions_app.process import threads

    session_id, port, run_log = sys.argv[1:]
    app = page_opener(int(port), run_log)
    with patch.object(registry, "apps", lambda: {app.name: app}):
        threads.run(act(UUID(session_id)))


if __name__ == "__main__":
    django.setup()
    main()
