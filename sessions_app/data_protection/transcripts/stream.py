"""Streams of transcripts: each batch of events is written in a thread before the next batch is read.

Downloads have threads of their own (`download_threads`): a long download must not keep the chat pages waiting. The
memory of a download is bounded by the size of a batch.
"""

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Q
from django.utils.translation import gettext

from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.events import Event as RuntimeEvent
from runtime.valid_text import storable
from sessions_app.base.codec import event_to_show
from sessions_app.data_protection.archive import as_json
from sessions_app.data_protection.export import session_head
from sessions_app.data_protection.transcripts.entries import DelayedOutcome, Entry, EntryBuilder, Piece
from sessions_app.data_protection.transcripts.markdown_file import markdown_head, write_markdown
from sessions_app.history.call_state import waits
from sessions_app.history.public_event import without_app_state
from sessions_app.history.rewinds import Rewinds, find_rewinds, without_rewound
from sessions_app.models import Artifact, Event, Session, ToolJob
from sessions_app.process.threads import download_threads, fetch_rows, in_thread
from sessions_app.rendering.once_filter import once
from sessions_app.rendering.session_view import SessionView
from sessions_app.rendering.workflow_card import CardMaker, WorkflowCard
from sessions_app.secrets.masking import mask_keys

logger = logging.getLogger(__name__)
logger.addFilter(once)
WriteEntry = Callable[[Entry], str]
EVENTS_OF_BATCH = 50
EVENTS_AHEAD = 10


@dataclass(frozen=True)
class EventBatch:
    """Consecutive events, oldest first.

    Attributes:
        ahead: first events of the next batch, which may have responses to the last calls of this batch.
        rewinds: the rewinds of the log.
    """

    events: list[Event]
    ahead: list[Event]
    rewinds: Rewinds


async def read_batches(
    session: Session, *, with_undone: bool = False, only: int = 0
) -> AsyncIterator[EventBatch]:
    """Yield the effective events up to `session.last_seq`, as the chat page shows them (contract R3).

    With `with_undone`, yield all events; with `only`, the event of this number alone.
    """
    # Up to `last_seq` as loaded: a rewind during a long download must not change the rest of the file.
    rewinds = await in_thread(find_rewinds, session.pk, session.last_seq)
    events = session.events.filter(seq__lte=session.last_seq)
    if not with_undone:
        events = without_rewound(events, rewinds)
    if only:
        events = events.filter(seq=only)
    seq = 0
    wanted = EVENTS_OF_BATCH + EVENTS_AHEAD
    while rows := await fetch_rows(events.after(seq).only("seq", "body", "session_id")[:wanted]):
        batch = EventBatch(rows[:EVENTS_OF_BATCH], rows[EVENTS_OF_BATCH:], rewinds)
        yield batch
        seq = batch.events[-1].seq


async def stream_entries(
    session: Session, view: SessionView, write: WriteEntry, *, with_undone: bool = False, only: int = 0
) -> AsyncIterator[str]:
    """Yield the written entries of the session, one text for each batch. Secrets are masked by their keys.

    Args:
        session: with its user.
        with_undone: include the events that rewinds have put out of effect.
        only: number of the only event to write; 0 for all.
    """
    owner = session.user.get_username()
    outcomes: dict[str, DelayedOutcome] = {}
    cards: dict[str, list[WorkflowCard]] = {}
    with_cards: set[str] = set()
    async for batch in read_batches(session, with_undone=with_undone, only=only):
        events, answers = await download_threads.run(_read_batch, batch)
        jobs = await _jobs_of(session, events)
        delayed = {call_id for call_id, waits in answers if waits}
        for invocation_id in {event.invocation_id for event in events if event.node_info} - with_cards:
            with_cards.add(invocation_id)
            cards[invocation_id] = await download_threads.run(_read_cards, session, view, invocation_id)
        answered = {call_id for call_id, _ in answers}
        entries = EntryBuilder(view, owner, jobs, answered, delayed, outcomes=outcomes, cards=cards)
        yield await download_threads.run(_write_batch, batch, events, entries, write)


async def stream_markdown(session: Session, view: SessionView) -> AsyncIterator[str]:
    """Yield the session as a Markdown file. Masks as `stream_entries` does."""
    yield markdown_head(session)
    async for text in stream_entries(session, view, write_markdown):
        yield text


def names_file(session: Session, view: SessionView, file: Artifact) -> bool:
    """True if the transcript names this version of a file of the session. Files of the user do not count."""
    if file.session_id != session.pk:
        return False
    rewinds = find_rewinds(session.pk)
    jobs = {
        job.call_id: job for job in session.jobs.filter(artifacts__contains={file.filename: file.version})
    }
    part = {"fileData": {"fileUri": ArtifactReference(file.filename, file.version, file.mime_type).uri}}
    refers = Q(body__content__parts__contains=[part])
    refers |= Q(body__actions__artifactDelta__contains={file.filename: file.version})
    for call_id in jobs:
        refers |= Q(body__longRunningToolIds__contains=[call_id])
    rows = list(without_rewound(session.events.filter(refers), rewinds))
    named: set[tuple[str, int]] = set()

    def note(entry: Entry) -> str:
        named.update((piece.file.filename, piece.file.version) for piece in entry.pieces if piece.file)
        return ""

    # The entries decide: an event may be hidden from readers.
    batch = EventBatch(rows, [], rewinds)
    events, _ = _read_batch(batch)
    _write_batch(batch, events, EntryBuilder(view, "", jobs, set()), note)
    return (file.filename, file.version) in named


async def stream_json(session: Session) -> AsyncIterator[bytes]:
    """Yield the session in the JSON of the ADK API, without the app's state and with secrets masked by their keys."""
    head = {**mask_keys(await in_thread(session_head, session)), "title": session.title}
    yield as_json(head)[:-1] + b', "events": ['
    separator = b"\n"
    async for batch in read_batches(session):
        yield separator + await download_threads.run(_json_of, batch)
        separator = b",\n"
    yield b"\n]}\n"


async def _jobs_of(session: Session, events: list[RuntimeEvent]) -> dict[str, ToolJob]:
    call_ids: set[str] = set()
    for event in events:
        call_ids.update(event.long_running_tool_ids or ())
    if not call_ids:
        return {}
    rows = await fetch_rows(session.jobs.filter(call_id__in=call_ids))
    return {job.call_id: job for job in rows}


def _read_batch(batch: EventBatch) -> tuple[list[RuntimeEvent], set[tuple[str, bool]]]:
    """Return the events of the batch without secrets, and the answered calls.

    Each is the id of the call, and True for a response that only says that the call waits.
    """
    events = [event_to_show(mask_keys(row.body)) for row in batch.events]
    ahead = [event_to_show(row.body) for row in batch.ahead]
    answers = set()
    for event in events + ahead:
        for response in event.get_function_responses():
            if response.id:
                answers.add((response.id, waits(response.response or {}) and event.author != "user"))
    return events, answers


def _read_cards(session: Session, view: SessionView, invocation_id: str) -> list[WorkflowCard]:
    maker = CardMaker(session.app_name, in_transcript=True, has_outputs=view.shows_details)
    with view.reader.reading():
        return maker.load(session, invocation_id)


def _write_batch(
    batch: EventBatch, events: list[RuntimeEvent], entries: EntryBuilder, write: WriteEntry
) -> str:
    rows = zip(batch.events, events, strict=True)
    with entries.view.reader.reading():  # threads have their own language and time zone
        # Texts of models may have lone surrogates, which cannot be sent as UTF-8.
        return storable("".join([_write(row, event, batch.rewinds, entries, write) for row, event in rows]))


def _write(
    row: Event, event: RuntimeEvent, rewinds: Rewinds, entries: EntryBuilder, write: WriteEntry
) -> str:
    try:
        entry = entries.build(event, is_undone=rewinds.is_undone(row.seq, row.body))
        if entry is None:
            return ""
        return write(entry)
    except Exception:  # one odd event must not break the transcript
        logger.exception(
            "Event %s of session %s cannot be written",
            row.seq,
            entries.view.session_id,
            extra={"session_id": str(entries.view.session_id)},
        )
        notice = Piece("error", gettext("Event {number} cannot be shown. It is kept.").format(number=row.seq))
        return write(Entry("", "quiet", datetime.now(UTC), [notice]))


def _json_of(batch: EventBatch) -> bytes:
    return b",\n".join(as_json(mask_keys(without_app_state(row.body))) for row in batch.events)
