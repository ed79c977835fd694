"""A program in which a person presses the button of a sign-in, and which then waits for its end.

`test_sign_in.py` kills the program.
"""

from __future__ import annotations

import sys
import time
from unittest.mock import patch

import django

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from tests.fakes import ScriptedModel


async def press_button(login: str, call_id: str) -> str:
    """Return the address of the service to which the person is sent."""
    from django.conf import settings
    from django.test import AsyncClient
    from django.urls import reverse

    browser = AsyncClient()
    browser.cookies[settings.SESSION_COOKIE_NAME] = login
    response = await browser.get(reverse("chat:sign_in", args=[call_id]))
    assert response.status_code == 302, response.content
    return str(response.headers["Location"])


def main() -> None:
    from sessions_app.agent_apps import registry
    from sessions_app.process import threads

    service_url, login, call_id = sys.argv[1:]
    params = StreamableHTTPConnectionParams(url=f"{service_url}/mcp")
    clerk = LlmAgent(name="clerk", model=ScriptedModel(), tools=[McpToolset(connection_params=params)])
    app = App(name="clerk", root_agent=clerk)
    with patch.object(registry, "apps", lambda: {app.name: app}):
        print(threads.run(press_button(login, call_id)), flush=True)
        time.sleep(600)


if __name__ == "__main__":
    django.setup()
    main()
