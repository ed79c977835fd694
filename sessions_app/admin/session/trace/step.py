"""Data of a step on the trace page: the exact model request, the response, and changes since another step."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import TextField
from django.db.models.functions import Cast, Left, Length
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from runtime.engine.request_record import RebuiltRequest
from sessions_app.admin.session.timeline.event_rows import format_part
from sessions_app.base.codec import json_object
from sessions_app.invocations.rebuilt_requests import Bounds, rebuild_child_request, rebuild_request, texts_of
from sessions_app.models import Event, Session
from sessions_app.rendering.audit_values import TRUNCATE_AT, format_beginning, format_json, truncate
from sessions_app.rendering.compared_lines import changes_block
from sessions_app.secrets.masking import LOOK_AHEAD, mask

BOUNDS = Bounds(events=300, bytes=300_000)
"""Part of the log to read for the contents of a request on the page. The download has all contents."""
MAX_SHOWN_CONTENTS = 30
MAX_SHOWN_TOOLS = 100


@dataclass(frozen=True)
class ContentView:
    role: str
    parts: list[str]


@dataclass(frozen=True)
class StepView:
    """A model call with its request and response.

    Attributes:
        contents: the newest contents of the request, oldest first.
        left_out: True if the request has earlier contents.
        compared_with: `seq` of the event of the step to compare the instruction with.
        changes: the changes of the system instruction since the other step; None without another step.
        child: for a model call of an agent run as a tool, its place in the record of the event; None for all others.
    """

    seq: int
    model: str
    config: str
    instruction: str
    tools: list[tuple[str, str]]
    contents: list[ContentView]
    left_out: bool
    response: str
    compared_with: int | None
    changes: SafeString | None
    child: int | None = None


def load_child_step(session: Session, seq: int, child: int) -> StepView | None:
    """Return a step of an agent run as a tool, from the record of an event; None without such a record."""
    event = Event.objects.filter(session=session, seq=seq).only("model_call").first()
    rebuilt = event and rebuild_child_request(event, child)
    if not rebuilt:
        return None
    request, answer = rebuilt
    # More than is shown: the mask must see whole secrets at the cut.
    beginning = answer[: TRUNCATE_AT + LOOK_AHEAD]
    view = _view(seq, request, format_beginning(beginning, len(answer)) if answer else "")
    return replace(view, child=child)


def load_step(session: Session, seq: int, compared_with: int) -> StepView | None:
    """Return the step at the end of which the event was appended; None without a recorded request.

    Args:
        compared_with: `seq` of the event of the step to compare the instruction with; 0 without such a step.
    """
    rows = Event.objects.filter(session=session, seq__in=[seq, compared_with], model_call__isnull=False)
    body = Cast("body", TextField())
    annotated = rows.annotate(beginning=Left(body, TRUNCATE_AT + LOOK_AHEAD), length=Length(body))
    found = {row.seq: row for row in annotated.defer("body", "before", "text", "hash")}
    answer = found.get(seq)
    other = found.get(compared_with)
    rebuilt = answer and rebuild_request(session, answer, BOUNDS)
    if answer is None or not rebuilt:
        return None
    view = _view(seq, rebuilt.request, format_beginning(answer.beginning, answer.length))  # type: ignore[attr-defined]
    view = replace(view, left_out=view.left_out or not rebuilt.is_whole)
    if other is None:
        return view
    return replace(view, compared_with=other.seq, changes=_changes(other, rebuilt.request))


def _view(seq: int, request: RebuiltRequest, response: str) -> StepView:
    return StepView(
        seq=seq,
        model=request.model or "",
        config=format_json(request.config or {}),
        instruction=truncate(_instruction_text(request.system_instruction)),
        tools=_tools(request),
        contents=[_content_view(content) for content in request.contents[-MAX_SHOWN_CONTENTS:]],
        left_out=len(request.contents) > MAX_SHOWN_CONTENTS,
        response=response,
        compared_with=None,
        changes=None,
    )


def number_in(text: str, otherwise: int = 0) -> int:
    """Return a value of a query string as a number; `otherwise` for any other text."""
    return int(text) if text.isdecimal() and len(text) < 10 else otherwise


def request_json(request: RebuiltRequest) -> str:
    """Return a whole request as JSON, masked, for a download."""
    values = mask(
        {
            "model": request.model,
            "config": request.config,
            "systemInstruction": request.system_instruction,
            "tools": request.tools,
            "contents": request.contents,
        }
    )
    # A request may have lone surrogates, which cannot be sent as UTF-8.
    return json.dumps(values, ensure_ascii=False, indent=2).encode(errors="replace").decode()


def _changes(other: Event, request: RebuiltRequest) -> SafeString | None:
    record = other.model_call
    if not isinstance(record, dict):
        return None
    text = texts_of([{"system": record.get("system")}]).get(record.get("system") or "", "null")
    before = _instruction_text(json.loads(text))
    after = _instruction_text(request.system_instruction)
    return changes_block(truncate(before), truncate(after))


def _instruction_text(instruction: Any) -> str:
    """Return the system instruction as text; an instruction of several parts becomes JSON."""
    if instruction is None:
        return ""
    if isinstance(instruction, str):
        return instruction
    return json.dumps(instruction, ensure_ascii=False, indent=2)


def _tools(request: RebuiltRequest) -> list[tuple[str, str]]:
    """Return name and declaration of each tool."""
    tools: list[tuple[str, str]] = []
    for tool in request.tools if isinstance(request.tools, list) else []:
        declared = json_object(tool).get("functionDeclarations") or []
        for declaration in declared:
            tools.append((str(declaration.get("name") or ""), format_json(declaration)))
        if not declared:
            tools.append((", ".join(json_object(tool)) or str(tool), format_json(tool)))
    return tools[:MAX_SHOWN_TOOLS]


def _content_view(content: Any) -> ContentView:
    if content is None:
        return ContentView("", [_("The text of this content is no longer stored.")])
    parts: Sequence[dict[str, Any]] = content.get("parts") or []
    return ContentView(content.get("role") or "", [_part_text(part) for part in parts])


def _part_text(part: dict[str, Any]) -> str:
    """Return a part of a content as text; the bytes of a file are left out."""
    if set(part) == {"text"}:
        return truncate(part["text"])
    return format_part(part)
