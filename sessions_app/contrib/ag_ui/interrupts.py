"""Interrupts: the calls and questions that wait for the person, and how an answer to one is read."""

from typing import Any
from uuid import UUID

from ag_ui.core import Interrupt, ResumeEntry
from django.urls import reverse

from runtime import types
from runtime.events.answer_rules import PERSON
from runtime.events.calls import (
    CHOICE_TOOL,
    FRAMEWORK_CALLS,
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    ResponseStatus,
    id_of_requested_call,
)
from runtime.events.tool_confirmation import own_hint
from runtime.tools.client_toolset import client_functions
from sessions_app.api.v1.approvals import arguments_of, payload_of, with_arguments
from sessions_app.errors import InvalidInputError
from sessions_app.invocations.answers.form_answers import ConfirmationForm
from sessions_app.jobs.questions import JobAnswer
from sessions_app.models import AnswerRequest, RequestKind, Session
from sessions_app.rendering.questions import CredentialRequestBlock, credential_request_block

QUESTION = "job:"
"""Prefix of the id of a job's question: the id of the job and the number of the question follow."""
CANCELLED = "The person has not answered this."
_YES_OR_NO = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "payload": {}},
    "required": ["approved"],
}


def waiting_for_person(session: Session) -> tuple[list[Interrupt], list[str]]:
    """Return the interrupts of a session, and the ids of the calls of its client's tools that wait."""
    state = Session.objects.values_list("state", flat=True).get(pk=session.pk)
    client_tools = {function.name for function in client_functions(state)}
    rows = AnswerRequest.objects.open().filter(session=session, answered_by=PERSON)
    interrupts = []
    tool_calls = []
    for row in with_arguments(rows.select_related("job")).order_by("asked_at", "pk"):
        if row.kind == RequestKind.CALL and row.tool_name in client_tools:
            tool_calls.append(row.call_id)
        else:
            interrupts.append(_interrupt_of(row))
    return interrupts, tool_calls


def _interrupt_of(row: Any) -> Interrupt:
    request = types.FunctionCall(id=row.call_id, name=row.tool_name, args=row.call_args or {})
    if row.kind == RequestKind.CREDENTIAL:
        return _credential_interrupt(request)
    metadata: dict[str, Any] = {"kind": row.kind, "tool": row.tool_name, "arguments": arguments_of(row)}
    if row.kind == RequestKind.CONFIRMATION:
        metadata["payload"] = payload_of(row)
    interrupt = Interrupt(
        id=row.call_id,
        reason="input_required",
        message=row.effect,
        response_schema=_schema_of(row),
        metadata=metadata,
    )
    if row.job:
        interrupt.id = f"{QUESTION}{row.job.pk}:{len(row.job.answers)}"
        interrupt.message = row.job.question["text"]
    if row.kind == RequestKind.CONFIRMATION:
        interrupt.reason = "tool_call"
        interrupt.message = own_hint(request.args or {}) or row.effect
        interrupt.tool_call_id = id_of_requested_call(request)
    elif row.tool_name not in FRAMEWORK_CALLS:
        interrupt.tool_call_id = row.call_id
    return interrupt


def _credential_interrupt(request: types.FunctionCall) -> Interrupt:
    """Return the interrupt of a request for a credential, with what the form on the page has."""
    metadata: dict[str, Any] = {"kind": RequestKind.CREDENTIAL, "tool": REQUEST_CREDENTIAL, "arguments": {}}
    form = credential_request_block(request)
    schema = None
    if form and form.service:
        metadata["signIn"] = reverse("chat:sign_in", args=[form.call_id])
    elif form:
        metadata["grantAt"] = form.link or None
        schema = _schema_of_credential(form)
    return Interrupt(
        id=request.id or "",
        reason="credential_required",
        message=form.title if form else "",
        tool_call_id=id_of_requested_call(request),
        response_schema=schema,
        metadata=metadata,
    )


def _schema_of_credential(form: CredentialRequestBlock) -> dict[str, Any]:
    """Return the JSON schema of the credential that a form asks for. Names of its inputs are dotted paths."""
    inputs = {path: {"const": value} for path, value in form.constants}
    for field in form.fields:
        inputs[field.name] = {"type": "string", "title": field.label}
    schema: dict[str, Any] = {}
    for path, input_schema in inputs.items():
        *parents, name = path.split(".")
        place = schema
        for parent in parents:
            place = _add_property(place, parent, {})
        _add_property(place, name, input_schema)
    return schema


def _add_property(schema: dict[str, Any], name: str, value: dict[str, Any]) -> dict[str, Any]:
    """Make a property of an object required; return its schema, which is `value` if there was none."""
    schema.setdefault("type", "object")
    properties = schema.setdefault("properties", {})
    if name not in properties:
        properties[name] = value
        schema.setdefault("required", []).append(name)
    found: dict[str, Any] = properties[name]
    return found


def _schema_of(row: Any) -> dict[str, Any]:
    """Return the JSON schema of the answer; without constraints for any answer."""
    if row.kind == RequestKind.CONFIRMATION:
        return _YES_OR_NO
    question = row.job.question if row.job else {}
    if question.get("kind") == "confirm":
        return {"type": "boolean"}
    options = question.get("options") or arguments_of(row).get("options")
    if isinstance(options, list) and options:
        return {"enum": options}
    if row.job:
        return {"type": "string"}
    schema = arguments_of(row).get("response_schema")
    return schema if isinstance(schema, dict) else {}


def question_in(interrupt_id: str) -> tuple[UUID, int] | None:
    """Return the job and the number of the question that an interrupt asks; None for a call."""
    if not interrupt_id.startswith(QUESTION):
        return None
    job_id, _, number = interrupt_id.removeprefix(QUESTION).partition(":")
    try:
        return UUID(job_id), int(number[:9])
    except ValueError:
        raise InvalidInputError(
            f"There is no interrupt {interrupt_id[:80]!r} here.", field="resume"
        ) from None


def question_answer(entry: ResumeEntry) -> JobAnswer | None:
    """Return the answer to a job's question; None to cancel the job."""
    if entry.status == "cancelled":
        return None
    values = _as_object(entry.payload, "result")
    answer = values.get("result", values.get("approved"))
    if not isinstance(answer, bool | str):
        raise InvalidInputError("Answer the question of a job with a text, true or false.", field="resume")
    return answer


def call_answer(name: str, args: dict[str, Any], entry: ResumeEntry) -> dict[str, Any]:
    """Return the response to a call that an entry of `resume` gives.

    Raises:
        InvalidInputError: the payload does not fit the question.
    """
    if name == REQUEST_CONFIRMATION:
        return _confirmation(entry).response_to(args)
    if name == REQUEST_CREDENTIAL:
        return _credential(entry)
    if entry.status == "cancelled":
        return ResponseStatus.REJECTED.with_error(CANCELLED)
    values = _as_object(entry.payload, "result")
    if name == CHOICE_TOOL:
        chosen = values.get("result")
        options = args.get("options")
        if not isinstance(options, list) or chosen not in options:
            raise InvalidInputError(
                f"Choose one of these: {', '.join(map(str, options or ()))}.", field="resume"
            )
        return {"result": chosen}
    return values


def _as_object(payload: Any, name: str) -> dict[str, Any]:
    """Return a payload, or an object with a payload that is none under the name."""
    if isinstance(payload, dict):
        return payload
    return {name: payload}


def _confirmation(entry: ResumeEntry) -> ConfirmationForm:
    if entry.status == "cancelled":
        return ConfirmationForm(confirmed=False)
    values = _as_object(entry.payload, "approved")
    approved = values.get("approved", values.get("confirmed"))
    if not isinstance(approved, bool):
        raise InvalidInputError(
            'Answer a confirmation with {"approved": true} or {"approved": false}.', field="resume"
        )
    return ConfirmationForm(approved, payload=values.get("payload"))


def _credential(entry: ResumeEntry) -> dict[str, Any]:
    if entry.status == "cancelled":
        return {}
    if not entry.payload or not isinstance(entry.payload, dict):
        raise InvalidInputError(
            "Sign in at the address in the interrupt's signIn, or send an object that fits its responseSchema.",
            field="resume",
        )
    return entry.payload
