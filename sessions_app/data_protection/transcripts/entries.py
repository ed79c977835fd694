"""Entries of a transcript: the content of an event in pieces, formatted by a file or a page.

Markdown file, printed page, shared page and record for the audit all use these entries, so their content is the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, assert_never

from django.utils.translation import gettext

from runtime.events import Event as RuntimeEvent
from sessions_app.history.call_state import CallState, waits
from sessions_app.models import ToolJob
from sessions_app.rendering.blocks import (
    Block,
    CallBlock,
    CodeBlock,
    ConfirmationBlock,
    ConfirmationRequestBlock,
    FileBlock,
    PicturesBlock,
    ResponseBlock,
    ScheduledTaskBlock,
    TextBlock,
    ThoughtBlock,
    UploadBlock,
)
from sessions_app.rendering.files import FileLink, file_links
from sessions_app.rendering.html import content_of
from sessions_app.rendering.markdown.citations import Citation, Source
from sessions_app.rendering.outline import as_words
from sessions_app.rendering.questions import (
    ChoiceBlock,
    ChosenBlock,
    CredentialBlock,
    CredentialRequestBlock,
    InputRequestBlock,
    RemoteQuestionBlock,
    RepliedBlock,
    StoppedBlock,
)
from sessions_app.rendering.session_view import SessionView
from sessions_app.rendering.workflow_card import WorkflowCard

_Question = (
    ConfirmationRequestBlock | ChoiceBlock | CredentialRequestBlock | RemoteQuestionBlock | InputRequestBlock
)
_Answer = ConfirmationBlock | ChosenBlock | CredentialBlock | StoppedBlock | RepliedBlock
PieceKind = Literal["said", "prose", "sources", "note", "verbatim", "file", "picture", "error"]


@dataclass(frozen=True)
class Piece:
    """A part of an entry.

    Attributes:
        kind: `said`, words of a user; `prose`, Markdown of an agent; `sources`, of an agent's answer; `note`, a line
            about what happened; `verbatim`, text as it is; `file`, the name of a file; `picture`, the name of a picture
            in an answer; `error`.
        label: heading of a verbatim text.
        file: links to the file, for the session's owner; None for all other kinds.
        citations: references of prose to its sources.
        sources: the sources, each with a line of the text.
    """

    kind: PieceKind
    text: str
    label: str = ""
    file: FileLink | None = None
    citations: Sequence[Citation] = ()
    sources: Sequence[Source] = ()


@dataclass(frozen=True)
class Entry:
    """An event in a transcript.

    Attributes:
        author: name of the speaker; empty when nobody speaks.
        speaker: `person`, `agent`, `clock` for a scheduled task, or `quiet`.
        is_undone: True for an event that a rewind has put out of effect.
        cards: steps of the workflows that begin with the event, which stand before it.
    """

    author: str
    speaker: str
    at: datetime
    pieces: list[Piece]
    is_undone: bool = False
    cards: Sequence[WorkflowCard] = ()


@dataclass(frozen=True)
class DelayedOutcome:
    """Pieces about a delayed call that follow with its response.

    Attributes:
        done: says that the call was done.
        of_job: status and files of its job.
    """

    done: Piece
    of_job: Sequence[Piece]


@dataclass
class EntryBuilder:
    """Builds the entries of events, in the order of the log: the entry of an event depends on those before it.

    Settings and facts:
        owner: name of the session's user.
        jobs: jobs of the batch by call id.
        answered: ids of the calls with a response.
        delayed: ids of the calls that waited for a person or a job.
        waiting: effects of what still waits for an answer, by call id; for the questions of jobs, the question.

    State:
        outcomes: outcomes by call id. A call adds its outcome, its response removes it.
        cards: steps of workflows by invocation. The first event of a workflow removes them.
    """

    view: SessionView
    owner: str
    jobs: dict[str, ToolJob]
    answered: set[str]
    delayed: set[str] = field(default_factory=set)
    waiting: Mapping[str, str] = field(default_factory=dict)
    outcomes: dict[str, DelayedOutcome] = field(default_factory=dict)
    cards: dict[str, list[WorkflowCard]] = field(default_factory=dict)

    def build(self, event: RuntimeEvent, *, is_undone: bool = False) -> Entry | None:
        """Return the entry of the next event; None if it has no content for the reader."""
        content = content_of(self.view, event, self.jobs)
        pieces = list(_pieces(event, content, self)) if content else []
        cards = self.cards.pop(event.invocation_id, []) if event.node_info else []
        if not pieces:
            happened_at = datetime.fromtimestamp(event.timestamp, UTC)
            return Entry("", "quiet", happened_at, [], is_undone, cards) if cards else None
        speaker = content["speaker"]
        names = {
            "person": self.owner,
            "clock": gettext("Scheduled"),
            "agent": content["face"].name,
            "quiet": "",
        }
        return Entry(names[speaker], speaker, content["happened_at"], pieces, is_undone, cards)


def _pieces(event: RuntimeEvent, content: dict[str, Any], builder: EntryBuilder) -> Iterator[Piece]:
    for block in content["blocks"]:
        yield from _pieces_of(block, event, builder)
    if sources := [_outside(source) for source in content["sources"]]:
        yield Piece("sources", "\n".join(map(_source_line, sources)), gettext("Sources"), sources=sources)
    if content["transfer"]:
        yield Piece("note", _handover(content["face"].name, content["transfer"].name))
    for key, value in content["changes"]:
        yield Piece("note", gettext("State: {key} = {value}").format(key=key, value=value))
    yield from _file_pieces(content["files"])
    if content["error"]:
        yield Piece("error", content["error"])
    if withdrawn := content["withdrawn"]:
        names = {"agent": withdrawn["face"].name, "tool": as_words(withdrawn["tool"].tool)}
        yield Piece("note", gettext("{agent} asks again before each “{tool}”.").format(**names))
    if content["is_empty_answer"]:
        yield Piece("note", gettext("%(agent)s gave no answer.") % {"agent": content["face"].name})
    if content["is_cut"]:
        yield Piece("note", gettext("This answer was cut: it reached the model's limit."))
    if content["is_interrupted"]:
        stopped = gettext("Stopped by staff") if content["is_stopped_by_staff"] else gettext("Stopped")
        yield Piece("note", stopped)


def _pieces_of(block: Block, event: RuntimeEvent, builder: EntryBuilder) -> Iterator[Piece]:
    """Yield the pieces of a block; none for an upload, which is among the files of its event."""
    match block:
        case TextBlock():
            kind: PieceKind = "said" if event.author == "user" else "prose"
            yield Piece(kind, block.text, citations=block.citations)
        case ScheduledTaskBlock():
            yield Piece("said", block.task)
        case ThoughtBlock():
            if builder.view.shows_details:
                yield Piece("verbatim", block.text, gettext("Thoughts"))
        case CallBlock():
            yield from _call_pieces(block, builder)
        case ResponseBlock():
            yield from _outcome(block, event, builder)
            yield from _response_pieces(block, builder)
        case (
            ConfirmationRequestBlock()
            | ChoiceBlock()
            | CredentialRequestBlock()
            | RemoteQuestionBlock()
            | InputRequestBlock()
        ):
            yield from _question_pieces(block, builder)
        case ConfirmationBlock() | ChosenBlock() | CredentialBlock() | StoppedBlock() | RepliedBlock():
            yield from _answer_pieces(block, builder.owner)
        # `assert_never` below makes mypy refuse a new kind of block without a case here: no transcript leaves out a
        # part.
        case CodeBlock() | FileBlock() | PicturesBlock() | UploadBlock():
            yield from _attached_pieces(block)
        case _:
            assert_never(block)


def _outside(source: Source) -> Source:
    """Return the source for readers outside of the site, who cannot open its pages."""
    if source.url.startswith("/"):
        return replace(source, url="")
    return source


def _source_line(source: Source) -> str:
    mark = f"{source.number}." if source.number else "-"
    return f"{mark} {source.title} {source.url}".rstrip()


def _attached_pieces(block: CodeBlock | FileBlock | PicturesBlock | UploadBlock) -> Iterator[Piece]:
    match block:
        case CodeBlock():
            yield Piece("verbatim", block.text, block.label)
        case FileBlock():
            yield Piece("note", gettext("A file (%(type)s)") % {"type": block.mime_type})
        case PicturesBlock():
            yield from _file_pieces(block.files, "picture")
        case UploadBlock():
            pass
        case _:
            assert_never(block)


def _question_pieces(block: _Question, builder: EntryBuilder) -> Iterator[Piece]:
    yield Piece("note", _question(block))
    if block.call_id in builder.waiting:
        yield Piece("note", gettext("Waits for an answer"))


def _question(block: _Question) -> str:
    match block:
        case ConfirmationRequestBlock():
            return gettext("Approval: %(call)s") % {"call": block.hint or block.words.plain}
        case ChoiceBlock():
            return gettext("Choose one: {options}").format(options=", ".join(block.options))
        case CredentialRequestBlock():
            if not block.description:
                return block.title
            return f"{block.title}: {block.description}"
        case RemoteQuestionBlock():
            return block.text
        case InputRequestBlock():
            values = [f"{argument.label}: {argument.text}" for argument in block.args]
            return "\n".join([block.text or gettext("An answer is needed."), *values])
        case _:
            assert_never(block)


def _answer_pieces(block: _Answer, owner: str) -> Iterator[Piece]:
    person = owner
    if isinstance(block, ConfirmationBlock | ChosenBlock) and block.staff:
        person = gettext("{name} (staff)").format(name=block.staff)
    yield Piece("note", _answer(block, person))
    if isinstance(block, ConfirmationBlock) and block.reason:
        yield Piece("note", gettext("Reason: %(reason)s") % {"reason": block.reason})


def _answer(block: _Answer, person: str) -> str:
    match block:
        case StoppedBlock():
            return gettext("Stopped by staff")
        case RepliedBlock():
            return block.text or gettext("Answered by a message")
        case ConfirmationBlock():
            return _verdict(block, person)
        case ChosenBlock():
            return gettext("{person} chose {option}").format(person=person, option=block.text)
        case CredentialBlock():
            if block.is_given:
                return gettext("Credential given by {person}").format(person=person)
            return gettext("Credential not given by {person}").format(person=person)
        case _:
            assert_never(block)


def _verdict(block: ConfirmationBlock, person: str) -> str:
    if block.is_automatic and not block.is_confirmed:
        return gettext("Rejected automatically")
    if not block.is_confirmed:
        return gettext("Rejected by {person}").format(person=person)
    if block.is_for_session:
        return gettext("Allowed for this chat by {person}").format(person=person)
    return gettext("Approved by {person}").format(person=person)


def _call_pieces(call: CallBlock, builder: EntryBuilder) -> Iterator[Piece]:
    """Yield a call in words, for a reader of details with its name and arguments, and the status of its job.

    A call that waited is told as done, with the status of its job, where its response stands: not above the approval.
    """
    # A job's call has a first response when the job is queued, and is done only when the job has ended.
    is_done = call.call_id in builder.answered and (call.job is None or call.job.is_ended)
    is_delayed = call.call_id in builder.delayed
    words = call.words.plain
    if is_done and not is_delayed:
        words = call.words.done
    yield _in_words(call, words)
    if builder.view.shows_details:
        arguments = "\n".join(f"{name}: {value}" for name, value in call.args)
        yield Piece("verbatim", arguments, gettext("Call: {name}").format(name=call.name))
    of_job = list(_job_pieces(call.job)) if call.job else []
    if is_delayed:
        builder.outcomes[call.call_id] = DelayedOutcome(_in_words(call, call.words.done), of_job)
    if not is_delayed or (call.job and not call.job.is_ended):
        yield from of_job
    if call.job and call.call_id in builder.waiting:
        yield Piece("note", builder.waiting[call.call_id])


def _outcome(response: ResponseBlock, event: RuntimeEvent, builder: EntryBuilder) -> Iterator[Piece]:
    """Yield the pieces about a delayed call that has now been answered."""
    given = [
        answer.response or {} for answer in event.get_function_responses() if answer.id == response.call_id
    ]
    if any(map(waits, given)):
        return
    outcome = builder.outcomes.pop(response.call_id, None)
    if outcome is None:
        return
    if response.state == CallState.OK:
        yield outcome.done
    yield from outcome.of_job


def _in_words(call: CallBlock, words: str) -> Piece:
    if call.brief and not call.words.names_arguments:
        words = f"{words} ({call.brief})"
    return Piece("note", words)


def _job_pieces(job: ToolJob) -> Iterator[Piece]:
    yield Piece("note", f"{as_words(job.tool_name)}: {job.get_status_display()}")
    yield from _file_pieces(file_links(job.session_id, job.artifacts))


def _response_pieces(response: ResponseBlock, builder: EntryBuilder) -> Iterator[Piece]:
    """Yield the result of a call for a reader of details. Other readers see only whether a call failed."""
    if builder.view.shows_details:
        more = "\n…" if response.hidden else ""
        yield Piece("verbatim", response.text + more, gettext("Result: %(tool)s") % {"tool": response.name})
    elif response.state != CallState.OK:
        yield Piece("note", f"{as_words(response.name)}: {_state_in_words(response.state)}")


def _state_in_words(state: CallState) -> str:
    return {
        CallState.DECLINED: gettext("declined"),
        CallState.CANCELLED: gettext("cancelled"),
        CallState.INTERRUPTED: gettext("interrupted"),
        CallState.FAILED: gettext("failed"),
    }.get(state, state)


def _handover(agent: str, other: str) -> str:
    return gettext("%(agent)s handed over to %(other)s") % {"agent": agent, "other": other}


def _file_pieces(files: Iterable[FileLink], kind: PieceKind = "file") -> Iterator[Piece]:
    for file in files:
        text = file.name
        if file.version:
            version = gettext("version %(number)s") % {"number": file.version + 1}
            text = f"{file.name} ({version})"
        yield Piece(kind, text, file=file)
