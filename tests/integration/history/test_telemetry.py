"""Contract: spans, metrics and logs leave the site without words of conversations, and for readers with the right."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.test import AsyncClient, RequestFactory
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.skills import Frontmatter, Skill
from runtime.tools.skill_toolset import SkillToolset
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.history.telemetry import metrics_view, span_export
from sessions_app.invocations.worker import worker
from sessions_app.models import Invocation
from sessions_app.process.json_logs import JsonFormatter, logs_of_invocation
from tests.fakes import ScriptedModel, call
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")


def look_up(word: str) -> str:
    """Look a word up."""
    logging.getLogger("shop").warning("Looked up api_key=s3cret")
    return "private words"


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    calls = [call("look_up", word="lamp"), call("load_skill", skill_name="lamps")]
    scripted = ScriptedModel(turns=[calls, "Private words."])
    skill = Skill(
        frontmatter=Frontmatter(name="lamps", description="Private."), instructions="Private words."
    )
    tools = [look_up, SkillToolset([skill])]
    app = App(name="shop", root_agent=LlmAgent(name="clerk", model=scripted, tools=tools))
    served(app)
    return scripted


async def ask(person: User) -> Invocation:
    session = await use_cases.create_session(person, "shop")
    await use_cases.send_message(actors.person(person), session.id, "m1", "private words")
    await worker().wait_until_idle()
    await asyncio.gather(*worker()._background_tasks)
    return await Invocation.objects.aget(session=session)


async def test_the_spans_of_an_invocation_are_exported_by_the_conventions(
    person: User, model: ScriptedModel, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(span_export, "_tracer", lambda endpoint: provider.get_tracer("test"))
    configure(otlp_endpoint="http://127.0.0.1:4318/v1/traces")
    invocation = await ask(person)
    spans = {span.name: span for span in exporter.get_finished_spans()}
    tools = ["execute_tool load_skill", "execute_tool look_up"]
    assert sorted(spans) == ["chat scripted", *tools, "invocation", "invoke_agent clerk"]
    skills = [(spans[tool].attributes or {}).get("gen_ai.skill.name") for tool in tools]
    assert skills == ["lamps", None]
    chat, agent, root = (spans[name] for name in ("chat scripted", "invoke_agent clerk", "invocation"))
    assert chat.parent and agent.context and agent.parent and root.context
    assert (chat.parent.span_id, agent.parent.span_id) == (agent.context.span_id, root.context.span_id)
    assert chat.attributes and chat.attributes["gen_ai.operation.name"] == "chat"
    assert chat.attributes["adk.invocation_id"] == invocation.invocation_id
    assert "rivate" not in "".join(span.to_json() for span in spans.values())


async def test_without_the_packages_nothing_is_exported_and_the_log_says_why(
    configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(span_export, "IS_AVAILABLE", False)
    configure(otlp_endpoint="http://127.0.0.1:4318")
    await span_export.export_spans(uuid4(), "e-1", 0.0)
    assert "pip install -r requirements-telemetry.txt" in caplog.text


async def test_prometheus_reads_the_metrics_with_its_token(
    person: User, model: ScriptedModel, configure: Callable[..., None]
) -> None:
    configure(metrics_token="t0ken")
    await ask(person)
    client = AsyncClient()
    assert (await client.get("/metrics")).status_code == 403
    assert (await client.get("/metrics", headers={"authorization": "Bearer wrong"})).status_code == 403
    response = await client.get("/metrics", headers={"authorization": "Bearer t0ken"})
    text = response.content.decode()
    for line in (
        'adk_invocations_total{outcome="completed"} ', "adk_first_word_seconds_count ", "adk_queued_invocations 0.0",
        "adk_queue_age_seconds 0.0", "adk_lease_take_overs_total ", 'adk_jobs{status="running"} 0.0',
        "adk_connections ", "adk_last_sweep_timestamp_seconds ", "adk_database_pool_size ",
    ):  # fmt: skip
        assert f"\n{line}" in text, line


async def test_connections_of_processes_that_have_ended_are_not_counted(
    person: User, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configure(metrics_token="t0ken")
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    processes = [await start_with_connections(number) for number in (3, 2)]
    text = await metrics_text()
    assert "\nadk_connections 5.0" in text and "\nadk_lease_take_overs_total 2.0" in text
    processes[0].kill()
    await processes[0].wait()
    text = await metrics_text()
    assert "\nadk_connections 2.0" in text and "\nadk_lease_take_overs_total 2.0" in text
    processes[1].kill()
    await processes[1].wait()


async def start_with_connections(number: int) -> asyncio.subprocess.Process:
    """Start a process that counts connections and a take-over, and stays."""
    code = (
        "import sys; from sessions_app.process.process_metrics import add_connections, count_take_over\n"
        f"add_connections({number}); count_take_over(); print('ready', flush=True); sys.stdin.read()"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdin=PIPE, stdout=PIPE, env=dict(os.environ)
    )
    assert process.stdout and await process.stdout.readline() == b"ready\n"
    return process


async def metrics_text() -> str:
    response = await AsyncClient().get("/metrics", headers={"authorization": "Bearer t0ken"})
    return response.content.decode()


async def test_an_empty_token_opens_nothing_when_the_settings_have_none(
    configure: Callable[..., None], person: User
) -> None:
    configure()
    assert (await AsyncClient().get("/metrics", headers={"authorization": "Bearer "})).status_code == 403


async def test_a_user_whose_model_has_no_staff_is_refused_the_metrics(
    configure: Callable[..., None], rf: RequestFactory
) -> None:
    configure()

    async def user() -> object:
        return SimpleNamespace(is_authenticated=True)

    request = rf.get("/metrics")
    request.auser = user  # type: ignore[assignment]
    with pytest.raises(PermissionDenied):
        await metrics_view.metrics(request)


async def test_without_the_package_the_answer_says_what_to_install(
    configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, person: User
) -> None:
    configure(metrics_token="t0ken")
    monkeypatch.setattr(metrics_view, "IS_AVAILABLE", False)
    response = await AsyncClient().get("/metrics", headers={"authorization": "Bearer t0ken"})
    assert response.status_code == 501 and b"requirements-telemetry.txt" in response.content


async def test_a_line_of_the_log_is_json_with_the_invocation_and_masked(
    person: User, model: ScriptedModel, caplog: pytest.LogCaptureFixture
) -> None:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(JsonFormatter().format(record))  # type: ignore[method-assign]
    logging.getLogger("shop").addHandler(handler)
    try:
        invocation = await ask(person)
    finally:
        logging.getLogger("shop").removeHandler(handler)
    (line,) = map(json.loads, lines)
    assert line["invocation_id"] == invocation.invocation_id
    assert (line["level"], line["logger"]) == ("WARNING", "shop")
    assert "s3cret" not in line["message"] and line["message"].startswith("Looked up")


def test_a_line_of_any_text_is_one_line() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "a\nb\ud800\u2028%s", ("\x00",), None)
    with logs_of_invocation("e-1"):
        line = JsonFormatter().format(record)
    assert len(line.splitlines()) == 1
    assert json.loads(line)["message"] == "a\nb\ud800\u2028\x00"
