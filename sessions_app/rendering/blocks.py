"""Blocks of an event: the displayable parts of its content, in order.

A block has the data that the page shows and no HTML, so the page, transcripts and the terminal can use the same blocks.
Questions to the user are calls with special names; they become blocks with forms, and the answers blocks with a
sentence.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, ClassVar

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext

from runtime import types
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.events import Event as RuntimeEvent
from runtime.events.allowances import used_allowance
from runtime.events.answer_rules import PERSON
from runtime.events.calls import (
    CHOICE_TOOL,
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    TEXT_QUESTIONS,
    ResponseStatus,
    call_seconds,
    parts_of,
)
from runtime.events.tool_confirmation import (
    call_to_confirm,
    confirmer_of,
    offers_allowance,
    own_hint,
    question_in,
)
from sessions_app.base.actors import ActorKind
from sessions_app.history.call_state import CallState, state_of, status_of
from sessions_app.history.event_marks import answerer_in, scheduled_task_in
from sessions_app.models import ToolJob
from sessions_app.models.scheduled_task import recurrence_in_words
from sessions_app.rendering.call_words import CallWords, argument_order, describe_call, find_tool
from sessions_app.rendering.faces import face_of
from sessions_app.rendering.files import FileLink, file_link
from sessions_app.rendering.markdown.citations import Citation
from sessions_app.rendering.outline import labels_of, one_line, outline
from sessions_app.rendering.questions import (
    MAX_BRIEF_LENGTH,
    ChoiceBlock,
    ChosenBlock,
    CredentialBlock,
    CredentialRequestBlock,
    Field,
    InputRequestBlock,
    RemoteQuestionBlock,
    RepliedBlock,
    ShownArgument,
    StoppedBlock,
    chosen_block,
    form_block,
    payload_fields,
    replied_block,
)
from sessions_app.rendering.sentences import in_language
from sessions_app.rendering.session_view import SessionView
from sessions_app.secrets.masking import beginning_of, shortened

QUESTIONS = (REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, CHOICE_TOOL, *TEXT_QUESTIONS)
TRANSFER_TOOL = "transfer_to_agent"
SCHEDULE_TOOL = "schedule_task"
MAX_RESPONSE_LENGTH = 4_000
"""Maximum characters of a result, and of an argument."""
NO_CITATIONS: Mapping[int, Sequence[Citation]] = {}


@dataclass(frozen=True)
class TextBlock:
    """Text of the user, or Markdown of an agent with references to its sources."""

    kind: ClassVar = "text"
    text: str
    citations: Sequence[Citation] = ()


@dataclass(frozen=True)
class ScheduledTaskBlock:
    """Text of a scheduled task whose time has come."""

    kind: ClassVar = "scheduled_task"
    task: str


@dataclass(frozen=True)
class ThoughtBlock:
    """Thoughts of the model, as Markdown."""

    kind: ClassVar = "thought"
    text: str


@dataclass(frozen=True)
class CallBlock:
    """A function call; `job` is the job of a long-running call, if it has one."""

    kind: ClassVar = "call"
    call_id: str
    name: str
    words: CallWords
    args: list[tuple[str, str]]
    is_long_running: bool
    job: ToolJob | None

    @property
    def brief(self) -> str:
        """Return the arguments in one line, each with its label and a shortened value."""
        labels = labels_of(name for name, _ in self.args)
        arguments = [f"{labels[name]}: {shortened(value, MAX_BRIEF_LENGTH)}" for name, value in self.args]
        return ", ".join(arguments)


@dataclass(frozen=True)
class ConfirmationRequestBlock:
    """A function call that runs only after the user confirms it.

    Attributes:
        args: all arguments in full: users must see everything that they approve.
        fields: inputs for the payload.
        offers_allowance: True if the user may allow later calls of the session as well.
        staff_decide: True if staff answer, and the user may only withdraw the call.
    """

    kind: ClassVar = "confirmation_request"
    call_id: str
    asking_call_id: str
    hint: str
    words: CallWords
    args: list[ShownArgument]
    agent: str
    tool: str
    fields: list[Field]
    offers_allowance: bool
    staff_decide: bool


@dataclass(frozen=True)
class ConfirmationBlock:
    """The yes or no to a function call.

    Attributes:
        is_for_session: True if the user allowed later calls of the session as well.
        staff: name of the member of staff who answered; empty if the user or a rule did.
        is_automatic: True if nobody answered in time.
        reason: reason given by staff or by the rule.
    """

    kind: ClassVar = "confirmation"
    call_id: str
    is_confirmed: bool
    is_for_session: bool
    staff: str = ""
    is_automatic: bool = False
    reason: str = ""

    @property
    def verdict(self) -> str:
        """Return `yes` or `no`."""
        return "yes" if self.is_confirmed else "no"

    def sentence(self, time: SafeString) -> SafeString:
        """Return the sentence for the page; `time` is the HTML of the time of the answer."""
        return format_html(self._pattern(), staff=self.staff, time=time)

    def _pattern(self) -> str:
        if self.is_automatic and not self.is_confirmed:
            return gettext("Rejected automatically, {time}")
        if self.staff and self.is_confirmed:
            return gettext("Approved by <bdi>{staff}</bdi> (staff), {time}")
        if self.staff:
            return gettext("Rejected by <bdi>{staff}</bdi> (staff), {time}")
        if not self.is_confirmed:
            return gettext("Rejected by you, {time}")
        if self.is_for_session:
            return gettext("Allowed for this chat by you, {time}")
        return gettext("Approved by you, {time}")


@dataclass(frozen=True)
class ResponseBlock:
    """A function response.

    Attributes:
        hidden: number of omitted characters; None if unknown.
        allowed_at: time of the allowance under which the call ran; None without an allowance.
        seconds: recorded duration of the call; if None, the page computes it from the times of the events.
    """

    kind: ClassVar = "response"
    call_id: str
    name: str
    text: str
    hidden: int | None
    state: CallState
    allowed_at: datetime | None
    seconds: float | None


@dataclass(frozen=True)
class CodeBlock:
    """Code that the model executed, or its output."""

    kind: ClassVar = "code"
    label: str
    text: str


@dataclass(frozen=True)
class FileBlock:
    """A file inside the content."""

    kind: ClassVar = "file"
    mime_type: str


@dataclass(frozen=True)
class UploadBlock:
    """A file that a message refers to: uploaded by a person, or made by an agent and no picture."""

    kind: ClassVar = "upload"
    file: FileLink


@dataclass(frozen=True)
class PicturesBlock:
    """Adjacent pictures in an agent's answer."""

    kind: ClassVar = "pictures"
    agent: str
    files: list[FileLink]


Block = (
    TextBlock
    | ScheduledTaskBlock
    | ThoughtBlock
    | CallBlock
    | ConfirmationRequestBlock
    | ConfirmationBlock
    | ChoiceBlock
    | ChosenBlock
    | CredentialRequestBlock
    | CredentialBlock
    | RemoteQuestionBlock
    | InputRequestBlock
    | RepliedBlock
    | StoppedBlock
    | ResponseBlock
    | CodeBlock
    | FileBlock
    | UploadBlock
    | PicturesBlock
)


def blocks_of(
    view: SessionView,
    event: RuntimeEvent,
    jobs: Mapping[str, ToolJob],
    citations: Mapping[int, Sequence[Citation]] = NO_CITATIONS,
) -> list[Block]:
    """Return the blocks of an event in order. Adjacent texts are joined, and so are adjacent pictures of an agent.

    Calls of `transfer_to_agent` have no block: the page shows transfers from the event's actions.

    Args:
        citations: references to sources, by the index of the part.
    """
    task = scheduled_task_in(event)
    if task is not None:
        return [ScheduledTaskBlock(task)]
    blocks: list[Block] = []
    for block_type, group in groupby(
        enumerate(parts_of(event)), lambda indexed: _text_block_type(indexed[1])
    ):
        if block_type is TextBlock:
            blocks.append(_text_block(group, citations))
        elif block_type:
            blocks.append(block_type("".join(part.text or "" for _, part in group)))
        else:
            for _, part in group:
                blocks += _blocks_of_part(part, view, event, jobs)
    blocks = [block for block in blocks if not _is_blank(block)]
    if event.author == "user":
        return blocks
    return _with_joined_pictures(blocks, view.app_name, event.author)


def _is_blank(block: Block) -> bool:
    return isinstance(block, TextBlock | ThoughtBlock) and not block.text.strip()


def readable(value: Any) -> str:
    """Return a text unchanged, and any other value as indented JSON with sorted keys."""
    # PostgreSQL's jsonb keeps no order of keys. Sorted, an event looks the same before and after it is stored.
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)


def _text_block(
    parts: Iterable[tuple[int, types.Part]], citations: Mapping[int, Sequence[Citation]]
) -> TextBlock:
    """Return the text of adjacent parts, given with their indexes."""
    text = ""
    placed: list[Citation] = []
    for index, part in parts:
        for citation in citations.get(index, ()):
            placed.append(replace(citation, position=len(text) + citation.position))
        text += part.text or ""
    return TextBlock(text, placed)


def _text_block_type(part: types.Part) -> type[TextBlock] | type[ThoughtBlock] | None:
    if part.text is None:
        return None
    return ThoughtBlock if part.thought else TextBlock


def _with_joined_pictures(blocks: list[Block], app_name: str, author: str) -> list[Block]:
    joined: list[Block] = []
    for block in blocks:
        if not isinstance(block, UploadBlock) or not block.file.is_image:
            joined.append(block)
        elif joined and isinstance(joined[-1], PicturesBlock):
            joined[-1].files.append(block.file)
        else:
            joined.append(PicturesBlock(face_of(app_name, author).name, [block.file]))
    return joined


def _blocks_of_part(
    part: types.Part, view: SessionView, event: RuntimeEvent, jobs: Mapping[str, ToolJob]
) -> Iterator[Block]:
    if part.function_call and part.function_call.name != TRANSFER_TOOL:
        question = _question_block(part.function_call, view, event)
        yield question or _call_block(part.function_call, view, event, jobs)
    if part.function_response and not _is_redundant(part.function_response, event):
        yield _answer_block(part.function_response, event) or _response_block(
            part.function_response, view, event
        )
    if part.executable_code:
        yield CodeBlock(gettext("Code"), part.executable_code.code or "")
    if part.code_execution_result:
        yield CodeBlock(gettext("Output"), part.code_execution_result.output or "")
    if part.inline_data:
        yield FileBlock(part.inline_data.mime_type or gettext("unknown type"))
    if reference := ArtifactReference.of_part(part):
        name = reference.filename
        yield UploadBlock(file_link(view.session_id, name, reference.version, reference.mime_type))
    elif part.file_data:
        yield FileBlock(part.file_data.mime_type or gettext("unknown type"))


def _question_block(call: types.FunctionCall, view: SessionView, event: RuntimeEvent) -> Block | None:
    """Return the block of a call that asks the user; None for other calls."""
    if call.name == REQUEST_CONFIRMATION:
        return _confirmation_request_block(call, view, event)
    return form_block(call, event, face_of(view.app_name, event.author).name)


def _answer_block(response: types.FunctionResponse, event: RuntimeEvent) -> Block | None:
    """Return the block of an answer to a question; None for other responses."""
    given = response.response or {}
    call_id = response.id or ""
    if status_of(given) == ResponseStatus.STOPPED and response.name in QUESTIONS:
        return StoppedBlock(call_id)
    # The runtime answers a call of such a name that a model has made: its error is no answer of a person.
    is_of_person = event.author == "user"
    if response.name == REQUEST_CONFIRMATION and is_of_person:
        is_for_session = bool(given.get("forSession") or given.get("for_session"))
        kind, staff = answerer_in(event)
        reason = ""
        if kind:
            reason = in_language(one_line(given.get("reason") or ""))
        return ConfirmationBlock(
            call_id=call_id,
            is_confirmed=bool(given.get("confirmed")),
            is_for_session=is_for_session,
            staff=staff,
            is_automatic=kind == ActorKind.SITE,
            reason=reason,
        )
    if response.name == REQUEST_CREDENTIAL and is_of_person:
        return CredentialBlock(call_id, bool(given.get("given")))
    return chosen_block(response, event) or replied_block(response, event)


def _is_redundant(response: types.FunctionResponse, event: RuntimeEvent) -> bool:
    """True if the page shows the response elsewhere: a transfer in the actions, a pending call in its request."""
    if response.name == TRANSFER_TOOL and event.actions.transfer_to_agent:
        return True
    asked = event.actions.requested_tool_confirmations.keys() | event.actions.requested_auth_configs.keys()
    return response.id in asked


def _call_block(
    call: types.FunctionCall, view: SessionView, event: RuntimeEvent, jobs: Mapping[str, ToolJob]
) -> CallBlock:
    call_id = call.id or ""
    words, args = _words_and_arguments(view, event.author, call.name or "", call.args or {})
    return CallBlock(
        call_id=call_id,
        name=call.name or "",
        words=words,
        args=args,
        is_long_running=event.is_long_running(call_id),
        job=jobs.get(call_id),
    )


def _confirmation_request_block(
    call: types.FunctionCall, view: SessionView, event: RuntimeEvent
) -> ConfirmationRequestBlock | None:
    """Return the block of a confirmation request; None if the engine did not make the request."""
    # A model may call the same name, to make its own request look approved. Only the engine marks the call as
    # long-running: no tool has this name.
    if not event.is_long_running(call.id):
        return None
    request = call.args or {}
    original = call_to_confirm(request)
    question = question_in(request)
    args = original.get("args") or {}
    if not original or not isinstance(args, Mapping):
        return None
    tool = str(original.get("name") or "")
    words, whole_args = _words_and_arguments(view, event.author, tool, args, whole=True)
    labels = labels_of(args)
    return ConfirmationRequestBlock(
        call_id=call.id or "",
        asking_call_id=str(original.get("id") or ""),
        # The framework's hint, in English, says no more than the words of the call, in the reader's language.
        hint=own_hint(request),
        words=words,
        args=[ShownArgument(labels[name], text) for name, text in whole_args],
        agent=event.author,
        tool=tool,
        fields=payload_fields(question.get("payload")),
        offers_allowance=offers_allowance(request),
        staff_decide=confirmer_of(request) != PERSON,
    )


def _words_and_arguments(
    view: SessionView, agent_name: str, tool_name: str, args: Mapping[str, Any], *, whole: bool = False
) -> tuple[CallWords, list[tuple[str, str]]]:
    """Return the words for a call, and its arguments in the order of the tool's declaration.

    Args:
        whole: True to show arguments in full, False to cut them at `MAX_RESPONSE_LENGTH` characters.
    """
    # Arguments are pairs: in a template, an argument named `items` would shadow the method of a dict.
    tool = find_tool(view.app_name, agent_name, tool_name)
    order = argument_order(tool)
    names = sorted(args, key=lambda name: (order.get(name, len(order)), name))
    longest = None if whole else MAX_RESPONSE_LENGTH
    shown = [(name, _shown_argument(args[name], view, longest)) for name in names]
    if tool_name == SCHEDULE_TOOL and not view.shows_details:
        texts = dict(shown)
        if "every" in texts:
            texts["every"] = _recurrence(texts["every"], args)
        shown = list(texts.items())
    return describe_call(tool, tool_name, args), shown


def _recurrence(every: str, args: Mapping[str, Any]) -> str:
    """Return the recurrence of a call of `schedule_task` in words, instead of a crontab."""
    zone = str(args.get("time_zone") or get_current_timezone())
    return recurrence_in_words(every, zone)


def _shown_argument(value: Any, view: SessionView, longest: int | None) -> str:
    """Return an argument for the page: as JSON for readers of details, else as an outline."""
    text, hidden = _beginning_for(view, value, longest)
    return text if hidden == 0 else f"{text}…"


def _response_block(
    response: types.FunctionResponse, view: SessionView, event: RuntimeEvent
) -> ResponseBlock:
    allowed_at = used_allowance(event, response.id or "")
    content = response.response or {}
    result: Any = content
    if content.keys() == {"result"}:
        result = content["result"]
    text, hidden = _beginning_for(view, result, MAX_RESPONSE_LENGTH)
    return ResponseBlock(
        call_id=response.id or "",
        name=response.name or "",
        text=text,
        hidden=hidden,
        state=state_of(content),
        allowed_at=datetime.fromtimestamp(allowed_at, UTC) if allowed_at else None,
        seconds=call_seconds(event, response.id or ""),
    )


def _beginning_for(view: SessionView, value: Any, longest: int | None) -> tuple[str, int | None]:
    """Return the beginning of a value for the reader, and the number of hidden characters (see `ResponseBlock`)."""
    if not view.shows_details and not isinstance(value, str):
        text, is_cut = outline(value, longest)
        return text, None if is_cut else 0
    text = readable(value)
    if longest is None:
        return text, 0
    shown = beginning_of(text, longest)
    return shown, len(text) - len(shown)
