"""Any tool as a job: an MCP server's and a function's; progress, retry and cancel as for job tools (contract T5)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from celery.exceptions import Retry
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.urls import reverse
from django.utils import timezone

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.auth import AuthCredential, OAuth2Auth
from runtime.context import ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.models import LlmRequest
from runtime.tools import (
    AgentTool,
    BaseTool,
    BaseToolset,
    FunctionTool,
    LongRunningFunctionTool,
    ToolContext,
    google_search,
)
from runtime.tools.mcp_tool import McpToolset
from runtime.tools.openapi_tool import OpenAPIToolset
from runtime.tools.openapi_tool.auth.oauth_exchange import challenge_of
from sessions_app.jobs import as_job, progress
from sessions_app.models import Artifact, JobStatus, Session, ToolJob
from sessions_app.process import threads
from sessions_app.process.threads import in_thread
from tests.echo_server import EchoServer, Reply
from tests.fakes import ScriptedModel, call
from tests.free_port import free_port
from tests.integration.jobs.job_helpers import (
    clerk_with,
    last_responses,
    responses,
    run_queue,
    run_task,
    talk,
)
from tests.mcp_process import stdio_params
from tests.served_agents import Served
from tests.unit.runtime.openapi.specs import spec_of

RUNS: list[str] = []


async def make_label(text: str, tool_context: ToolContext) -> dict[str, Any]:
    """Make a label."""
    RUNS.append(text)
    progress(1, 2, "Printing")
    if text == "unreachable":
        raise OSError("the printer is off")
    if text == "stateful":
        tool_context.state["label"] = text
    version = await tool_context.save_artifact("label.txt", types.Part(text=text))
    return {"version": version, "for": tool_context.user_id, "agent": tool_context.agent_name}


def cancelled_by(tool_name: str, **kwargs: object) -> Any:
    """Return a progress callback that cancels the job at its first progress, for `slow` as a Celery worker does."""

    reports: list[float] = []

    async def cancel(done: float, total: float | None, message: str | None) -> None:
        reports.append(done)
        if len(reports) > 1:
            return
        await in_thread(ToolJob.objects.filter(status="running").update, cancel_requested_at=timezone.now())
        if tool_name == "far_slow":
            os.kill(os.getpid(), signal.SIGUSR1)

    return cancel


class Labels(BaseToolset):
    """Toolset that tells the model about its labels."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return [FunctionTool(make_label)]

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        llm_request.append_instructions(["Labels are blue."])


@pytest.fixture
def site(served: Served, person: User, broker: list[tuple[str, str]], background_end: None) -> ScriptedModel:
    """A site whose agent has a function as a job; the model is returned."""
    RUNS.clear()
    job: Any = as_job(FunctionTool(make_label), retry_on=(OSError,), max_retries=1)
    return clerk_with(job, served)


@pytest.fixture
def site_with_server(
    served: Served, person: User, broker: list[tuple[str, str]], background_end: None
) -> Iterator[ScriptedModel]:
    """A site whose agent has an MCP server's tools as jobs; the model is returned."""
    toolset = McpToolset(
        connection_params=stdio_params(),
        tool_name_prefix="far",
        use_mcp_resources=True,
        progress_callback=cancelled_by,
    )
    jobs: Any = as_job(toolset, retry_on=(ConnectionError,), max_retries=1)
    yield clerk_with(jobs, served)
    threads.run(toolset.close())


def start(person: User, model: ScriptedModel, name: str, **args: Any) -> ToolJob:
    """Let the model call the tool in a new session."""
    model.turns = [call(name, **args), "It is on its way."]
    session = Session.objects.get(pk=talk(person, "reports", "please"))
    return ToolJob.objects.get(session=session)


def test_a_function_runs_in_a_worker_with_a_context(person: User, site: ScriptedModel) -> None:
    job = start(person, site, "make_label", text="tea")
    assert RUNS == [] and last_responses(site) == [{"status": "queued", "job_id": str(job.pk)}]
    run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.SUCCEEDED
    assert job.result == {"version": 0, "for": str(person.pk), "agent": "clerk"}
    assert (job.progress_message, job.artifacts) == ("Printing", {"label.txt": 0})
    assert Artifact.objects.get(session=job.session).filename == "label.txt"
    site.turns = ["Here is the label."]
    run_queue(job.session_id)
    assert [answer["response"]["status"] for answer in responses(job.session)] == ["succeeded"]


def test_an_mcp_tool_runs_in_a_worker(person: User, site_with_server: ScriptedModel) -> None:
    job = start(person, site_with_server, "far_add", a=20, b=22)
    run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.SUCCEEDED and (job.result or {})["structuredContent"] == {"result": 42}
    declared = site_with_server.requests[0].tools_dict
    assert declared["far_add"].is_long_running and not declared["far_load_mcp_resource"].is_long_running
    declaration = declared["far_add"]._get_declaration()
    assert declaration and "the final result comes by itself" in (declaration.description or "")


def test_a_failure_of_an_mcp_tool_is_the_failure_of_its_job(
    person: User, site_with_server: ScriptedModel
) -> None:
    job = start(person, site_with_server, "far_fail")
    run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED and "The shop is closed." in job.error


@pytest.mark.parametrize(
    ("site_name", "name", "args"),
    [("site_with_server", "far_die", {}), ("site", "make_label", {"text": "unreachable"})],
    ids=["mcp", "function"],
)
def test_a_job_is_retried_as_often_as_its_author_says(
    person: User, request: pytest.FixtureRequest, site_name: str, name: str, args: dict[str, Any]
) -> None:
    """The MCP server dies in each call, and each attempt reaches a new one."""
    job = start(person, request.getfixturevalue(site_name), name, **args)
    with pytest.raises(Retry):
        run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.QUEUED and job.attempts == 1
    run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED and job.attempts == 2


@pytest.mark.parametrize("name", ["far_slow", "far_tick"], ids=["by a signal", "by its next progress"])
def test_a_cancelled_job_cancels_the_call_on_the_server(
    person: User, site_with_server: ScriptedModel, name: str
) -> None:
    """The job is cancelled when the server has reported progress."""
    job = start(person, site_with_server, name)
    run_task(job)
    job.refresh_from_db()
    assert (job.status, job.error) == (JobStatus.CANCELLED, "The job was cancelled.")
    assert job.progress_message == "begun"
    after = start(person, site_with_server, "far_wait_until_cancelled")
    run_task(after)
    after.refresh_from_db()
    assert after.status == JobStatus.SUCCEEDED


def test_a_job_cannot_change_the_state(person: User, site: ScriptedModel) -> None:
    job = start(person, site, "make_label", text="stateful")
    run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED
    assert "A job cannot change the state (key 'label')" in job.error_detail


def test_a_tool_that_is_gone_fails_the_job(person: User, site: ScriptedModel, served: Served) -> None:
    job = start(person, site, "make_label", text="tea")
    agent = LlmAgent(name="clerk", model=site, tools=[])
    served(App(name="reports", root_agent=agent))
    run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED
    assert job.error == "The job failed: The tool 'make_label' is not offered any more."


@pytest.mark.parametrize(
    "tool",
    [AgentTool(LlmAgent(name="expert")), LongRunningFunctionTool(make_label), google_search],
    ids=["agent", "long-running", "model-side"],
)
def test_a_tool_that_needs_the_invocation_is_refused(tool: Any) -> None:
    with pytest.raises(ConfigurationError, match="cannot be a job"):
        as_job(tool)


def test_a_call_that_only_reports_an_error_is_a_failed_job(person: User, site: ScriptedModel) -> None:
    job = start(person, site, "make_label", words="no such argument")
    run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED and "text" in job.error


def test_a_job_of_an_app_that_is_gone_fails(person: User, site: ScriptedModel, served: Served) -> None:
    job = start(person, site, "make_label", text="tea")
    served()
    run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED and "is not offered any more" in job.error


def offer(served: Served, *tools: Any) -> ScriptedModel:
    """Make an agent with the tools the site's only one; return its model."""
    model = ScriptedModel()
    agent = LlmAgent(name="clerk", model=model, tools=list(tools))
    served(App(name="reports", root_agent=agent))
    return model


def is_retried(job: ToolJob) -> bool:
    try:
        run_task(job)
    except Retry:
        return True
    return False


@pytest.mark.usefixtures("site")
def test_each_toolset_has_its_own_retries(person: User, served: Served) -> None:
    toolsets = [
        McpToolset(connection_params=stdio_params(), tool_filter=names) for names in (["pid"], ["die"])
    ]
    model = offer(served, as_job(toolsets[0]), as_job(toolsets[1], retry_on=(ConnectionError,)))
    assert is_retried(start(person, model, "die"))
    model = offer(served, as_job(toolsets[0], retry_on=(ConnectionError,)), as_job(toolsets[1]))
    assert not is_retried(start(person, model, "die"))
    threads.run(toolsets[0].close())


@pytest.mark.usefixtures("site")
def test_a_service_that_cannot_be_reached_is_asked_again(person: User, served: Served) -> None:
    toolset = OpenAPIToolset(
        spec_dict=spec_of(f"http://127.0.0.1:{free_port()}"), allow_private_network_access=True
    )
    model = offer(served, as_job(toolset, retry_on=(ConnectionError,), max_retries=1))
    job = start(person, model, "do_it")
    assert [is_retried(job), is_retried(job)] == [True, False]
    job.refresh_from_db()
    assert (job.status, job.error) == (JobStatus.FAILED, "The job failed.")
    assert "The request failed" in job.error_detail


def test_a_toolset_as_jobs_still_changes_the_request(person: User, served: Served) -> None:
    model = offer(served, as_job(Labels()))
    model.turns = ["Hello."]
    talk(person, "reports", "hello")
    [request] = model.requests
    assert "Labels are blue." in str(request.config.system_instruction)
    assert list(request.tools_dict) == ["make_label"]


def test_the_model_sees_the_image_of_an_mcp_tool(person: User, site_with_server: ScriptedModel) -> None:
    job = start(person, site_with_server, "far_picture")
    run_task(job)
    site_with_server.turns = ["I see."]
    run_queue(job.session_id)
    shown = [
        part.inline_data
        for part in site_with_server.requests[-1].contents[-1].parts or []
        if part.inline_data
    ]
    assert [image.mime_type for image in shown] == ["image/png"]


def test_the_person_signs_in_before_the_job_which_gets_the_token(
    served: Served, person: User, broker: list[tuple[str, str]], background_end: None
) -> None:
    browser = AsyncClient()
    browser.force_login(person)

    def get(address: str, **query: str) -> Any:
        # On the background loop, as `talk`: a loop of its own would end with the request, in the midst of the answer.
        return threads.run(browser.get(address, query))

    with EchoServer() as service:
        service.routes["/token"] = lambda _: Reply(body=b'{"access_token": "t0ken", "expires_in": 3600}')
        addresses = {"authorizationUrl": f"{service.url}/consent", "tokenUrl": f"{service.url}/token"}
        scheme = {"type": "oauth2", "flows": {"authorizationCode": {**addresses, "scopes": {"read": ""}}}}
        spec = spec_of(service.url, components={"securitySchemes": {"main": scheme}})
        toolset = OpenAPIToolset(
            spec_dict={**spec, "security": [{"main": []}]},
            auth_credential=AuthCredential(
                auth_type="oauth2", oauth2=OAuth2Auth(client_id="shop", client_secret="s3cr3t")
            ),
            allow_private_network_access=True,
        )
        jobs: Any = as_job(toolset)
        model = clerk_with(jobs, served)
        model.turns = [call("do_it"), "It is on its way."]
        session = Session.objects.get(pk=talk(person, "reports", "please"))
        assert not ToolJob.objects.exists()
        page = get(reverse("chat:sign_in", args=[session.answer_requests.get(kind="credential").call_id]))
        sent = {name: values[0] for name, values in parse_qs(urlsplit(page["Location"]).query).items()}
        assert (sent["client_id"], sent["code_challenge_method"]) == ("shop", "S256")
        assert sent["redirect_uri"] == "http://testserver/sign-in/callback/"
        assert get("/sign-in/callback/", code="gr4nt", state=sent["state"]).status_code == 200
        run_queue(session.pk)
        job = ToolJob.objects.get(session=session)
        form = {name: values[0] for name, values in parse_qs(service.received[0].body.decode()).items()}
        assert (form["code"], form["client_secret"]) == ("gr4nt", "s3cr3t")
        assert challenge_of(form["code_verifier"])["code_challenge"] == sent["code_challenge"]
        run_task(job)
        assert (service.last.path, service.last.headers["authorization"]) == ("/things", "Bearer t0ken")
    job.refresh_from_db()
    assert job.status == JobStatus.SUCCEEDED
    assert "t0ken" not in str(job.args)
