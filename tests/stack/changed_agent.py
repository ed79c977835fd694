"""Agent folder that a test changes while the site runs, and conversations with its agent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from textwrap import dedent

import httpx

from tests.stack.stack import Stack
from tests.stack.websocket_tab import Tab

RELOAD_SECONDS = 30.0
"""Upper bound; a reload takes less than two seconds unless the machine is busy."""


class ChangedAgent:
    """App `gauge`, whose model calls the only tool, a job, and repeats its result."""

    def __init__(self, agent_dir: Path) -> None:
        self.file = agent_dir / "gauge" / "agent.py"
        self.file.parent.mkdir(parents=True)

    def write(self, tool: str, result: str) -> None:
        """Write a version of the agent, with the name of its tool and the tool's result."""
        source = f"""\
            from google.adk.agents import LlmAgent
            from google.adk.models import BaseLlm, LlmResponse
            from google.genai import types
            from sessions_app.jobs import job_tool


            @job_tool
            def {tool}() -> str:
                "Measure."
                return "{result}"


            class Caller(BaseLlm):
                model: str = "caller"

                async def generate_content_async(self, llm_request, stream=False):
                    last = llm_request.contents[-1].parts[0]
                    call = types.Part.from_function_call(name="{tool}", args={{}})
                    answer = last.function_response
                    yield LlmResponse(content=types.ModelContent(str(answer.response) if answer else call))


            root_agent = LlmAgent(name="gauge", model=Caller(), tools=[{tool}])
            """
        self.file.write_text(dedent(source))


def check_changed_agent_is_served(site: Stack, agent: ChangedAgent) -> None:
    """Change function, tool and syntax of an agent; each time a new conversation gets the newest version that works."""
    with httpx.Client(base_url=site.base_url, follow_redirects=True) as client:
        post(client, "/accounts/login/", username="demo", password=site.credentials["demo"])
        assert_job_says(client, "first")
        agent.write("measure", "second")
        site.wait_for("gauge was reloaded.", RELOAD_SECONDS)
        assert_job_says(client, "second")
        agent.file.write_text("import no_such_package")
        site.wait_for(f"(line 1 of {agent.file})", RELOAD_SECONDS)
        assert "gauge cannot be loaded, its earlier version stays served." in client.get("/").text
        assert_job_says(client, "second")
        agent.write("measure_again", "third")
        site.wait_for("gauge was reloaded.", RELOAD_SECONDS, times=2)
        assert_job_says(client, "third")


def post(client: httpx.Client, path: str, **form: str) -> httpx.Response:
    client.get("/accounts/login/")
    response = client.post(path, data={**form, "csrfmiddlewaretoken": client.cookies["csrftoken"]})
    response.raise_for_status()
    return response


def assert_job_says(client: httpx.Client, result: str) -> None:
    """Hold a new conversation until its job's result is an answer."""
    session = client.get("/chat/new/gauge/").url.path.split("/")[2]
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())

    async def talk() -> None:
        tab = Tab(session, cookies, app="gauge")
        await tab.open(str(client.base_url).rstrip("/"))
        await tab.send(type="message", id="m1", text="Measure!")
        await tab.read_until(lambda tab: any(result in text for text in tab.texts))
        await tab.close()

    asyncio.run(talk())
