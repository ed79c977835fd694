"""Eval set in the format of the Agent Development Kit (`*.evalset.json`): conversations to evaluate agents against."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from uuid import UUID

from django.utils import timezone

from runtime.evaluation.eval_case import EvalCase, SessionInput
from runtime.evaluation.eval_set import EvalSet
from runtime.evaluation.recording import SessionRecording
from sessions_app.base.codec import event_to_show
from sessions_app.data_protection.archive import as_json
from sessions_app.data_protection.transcripts.batches import EventBatch, read_batches
from sessions_app.models import Session
from sessions_app.process.thread_pools import download_threads
from sessions_app.process.threads import in_thread
from sessions_app.secrets.masking import mask


async def stream_eval_set(name: str, session_ids: Iterable[UUID]) -> AsyncIterator[bytes]:
    """Yield the JSON of an eval set with the cases of the sessions, in constant memory."""
    head = {"eval_set_id": name, "name": name, "creation_timestamp": timezone.now().timestamp()}
    yield as_json(head)[:-1] + b', "eval_cases": ['
    separator = b"\n"
    async for case in cases_of(session_ids):
        yield separator + as_json(case.model_dump(mode="json", exclude_none=True))
        separator = b",\n"
    yield b"\n]}\n"


async def eval_set_of(name: str, session_ids: Iterable[UUID]) -> EvalSet:
    """Return the eval set written by `stream_eval_set`."""
    cases = [case async for case in cases_of(session_ids)]
    return EvalSet(
        eval_set_id=name, name=name, eval_cases=cases, creation_timestamp=timezone.now().timestamp()
    )


async def cases_of(session_ids: Iterable[UUID]) -> AsyncIterator[EvalCase]:
    """Yield the case of each session with a message. Sessions erased in the meantime are left out."""
    for session_id in session_ids:
        session = await in_thread(Session.objects.filter(pk=session_id).first)
        case = session and await _case_of(session)
        if case and case.conversation:
            yield case


async def _case_of(session: Session) -> EvalCase:
    """Return the case of a session without rewound events, with secrets masked."""
    recording = SessionRecording()
    async for batch in read_batches(session):
        await download_threads.run(_add_batch, recording, batch)
    return EvalCase(
        eval_id=str(session.pk),
        conversation=recording.invocations,
        session_input=SessionInput(
            app_name=session.app_name,
            user_id=str(session.user_id),
            state=mask(session.initial_state),
        ),
        creation_timestamp=session.created_at.timestamp(),
    )


def _add_batch(recording: SessionRecording, batch: EventBatch) -> None:
    for row in batch.events:
        recording.add(event_to_show(mask(row.body)))
