"""Agents, answers, tasks and questions as MCP has them: pure functions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as wire
from django.http import HttpRequest
from django.urls import reverse
from pydantic import ValidationError

from runtime.agents.llm_agent import LlmAgent
from runtime.apps.app import App
from runtime.events.calls import REQUEST_CREDENTIAL
from runtime.tools.output_schema import OutputSchema
from runtime.valid_text import valid_text
from sessions_app.api.tasks.questions import (
    Answer,
    Question,
    answer_to_call,
    answer_to_job,
    asks_yes_or_no,
    options_of,
    text_of_question,
)
from sessions_app.api.tasks.site_task import SiteTask, TaskState
from sessions_app.models import ToolJob

POLL_MILLISECONDS = 1_000
FIELD = "answer"
"""Name of the only field of a form that asks a question."""


@dataclass(frozen=True)
class Addresses:
    """Addresses of this site, as the request knows it."""

    request: HttpRequest

    def chat(self, task: SiteTask) -> str:
        return self.request.build_absolute_uri(reverse("chat:session", args=[task.session.pk]))

    def file(self, task: SiteTask, name: str, version: int) -> str:
        """Return the address in the API: the same key reads the file."""
        path = reverse("api-v1:download", kwargs={"session_id": task.session.pk, "name": name})
        return f"{self.request.build_absolute_uri(path)}?version={version}"


def tool_of(app: App, input_schema: dict[str, Any]) -> wire.Tool:
    """Return the app's root agent as a tool."""
    output = output_of(app)
    return wire.Tool(
        name=app.name,
        description=valid_text(app.root_agent.description or app.name),
        input_schema=input_schema,
        output_schema=output.json_schema if output else None,
    )


def output_of(app: App) -> OutputSchema | None:
    """Return the schema of the app's answers; None if they are texts, or another agent may give them."""
    root = app.root_agent
    if not isinstance(root, LlmAgent) or root.sub_agents:
        return None
    output = root.canonical_output_schema
    # Protocols before 2026 know objects only.
    if output is None or output.json_schema.get("type") != "object":
        return None
    return output


def result_of(task: SiteTask, at: Addresses, output: OutputSchema | None) -> wire.CallToolResult:
    """Return what the agents have said in a task, and the links to their files.

    Of a task that has not ended, the text tells what it waits for and where to answer.
    """
    said = []
    links = []
    for event in task.events:
        if event.author == "user":
            continue
        text = valid_text(event.text())
        if text:
            said.append(text)
        for name, version in event.actions.artifact_delta.items():
            links.append(wire.ResourceLink(name=valid_text(name), uri=at.file(task, name, version)))
    texts = [*said, *_state_in_words(task, at.chat(task)), f"session_id: {task.context_id}"]
    content = [wire.TextContent(text=text) for text in texts]
    is_error = task.state in (TaskState.FAILED, TaskState.CANCELED)
    structured = None
    if output:
        try:
            structured = output.read_json(said[-1] if said else "")
        except ValidationError:
            is_error = True
    return wire.CallToolResult(content=[*content, *links], structured_content=structured, is_error=is_error)


def wire_task(task: SiteTask, at: Addresses, *, can_ask: bool) -> dict[str, Any]:
    """Return the fields of a task of the extension.

    Args:
        can_ask: True if the client can ask its user questions. Of another client's task, the message tells where to
            answer.
    """
    first = task.invocations[0]
    last = task.invocations[-1]
    changed_at = last.finished_at or last.started_at or last.created_at
    status = "working"
    if task.state == TaskState.CANCELED:
        status = "cancelled"
    elif task.has_ended:
        status = "completed"
    elif can_ask and questions_of(task):
        status = "input_required"
    message = " ".join(_state_in_words(task, at.chat(task)))
    return {
        "taskId": task.id,
        "status": status,
        "statusMessage": message or None,
        "createdAt": first.created_at.isoformat(),
        "lastUpdatedAt": changed_at.isoformat(),
        "ttlMs": None,
        "pollIntervalMs": POLL_MILLISECONDS,
    }


def input_requests_of(task: SiteTask) -> wire.InputRequests:
    """Return the questions of a task as forms, by keys that no other question of the task gets."""
    return {key: _form(question) for key, question in questions_of(task).items()}


def answers_in(task: SiteTask, responses: wire.InputResponses) -> Iterator[Answer]:
    """Yield the answers to questions of a task. Of other responses, and of forms that were closed, nothing is left.

    Raises:
        InvalidInputError: a response is no answer to its question.
    """
    for key, question in questions_of(task).items():
        response = responses.get(key)
        if not isinstance(response, wire.ElicitResult):
            continue
        text = _text_in(response, question)
        if text is None:
            continue
        if isinstance(question, ToolJob):
            yield answer_to_job(question, text)
        else:
            yield answer_to_call(question, text)


def questions_of(task: SiteTask) -> Mapping[str, Question]:
    """Return the questions of a task that a form can ask. A credential is asked for in the chat only."""
    questions: dict[str, Question] = {
        call.id or "": call for call in task.asked if call.name != REQUEST_CREDENTIAL
    }
    for job in task.questions:
        questions[f"{job.pk}:{len(job.answers)}"] = job
    return questions


def _form(question: Question) -> wire.ElicitRequest:
    field: dict[str, Any] = {"type": "string"}
    options = [str(option) for option in options_of(question)]
    if asks_yes_or_no(question):
        field = {"type": "boolean"}
    elif options:
        field["enum"] = options
    schema = {"type": "object", "properties": {FIELD: field}, "required": [FIELD]}
    return wire.ElicitRequest(
        params=wire.ElicitRequestFormParams(message=text_of_question(question), requested_schema=schema)
    )


def _text_in(response: wire.ElicitResult, question: Question) -> str | None:
    """Return the answer of a form as a text; None if the form was closed without an answer."""
    if response.action == "accept":
        value = (response.content or {}).get(FIELD)
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return str(value)
    if response.action == "decline" and asks_yes_or_no(question):
        return "no"
    return None


def _state_in_words(task: SiteTask, chat_url: str) -> Iterator[str]:
    if task.state == TaskState.FAILED:
        yield valid_text(task.invocations[-1].error_message or "The agent has failed.")
    elif task.state == TaskState.CANCELED:
        yield "The work was cancelled."
    elif task.is_at_rest and not task.has_ended:
        yield f"The agent waits for an answer, to be given at {chat_url}"
        questions: list[Question] = [*task.asked, *task.questions]
        yield from (text_of_question(question) for question in questions)
    elif task.has_others_to_wait_for:
        yield f"The agent waits for somebody's approval. Its answer will be at {chat_url}"
