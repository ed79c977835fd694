"""Contract: spans, metrics and logs leave the site without words of conversations, and for readers with the right."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.test import AsyncClient, RequestFactory
from django.utils import timezone
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from adk_site.embedded.paths import CHECKOUT
from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import LlmResponse
from runtime.skills import Frontmatter, Skill
from runtime.tools.openapi_tool import OpenAPIToolset
from runtime.tools.skill_toolset import SkillToolset
from runtime.trace_context import trace_headers
from sessions_app import use_cases
from sessions_app.api.access.callers import person_calling
from sessions_app.base import actors
from sessions_app.history.telemetry import metrics_view, span_export
from sessions_app.history.telemetry.trace_contexts import InvocationTrace, find_trace
from sessions_app.invocations.retry import queue_again
from sessions_app.invocations.worker import worker
from sessions_app.jobs import as_job
from sessions_app.models import Invocation, Session, ToolJob
from sessions_app.process.json_logs import JsonFormatter, logs_of_invocation
from sessions_app.process.threads import in_thread
from tests.echo_server import EchoServer
from tests.fakes import ScriptedModel, call
from tests.integration.admin.audit_rows import make_job
from tests.integration.api.conftest import Program, make_key
from tests.integration.jobs.job_helpers import run_task
from tests.integration.otlp_collector import Collector
from tests.served_agents import Served
from tests.unit.runtime.openapi.specs import spec_of

MONITORING = CHECKOUT / "deploy" / "helm" / "monitoring"
LETTERS = "αβγδεζηθικλμνξοπρστυφχψωабвгдежзийклмнопрстуфхцчшщъыьэюя漢字語言\U0001f600\u202e"
SEEN: list[dict[str, str]] = []
"""Headers that the tool would send to other systems."""
CHAT = "chat gemini-2.5-flash-001"


pytestmark = pytest.mark.usefixtures("loop_end")


def look_up(word: str) -> str:
    """Look a word up."""
    logging.getLogger("shop").warning("Looked up api_key=s3cret")
    SEEN.append(trace_headers())
    return "private words"


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    SEEN.clear()
    calls = [call("look_up", word="lamp"), call("load_skill", skill_name="lamps")]
    scripted = ScriptedModel(turns=[calls, "Private words."])
    skill = Skill(
        frontmatter=Frontmatter(name="lamps", description="Private."), instructions="Private words."
    )
    tools = [look_up, SkillToolset([skill])]
    app = App(name="shop", root_agent=LlmAgent(name="clerk", model=scripted, tools=tools))
    served(app)
    return scripted


async def ask(person: User, text: str = "private words") -> Invocation:
    session = await use_cases.create_session(person, "shop")
    await use_cases.send_message(actors.person(person), session.id, "m1", text)
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


async def test_a_collector_gets_the_documented_fields_of_phoenix_and_langfuse(
    person: User, model: ScriptedModel, collector: Collector
) -> None:
    """Phoenix: the conventions of OpenInference. Langfuse: those of OpenTelemetry, and `session.id`."""
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=1000,
        candidates_token_count=100,
        thoughts_token_count=20,
        cached_content_token_count=600,
    )
    words = types.Content(role="model", parts=[types.Part(text="Private words.")])
    model.turns[-1] = LlmResponse(content=words, usage_metadata=usage, model_version="gemini-2.5-flash-001")
    invocation = await ask(person)
    spans = await collector.spans()
    root, chat, tool = (spans[name] for name in ("invocation", CHAT, "execute_tool look_up"))
    kinds = {name: span["openinference.span.kind"] for name, span in spans.items()}
    assert (kinds["invocation"], kinds["invoke_agent clerk"], kinds[CHAT]) == ("CHAIN", "AGENT", "LLM")
    assert (tool["openinference.span.kind"], tool["tool.name"]) == ("TOOL", "look_up")
    for span in spans.values():
        assert span["session.id"] == span["gen_ai.conversation.id"] == str(invocation.session_id)
    assert chat["gen_ai.provider.name"] == "gcp.gemini"
    assert (chat["gen_ai.request.model"], chat["gen_ai.response.model"]) == (
        "scripted",
        "gemini-2.5-flash-001",
    )
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (1000, 120)
    assert (chat["llm.model_name"], chat["llm.provider"]) == ("gemini-2.5-flash-001", "google")
    counts = [chat[f"llm.token_count.{part}"] for part in ("prompt", "completion", "total")]
    assert counts == [1000, 120, 1120]
    assert chat["llm.token_count.prompt_details.cache_read"] == 600
    assert chat["llm.token_count.completion_details.reasoning"] == 20
    cost = (400 * 0.30 + 600 * 0.03 + 120 * 2.50) / 1e6
    assert chat["llm.cost.total"] == chat["gen_ai.usage.cost"] == pytest.approx(cost)
    assert not [
        name for name in (*root, *chat, *tool) if name.startswith(("input.", "output.", "gen_ai.input"))
    ]


async def test_a_trace_goes_on_from_its_program_to_other_systems(
    person: User,
    model: ScriptedModel,
    collector: Collector,
    served: Served,
    broker: list[tuple[str, str]],
    shop: EchoServer,
) -> None:
    """The program's `traceparent` is the parent of the invocation, and its tools and jobs send the invocation's."""
    counts: Any = as_job(OpenAPIToolset(spec_dict=spec_of(shop.url), allow_private_network_access=True))
    model.turns[:] = [[call("look_up", word="lamp"), call("do_it")], "It is on its way."]
    served(App(name="shop", root_agent=LlmAgent(name="clerk", model=model, tools=[look_up, counts])))
    key = await sync_to_async(make_key)(person)
    sent = Program(key)
    session = await use_cases.create_session(person, "shop")
    given = f"00-{7:032x}-{9:016x}-01"
    response = await sent.post(
        f"/api/v1/sessions/{session.id}/runs",
        {"text": "Hello"},
        content_type="application/json",
        headers={"traceparent": given},
    )
    assert response.status_code == 202
    await worker().wait_until_idle()
    spans = {span.name: span for span in await collector.protobuf_spans()}
    root = spans["invocation"]
    assert (int.from_bytes(root.trace_id), int.from_bytes(root.parent_span_id)) == (7, 9)
    assert {int.from_bytes(span.trace_id) for span in spans.values()} == {7}
    assert SEEN == [{"traceparent": f"00-{7:032x}-{int.from_bytes(root.span_id):016x}-01"}]
    trace = await in_thread(find_trace, response.json()["run_id"])
    assert trace and trace.traceparent == SEEN[0]["traceparent"]
    assert shop.received == []
    await in_thread(run_task, await ToolJob.objects.aget())
    assert [request.headers.get("traceparent") for request in shop.received] == [trace.traceparent]


@pytest.fixture
def shop() -> Iterator[EchoServer]:
    """A web service that jobs call."""
    with EchoServer() as server:
        yield server


@pytest.mark.parametrize(
    "given", ["", "00-0-0-01", f"00-{0:032x}-{9:016x}-01", "x" * 55, f"00-{7:032x}-{9:016x}"]
)
async def test_a_wrong_trace_context_counts_as_none(
    person: User, collector: Collector, given: str, rf: RequestFactory
) -> None:
    caller = person_calling(person, rf.get("/", headers={"traceparent": given}))
    assert caller.actor_for(person).traceparent == caller.in_trace(given).traceparent == ""
    one, other = [await in_thread(find_trace, name) for name in ("e-1", "e-2")]
    assert one and other and one.trace_id != other.trace_id and one == await in_thread(find_trace, "e-1")


async def test_without_an_export_no_trace_context_is_kept_or_sent(
    person: User, model: ScriptedModel, configure: Callable[..., None], rf: RequestFactory
) -> None:
    configure()
    caller = person_calling(person, rf.get("/", headers={"traceparent": f"00-{7:032x}-{9:016x}-01"}))
    assert caller.traceparent == ""
    await ask(person)
    assert SEEN == [{}]


async def test_what_was_said_is_exported_only_when_switched_on_and_masked(
    person: User, model: ScriptedModel, collector: Collector
) -> None:
    collector.configure(otlp_content=True)
    model.turns[-1] = "The api_key=s3cret opens it."
    await ask(person, "Open it with password=hunter2")
    spans = await collector.spans()
    root, chat, tool = (spans[name] for name in ("invocation", "chat scripted", "execute_tool look_up"))
    assert (root["input.value"], root["output.value"]) == (
        "Open it with password=[masked]",
        "The api_key=[masked] opens it.",
    )
    assert chat["llm.output_messages.0.message.content"] == root["output.value"]
    assert chat["llm.output_messages.0.message.role"] == "assistant"
    assert json.loads(chat["gen_ai.output.messages"])[0]["parts"] == [
        {"type": "text", "content": root["output.value"]}
    ]
    assert "private words" in chat["input.value"] and chat["llm.input_messages.0.message.content"]
    assert tool["gen_ai.tool.call.arguments"] == tool["input.value"] == '{"word": "lamp"}'
    assert tool["gen_ai.tool.call.result"] == tool["output.value"] == '{"result": "private words"}'
    assert "s3cret" not in str(spans) and "hunter2" not in str(spans)


async def test_without_content_no_character_of_a_message_is_in_any_span(
    person: User, model: ScriptedModel, collector: Collector
) -> None:
    """Property over many texts, with letters that no attribute has: of messages, arguments, results and answers."""
    random = Random(35)
    for _ in range(12):
        said, argument, answer = [
            "".join(random.choices(LETTERS, k=random.randint(1, 200))) for _ in range(3)
        ]
        model.turns[:] = [call("look_up", word=argument), answer]
        await ask(person, said)
    sent = await collector.sent()
    assert len(sent) > 1_000
    assert not set(sent) & set(LETTERS)


async def test_without_the_packages_nothing_is_exported_and_the_log_says_why(
    configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(span_export, "IS_AVAILABLE", False)
    configure(otlp_endpoint="http://127.0.0.1:4318")
    await span_export.export_spans(uuid4(), "e-1", 0.0, InvocationTrace(1, 2))
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
        "adk_queue_age_seconds 0.0", "adk_job_age_seconds 0.0", "adk_lease_take_overs_total ",
        'adk_jobs{status="running"} 0.0', "adk_connections ",
        "adk_last_sweep_timestamp_seconds ", "adk_database_pool_size ",
    ):  # fmt: skip
        assert f"\n{line}" in text, line
    named = names_in(MONITORING / "rules.yaml") | names_in(MONITORING / "dashboard.json")
    assert named <= set(re.findall(r"^(\w+)", text, re.MULTILINE))


async def test_a_retried_invocation_waits_since_its_retry(
    person: User, model: ScriptedModel, configure: Callable[..., None]
) -> None:
    configure(metrics_token="t0ken")
    row = await ask(person)
    hour_ago = timezone.now() - timedelta(hours=1)
    rows = Invocation.objects.filter(pk=row.pk)
    await rows.aupdate(status="failed", created_at=hour_ago, finished_at=hour_ago)
    await queue_again(await Session.objects.aget(), row.invocation_id, actors.person(person))
    assert 0 < await age_in_metrics("adk_queue_age_seconds") < 60
    await rows.aupdate(past_attempts=[])
    assert await age_in_metrics("adk_queue_age_seconds") >= 3600


async def test_the_metrics_say_how_long_a_job_waits(
    person: User, model: ScriptedModel, configure: Callable[..., None]
) -> None:
    """One that has asked the person, or is to run later, does not wait yet."""
    configure(metrics_token="t0ken")
    await ask(person)
    session = await Session.objects.aget()
    now = timezone.now()
    hour = timedelta(hours=1)
    await in_thread(
        make_job, session, call_id="later", status="queued", created_at=now - hour, run_at=now + hour
    )
    await in_thread(
        make_job, session, call_id="asked", status="queued", created_at=now - hour, attempts=1, sent_at=now
    )
    assert await age_in_metrics("adk_job_age_seconds") < 60
    await in_thread(make_job, session, call_id="waits", status="queued", created_at=now - hour)
    assert await age_in_metrics("adk_job_age_seconds") >= 3600


async def age_in_metrics(name: str) -> float:
    found = re.search(rf"^{name} (\S+)", await metrics_text(), re.MULTILINE)
    assert found, name
    return float(found[1])


def names_in(path: Path) -> set[str]:
    return set(re.findall(r"\badk_\w+", path.read_text()))


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
